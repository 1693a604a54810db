//! Stories about pods: how they start, crash and stop.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each file of stories needs another part of the cluster")]

mod cluster;

use std::collections::BTreeSet;

use cluster::{Cluster, NAMESPACE, at};
use jiff::SignedDuration;
use quorate_world::kubelet::{Fault, Window};

fn cluster_with_a_pod() -> Cluster {
    let mut cluster = Cluster::default();
    cluster.add_node("a1", "a");
    cluster.add_pod("store", "a1", &[]);
    cluster
}

fn crash_loop(from: i64, until: Option<i64>) -> Fault {
    Fault::ContainerCrashLoops {
        namespace: NAMESPACE.to_owned(),
        pod: "store".to_owned(),
        container: "main".to_owned(),
        during: Window { from: at(from), until: until.map(at) },
        runs_for: SignedDuration::from_secs(1),
        exit_code: 1,
    }
}

#[test]
fn a_pod_is_seen_then_runs_then_is_ready() {
    let mut cluster = cluster_with_a_pod();
    cluster.run_until(1);
    assert_eq!(cluster.phase("store"), "Pending");
    assert_eq!(cluster.container("store"), ("ContainerCreating".to_owned(), 0));
    cluster.run_until(2);
    assert_eq!(cluster.phase("store"), "Running");
    assert_eq!(cluster.container("store"), ("running since 2".to_owned(), 0));
    assert_eq!(cluster.condition("store", "Ready"), (false, 0));
    cluster.run_until(60);
    assert_eq!(cluster.condition("store", "Ready"), (true, 3));
    assert_eq!(cluster.condition("store", "ContainersReady"), (true, 3));
    assert_eq!(cluster.condition("store", "Initialized"), (true, 0));
    let status = cluster.pods["store"].status.clone().unwrap();
    assert!(status.pod_ip.unwrap().starts_with("198.18."));
    assert!(status.host_ip.unwrap().starts_with("198.19."));
}

#[test]
fn no_two_pods_have_the_same_address() {
    let mut cluster = Cluster::default();
    cluster.add_node("a1", "a");
    (0..500).for_each(|number| cluster.add_pod(&format!("pod-{number}"), "a1", &[]));
    cluster.run_until(10);
    let addresses: BTreeSet<_> = cluster.pods.values().map(|pod| pod.status.clone().unwrap().pod_ip.unwrap()).collect();
    assert_eq!(addresses.len(), 500);
}

#[test]
fn a_container_that_crashes_once_is_started_again_at_once() {
    let mut cluster = cluster_with_a_pod();
    cluster.settings.faults = vec![Fault::ContainerCrashes {
        namespace: NAMESPACE.to_owned(),
        pod: "store".to_owned(),
        container: "main".to_owned(),
        at: at(100),
        exit_code: 139,
    }];
    cluster.run_until(100);
    assert_eq!(cluster.container("store"), ("running since 100".to_owned(), 1));
    assert_eq!(cluster.condition("store", "Ready"), (false, 100));
    cluster.run_until(1000);
    assert_eq!(cluster.container("store"), ("running since 100".to_owned(), 1));
    assert_eq!(cluster.condition("store", "Ready"), (true, 101));
}

#[test]
fn a_container_that_keeps_crashing_waits_longer_each_time() {
    let mut cluster = cluster_with_a_pod();
    cluster.settings.faults = vec![crash_loop(0, None)];
    // It starts at 2, crashes at 3 and starts again at once, crashes at 4.
    cluster.run_until(4);
    assert_eq!(cluster.container("store"), ("CrashLoopBackOff back-off 10s".to_owned(), 1));
    cluster.run_until(14);
    assert_eq!(cluster.container("store"), ("running since 14".to_owned(), 2));
    cluster.run_until(15);
    assert_eq!(cluster.container("store"), ("CrashLoopBackOff back-off 20s".to_owned(), 2));
    for (second, back_off, restarts) in [(36, "40s", 3), (77, "1m20s", 4), (158, "2m40s", 5), (319, "5m0s", 6), (620, "5m0s", 7)]
    {
        cluster.run_until(second);
        assert_eq!(cluster.container("store"), (format!("CrashLoopBackOff back-off {back_off}"), restarts), "at {second}");
    }
}

#[test]
fn ten_minutes_of_running_forgive_earlier_crashes() {
    let mut cluster = cluster_with_a_pod();
    cluster.settings.faults = vec![crash_loop(0, Some(10)), crash_loop(2000, Some(2001))];
    cluster.run_until(1000);
    assert_eq!(cluster.container("store"), ("running since 14".to_owned(), 2));
    cluster.run_until(2010);
    assert_eq!(cluster.container("store"), ("running since 2000".to_owned(), 3));
}

#[test]
fn a_pod_can_run_without_being_ready() {
    let mut cluster = cluster_with_a_pod();
    let during = Window { from: at(50), until: Some(at(70)) };
    cluster.settings.faults = vec![Fault::PodNotReady { namespace: NAMESPACE.to_owned(), pod: "store".to_owned(), during }];
    cluster.run_until(60);
    assert_eq!(cluster.condition("store", "Ready"), (false, 50));
    assert_eq!(cluster.container("store"), ("running since 2".to_owned(), 0));
    cluster.run_until(80);
    assert_eq!(cluster.condition("store", "Ready"), (true, 70));
}

#[test]
fn a_pod_stops_in_its_own_time() {
    let mut cluster = cluster_with_a_pod();
    cluster.settings.stop = SignedDuration::from_secs(5);
    cluster.run_until(10);
    cluster.delete_pod("store", 30);
    cluster.run_until(14);
    assert_eq!(cluster.container("store"), ("running since 2".to_owned(), 0));
    cluster.run_until(15);
    assert!(cluster.pods.is_empty());
}

#[test]
fn a_pod_that_does_not_stop_is_killed_when_its_grace_period_ends() {
    let mut cluster = cluster_with_a_pod();
    cluster.settings.stop = SignedDuration::from_secs(600);
    cluster.run_until(10);
    cluster.delete_pod("store", 30);
    cluster.run_until(39);
    assert_eq!(cluster.pods.len(), 1);
    cluster.run_until(40);
    assert!(cluster.pods.is_empty());
}

#[test]
fn a_pod_that_never_ran_goes_at_once_and_so_does_one_without_a_node() {
    let mut cluster = cluster_with_a_pod();
    cluster.run_until(1);
    cluster.delete_pod("store", 30);
    cluster.add_pod("nowhere", "", &[]);
    cluster.delete_pod("nowhere", 30);
    cluster.run_until(1);
    assert!(cluster.pods.is_empty());
}
