//! The lock that operators of one database share.

use serde_json::{Value, json};

use super::stage::Stage;

fn locks(allow: bool) -> Value {
    let list = json!([{"id": "dc1", "allow": allow}]);
    json!({"processGroupIDPrefix": "dc1", "lockOptions": {"disableLocks": false, "denyList": list}})
}

#[tokio::test(start_paused = true)]
async fn who_is_on_the_deny_list_disrupts_nothing() {
    let stage = Stage::born_as(locks(true)).await;
    stage.apply(locks(false));
    stage.rest().await;
    let id = stage.view().live("log").remove(0);
    stage.apply(json!({"processGroupsToRemove": [id]}));
    stage.until("it is told", |view| view.held("LockDenied")).await;
    stage.pass(600).await;
    assert!(stage.writes("database: exclude").is_empty() && stage.writes("database: coordinators").is_empty());
    stage.apply(locks(true));
    stage.rest().await;
    assert!(!stage.view().has(&id));
}
