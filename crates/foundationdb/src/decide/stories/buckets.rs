//! Replacement buckets: how many failed process groups are replaced at once, per kind.

use super::cluster::{Cluster, codes, group_id};
use crate::BucketLimits;
use crate::ProcessClass::{Log, Stateless, Storage};
use crate::decide::ClusterDecision;

const TWO_HOURS: i64 = 7200;

/// A cluster in which these die for good.
fn without(ids: &[&str]) -> Cluster {
    let mut cluster = Cluster::usual();
    cluster.database.drains_in = jiff::SignedDuration::from_hours(10);
    for id in ids {
        cluster.kill(id);
    }
    cluster.rounds(3);
    cluster
}

fn enabled(cluster: &mut Cluster, storage: i64, log: i64, stateless: i64) {
    cluster.desired.automation.replacements.buckets = Some(BucketLimits { storage, log, stateless });
}

#[test]
fn a_full_storage_bucket_never_delays_log_or_stateless() {
    let mut cluster = without(&["storage-8", "storage-9", "log-4", "stateless-5"]);
    enabled(&mut cluster, 1, 1, 1);
    cluster.pass(TWO_HOURS);
    let decision = cluster.round(5);
    assert_eq!(cluster.marked(), ["log-4", "stateless-5", "storage-8"]);
    let hold = decision.holds.iter().find(|hold| hold.reason.0 == "ReplacementsInFlight").unwrap();
    assert_eq!((hold.about.as_str(), hold.released_by.as_str()), ("storage-9", "storage-8 being excluded"));
    let shown: Vec<_> = decision.status.buckets.iter().map(|shown| (shown.bucket.as_str(), shown.used, shown.limit)).collect();
    assert_eq!(shown, [("storage", 1, 1), ("log", 1, 1), ("stateless", 1, 1)]);
}

#[test]
fn turned_off_there_is_one_counter_for_all() {
    let mut cluster = without(&["storage-8", "log-4", "stateless-5"]);
    cluster.pass(TWO_HOURS);
    let decision = cluster.round(5);
    assert_eq!(cluster.marked().len(), 1, "all failed at the same time, so one of them, the first by name");
    assert_eq!(codes(&decision).iter().filter(|code| **code == "ReplacementsInFlight").count(), 2);
}

#[test]
fn zero_stops_all_whatever_the_buckets_say() {
    let mut cluster = without(&["storage-8", "log-4", "stateless-5"]);
    enabled(&mut cluster, 5, 5, 5);
    cluster.desired.automation.replacements.at_once = 0;
    cluster.pass(TWO_HOURS);
    let decision = cluster.round(5);
    assert_eq!(cluster.marked(), [""; 0]);
    assert_eq!(codes(&decision).iter().filter(|code| **code == "ReplacementsStopped").count(), 3);
}

#[test]
fn a_bucket_of_zero_stops_its_kind_and_no_other() {
    let mut cluster = without(&["storage-8", "log-4"]);
    enabled(&mut cluster, 0, 1, 1);
    cluster.pass(TWO_HOURS);
    cluster.rounds(100);
    let replaced =
        |cluster: &Cluster, id: &str| cluster.kube.recorded.groups.get(&group_id(id)).is_none_or(|group| group.removal.is_some());
    assert!(replaced(&cluster, "log-4"));
    assert!(!replaced(&cluster, "storage-8"));
    // Not even while somebody whom a user asked to go waits for the dead one.
    cluster.desired.remove = ["storage-9".to_owned()].into();
    cluster.rounds(100);
    assert!(!replaced(&cluster, "storage-8"));
    let decision = cluster.decided();
    let hold = decision.holds.iter().find(|hold| hold.reason.0 == "ReplacementsStopped").unwrap();
    assert_eq!((hold.about.as_str(), hold.released_by.as_str()), ("storage-8", "a limit above 0 for storage"));
}

