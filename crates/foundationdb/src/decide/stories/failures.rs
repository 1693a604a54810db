//! Process groups that fail for too long are replaced.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use super::cluster::{Cluster, codes};
use crate::{AtMost, GroupCondition, NodeFacts, PodFacts, PodPhase, PodUpdate};

const TWO_HOURS: i64 = 7200;

#[test]
fn a_failed_group_is_replaced_after_its_time_and_the_new_one_comes_first() {
    let mut cluster = Cluster::usual();
    cluster.kill("storage-8");
    cluster.rounds(2);
    cluster.pass(TWO_HOURS - 60);
    assert!(cluster.decided().status.groups.values().all(|group| group.removal.is_none()));
    cluster.pass(60);
    let done = cluster.rounds(100);
    let at = |what: &str| done.iter().position(|step| step == what).unwrap_or_else(|| panic!("{what}: {done:?}"));
    assert!(at("create pod sample-storage-12") < at("delete pod sample-storage-8"));
    assert!(at("exclude locality_instance_id:storage-8") < at("delete claim sample-storage-8-data"));
    assert!(!cluster.kube.recorded.groups.contains_key(&super::cluster::group_id("storage-8")));
}

#[test]
fn whoever_comes_back_in_time_stays() {
    let mut cluster = Cluster::usual();
    cluster.kill("storage-8");
    cluster.rounds(3);
    cluster.pass(TWO_HOURS - 60);
    cluster.dead.clear();
    cluster.rounds(60);
    assert!(cluster.marked().is_empty());
}

/// Kubernetes keeps a volume that is being deleted as long as its pod is there; nobody takes the deletion back.
#[test]
fn whose_volume_is_being_deleted_is_replaced_while_it_still_serves() {
    let mut cluster = Cluster::usual();
    let now = cluster.now;
    cluster.kube.claims.get_mut("sample-storage-8-data").unwrap().deleted_since = Some(now);
    let decision = cluster.round(5);
    assert!(codes(&decision).contains(&"ClaimTerminating"), "{:?}", decision.holds);
    cluster.rounds(2);
    cluster.pass(TWO_HOURS);
    let done = cluster.rounds(100);
    let at = |what: &str| done.iter().position(|step| step == what).unwrap_or_else(|| panic!("{what}: {done:?}"));
    assert!(at("create pod sample-storage-12") < at("exclude locality_instance_id:storage-8"));
    assert!(at("exclude locality_instance_id:storage-8") < at("delete pod sample-storage-8"));
}

#[test]
fn a_volume_that_is_being_deleted_holds_other_zones_up_for_a_while_only() {
    let mut cluster = Cluster::usual();
    let now = cluster.now;
    cluster.kube.claims.get_mut("sample-storage-8-data").unwrap().deleted_since = Some(now);
    cluster.rounds(2);
    cluster.desired.automation.pod_update = PodUpdate::Delete;
    cluster.desired.image = "fdb:another".to_owned();
    let elsewhere = "delete pod sample-storage-9".to_owned();
    assert!(!cluster.rounds(10).contains(&elsewhere));
    cluster.pass(cluster.desired.automation.ignore_terminating_after.as_secs());
    let done = cluster.rounds(40);
    assert!(done.contains(&elsewhere), "{done:?} {:?}", cluster.decided().holds);
}

#[test]
fn a_disk_that_complains_is_a_failure_and_a_pod_without_a_node_too() {
    let mut cluster = Cluster::usual();
    cluster.spoil(|report| {
        let storage = report.processes.values_mut().find(|process| process.group.as_ref().is_some_and(|id| id.0 == "storage-8"));
        if let Some(process) = storage {
            process.messages = ["io_error".to_owned()].into();
        }
    });
    cluster.rounds(2);
    cluster.pass(TWO_HOURS);
    cluster.round(5);
    assert_eq!(cluster.marked(), ["storage-8"]);
    let mut cluster = Cluster::usual();
    cluster.unplaceable.insert("stateless-5".to_owned());
    cluster.kube.pods.remove("sample-stateless-5");
    cluster.rounds(3);
    assert!(codes(&cluster.decided()).contains(&"PodPending"));
    cluster.pass(TWO_HOURS);
    cluster.round(5);
    assert_eq!(cluster.marked(), ["stateless-5"]);
}

#[test]
fn a_pod_that_does_not_go_is_a_failure_although_its_process_goes_on() {
    let mut cluster = Cluster::usual();
    let asked_to_go = cluster.now;
    cluster.pod("storage-8").deleted_since = Some(asked_to_go);
    let fails = |cluster: &Cluster| cluster.group("storage-8").conditions.contains_key(&GroupCondition::PodFailing);
    cluster.rounds(59);
    assert!(!fails(&cluster), "it is given five minutes");
    cluster.rounds(1);
    assert!(fails(&cluster));
    cluster.pass(TWO_HOURS);
    cluster.round(5);
    assert_eq!(cluster.marked(), ["storage-8"]);
}

