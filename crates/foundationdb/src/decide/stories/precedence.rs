//! When many pods are lost at once, those who are to go and still have something get their hosts first.

use std::collections::BTreeSet;

use super::cluster::{Cluster, told};
use super::moves;
use crate::ProcessClass;
use crate::decide::ClusterDecision;

/// Fault domains were turned off a while ago: some storage is still in them, some is where it is to stay. Then every pod is lost, and with them the
/// database.
pub(super) fn halfway_when_all_pods_are_lost() -> Cluster {
    let mut cluster = moves::packed(6, 3);
    cluster.desired.generation += 1;
    cluster.desired.distribution = None;
    let comes = |cluster: &ClusterDecision| {
        let mut groups = cluster.status.groups.values().filter(|group| group.class == ProcessClass::Storage);
        groups.any(|group| group.removal.is_none() && !group.packed && !group.addresses.is_empty())
    };
    cluster.until(comes);
    cluster.kube.pods.clear();
    cluster.silent_since = Some(cluster.now);
    cluster
}

/// The storage processes whose pods are made.
fn made(decision: &ClusterDecision) -> BTreeSet<String> {
    let told = told(decision);
    told.iter()
        .filter_map(|step| step.strip_prefix("create pod sample-"))
        .filter(|id| id.starts_with("storage"))
        .map(str::to_owned)
        .collect()
}

fn storage(cluster: &Cluster, to_go: bool) -> BTreeSet<String> {
    let groups = cluster.kube.recorded.groups.iter().filter(|(_, group)| group.class == ProcessClass::Storage);
    let of_a_kind = groups.filter(|(_, group)| group.removal.is_some() == to_go && !group.may_go() && (to_go || !group.packed));
    of_a_kind.map(|(id, _)| id.0.clone()).collect()
}

fn waiting(decision: &ClusterDecision) -> BTreeSet<String> {
    let held = decision.holds.iter().filter(|hold| hold.reason == crate::reasons::POD_HELD);
    held.map(|hold| hold.about.clone()).filter(|about| about.starts_with("storage")).collect()
}

#[test]
fn who_is_to_go_gets_a_host_before_who_comes() {
    let mut cluster = halfway_when_all_pods_are_lost();
    let (going, coming) = (storage(&cluster, true), storage(&cluster, false));
    assert!(!going.is_empty() && !coming.is_empty());
    let first = cluster.round(1);
    assert!(made(&first).is_superset(&going), "{:?} of {going:?}", made(&first));
    assert!(made(&first).is_disjoint(&coming), "{:?}", made(&first));
    assert!(waiting(&first).is_superset(&coming), "{:?}", first.holds);
    let then = cluster.round(1);
    assert!(made(&then).is_superset(&coming), "{:?}", made(&then));
}

#[test]
fn who_finds_no_host_holds_nobody_up_for_long() {
    let mut cluster = halfway_when_all_pods_are_lost();
    cluster.unplaceable = storage(&cluster, true);
    let coming = storage(&cluster, false);
    for _ in 0..5 {
        let made = made(&cluster.round(10));
        assert!(made.is_disjoint(&coming), "{made:?} of {coming:?}");
    }
    let made_then = (0..2).flat_map(|_| made(&cluster.round(10))).collect::<BTreeSet<_>>();
    assert!(made_then.is_superset(&coming), "{made_then:?}");
}

#[test]
fn coordinators_come_first_and_who_keeps_nothing_and_goes_comes_last() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove = ["storage-9", "stateless-5"].map(str::to_owned).into();
    cluster.database.drains_in = jiff::SignedDuration::from_hours(1);
    cluster.round(1);
    let known: BTreeSet<String> = cluster.kube.recorded.groups.keys().map(|id| id.0.clone()).collect();
    cluster.kube.pods.clear();
    let made: Vec<String> =
        told(&cluster.round(5)).iter().filter_map(|step| Some(step.strip_prefix("create pod sample-")?.to_owned())).collect();
    let first_known: Vec<&String> = made.iter().filter(|id| known.contains(*id)).collect();
    let kinds: Vec<&str> = first_known.iter().map(|id| id.rsplit_once('-').map_or("", |(class, _)| class)).collect();
    assert_eq!(kinds[..3], ["log"; 3], "the coordinators: {made:?}");
    assert_eq!(first_known[3], "storage-9", "it has data, and nobody makes it again later: {made:?}");
    assert_eq!(first_known.last().unwrap().as_str(), "stateless-5");
}
