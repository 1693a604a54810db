//! Logical fault domains find no host.

use std::collections::BTreeSet;

use super::cluster::{Cluster, codes};
use super::moves::{ids, into, moved, packed, storage};
use crate::{Distribution, NodeFacts};

/// Only the hosts that have storage processes are left.
pub(super) fn no_host_to_spare(cluster: &mut Cluster) {
    let storage = cluster.kube.pods.iter().filter(|(name, _)| name.contains("storage"));
    cluster.nodes = storage.filter_map(|(_, pod)| pod.node.clone()).collect::<BTreeSet<_>>().into_iter().collect();
}

#[test]
fn a_domain_without_a_host_is_waited_for_or_set_aside() {
    for required in [true, false] {
        let mut cluster = packed(6, 3);
        no_host_to_spare(&mut cluster);
        cluster.desired.distribution = Some(Distribution { domains: 4, required });
        cluster.until(|decision| codes(decision).contains(&"TooFewHosts"));
        cluster.pass(400);
        cluster.rounds(200);
        let aside: Vec<&str> = cluster.kube.recorded.set_aside.keys().map(String::as_str).collect();
        if required {
            assert_eq!(aside, Vec::<&str>::new());
            assert!(codes(&cluster.decided()).contains(&"TooFewHosts"));
            assert_eq!(storage(&cluster), [2, 2, 1, 1]);
        } else {
            assert_eq!(aside, ["storage-3"]);
            assert_eq!(storage(&cluster), [2, 2, 2]);
            assert!(codes(&cluster.decided()).is_empty(), "{:?}", codes(&cluster.decided()));
        }
        cluster.nodes.push("node-new".to_owned());
        moved(&mut cluster);
        assert!(cluster.kube.recorded.set_aside.is_empty());
        assert_eq!(storage(&cluster), [2, 2, 1, 1]);
    }
}

#[test]
fn a_node_that_goes_and_comes_back_is_no_new_one() {
    let mut cluster = packed(6, 3);
    no_host_to_spare(&mut cluster);
    into(&mut cluster, 4);
    cluster.until(|decision| decision.status.set_aside.contains_key("storage-3"));
    cluster.rounds(200);
    let before = ids(&cluster);
    let nodes = cluster.nodes.clone();
    cluster.nodes.pop();
    cluster.round(5);
    cluster.nodes = nodes;
    cluster.rounds(20);
    assert_eq!((cluster.kube.recorded.set_aside.len(), ids(&cluster)), (1, before));
    // Another one in its place is.
    let newest = NodeFacts { ready: true, created: Some(cluster.now), ..NodeFacts::default() };
    cluster.kube.nodes.insert(cluster.nodes[0].clone(), newest);
    cluster.round(5);
    assert!(cluster.kube.recorded.set_aside.is_empty());
}

#[test]
fn who_finds_no_host_is_not_replaced_again_and_again() {
    for required in [true, false] {
        let mut cluster = packed(6, 3);
        no_host_to_spare(&mut cluster);
        // Sooner than a domain is set aside, and with all the room there can be.
        cluster.desired.automation.replacements.after = jiff::SignedDuration::from_secs(60);
        cluster.desired.automation.replacements.at_once = 10;
        cluster.desired.distribution = Some(Distribution { domains: 4, required });
        cluster.until(|decision| codes(decision).contains(&"TooFewHosts"));
        let waiting = ids(&cluster);
        for _ in 0..40 {
            // Some volumes are made before there is a pod.
            cluster.kube.claims.values_mut().for_each(|claim| claim.bound = true);
            cluster.round(5);
        }
        assert_eq!(ids(&cluster), waiting);
        cluster.pass(400);
        cluster.rounds(200);
        let aside: Vec<&str> = cluster.kube.recorded.set_aside.keys().map(String::as_str).collect();
        assert_eq!(aside, if required { vec![] } else { vec!["storage-3"] });
    }
}

#[test]
fn a_domain_of_which_some_find_no_room_is_named_and_stays_in_use() {
    let mut cluster = packed(6, 3);
    let pod = cluster.pod("storage-6");
    (pod.node, pod.ready, pod.phase) = (None, false, crate::PodPhase::Pending);
    cluster.unplaceable.insert("storage-6".to_owned());
    cluster.round(5);
    cluster.pass(400);
    let decision = cluster.decided();
    let hold = decision.holds.iter().find(|hold| hold.reason == crate::reasons::TOO_FEW_HOSTS).unwrap();
    let domain = cluster.kube.recorded.groups[&crate::ProcessGroupId("storage-6".to_owned())].domain_key().unwrap().to_owned();
    assert_eq!((hold.about.as_str(), hold.measured.as_str()), (domain.as_str(), "1 pods without a node"));
    assert!(hold.sentence.contains("1 of 2 pods"), "{}", hold.sentence);
    assert!(decision.status.set_aside.is_empty());
}

#[test]
fn no_domain_is_set_aside_that_the_redundancy_mode_needs() {
    let mut cluster = packed(6, 3);
    for group in ["storage-6", "storage-7", "storage-8", "storage-9", "storage-10", "storage-11"] {
        let pod = cluster.pod(group);
        (pod.node, pod.ready, pod.phase) = (None, false, crate::PodPhase::Pending);
        cluster.unplaceable.insert(group.to_owned());
    }
    cluster.round(5);
    cluster.pass(400);
    assert_eq!(cluster.decided().status.set_aside.len(), 1, "double needs two");
}

#[test]
fn with_fewer_domains_those_that_are_aside_are_taken_up_where_the_mode_needs_them() {
    let mut cluster = packed(6, 2);
    no_host_to_spare(&mut cluster);
    into(&mut cluster, 4);
    cluster.until(|decision| decision.status.set_aside.keys().filter(|domain| domain.starts_with("storage")).count() == 2);
    // Those that are aside need not be the last ones.
    let aside = cluster.kube.recorded.set_aside.clone();
    let moved = aside.into_iter().map(|(domain, aside)| (domain.replace("-3", "-1"), aside)).collect();
    cluster.kube.recorded.set_aside = moved;
    into(&mut cluster, 3);
    let decision = cluster.decided();
    assert!(!decision.status.set_aside.keys().any(|domain| domain.starts_with("storage")), "{:?}", decision.status.set_aside);
}
