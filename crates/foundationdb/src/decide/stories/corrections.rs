//! Pods that can't run as they are get others, whatever the database says; and coordinators that would not be found again keep theirs.

use super::cluster::{Cluster, codes, group_id, told};
use super::updates::{another_image, deleted};
use crate::ProcessClass::{Log, Stateless, Storage};
use crate::{AtOnce, PodPhase, PodUpdate};

/// A cluster whose coordinators are written by the addresses of their pods, asked for another image.
fn known_by_address() -> Cluster {
    let mut cluster = Cluster::new(&[(Storage, 4), (Log, 4), (Stateless, 3)]);
    cluster.desired.routing.dns_in_cluster_file = false;
    let mut cluster = cluster.settled();
    cluster.desired.image = "fdb:another".to_owned();
    cluster.desired.automation.pod_update = PodUpdate::Delete;
    cluster
}

/// The pods of coordinators among these.
fn of_coordinators(cluster: &Cluster, pods: &[&str]) -> usize {
    let address = |pod: &&&str| cluster.kube.pods.get(**pod).and_then(|pod| pod.addresses.first().cloned()).unwrap_or_default();
    let connection = cluster.kube.recorded.connection.clone().unwrap_or_default();
    pods.iter().filter(|pod| connection.contains(&format!("{}:", address(pod)))).count()
}

#[test]
fn all_at_once_spares_coordinators_that_would_not_be_found_again() {
    let mut cluster = known_by_address();
    cluster.desired.automation.deletion = AtOnce::All;
    let done = told(&cluster.decided());
    let gone = deleted(&done);
    assert_eq!((gone.len(), of_coordinators(&cluster, &gone)), (9, 1), "{gone:?}");
}

/// Every pod is where it was and can't run, and the database is silent; then another image is asked for.
fn nothing_runs(mut cluster: Cluster) -> Cluster {
    cluster.silent_since = Some(cluster.now);
    let groups: Vec<String> = cluster.kube.recorded.groups.keys().map(|id| id.0.clone()).collect();
    for id in groups {
        let pod = cluster.pod(&id);
        (pod.phase, pod.ready, pod.crashing) = (PodPhase::Pending, false, Some("foundationdb".to_owned()));
        cluster.kill(&id);
    }
    cluster
}

#[test]
fn pods_that_cannot_run_are_corrected_though_the_database_is_down_and_nobody_is_replaced_for_it() {
    let mut cluster = another_image();
    cluster.desired.automation.pod_update = PodUpdate::ReplaceTransactionSystem;
    // One was on its way out before, and the database may need what is on it.
    cluster.kube.recorded.groups.get_mut(&group_id("log-2")).unwrap().removal = Some(cluster.now);
    let mut cluster = nothing_runs(cluster);
    let done = cluster.rounds(3);
    assert_eq!(cluster.marked(), ["log-2"]);
    assert_eq!(deleted(&done).len(), 11, "{done:?}");
}

#[test]
fn who_is_marked_in_the_same_moment_keeps_the_pod_it_has() {
    let mut cluster = another_image();
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.desired.automation.deletion = AtOnce::All;
    let done = told(&cluster.decided());
    assert_eq!(deleted(&done).len(), 10);
    assert!(!deleted(&done).contains(&"sample-storage-8"), "{done:?}");
}

#[test]
fn without_a_whole_report_nobody_is_marked_for_another_pod() {
    let mut cluster = another_image();
    cluster.desired.automation.pod_update = PodUpdate::ReplaceTransactionSystem;
    cluster.silent_since = Some(cluster.now);
    cluster.rounds(3);
    assert_eq!(cluster.marked(), Vec::<String>::new());
    assert!(codes(&cluster.decided()).contains(&"ReplacementHeld"));
}

#[test]
fn a_pod_whose_sidecar_crashes_may_serve() {
    let mut cluster = another_image();
    cluster.silent_since = Some(cluster.now);
    let pod = cluster.pod("log-2");
    (pod.ready, pod.crashing) = (false, Some("sidecar".to_owned()));
    assert!(deleted(&cluster.rounds(3)).is_empty());
}

#[test]
fn coordinators_that_cannot_run_keep_the_addresses_they_are_known_by() {
    let cluster = nothing_runs(known_by_address());
    let done = told(&cluster.decided());
    let gone = deleted(&done);
    assert_eq!((gone.len(), of_coordinators(&cluster, &gone)), (8, 0), "{gone:?}");
    assert!(codes(&cluster.decided()).contains(&"PodUpdateHeld"));
}
