//! Watches: what is told, in which order, and what happens to those who ask for what is forgotten.

use std::time::Duration;

use serde_json::json;

use crate::ground::{Ground, config_map, pod, told, version};

pub async fn a_watch_tells_what_happened_since(ground: Ground) {
    let start = ground.get(&ground.path("configmaps")).await.ok();
    ground.post(&ground.path("configmaps"), config_map("a", json!({}))).await.ok();
    ground.merge(&ground.path("configmaps/a"), json!({"data": {"x": "y"}})).await.ok();
    ground.delete(&ground.path("configmaps/a"), json!({})).await.ok();
    let events = ground.watch(&ground.path(&format!("configmaps?watch=1&resourceVersion={}", version(&start))), 3).await;
    assert_eq!(told(&events), [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]);
    let versions: Vec<u64> = events.iter().map(|event| version(&event["object"]).parse().unwrap()).collect();
    assert!(versions.is_sorted_by(|one, next| one < next), "{versions:?}");
    assert_eq!(events[2]["object"]["data"], json!({"x": "y"}));
}

pub async fn a_watch_from_nowhere_shows_all_there_is(ground: Ground) {
    ground.post(&ground.path("configmaps"), config_map("a", json!({}))).await.ok();
    for query in ["", "&resourceVersion=0"] {
        let events = ground.watch(&ground.path(&format!("configmaps?watch=1{query}&fieldSelector=metadata.name%3Da")), 1).await;
        assert_eq!(told(&events), [("ADDED", "a")], "{query}");
    }
}

pub async fn an_object_enters_and_leaves_a_selection(ground: Ground) {
    let created = ground.post(&ground.path("configmaps"), config_map("a", json!({}))).await.ok();
    let path = ground.path("configmaps/a");
    for labels in [json!({"x": "1"}), json!({"x": "1", "y": "1"}), json!({"x": null})] {
        ground.merge(&path, json!({"metadata": {"labels": labels}})).await.ok();
    }
    let query = format!("configmaps?watch=1&labelSelector=x%3D1&resourceVersion={}", version(&created));
    let events = ground.watch(&ground.path(&query), 3).await;
    assert_eq!(told(&events), [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]);
}

pub async fn a_list_can_be_streamed(ground: Ground) {
    ground.post(&ground.path("configmaps"), config_map("a", json!({}))).await.ok();
    let query = "configmaps?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    let events = ground.watch(&ground.path(query), 3).await;
    let mut names = told(&events);
    names[..2].sort_unstable();
    assert_eq!(names, [("ADDED", "a"), ("ADDED", "kube-root-ca.crt"), ("BOOKMARK", "")]);
    assert_eq!(events[2]["object"]["metadata"]["annotations"], json!({"k8s.io/initial-events-end": "true"}));
    let refused = ground.get(&ground.path("configmaps?watch=1&sendInitialEvents=true")).await;
    assert_eq!((refused.refusal().0, refused.refusal().1), (422, "Invalid"));
}

pub async fn history_that_is_forgotten_is_gone(ground: Ground) {
    // A real server does not forget on demand; but of custom objects it never knew what was before their definition.
    if let Some(kubernetes) = ground.embedded_api() {
        kubernetes.compact(kubernetes.revision());
    }
    let events = ground.watch(&ground.logset_path("logsets?watch=1&resourceVersion=1"), 1).await;
    assert_eq!(events[0]["type"], "ERROR");
    assert_eq!((&events[0]["object"]["code"], &events[0]["object"]["reason"]), (&json!(410), &json!("Expired")));
    assert!(events[0]["object"]["message"].as_str().unwrap().starts_with("too old resource version: "));
}

pub async fn a_watch_is_told_how_far_it_knows(ground: Ground) {
    let start = ground.post(&ground.path("configmaps"), config_map("a", json!({}))).await.ok();
    let query = "fieldSelector=metadata.name%3Dnobody&allowWatchBookmarks=true&timeoutSeconds=4";
    let query = ground.path(&format!("configmaps?watch=1&{query}&resourceVersion={}", version(&start)));
    // A watch that knows all there is is told nothing; so something is written that it does not ask for.
    let writes = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        ground.post(&ground.path("configmaps"), config_map("b", json!({}))).await.ok()
    };
    let (events, _) = tokio::join!(ground.watch(&query, 1), writes);
    assert_eq!(told(&events), [("BOOKMARK", "")]);
    let known: u64 = version(&events[0]["object"]).parse().unwrap();
    assert!(known >= version(&start).parse().unwrap(), "{known}");
    assert_eq!(events[0]["object"]["kind"], "ConfigMap");
}

pub async fn a_watch_ends_in_time(ground: Ground) {
    let events = ground.watch(&ground.path("secrets?watch=1&timeoutSeconds=1"), 1).await;
    assert_eq!(told(&events), []);
}

pub async fn a_pod_is_marked_before_it_goes(ground: Ground) {
    let created = ground.post(&ground.path("pods"), pod("p")).await.ok();
    ground.delete(&ground.path("pods/p"), json!({})).await.ok();
    let events = ground.watch(&ground.path(&format!("pods?watch=1&resourceVersion={}", version(&created))), 2).await;
    assert_eq!(told(&events), [("MODIFIED", "p"), ("DELETED", "p")]);
    for event in &events {
        assert_eq!(
            (&event["object"]["metadata"]["deletionGracePeriodSeconds"], &event["object"]["metadata"]["generation"]),
            (&json!(0), &json!(2))
        );
    }
}