#[test]
fn what_a_user_asked_for_counts_as_in_flight_and_is_not_held_itself() {
    let mut cluster = without(&["storage-8"]);
    cluster.desired.remove = ["storage-9", "storage-10"].map(str::to_owned).into();
    cluster.pass(TWO_HOURS);
    let decision = cluster.round(5);
    assert_eq!(cluster.marked(), ["storage-10", "storage-9"]);
    assert!(codes(&decision).contains(&"ReplacementsInFlight"));
}

#[test]
fn a_dead_one_whom_all_in_flight_wait_for_is_replaced_beyond_the_limit() {
    let mut cluster = without(&["storage-8"]);
    cluster.desired.remove = ["storage-9", "storage-10"].map(str::to_owned).into();
    cluster.pass(TWO_HOURS);
    cluster.round(5);
    // The data of one of them moves for ten hours. Meanwhile nobody waits for the dead one alone.
    cluster.rounds(100);
    assert_eq!(cluster.marked(), ["storage-10", "storage-9"]);
    cluster.database.drains_in = jiff::SignedDuration::ZERO;
    let goes = |decision: &ClusterDecision| {
        decision.status.groups.get(&group_id("storage-8")).is_none_or(|group| group.removal.is_some())
    };
    let decision = cluster.until(goes);
    let in_flight: Vec<_> =
        decision.status.groups.iter().filter(|(_, group)| group.is_in_flight()).map(|(id, _)| &id.0).collect();
    assert_eq!(in_flight, ["storage-8", "storage-9"], "the one was to be there before the other goes");
    cluster.rounds(200);
    assert_eq!(cluster.marked(), [""; 0]);
    assert_eq!(codes(&cluster.decided()), [""; 0]);
}

/// Two storage servers run in every pod, but one in those of these.
fn two_servers_in_each_pod_but(cluster: &mut Cluster, half_dead: &'static [&'static str]) {
    cluster.spoil(move |report| {
        let has_two = |process: &crate::ProcessReport| {
            process.group.as_ref().is_some_and(|id| id.0.starts_with("storage") && !half_dead.contains(&id.0.as_str()))
        };
        let second = report.processes.iter().filter(|(_, process)| has_two(process));
        let second: Vec<_> = second.map(|(at, process)| (at.replace(":4501", ":4503"), process.clone())).collect();
        report.processes.extend(second);
    });
}

#[test]
fn a_dead_log_is_replaced_beyond_the_limit_of_fault_domains_too_for_the_transaction_system_goes_together() {
    let mut cluster = without(&["log-1"]);
    cluster.desired.automation.replacements.by_fault_domain = true;
    cluster.desired.remove = ["log-2", "stateless-5"].map(str::to_owned).into();
    cluster.rounds(20);
    assert_eq!(cluster.marked(), ["log-2", "stateless-5"]);
    cluster.pass(TWO_HOURS);
    cluster.rounds(3);
    assert!(cluster.marked().contains(&"log-1"), "stateless-5 waits for log-2: {:#?}", cluster.decided().holds);
}

#[test]
fn one_that_is_half_dead_and_waited_for_is_replaced_beyond_the_limit_too() {
    let mut cluster = Cluster::new(&[(Log, 4), (Stateless, 3), (Storage, 4)]);
    cluster.desired.servers_per_pod.insert(Storage, 2);
    two_servers_in_each_pod_but(&mut cluster, &[]);
    let mut cluster = cluster.settled();
    two_servers_in_each_pod_but(&mut cluster, &["storage-8", "storage-12"]);
    cluster.rounds(3);
    cluster.desired.remove.insert("storage-9".to_owned());
    cluster.round(5);
    assert_eq!(cluster.marked(), ["storage-9"]);
    cluster.pass(TWO_HOURS);
    cluster.rounds(3);
    assert_eq!(cluster.marked(), ["storage-9"], "its successor may still come");
    cluster.pass(TWO_HOURS);
    cluster.rounds(3);
    assert!(cluster.marked().contains(&"storage-8"), "{:?} {:?}", cluster.marked(), cluster.decided().holds);
}

