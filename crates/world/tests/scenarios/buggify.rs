//! Faults that a user asks for, and pods that a user takes out.

use serde_json::json;

use super::stage::Stage;

const KNOB: &str = "--knob_max_trace_lines=200000";
const ISOLATE: &str = "foundationdb.org/isolate-process-group";

#[tokio::test(start_paused = true)]
async fn a09_skip_means_that_nothing_happens() {
    let stage = Stage::born().await;
    stage.apply(json!({"skip": true, "processCounts": {"log": 5}}));
    stage.until("it is told", |view| view.held("Skipped")).await;
    let before = stage.wire.story().len();
    stage.pass(600).await;
    // But for the status, which goes on saying how the database is.
    let done: Vec<String> = stage.wire.story().split_off(before).into_iter().filter(|line| !line.contains("/status")).collect();
    assert_eq!(done, Vec::<String>::new());
    let object = stage.view().object();
    assert_ne!(object["status"]["generations"]["reconciled"], object["metadata"]["generation"]);
    stage.apply(json!({"skip": false}));
    stage.rest().await;
    assert_eq!(stage.view().live("log").len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a25_one_that_is_left_out_of_restarts() {
    let stage = Stage::born().await;
    let id = stage.view().live("storage").remove(0);
    let parameters = json!({"storage": {"customParameters": ["knob_max_trace_lines=200000"]}});
    stage.apply(json!({"buggify": {"ignoreDuringRestart": [id]}, "processes": parameters}));
    stage
        .until("the others run with it", |view| {
            view.live("storage").iter().filter(|other| **other != id).all(|other| view.runs_with(other, KNOB))
        })
        .await;
    stage.pass(300).await;
    assert!(!stage.view().runs_with(&id, KNOB));
    assert_eq!(stage.writes("database: kill").len(), 1);
    stage.apply(json!({"buggify": null}));
    stage.until("it too", |view| view.runs_with(&id, KNOB)).await;
    stage.rest().await;
}

#[tokio::test(start_paused = true)]
async fn a26_one_whose_removal_is_blocked() {
    let stage = Stage::born().await;
    let id = stage.view().live("storage").remove(0);
    stage.apply(json!({"buggify": {"blockRemoval": [id]}, "processGroupsToRemove": [id]}));
    stage.until("it is empty and stays", |view| view.held("RemovalHeld")).await;
    stage.stays("its pod is there", 600, |view| view.pod(&id).is_some()).await;
    stage.apply(json!({"buggify": null}));
    stage.rest().await;
    assert!(!stage.view().has(&id));
}

#[tokio::test(start_paused = true)]
async fn a30_all_sidecars_crash() {
    let stage = Stage::born().await;
    let sidecars = json!([{"containerName": "foundationdb-kubernetes-sidecar", "targets": ["*"]}]);
    stage.apply(json!({"buggify": {"crashLoopContainers": sidecars}}));
    stage.pass(900).await;
    assert!(stage.view().is_available());
    assert!(
        stage.view().groups().values().all(|group| !group.going || group.class != "storage"),
        "what was asked for is no failure"
    );
    stage.apply(json!({"buggify": null}));
    stage.rest().await;
}

#[tokio::test(start_paused = true)]
async fn while_no_server_is_to_run_nobody_is_replaced_for_it() {
    let stage = Stage::born().await;
    let before = stage.view().groups();
    // One has failed already, and would be replaced after two minutes.
    let failed = stage.view().live("storage").remove(0);
    stage.part(&failed);
    stage.until("it is missed", |view| view.conditions(&failed).contains("MissingProcesses")).await;
    stage.apply(json!({"buggify": {"emptyMonitorConf": true}}));
    let nobody_runs = || stage.truth(|database| database.command_lines().next().is_none());
    stage.until("no server runs", |view| nobody_runs() && !view.is_available()).await;
    stage.stays("nobody is to go", 900, |view| nobody_runs() && view.groups().values().all(|group| !group.going)).await;
    let told = stage.view().sentences().join("\n");
    assert!(told.contains(&failed) && told.contains("no server is to run"), "{told}");
    stage.apply(json!({"buggify": null}));
    stage.rest().await;
    stage.until("all data is whole", |_| stage.truth(|database| database.is_whole())).await;
    assert!(stage.view().groups().keys().eq(before.keys()), "everybody is back");
    assert!(stage.writes("database: kill").is_empty(), "their monitors end servers, and start them");
    assert!(stage.writes("delete").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a39_an_isolated_pod_runs_no_server() {
    let stage = Stage::born_as(json!({"automationOptions": {"replacements": {"enabled": false}}})).await;
    let id = stage.view().live("storage").remove(0);
    let uid = stage.view().uid(&id);
    stage.annotate(&id, ISOLATE, Some("true"));
    stage.until("its server is gone", |view| view.processes(&id).is_empty()).await;
    stage.stays("its pod is there", 300, |view| view.uid(&id) == uid).await;
    stage.annotate(&id, ISOLATE, None);
    stage.until("its server is back", |view| !view.processes(&id).is_empty()).await;
    stage.rest().await;
}

#[tokio::test(start_paused = true)]
async fn an_isolated_pod_that_is_to_go_stays_for_who_looks_at_it() {
    let stage = Stage::born().await;
    let id = stage.view().live("storage").remove(0);
    stage.annotate(&id, ISOLATE, Some("true"));
    stage.until("it is replaced", |view| view.live("storage").len() == 4 && !view.live("storage").contains(&id)).await;
    stage.until("it stays", |view| view.held("RemovalHeld")).await;
    stage.stays("its pod is there", 600, |view| view.pod(&id).is_some()).await;
    stage.annotate(&id, ISOLATE, None);
    stage.rest().await;
    assert!(!stage.view().has(&id));
}
