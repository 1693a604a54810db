use super::*;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use quorate_foundationdb::DisruptionBudgetFacts;
use quorate_foundationdb::objects::Tags;

use crate::foundationdb::{claim_facts, pod_facts};

fn key(name: &str) -> ClusterKey {
    ClusterKey { namespace: "ns".into(), name: name.into() }
}

fn claim(name: &str, owner: Option<&str>, there: bool) -> Change {
    let object: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
        "metadata": {"name": name, "uid": name, "resourceVersion": "1"}, "spec": {"storageClassName": "fast"},
    }))
    .unwrap();
    let facts = there.then(|| Box::new(Facts::Claim(claim_facts(&object))));
    Change::Object(Kind::Claims, ("ns".into(), name.into()), owner.map(key), facts)
}

fn pod(name: &str, owner: &str, node: &str) -> Change {
    let object =
        serde_json::from_value(serde_json::json!({"metadata": {"name": name}, "spec": {"nodeName": node, "containers": []}}));
    let facts = Box::new(Facts::Pod(pod_facts(&object.unwrap())));
    Change::Object(Kind::Pods, ("ns".into(), name.into()), Some(key(owner)), Some(facts))
}

fn cluster(name: &str) -> Change {
    let object = serde_json::from_value(serde_json::json!({
        "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
        "metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": {"version": "7.3.69"},
    }));
    Change::Cluster(key(name), Box::new(ClusterObject::Present(Arc::new(object.unwrap()))))
}

fn facts(index: &Index, name: &str) -> KubeFacts {
    let known = index.get(&key(name)).unwrap();
    index.facts(known, known.object.as_ref().unwrap())
}

#[test]
fn an_object_is_found_under_its_cluster_until_it_is_gone() {
    let mut index = Index::default();
    assert_eq!(index.apply(claim("c1", Some("a"), true)), BTreeSet::from([key("a")]));
    assert_eq!(index.get(&key("a")).unwrap().claims.len(), 1);
    // A deletion may come without labels; who it belonged to is remembered.
    assert_eq!(index.apply(claim("c1", None, false)), BTreeSet::from([key("a")]));
    assert!(index.get(&key("a")).unwrap().claims.is_empty());
}

#[test]
fn an_object_that_changes_hands_concerns_both() {
    let mut index = Index::default();
    index.apply(claim("c1", Some("a"), true));
    assert_eq!(index.apply(claim("c1", Some("b"), true)), BTreeSet::from([key("a"), key("b")]));
    assert!(index.get(&key("a")).unwrap().claims.is_empty());
    assert_eq!(index.get(&key("b")).unwrap().claims.len(), 1);
}

#[test]
fn what_a_new_list_does_not_have_is_gone() {
    let mut index = Index::default();
    for change in [Change::ListBegins(Kind::Claims), claim("c1", Some("a"), true), claim("c2", Some("a"), true)] {
        index.apply(change);
    }
    index.apply(Change::ListEnds(Kind::Claims));
    index.apply(Change::ListBegins(Kind::Claims));
    index.apply(claim("c2", Some("a"), true));
    assert_eq!(index.get(&key("a")).unwrap().claims.len(), 2, "a list that is under way says nothing yet");
    assert_eq!(index.apply(Change::ListEnds(Kind::Claims)), BTreeSet::from([key("a")]));
    assert_eq!(index.get(&key("a")).unwrap().claims.keys().collect::<Vec<_>>(), ["c2"]);
}

#[test]
fn nothing_is_synced_before_its_first_list() {
    let mut index = Index::default();
    assert_eq!(index.pending(), Kind::ALL);
    index.apply(Change::ListEnds(Kind::Pods));
    assert_eq!(index.pending().len(), Kind::ALL.len() - 1);
    assert!(!index.pending().contains(&Kind::Pods));
}

#[test]
fn a_node_concerns_only_those_with_pods_on_it_and_only_when_it_changes() {
    let mut index = Index::default();
    let node = |ready| Change::Node("n1".into(), Some(Box::new(NodeFacts { ready, ..NodeFacts::default() })));
    index.apply(cluster("a"));
    for change in [pod("p1", "a", "n1"), pod("p2", "a", "n1"), pod("p3", "b", "n2")] {
        index.apply(change);
    }
    assert_eq!(index.apply(node(true)), BTreeSet::from([key("a")]));
    assert_eq!(index.apply(node(true)), BTreeSet::new(), "a heartbeat");
    assert_eq!(facts(&index, "a").nodes.keys().collect::<Vec<_>>(), ["n1"]);
    // One of the two pods moves away, then the other one.
    index.apply(pod("p1", "a", "n2"));
    assert_eq!(index.apply(node(false)), BTreeSet::from([key("a")]));
    index.apply(pod("p2", "a", "n2"));
    assert_eq!(index.apply(node(true)), BTreeSet::new());
}