#[test]
fn a_pod_that_does_not_get_ready_is_a_failure_although_its_process_goes_on() {
    let failing: [fn(&mut PodFacts); 3] = [
        |pod| pod.ready = false,
        |pod| pod.phase = PodPhase::Unknown,
        |pod| (pod.phase, pod.crashing) = (PodPhase::Pending, Some("foundationdb".to_owned())),
    ];
    for fails in failing {
        let mut cluster = Cluster::usual();
        fails(cluster.pod("stateless-5"));
        cluster.round(5);
        cluster.pass(TWO_HOURS - 60);
        cluster.round(5);
        assert!(cluster.marked().is_empty(), "it is given its time");
        cluster.pass(60);
        cluster.round(5);
        assert_eq!(cluster.marked(), ["stateless-5"]);
    }
}

#[test]
fn nothing_is_replaced_while_the_database_is_down_or_where_it_is_turned_off() {
    let mut cluster = Cluster::usual();
    cluster.kill("storage-8");
    cluster.rounds(3);
    cluster.pass(TWO_HOURS);
    cluster.spoil(|report| report.available = false);
    assert!(codes(&cluster.round(5)).contains(&"ReplacementHeld"));
    cluster.unspoil();
    cluster.desired.automation.replacements.enabled = false;
    assert!(codes(&cluster.round(5)).contains(&"ReplacementHeld"));
    assert!(cluster.marked().is_empty());
}

#[test]
fn crash_loops_of_every_container_are_watched_and_not_replaced() {
    let mut cluster = Cluster::usual();
    cluster.desired.buggify.crash_loop = BTreeMap::from([
        ("foundationdb".to_owned(), BTreeSet::from(["storage-8".to_owned()])),
        ("foundationdb-kubernetes-sidecar".to_owned(), BTreeSet::from(["stateless-5".to_owned()])),
    ]);
    cluster.kill("storage-8");
    cluster.kill("stateless-5");
    cluster.desired.automation.deletion = crate::AtOnce::Nothing;
    cluster.desired.automation.pod_update = crate::PodUpdate::Delete;
    cluster.rounds(3);
    cluster.pass(TWO_HOURS);
    cluster.rounds(3);
    assert!(cluster.marked().is_empty());
}

#[test]
fn maintenance_is_no_failure() {
    let mut cluster = Cluster::usual();
    let zone = cluster.group("storage-8").fault_domain.clone();
    cluster.spoil(move |report| report.maintenance_zone.clone_from(&zone));
    cluster.kill("storage-8");
    cluster.rounds(3);
    cluster.pass(TWO_HOURS);
    cluster.rounds(3);
    assert!(cluster.marked().is_empty());
}

fn tainted(cluster: &mut Cluster, nodes: usize) {
    for node in 1..=nodes {
        let taints = BTreeSet::from(["example.org/broken".to_owned()]);
        cluster.kube.nodes.insert(format!("node-{node}"), NodeFacts { taints, ready: true, ..NodeFacts::default() });
    }
    cluster.desired.automation.replacements.taints.insert("*".to_owned(), SignedDuration::from_secs(60));
}

#[test]
fn a_tainted_node_loses_its_groups_one_by_one_and_many_tainted_nodes_lose_nobody() {
    let mut cluster = Cluster::usual();
    tainted(&mut cluster, 1);
    cluster.rounds(2);
    cluster.pass(60 + 1800);
    cluster.rounds(2);
    cluster.pass(1800);
    cluster.round(5);
    assert_eq!(cluster.marked().len(), 1, "{:?}", cluster.decided().holds);
    let mut cluster = Cluster::usual();
    cluster.desired.automation.replacements.most_tainted_domains = AtMost::Number(1);
    tainted(&mut cluster, 2);
    for _ in 0..3 {
        cluster.pass(1800);
        cluster.rounds(2);
    }
    assert!(cluster.marked().is_empty());
    assert!(codes(&cluster.decided()).contains(&"TooManyTaintedZones"));
}

#[test]
fn deciding_again_marks_nobody_new() {
    let mut cluster = Cluster::usual();
    for id in ["storage-8", "storage-9", "log-4"] {
        cluster.kill(id);
    }
    cluster.rounds(3);
    cluster.pass(TWO_HOURS);
    cluster.round(5);
    for _ in 0..5 {
        let decision = cluster.decided();
        assert_eq!(decision.status.groups.values().filter(|group| group.is_in_flight()).count(), 1);
        assert_eq!(cluster.decided(), decision);
        cluster.pass(1);
    }
}