#[test]
fn nobody_is_replaced_beyond_the_limit_who_serves_though_not_well() {
    let mut cluster = without(&[]);
    cluster.spoil(|report| {
        let storage_8 = report.processes.values_mut().filter(|process| process.group == Some(group_id("storage-8")));
        storage_8.for_each(|process| process.messages = ["io_error".to_owned()].into());
    });
    cluster.rounds(2);
    cluster.kill("storage-11");
    cluster.desired.remove.insert("storage-9".to_owned());
    cluster.rounds(5);
    cluster.pass(TWO_HOURS);
    let decision = cluster.round(5);
    assert_eq!(cluster.marked(), ["storage-11", "storage-9"], "the dead one alone, for the other has data to move away");
    let held: Vec<_> = decision.holds.iter().filter(|hold| hold.reason.0 == "ReplacementsInFlight").collect();
    assert_eq!(held.iter().map(|hold| hold.about.as_str()).collect::<Vec<_>>(), ["storage-8"]);
}

#[test]
fn nobody_is_replaced_beyond_the_limit_whose_pod_is_not_ready() {
    let mut cluster = without(&["storage-8"]);
    cluster.pod("storage-8").ready = false;
    cluster.desired.remove.insert("storage-9".to_owned());
    cluster.pass(TWO_HOURS);
    cluster.rounds(20);
    assert_eq!(cluster.marked(), ["storage-9"], "its successor would not get ready either");
    cluster.pod("storage-8").ready = true;
    cluster.round(5);
    assert_eq!(cluster.marked(), ["storage-8", "storage-9"]);
}

#[test]
fn nobody_is_replaced_beyond_the_limit_while_another_is_still_to_come() {
    let mut cluster = without(&["storage-8"]);
    cluster.pass(TWO_HOURS);
    cluster.desired.remove.insert("storage-9".to_owned());
    cluster.dead.insert("storage-12".to_owned());
    cluster.rounds(20);
    assert_eq!(cluster.marked(), ["storage-9"], "with its successor, the first one may go");
    cluster.pass(TWO_HOURS);
    cluster.rounds(2);
    assert!(cluster.marked().contains(&"storage-8"), "{:?}", cluster.marked());
}

#[test]
fn who_finds_no_node_is_not_to_come() {
    let mut cluster = without(&["storage-8"]);
    cluster.pass(TWO_HOURS);
    cluster.desired.remove.insert("storage-9".to_owned());
    cluster.unplaceable.insert("storage-12".to_owned());
    cluster.rounds(10);
    assert_eq!(cluster.marked(), ["storage-9"], "it may find one in a moment");
    assert!(cluster.kube.recorded.groups.contains_key(&group_id("storage-8")));
    cluster.rounds(100);
    let is_there = cluster.kube.recorded.groups.contains_key(&group_id("storage-8"));
    assert!(!is_there, "the dead one was replaced, for the other may wait for the room of those who wait for the dead one");
}

#[test]
fn what_is_excluded_makes_room_again() {
    let mut cluster = without(&["stateless-5", "stateless-6"]);
    cluster.pass(TWO_HOURS);
    cluster.round(5);
    assert_eq!(cluster.marked(), ["stateless-5"]);
    let goes = |decision: &ClusterDecision| decision.status.groups[&group_id("stateless-6")].removal.is_some();
    let decision = cluster.until(goes);
    assert!(decision.status.groups.get(&group_id("stateless-5")).is_none_or(crate::ProcessGroup::may_go));
}

