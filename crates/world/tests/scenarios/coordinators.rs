//! Which process groups coordinate, and what becomes of the database without them.

use serde_json::json;

use super::stage::Stage;

async fn coordinators_are_chosen(selection: serde_json::Value, class: &str) {
    let stage = Stage::born().await;
    let before = stage.recoveries();
    stage.apply(json!({"coordinatorSelection": selection}));
    stage.until("the classes", |view| view.coordinators().iter().all(|id| id.starts_with(class))).await;
    stage.rest().await;
    assert_eq!(stage.view().coordinators().len(), 3);
    assert!(stage.recoveries() - before <= 1, "all at once");
    let zones: std::collections::BTreeSet<String> = stage.view().coordinators().iter().map(|id| stage.node(id)).collect();
    assert_eq!(zones.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a18_only_logs_coordinate() {
    coordinators_are_chosen(json!([{"processClass": "log", "priority": 0}]), "log").await;
}

#[tokio::test(start_paused = true)]
async fn a19_only_storage_coordinates() {
    coordinators_are_chosen(json!([{"processClass": "storage", "priority": 0}]), "storage").await;
}

#[tokio::test(start_paused = true)]
async fn a20_a_preference_moves_nobody_and_counts_at_the_next_change() {
    let stage = Stage::born().await;
    let before = stage.view().coordinators();
    let both = json!([{"processClass": "log", "priority": 0}, {"processClass": "storage", "priority": 10}]);
    stage.apply(json!({"coordinatorSelection": both}));
    stage.rest().await;
    assert_eq!(stage.view().coordinators(), before, "good ones stay");
    let goes = before.first().unwrap();
    stage.apply(json!({"processGroupsToRemove": [goes]}));
    stage.rest().await;
    let new: Vec<String> = stage.view().coordinators().difference(&before).cloned().collect();
    assert!(new.len() == 1 && new[0].starts_with("storage"), "{new:?}");
}

#[tokio::test(start_paused = true)]
async fn a20_a_preferred_class_coordinates_from_birth_on() {
    let both = json!([{"processClass": "log", "priority": 0}, {"processClass": "storage", "priority": 10}]);
    let stage = Stage::born_as(json!({"coordinatorSelection": both})).await;
    assert!(stage.view().coordinators().iter().all(|id| id.starts_with("storage")), "{:?}", stage.view().coordinators());
}

#[tokio::test(start_paused = true)]
async fn j91_names_instead_of_addresses() {
    let stage = Stage::born_as(json!({"routing": {"useDNSInClusterFile": false}})).await;
    assert!(!stage.view().status()["connectionString"].as_str().unwrap().contains("svc"));
    stage.apply(json!({"routing": {"useDNSInClusterFile": true}}));
    stage.rest().await;
    let connection = stage.view().status()["connectionString"].as_str().unwrap().to_owned();
    assert_eq!(connection.matches("sample.default.svc.cluster.local:4501").count(), 3, "{connection}");
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_is_gone_for_long_is_replaced_by_another() {
    let stage = Stage::born_as(json!({"automationOptions": {"replacements": {"enabled": false}}})).await;
    let lost = stage.view().coordinators().pop_first().unwrap();
    stage.part(&lost);
    stage.until("another coordinates", |view| !view.coordinators().contains(&lost)).await;
    assert_eq!(stage.view().coordinators().len(), 3);
    assert_eq!(stage.writes("database: coordinators").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_coordinators_pod_that_is_made_again_costs_no_change_of_coordinators() {
    let stage = Stage::born().await;
    let before = stage.view().coordinators();
    let id = before.first().unwrap();
    let uid = stage.view().uid(id);
    stage.kill(id);
    stage.until("it has a new pod", |view| view.uid(id).is_some() && view.uid(id) != uid).await;
    stage.rest().await;
    assert_eq!(stage.view().coordinators(), before);
    assert!(stage.writes("database: coordinators").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_lost_majority_of_coordinators_is_told_and_nothing_is_made_worse() {
    let stage = Stage::born_as(json!({"routing": {"useDNSInClusterFile": false}})).await;
    let coordinators: Vec<String> = stage.view().coordinators().into_iter().collect();
    let claims = stage.view().claims().len();
    let taken = || ["delete", "database: exclude", "database: coordinators"].map(|what| stage.writes(what).len());
    let before = taken();
    for id in &coordinators[..2] {
        stage.part(id);
    }
    stage.until("it is told", |view| !view.is_available() && view.held("CoordinatorsLost")).await;
    stage.stays("it goes on being told", 1200, |view| view.held("CoordinatorsLost")).await;
    assert_eq!(taken(), before, "whoever went now, or was asked to coordinate, would make it worse");
    assert_eq!(stage.view().claims().len(), claims, "their volumes hold what the coordinators know");
    for id in &coordinators[..2] {
        stage.rejoin(id);
    }
    stage.until("it is back", |view: super::view::View<'_>| view.is_available()).await;
    stage.rest().await;
}