#[test]
fn every_node_that_takes_pods_is_known_as_a_place_for_them() {
    let mut index = Index::default();
    index.apply(cluster("a"));
    let node = |name: &str, ready| Change::Node(name.into(), Some(Box::new(NodeFacts { ready, ..NodeFacts::default() })));
    let places = |index: &Index| facts(index, "a").open_nodes.keys().cloned().collect::<Vec<_>>();
    for change in [node("n1", true), node("n2", true), node("n3", false)] {
        index.apply(change);
    }
    assert_eq!(places(&index), ["n1", "n2"]);
    let before = facts(&index, "a");
    for change in [node("n1", false), node("n3", true), Change::Node("n2".into(), None)] {
        index.apply(change);
    }
    assert_eq!(places(&index), ["n3"]);
    assert_eq!(before.open_nodes.len(), 2, "a snapshot stays as it was");
}

#[test]
fn a_node_that_a_new_list_does_not_have_is_gone() {
    let mut index = Index::default();
    index.apply(cluster("a"));
    index.apply(pod("p1", "a", "n1"));
    index.apply(Change::Node("n1".into(), Some(Box::default())));
    index.apply(Change::ListBegins(Kind::Nodes));
    assert_eq!(index.apply(Change::ListEnds(Kind::Nodes)), BTreeSet::from([key("a")]));
    assert!(facts(&index, "a").nodes.is_empty());
}

#[test]
fn a_claim_may_grow_if_its_class_says_so() {
    let mut index = Index::default();
    index.apply(cluster("a"));
    index.apply(claim("c1", Some("a"), true));
    let may_grow = |index: &Index| facts(index, "a").claims["c1"].may_grow;
    assert_eq!(may_grow(&index), None);
    assert_eq!(index.apply(Change::StorageClass("fast".into(), Some(true))), BTreeSet::from([key("a")]));
    assert_eq!(may_grow(&index), Some(true));
    assert_eq!(index.apply(Change::StorageClass("slow".into(), Some(true))), BTreeSet::new());
    assert_eq!(index.apply(Change::StorageClass("fast".into(), Some(true))), BTreeSet::new());
}

#[test]
fn a_storage_class_that_somebody_waits_for_is_noticed() {
    let mut index = Index::default();
    index.apply(cluster("a"));
    let object = serde_json::from_value(serde_json::json!({
        "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
        "metadata": {"name": "b", "namespace": "ns", "uid": "b"},
        "spec": {"version": "7.3.69", "processes": {"general": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}},
    }));
    index.apply(Change::Cluster(key("b"), Box::new(ClusterObject::Present(Arc::new(object.unwrap())))));
    assert_eq!(facts(&index, "b").storage_classes, Some(BTreeSet::new()));
    assert_eq!(index.apply(Change::StorageClass("fast".into(), Some(true))), BTreeSet::from([key("b")]));
    assert_eq!(facts(&index, "b").storage_classes, Some(BTreeSet::from(["fast".to_owned()])));
}

#[test]
fn a_budget_whose_status_alone_changed_wakes_nobody() {
    let mut index = Index::default();
    let mut budget = |state: &str, min_available| {
        let (uid, resource_version, owner) = ("b".to_owned(), state.to_owned(), Some("a".to_owned()));
        let facts = Facts::Budget(DisruptionBudgetFacts { uid, resource_version, owner, min_available, given: Tags::default() });
        index.apply(Change::Object(Kind::Budgets, ("ns".into(), "b".into()), Some(key("a")), Some(Box::new(facts))))
    };
    assert_eq!(budget("1", Some(2)), BTreeSet::from([key("a")]));
    assert_eq!(budget("2", Some(2)), BTreeSet::new());
    assert_eq!(budget("3", Some(3)), BTreeSet::from([key("a")]));
    assert_eq!(index.get(&key("a")).unwrap().state(Kind::Budgets, "b"), Some("3"));
}
