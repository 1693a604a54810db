//! New arguments reach all servers in one restart.

use serde_json::json;

use super::stage::Stage;

const KNOB: &str = "--knob_max_trace_lines=200000";

fn knob(class: &str) -> serde_json::Value {
    json!({"processes": {class: {"customParameters": ["knob_max_trace_lines=200000"]}}})
}

#[tokio::test(start_paused = true)]
async fn a40_a_knob_for_storage() {
    let stage = Stage::born().await;
    let pods = stage.view().pods();
    stage.apply(knob("storage"));
    stage.pass(30).await;
    assert!(stage.view().all_run_with("storage", KNOB), "nobody waits for kubelets to come by");
    stage.rest().await;
    assert_eq!(stage.writes("database: kill").len(), 1, "all at once");
    assert!(!stage.view().all_run_with("log", KNOB));
    assert!(pods.keys().all(|id| stage.view().uid(id).as_deref() == pods[id]["metadata"]["uid"].as_str()), "pods stay");
}

#[tokio::test(start_paused = true)]
async fn q129_a_knob_for_all() {
    let stage = Stage::born().await;
    let before = stage.recoveries();
    stage.apply(knob("general"));
    stage
        .until("all run with it", |view| ["storage", "log", "stateless"].iter().all(|class| view.all_run_with(class, KNOB)))
        .await;
    stage.rest().await;
    assert_eq!(stage.writes("database: kill").len(), 1);
    assert!(stage.recoveries() - before <= 3, "{}", stage.recoveries() - before);
}

#[tokio::test(start_paused = true)]
async fn q130_a_knob_while_somebody_restarts_everything() {
    let stage = Stage::born().await;
    stage.apply(knob("general"));
    let ids: Vec<String> = stage.view().groups().into_keys().collect();
    for id in &ids {
        stage.rejoin(id);
    }
    stage
        .until("all run with it", |view| ["storage", "log", "stateless"].iter().all(|class| view.all_run_with(class, KNOB)))
        .await;
    stage.rest().await;
}

#[tokio::test(start_paused = true)]
async fn q131_a_knob_while_a_process_is_parted() {
    let off = json!({"automationOptions": {"replacements": {"enabled": false}, "ignoreMissingProcessesSeconds": 30}});
    let stage = Stage::born_as(off).await;
    let parted = stage.view().live("stateless").remove(0);
    stage.part(&parted);
    stage.until("it is missed", |view| view.conditions(&parted).contains("MissingProcesses")).await;
    stage.apply(knob("general"));
    stage
        .until("all others run with it", |view| {
            let others = view.groups().into_keys().filter(|id| *id != parted);
            others.into_iter().all(|id| view.runs_with(&id, KNOB))
        })
        .await;
    stage.rejoin(&parted);
    stage.until("it too", |view| view.runs_with(&parted, KNOB)).await;
    stage.rest().await;
}

#[tokio::test(start_paused = true)]
async fn q132_a_knob_while_a_group_is_replaced() {
    let stage = Stage::born().await;
    let id = stage.view().live("log").remove(0);
    stage.apply(knob("general"));
    stage.apply(json!({"processGroupsToRemove": [id]}));
    stage.until("it is gone", |view| !view.has(&id)).await;
    stage.rest().await;
    assert!(["storage", "log", "stateless"].iter().all(|class| stage.view().all_run_with(class, KNOB)));
}

#[tokio::test(start_paused = true)]
async fn a42_a_knob_while_nothing_may_be_removed() {
    let stage = Stage::born_as(json!({"automationOptions": {"removalMode": "None"}})).await;
    let id = stage.view().live("storage").remove(0);
    stage.apply(json!({"processGroupsToRemove": [id]}));
    stage.until("it is empty and stays", |view| view.held("RemovalHeld")).await;
    stage.apply(knob("storage"));
    stage.until("all that stay run with it", |view| view.all_run_with("storage", KNOB)).await;
    assert!(!stage.view().runs_with(&id, KNOB), "who is to go is not restarted for it any more");
    stage.apply(json!({"automationOptions": {"removalMode": "All"}}));
    stage.rest().await;
}

#[tokio::test(start_paused = true)]
async fn restarts_wait_until_a_user_allows_them() {
    let stage = Stage::born_as(json!({"automationOptions": {"killProcesses": false}})).await;
    stage.apply(knob("general"));
    stage.until("it is held", |view| view.held("RestartHeld")).await;
    stage.pass(300).await;
    assert!(stage.writes("database: kill").is_empty());
    stage.apply(json!({"automationOptions": {"killProcesses": true}}));
    stage.rest().await;
    assert!(stage.view().all_run_with("storage", KNOB));
}
