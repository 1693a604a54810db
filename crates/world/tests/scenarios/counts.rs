//! Birth, growing, shrinking, and other numbers of servers.

use serde_json::json;

use super::stage::Stage;

#[tokio::test(start_paused = true)]
async fn a01_every_process_group_has_its_fault_domain() {
    let stage = Stage::born().await;
    for (id, group) in stage.view().groups() {
        assert_eq!(group.zone.as_deref(), Some(stage.node(&id).as_str()), "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn a05_two_storage_servers_per_pod() {
    let stage = Stage::born().await;
    let mut before = stage.view().live("storage");
    // And back to one: what the second server of a pod holds must move away before it goes.
    for servers in [2, 1] {
        stage.apply(json!({"storageServersPerPod": servers}));
        stage.rest().await;
        let view = stage.view();
        let now = view.live("storage");
        assert_eq!(now.len(), 4);
        for id in &now {
            assert_eq!(view.processes(id).len(), servers, "{id}");
            assert!(!before.contains(id), "{id} got another number of servers on the volume it had");
        }
        assert_eq!(view.claims().len(), 8);
        before = now;
    }
}

#[tokio::test(start_paused = true)]
async fn a06_shrink_logs_by_one() {
    let stage = Stage::born().await;
    let before = stage.recoveries();
    stage.apply(json!({"processCounts": {"log": 3}}));
    stage.rest().await;
    assert_eq!(stage.view().live("log").len(), 3);
    assert_eq!(stage.view().pods().len(), 10);
    assert_eq!(stage.view().claims().len(), 7, "its volume went with it");
    assert!(stage.recoveries() - before <= 2, "one for the exclusion, and one at most for a coordinator");
    assert!(stage.view().configuration()["excluded_servers"].as_array().is_none_or(Vec::is_empty));
}

#[tokio::test(start_paused = true)]
async fn a21_grow_logs_by_one() {
    let stage = Stage::born().await;
    let before = stage.view().groups();
    stage.apply(json!({"processCounts": {"log": 5}}));
    stage.rest().await;
    assert_eq!(stage.view().live("log").len(), 5);
    assert!(before.keys().all(|id| stage.view().has(id)), "nobody had to go for it");
    assert!(stage.writes("delete").is_empty(), "{:?}", stage.writes("delete"));
}

#[tokio::test(start_paused = true)]
async fn a22_two_log_servers_per_pod() {
    let stage = Stage::born().await;
    stage.apply(json!({"logServersPerPod": 2}));
    stage.rest().await;
    let view = stage.view();
    assert_eq!(view.live("log").len(), 4);
    for id in view.live("log") {
        assert_eq!(view.processes(&id).len(), 2, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn a23_from_logs_to_transaction_class() {
    let stage = Stage::born().await;
    stage.apply(json!({"logServersPerPod": 2, "processCounts": {"log": -1, "transaction": 4}}));
    stage.rest().await;
    let view = stage.view();
    assert!(view.live("log").is_empty());
    assert_eq!(view.live("transaction").len(), 4);
    for id in view.live("transaction") {
        assert_eq!(view.processes(&id).len(), 2, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn a34_a_test_process_comes_and_goes() {
    let stage = Stage::born().await;
    stage.apply(json!({"processCounts": {"test": 1}}));
    stage.rest().await;
    assert_eq!(stage.view().live("test").len(), 1);
    stage.apply(json!({"processCounts": {"test": null}}));
    stage.rest().await;
    assert!(stage.view().live("test").is_empty());
    assert_eq!(stage.view().pods().len(), 11);
}

#[tokio::test(start_paused = true)]
async fn shrinking_while_a_process_is_down_takes_nobody_else() {
    let stage = Stage::born().await;
    let down = stage.view().live("storage").remove(0);
    stage.part(&down);
    stage.until("it is missed", |view| view.conditions(&down).contains("MissingProcesses")).await;
    stage.apply(json!({"processCounts": {"log": 3}}));
    stage.until("one log is marked", |view| view.live("log").len() == 3).await;
    assert_eq!(stage.view().live("storage").len(), 4, "who is absent for a moment is no victim of another class's shrinking");
    stage.rejoin(&down);
    stage.rest().await;
    assert!(stage.view().has(&down));
}

#[tokio::test(start_paused = true)]
async fn storage_shrinks_under_a_quota_that_has_no_room_to_spare() {
    let stage = Stage::born_as(json!({"processCounts": {"storage": 5}})).await;
    stage.wire.allow_pods(Some(12));
    stage.apply(json!({"processCounts": {"storage": 4}}));
    stage.rest().await;
    assert_eq!(stage.view().pods().len(), 11);
}
