//! What fails by itself is made again, or replaced, with room for so many at once.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Taint;
use serde_json::json;

use super::stage::Stage;
use super::view::View;

/// Marked, and not yet known to be empty.
fn in_flight(view: View<'_>) -> usize {
    let groups = view.status()["processGroups"].take();
    let all = groups.as_array().cloned().unwrap_or_default();
    all.iter().filter(|group| group["removalTimestamp"].is_string() && group["exclusionTimestamp"].is_null()).count()
}

#[tokio::test(start_paused = true)]
async fn a02_an_unavailable_database_is_told() {
    let stage = Stage::born().await;
    assert_eq!(stage.view().condition("Available").unwrap().0, "True");
    stage.lose_nodes(&["node-a1", "node-a2", "node-b1", "node-b2", "node-c1"], false);
    stage.until("it is told", |view| !view.is_available()).await;
    assert_eq!(stage.view().condition("Available").unwrap().0, "False");
    assert!(!stage.view().holds().is_empty());
    stage.find_nodes();
    stage.until("it is back", |view: super::view::View<'_>| view.is_available()).await;
    stage.rest().await;
}

#[tokio::test(start_paused = true)]
async fn a10_a_deleted_storage_pod_is_made_again_with_its_volume() {
    let stage = Stage::born().await;
    let id = stage.view().live("storage").remove(0);
    let (pod, claim) = (stage.view().uid(&id), stage.view().claims()[&id]["metadata"]["uid"].clone());
    stage.kill(&id);
    stage.until("it has a new pod", |view| view.uid(&id).is_some() && view.uid(&id) != pod).await;
    stage.rest().await;
    assert_eq!(stage.view().claims()[&id]["metadata"]["uid"], claim);
    assert!(stage.writes("database: exclude").is_empty(), "it was not replaced");
}

#[tokio::test(start_paused = true)]
async fn a11_a_parted_pod_is_replaced() {
    let stage = Stage::born().await;
    let id = stage.view().live("storage").remove(0);
    stage.part(&id);
    stage.until("it is gone", |view| !view.has(&id)).await;
    stage.rest().await;
    assert_eq!(stage.view().live("storage").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn one_that_dies_again_and_again_can_go() {
    let stage = Stage::born().await;
    stage.pass(600).await;
    let id = stage.view().live("storage").remove(0);
    stage.apply(json!({"processGroupsToRemove": [&id]}));
    // It never runs for a minute, and is never away for longer than that.
    for _ in 0..60 {
        stage.part(&id);
        stage.pass(30).await;
        stage.rejoin(&id);
        stage.pass(20).await;
        if !stage.view().has(&id) {
            break;
        }
    }
    assert!(!stage.view().has(&id), "{:?}", stage.view().sentences());
    stage.rest().await;
    assert_eq!(stage.view().live("storage").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a12_more_parted_pods_than_may_go_at_once() {
    let stage = Stage::born().await;
    let lost: Vec<String> = ["storage", "log", "stateless"].map(|class| stage.view().live(class).remove(0)).to_vec();
    for id in &lost {
        stage.part(id);
    }
    stage
        .until("all are replaced", |view| {
            assert!(in_flight(view) <= 1, "one at a time");
            lost.iter().all(|id| !view.has(id))
        })
        .await;
    stage.rest().await;
}

#[tokio::test(start_paused = true)]
async fn buckets_give_each_kind_of_process_its_own_room() {
    let bucket = json!({"automationOptions": {"replacements": {"replacementBucket": {"enabled": true}}}});
    let stage = Stage::born_as(bucket).await;
    let lost: Vec<String> = ["storage", "log", "stateless"].map(|class| stage.view().live(class).remove(0)).to_vec();
    for id in &lost {
        stage.part(id);
    }
    let going = |view: View<'_>| lost.iter().filter(|id| view.groups().get(*id).is_none_or(|group| group.going)).count();
    stage.until("the first is marked", |view| going(view) > 0).await;
    stage.pass(30).await;
    assert_eq!(going(stage.view()), 3, "none waits for another bucket");
    let buckets = stage.view().status()["quorate"]["buckets"].as_array().map_or(0, Vec::len);
    assert_eq!(buckets, 3);
    stage.until("all are replaced", |view| lost.iter().all(|id| !view.has(id))).await;
    stage.rest().await;
}

#[tokio::test(start_paused = true)]
async fn no_room_for_replacements_means_none() {
    let none = json!({"automationOptions": {"replacements": {"maxConcurrentReplacements": 0}}});
    let stage = Stage::born_as(none).await;
    let id = stage.view().live("stateless").remove(0);
    stage.part(&id);
    stage.until("it is held", |view| view.held("ReplacementsStopped")).await;
    stage.stays("nobody is marked", 900, |view| view.groups().values().all(|group| !group.going)).await;
}

async fn a_complaint_leads_to_a_replacement(of: &str) {
    let stage = Stage::born().await;
    let id = stage.view().live("storage").remove(0);
    stage.wire.complain(&id, of);
    stage.until("it is noted", |view| view.conditions(&id).contains("ProcessHasIOError")).await;
    stage.until("it is gone", |view| !view.has(&id)).await;
    stage.rest().await;
}

#[tokio::test(start_paused = true)]
async fn a13_a_bad_disk_is_replaced() {
    a_complaint_leads_to_a_replacement("io_error").await;
}

#[tokio::test(start_paused = true)]
async fn a14_a_slow_disk_is_replaced() {
    a_complaint_leads_to_a_replacement("io_timeout").await;
}

#[tokio::test(start_paused = true)]
async fn a27_what_never_ran_stays_while_replacement_is_off() {
    let off = json!({"automationOptions": {"replacements": {"enabled": false}, "useLocalitiesForExclusion": false}});
    let stage = Stage::born_as(off).await;
    stage.cordon(true);
    stage.apply(json!({"processCounts": {"storage": 5}}));
    stage.until("a fifth waits for a node", |view| view.live("storage").len() == 5 && view.held("PodPending")).await;
    let groups = stage.view().groups();
    stage.stays("it waits", 900, |view| view.groups().keys().eq(groups.keys())).await;
    stage.cordon(false);
    stage.rest().await;
    assert!(stage.view().groups().keys().eq(groups.keys()));
}

#[tokio::test(start_paused = true)]
async fn a28_what_never_ran_is_replaced_while_replacement_is_on() {
    let stage = Stage::born_as(json!({"automationOptions": {"useLocalitiesForExclusion": false}})).await;
    let before = stage.view().groups();
    stage.cordon(true);
    stage.apply(json!({"processCounts": {"storage": 5}}));
    stage.until("a fifth waits for a node", |view| view.live("storage").len() == 5 && view.held("PodPending")).await;
    let id = stage.view().live("storage").into_iter().find(|id| !before.contains_key(id)).unwrap();
    stage.until("it is gone", |view| !view.has(&id)).await;
    stage.cordon(false);
    stage.rest().await;
    assert_eq!(stage.view().live("storage").len(), 5);
    assert!(before.keys().all(|id| stage.view().has(id)));
}

#[tokio::test(start_paused = true)]
async fn a37_pods_parted_from_the_api_go_on_serving() {
    let stage = Stage::born().await;
    let id = stage.view().live("log").remove(0);
    let before = stage.recoveries();
    stage.lose_nodes(&[&stage.node(&id)], true);
    stage.stays("its server runs", 100, |view| !view.processes(&id).is_empty()).await;
    assert_eq!(stage.recoveries(), before);
    stage.find_nodes();
    stage.rest().await;
    assert!(stage.view().has(&id));
    assert!(stage.writes("delete").is_empty());
}

fn taints(key: &str) -> serde_json::Value {
    json!({"automationOptions": {"replacements": {
        "taintReplacementTimeSeconds": 20, "maxConcurrentReplacements": 5,
        "taintReplacementOptions": [{"key": key, "durationInSeconds": 10}],
    }}})
}

fn taint(stage: &Stage, which: impl Fn(&str) -> bool) {
    stage.change_nodes(|node| {
        if which(node.metadata.name.as_deref().unwrap()) {
            let taint = Taint { key: "example.org/leaves".to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
            node.spec.get_or_insert_default().taints = Some(vec![taint]);
        }
    });
}

async fn a_tainted_node_is_left(key: &str) {
    let stage = Stage::born_as(taints(key)).await;
    let leaving: Vec<String> = stage.view().groups().into_keys().filter(|id| stage.node(id) == "node-a1").collect();
    assert!(!leaving.is_empty());
    taint(&stage, |node| node == "node-a1");
    stage.until("all have left it", |view| leaving.iter().all(|id| !view.has(id))).await;
    stage.rest().await;
    assert!(stage.view().groups().keys().all(|id| stage.node(id) != "node-a1"));
}

async fn two_tainted_nodes_are_left_at_once(key: &str) {
    let mut wish = taints(key);
    wish["automationOptions"]["replacements"]["maxFaultDomainsWithTaintedProcessGroups"] = json!(2);
    let stage = Stage::born_as(wish).await;
    let nodes: BTreeSet<String> = stage.view().live("storage")[..2].iter().map(|id| stage.node(id)).collect();
    assert_eq!(nodes.len(), 2);
    let is_there = |id: &String| nodes.contains(&stage.node(id));
    let leaving: Vec<String> = stage.view().groups().into_keys().filter(is_there).collect();
    taint(&stage, |node| nodes.contains(node));
    stage.until("all have left them", |view| leaving.iter().all(|id| !view.has(id))).await;
    stage.rest().await;
    assert_eq!(stage.view().groups().len(), 11);
    assert!(!stage.view().groups().keys().any(is_there), "they are replaced elsewhere");
}

async fn many_tainted_nodes_are_no_failures(key: &str) {
    let stage = Stage::born_as(taints(key)).await;
    taint(&stage, |_| true);
    stage.until("it is told", |view| view.held("TooManyTaintedZones")).await;
    stage.stays("nobody is replaced", 900, |view| view.groups().values().all(|group| !group.going)).await;
}

#[tokio::test(start_paused = true)]
async fn a43_a_node_with_a_named_taint_is_left() {
    a_tainted_node_is_left("example.org/leaves").await;
}

#[tokio::test(start_paused = true)]
async fn a44_all_nodes_with_a_named_taint_at_once() {
    many_tainted_nodes_are_no_failures("example.org/leaves").await;
}

#[tokio::test(start_paused = true)]
async fn a44_two_nodes_with_a_named_taint_at_once() {
    two_tainted_nodes_are_left_at_once("example.org/leaves").await;
}

#[tokio::test(start_paused = true)]
async fn a45_a_node_with_any_taint_is_left() {
    a_tainted_node_is_left("*").await;
}

#[tokio::test(start_paused = true)]
async fn a46_all_nodes_with_any_taint_at_once() {
    many_tainted_nodes_are_no_failures("*").await;
}

#[tokio::test(start_paused = true)]
async fn a46_two_nodes_with_any_taint_at_once() {
    two_tainted_nodes_are_left_at_once("*").await;
}

#[tokio::test(start_paused = true)]
async fn a47_taints_that_nobody_named_mean_nothing() {
    let stage = Stage::born().await;
    taint(&stage, |node| node == "node-a1");
    stage.stays("all at rest", 900, |view: super::view::View<'_>| view.is_at_rest()).await;
}