#[test]
fn data_that_is_copied_for_hours_keeps_nobody_in_flight_who_has_none() {
    let mut cluster = without(&["storage-8", "log-4", "stateless-5", "stateless-6"]);
    enabled(&mut cluster, 1, 1, 1);
    cluster.spoil(|report| {
        if let Some(data) = &mut report.data {
            data.healthy = Some(false);
        }
        report.full_replication = Some(false);
    });
    cluster.pass(TWO_HOURS);
    cluster.rounds(200);
    let groups = &cluster.kube.recorded.groups;
    let gone = ["log-4", "stateless-5", "stateless-6"].map(group_id);
    assert!(gone.iter().all(|id| groups.get(id).is_none_or(crate::ProcessGroup::may_go)), "{:?}", cluster.decided().holds);
    assert!(groups[&group_id("storage-8")].is_in_flight(), "its copies are still missing");
}

#[test]
fn fault_domains_are_counted_besides() {
    let mut cluster = without(&["storage-9", "log-4", "stateless-6"]);
    enabled(&mut cluster, 1, 1, 1);
    cluster.desired.automation.replacements.by_fault_domain = true;
    let zone = cluster.group("storage-9").fault_domain.clone();
    assert_eq!(cluster.group("log-4").fault_domain, zone);
    assert_ne!(cluster.group("stateless-6").fault_domain, zone);
    cluster.pass(TWO_HOURS);
    cluster.round(5);
    assert_eq!(cluster.marked(), ["log-4", "storage-9"], "both are in one zone; the third is in another");
}

#[test]
fn one_that_is_nowhere_as_far_as_is_known_is_a_fault_domain_of_its_own() {
    let mut cluster = without(&["storage-9", "stateless-6"]);
    enabled(&mut cluster, 5, 5, 5);
    cluster.desired.automation.replacements.by_fault_domain = true;
    cluster.kube.recorded.groups.get_mut(&group_id("stateless-6")).unwrap().fault_domain = None;
    cluster.pod("stateless-6").node = None;
    cluster.pass(TWO_HOURS);
    cluster.round(5);
    assert_eq!(cluster.marked().len(), 1, "{:?}", cluster.marked());
}

#[test]
fn who_is_excluded_by_hand_and_waited_for_is_replaced_beyond_the_limit_too() {
    let mut cluster = without(&[]);
    let now = cluster.now;
    cluster.database.exclude(&["locality_instance_id:storage-8".to_owned()], now);
    cluster.rounds(2);
    cluster.desired.remove.insert("storage-9".to_owned());
    cluster.rounds(20);
    assert_eq!(cluster.marked(), ["storage-9"]);
    cluster.pass(TWO_HOURS);
    cluster.rounds(3);
    assert!(cluster.marked().contains(&"storage-8"), "{:?} {:?}", cluster.marked(), cluster.decided().holds);
}

#[test]
fn who_is_kept_from_every_node_by_its_own_volume_is_replaced_beyond_the_limit_too() {
    for (has_volume, ran) in [(true, true), (false, true), (true, false)] {
        let mut cluster = without(&["storage-8"]);
        let pod = cluster.pod("storage-8");
        (pod.node, pod.ready, pod.phase) = (None, false, crate::PodPhase::Pending);
        cluster.unplaceable.insert("storage-8".to_owned());
        let claim = cluster.kube.claims.get_mut("sample-storage-8-data").unwrap();
        // Some volumes are made before there is a pod.
        (claim.bound, claim.placed) = (has_volume, ran);
        if !ran {
            cluster.pod("storage-8").addresses.clear();
            cluster.kube.recorded.groups.get_mut(&group_id("storage-8")).unwrap().addresses.clear();
        }
        cluster.desired.remove.insert("storage-9".to_owned());
        cluster.rounds(3);
        cluster.pass(TWO_HOURS);
        cluster.rounds(20);
        let stays = cluster.kube.recorded.groups.get(&group_id("storage-8")).is_some_and(|group| group.removal.is_none());
        assert_eq!(stays, !has_volume || !ran, "a successor has a volume of its own, elsewhere: {:#?}", cluster.decided().holds);
    }
}
