//! Lost pods are made again before the database is asked, where everything that has to be written down is.

use quorate_quorum::Epoch;

use super::cluster::{Change, Cluster, group_id};
use super::told::told_step;
use crate::decide::lost_pods;

/// A cluster that has just lost the pod of a storage process and that of a stateless one.
fn bereft() -> Cluster {
    let mut cluster = Cluster::usual();
    for lost in ["storage-8", "stateless-5"] {
        cluster.kube.pods.remove(&format!("sample-{lost}"));
    }
    cluster
}

fn brought_back(change: Change, observed: Option<i64>) -> Vec<String> {
    let mut cluster = bereft();
    change(&mut cluster);
    lost_pods(&cluster.seen(), observed).iter().map(told_step).collect()
}

const STATELESS: &str = "create pod sample-stateless-5";
const STORAGE: &str = "create pod sample-storage-8";

#[test]
fn pods_of_those_on_record_come_back_whatever_the_database_says() {
    assert_eq!(brought_back(|_| {}, Some(1)), [STORAGE, STATELESS]);
    assert_eq!(brought_back(|cluster| cluster.silent_since = Some(cluster.now), Some(1)), [STORAGE, STATELESS]);
}

#[test]
fn nothing_but_pods_is_made_before_the_database_is_asked() {
    let change: Change = |cluster| {
        cluster.kube.services.clear();
        cluster.desired.counts.insert(crate::ProcessClass::Storage, 6);
    };
    assert_eq!(brought_back(change, Some(1)), [STORAGE, STATELESS]);
}

#[test]
fn who_is_to_go_who_lost_its_volume_and_who_was_just_made_wait_for_the_round() {
    let marked: Change = |cluster| {
        let now = cluster.now;
        cluster.kube.recorded.groups.get_mut(&group_id("storage-8")).unwrap().removal = Some(now);
    };
    assert_eq!(brought_back(marked, Some(1)), [STATELESS]);
    assert_eq!(brought_back(|cluster| drop(cluster.kube.claims.remove("sample-storage-8-data")), Some(1)), [STATELESS]);
    assert_eq!(brought_back(|cluster| cluster.kube.unseen = ["sample-stateless-5".to_owned()].into(), Some(1)), [STORAGE]);
    assert_eq!(brought_back(|cluster| drop(cluster.kube.recorded.groups.remove(&group_id("stateless-5"))), Some(1)), [STORAGE]);
}

#[test]
fn nothing_comes_back_before_what_is_asked_for_now_is_on_record() {
    assert!(brought_back(|_| {}, Some(0)).is_empty(), "the object was edited");
    assert!(brought_back(|_| {}, None).is_empty(), "there is no status");
    assert!(brought_back(|cluster| cluster.kube.recorded.epoch = Epoch(0), Some(1)).is_empty(), "another leadership wrote it");
    assert!(brought_back(|cluster| cluster.desired.skip = true, Some(1)).is_empty());
    assert!(brought_back(|cluster| cluster.desired.deleting = true, Some(1)).is_empty());
}
