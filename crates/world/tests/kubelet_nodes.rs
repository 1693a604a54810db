//! Stories about nodes: how they are lost, what becomes of their pods, and what frees them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each file of stories needs another part of the cluster")]

mod cluster;

use cluster::{Cluster, at, object};
use quorate_world::kubelet::{Fault, Window};
use serde_json::json;

fn lost(from: i64, until: Option<i64>, keeps_running: bool) -> Fault {
    Fault::NodeLost { node: "a1".to_owned(), during: Window { from: at(from), until: until.map(at) }, keeps_running }
}

/// Node a1 with one pod is lost at 100; a pod on a2 is not concerned.
fn cluster_that_loses_a_node(until: Option<i64>, keeps_running: bool) -> Cluster {
    let mut cluster = Cluster::default();
    cluster.add_node("a1", "a");
    cluster.add_node("a2", "a");
    cluster.add_pod("store", "a1", &[]);
    cluster.add_pod("other", "a2", &[]);
    cluster.settings.faults = vec![lost(100, until, keeps_running)];
    cluster.run_until(99);
    assert_eq!(cluster.taints("a1"), Vec::<String>::new());
    cluster
}

fn ready(cluster: &Cluster, node: &str) -> String {
    let conditions = cluster.nodes[node].status.as_ref().unwrap().conditions.as_ref().unwrap();
    conditions.iter().find(|condition| condition.type_ == "Ready").unwrap().status.clone()
}

#[test]
fn a_lost_node_is_known_after_the_grace_period_and_its_pods_go_after_their_tolerations() {
    let mut cluster = cluster_that_loses_a_node(None, true);
    cluster.run_until(149);
    assert_eq!(ready(&cluster, "a1"), "True");
    assert_eq!(cluster.condition("store", "Ready"), (true, 3));
    cluster.run_until(150);
    assert_eq!(ready(&cluster, "a1"), "Unknown");
    assert_eq!(cluster.taints("a1"), ["unreachable:NoSchedule", "unreachable:NoExecute"]);
    assert_eq!(cluster.condition("store", "Ready"), (false, 150));
    cluster.run_until(449);
    assert_eq!(cluster.pods["store"].metadata.deletion_timestamp, None);
    cluster.run_until(450);
    assert!(cluster.pods["store"].metadata.deletion_timestamp.is_some());
    assert_eq!(cluster.condition("store", "DisruptionTarget"), (true, 450));
    // Nobody is there to confirm its end.
    cluster.run_until(100_000);
    assert!(cluster.pods.contains_key("store"));
    assert_eq!(cluster.condition("other", "Ready"), (true, 3));
}

#[test]
fn a_pods_own_toleration_says_how_long_it_stays() {
    let mut cluster = cluster_that_loses_a_node(None, true);
    let toleration =
        json!({"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10});
    cluster.pods.get_mut("store").unwrap().spec.as_mut().unwrap().tolerations = Some(vec![object(toleration)]);
    cluster.run_until(159);
    assert_eq!(cluster.pods["store"].metadata.deletion_timestamp, None);
    cluster.run_until(160);
    assert!(cluster.pods["store"].metadata.deletion_timestamp.is_some());
}

#[test]
fn a_pod_that_tolerates_it_for_ever_stays() {
    let mut cluster = cluster_that_loses_a_node(None, true);
    let toleration = json!({"key": "node.kubernetes.io/unreachable", "operator": "Exists"});
    cluster.pods.get_mut("store").unwrap().spec.as_mut().unwrap().tolerations = Some(vec![object(toleration)]);
    cluster.run_until(100_000);
    assert_eq!(cluster.pods["store"].metadata.deletion_timestamp, None);
}

#[test]
fn after_a_short_partition_the_pods_report_again() {
    let mut cluster = cluster_that_loses_a_node(Some(200), true);
    cluster.run_until(199);
    assert_eq!(cluster.condition("store", "Ready"), (false, 150));
    cluster.run_until(1000);
    assert_eq!(ready(&cluster, "a1"), "True");
    assert_eq!(cluster.taints("a1"), Vec::<String>::new());
    assert_eq!(cluster.condition("store", "Ready"), (true, 200));
    assert_eq!(cluster.container("store"), ("running since 2".to_owned(), 0));
    assert_eq!(cluster.pods["store"].metadata.deletion_timestamp, None);
}

#[test]
fn after_a_loss_of_power_the_containers_start_again() {
    let mut cluster = cluster_that_loses_a_node(Some(120), false);
    cluster.run_until(119);
    // Nobody noticed: the grace period is longer.
    assert_eq!(cluster.condition("store", "Ready"), (true, 3));
    cluster.run_until(1000);
    assert_eq!(cluster.container("store"), ("running since 120".to_owned(), 1));
    assert_eq!(cluster.condition("store", "Ready"), (true, 121));
}

#[test]
fn a_node_that_comes_back_late_finishes_off_what_was_evicted() {
    let mut cluster = cluster_that_loses_a_node(Some(600), true);
    cluster.run_until(599);
    assert!(cluster.pods.contains_key("store"));
    cluster.run_until(600);
    assert!(!cluster.pods.contains_key("store"));
}

#[test]
fn the_pods_of_a_deleted_node_are_collected() {
    let mut cluster = cluster_that_loses_a_node(None, true);
    cluster.run_until(500);
    assert!(cluster.pods.contains_key("store"));
    cluster.nodes.remove("a1");
    cluster.run_until(500);
    assert!(!cluster.pods.contains_key("store"));
    assert!(cluster.pods.contains_key("other"));
}

#[test]
fn a_lost_node_marked_out_of_service_frees_its_pods() {
    let mut cluster = cluster_that_loses_a_node(None, false);
    cluster.run_until(200);
    let taint = json!({"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"});
    cluster.nodes.get_mut("a1").unwrap().spec.as_mut().unwrap().taints.as_mut().unwrap().push(object(taint));
    cluster.run_until(200);
    assert!(!cluster.pods.contains_key("store"));
}

#[test]
fn a_node_that_is_well_does_not_free_its_pods_by_that_mark() {
    let mut cluster = Cluster::default();
    cluster.add_node("a1", "a");
    cluster.add_pod("store", "a1", &[]);
    cluster.settings.stop = jiff::SignedDuration::from_secs(20);
    cluster.run_until(10);
    let taint = json!({"key": "node.kubernetes.io/out-of-service", "effect": "NoSchedule"});
    cluster.nodes.get_mut("a1").unwrap().spec.get_or_insert_default().taints = Some(vec![object(taint)]);
    cluster.delete_pod("store", 30);
    cluster.run_until(29);
    assert!(cluster.pods.contains_key("store"));
}

#[test]
fn a_cordon_becomes_a_taint_and_goes_with_it() {
    let mut cluster = Cluster::default();
    cluster.add_node("a1", "a");
    cluster.run_until(1);
    cluster.nodes.get_mut("a1").unwrap().spec.get_or_insert_default().unschedulable = Some(true);
    cluster.run_until(2);
    assert_eq!(cluster.taints("a1"), ["unschedulable:NoSchedule"]);
    cluster.nodes.get_mut("a1").unwrap().spec.get_or_insert_default().unschedulable = None;
    cluster.run_until(3);
    assert_eq!(cluster.taints("a1"), Vec::<String>::new());
}
