//! Pods are asked to be others.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::cluster::{Cluster, codes, group_id, told};
use crate::ProcessClass::{Log, Storage};
use crate::{AtOnce, ClassTemplate, DatabaseReport, PodPhase, PodUpdate};

pub(super) fn another_image() -> Cluster {
    let mut cluster = Cluster::usual();
    cluster.desired.image = "fdb:another".to_owned();
    cluster.desired.automation.pod_update = PodUpdate::Delete;
    cluster
}

/// The pods that are on other nodes than that of a process group.
fn pods_elsewhere(cluster: &mut Cluster, id: &str) -> BTreeSet<String> {
    let node = cluster.pod(id).node.clone();
    cluster.kube.pods.iter().filter(|(_, pod)| pod.node != node).map(|(name, _)| name.clone()).collect()
}

/// The pods that are on other nodes than these were.
fn pods_elsewhere_than(cluster: &Cluster, gone: &[&str]) -> BTreeSet<String> {
    let zones: BTreeSet<_> =
        gone.iter().filter_map(|pod| cluster.group(pod.strip_prefix("sample-")?).fault_domain.as_ref()).collect();
    let elsewhere = cluster.kube.pods.iter().filter(|(_, pod)| pod.node.as_ref().is_none_or(|node| !zones.contains(node)));
    elsewhere.map(|(name, _)| name.clone()).collect()
}

pub(super) fn deleted(done: &[String]) -> Vec<&str> {
    done.iter().filter_map(|step| step.strip_prefix("delete pod ")).collect()
}

#[test]
fn pods_are_made_again_zone_by_zone_each_when_everything_is_whole() {
    let mut cluster = another_image();
    let mut zones_begun = BTreeSet::new();
    for _ in 0..200 {
        let nodes: std::collections::BTreeMap<_, _> =
            cluster.kube.pods.iter().map(|(name, pod)| (name.clone(), pod.node.clone())).collect();
        cluster.pass(5);
        let young = |server: &crate::forecast::database::Server| cluster.now.duration_since(server.started).as_secs() < 5;
        let whole = cluster.database.servers.len() == 11 && !cluster.database.servers.values().any(young);
        let done = told(&cluster.round(0));
        let zones: BTreeSet<_> = deleted(&done).into_iter().map(|pod| nodes[pod].clone()).collect();
        assert!(zones.len() <= 1 && (zones.is_empty() || whole), "{zones:?}");
        zones_begun.extend(zones);
    }
    assert!(zones_begun.len() >= 4);
    assert_eq!((told(&cluster.decided()), codes(&cluster.decided())), (vec![], vec![]));
}

#[test]
fn a_zone_that_was_just_taken_down_is_whole_before_the_next_one_goes() {
    let mut cluster = another_image();
    let first = told(&cluster.round(5));
    assert_eq!(deleted(&first).len(), 3);
    // Its pods are gone, its processes are still listed, and the data still looks perfect.
    let second = told(&cluster.round(1));
    assert!(deleted(&second).is_empty(), "{second:?}");
    assert_eq!(second.iter().filter(|step| step.starts_with("create pod")).count(), 3);
    let third = told(&cluster.round(1));
    assert!(deleted(&third).is_empty(), "{third:?}");
}

#[test]
fn no_zone_goes_while_a_copy_is_lost_however_healthy_the_data_looks() {
    let mut cluster = another_image();
    cluster.desired.automation.deletion = AtOnce::Nothing;
    cluster.kill("storage-8");
    cluster.rounds(3);
    cluster.desired.automation.deletion = AtOnce::Zone;
    let decision = cluster.round(5);
    assert!(deleted(&told(&decision)).is_empty());
    assert!(codes(&decision).contains(&"PodUpdateHeld"));
}

#[test]
fn a_pod_that_never_ran_is_corrected_though_no_database_answers() {
    let mut cluster = Cluster::usual();
    cluster.silent_since = Some(cluster.now);
    cluster.desired.automation.pod_update = PodUpdate::Delete;
    let pod = cluster.pod("storage-8");
    (pod.phase, pod.ready, pod.node) = (PodPhase::Pending, false, None);
    cluster.desired.image = "fdb:another".to_owned();
    let deleted: Vec<String> = told(&cluster.decided()).into_iter().filter(|step| step.starts_with("delete")).collect();
    assert_eq!(deleted, ["delete pod sample-storage-8"]);
}

#[test]
fn who_is_to_go_and_fails_is_a_zone_that_is_down() {
    let mut cluster = Cluster::usual();
    cluster.database.drains_in = SignedDuration::from_mins(10);
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.rounds(10);
    let zone = cluster.database.servers[&group_id("storage-8")].zone.clone();
    let pod = cluster.pod("storage-8");
    (pod.phase, pod.ready) = (PodPhase::Failed, false);
    cluster.desired.automation.pod_update = PodUpdate::Delete;
    cluster.desired.image = "fdb:another".to_owned();
    let others: Vec<String> = told(&cluster.decided())
        .into_iter()
        .filter_map(|step| step.strip_prefix("delete pod sample-").map(str::to_owned))
        .filter(|group| cluster.database.servers.get(&group_id(group)).is_some_and(|server| server.zone != zone))
        .collect();
    assert_eq!(others, Vec::<String>::new());
}

#[test]
fn another_zone_that_is_down_already_is_enough() {
    let down: [fn(&mut Cluster); 4] = [
        |cluster| cluster.kill("stateless-6"),
        |cluster| cluster.pod("stateless-6").ready = false,
        |cluster| cluster.pod("stateless-6").deleted_since = Some(cluster.now),
        |cluster| {
            cluster.unplaceable.insert("stateless-6".to_owned());
            cluster.kube.pods.remove("sample-stateless-6");
        },
    ];
    for goes_down in down {
        let mut cluster = another_image();
        let zone = cluster.group("stateless-6").fault_domain.clone();
        let elsewhere = |cluster: &Cluster| {
            let done = told(&cluster.decided());
            deleted(&done).iter().any(|pod| cluster.kube.pods[*pod].node != zone)
        };
        assert!(elsewhere(&cluster), "otherwise another zone would be the first");
        cluster.desired.automation.deletion = AtOnce::Nothing;
        goes_down(&mut cluster);
        cluster.rounds(3);
        cluster.desired.automation.deletion = AtOnce::Zone;
        assert!(!elsewhere(&cluster), "{:?}", told(&cluster.decided()));
    }
}

#[test]
fn a_pod_that_does_not_go_holds_other_zones_up_only_for_a_while() {
    let mut cluster = another_image();
    let asked_to_go = cluster.now;
    cluster.pod("storage-8").deleted_since = Some(asked_to_go);
    let elsewhere = pods_elsewhere(&mut cluster, "storage-8");
    let done = cluster.rounds(118);
    assert!(!deleted(&done).iter().any(|pod| elsewhere.contains(*pod)), "{done:?}");
    // After ten minutes it is left out of account, although it counts as failing by then.
    let done = cluster.rounds(10);
    assert!(deleted(&done).iter().any(|pod| elsewhere.contains(*pod)), "{done:?}");
}

#[test]
fn a_pod_that_is_made_again_holds_other_zones_up_until_it_is_ready_whatever_the_clock_of_its_maker_says() {
    let mut cluster = another_image();
    let before = cluster.database.report(cluster.now);
    let first = told(&cluster.round(5));
    let elsewhere = pods_elsewhere_than(&cluster, &deleted(&first));
    cluster.round(1);
    // It was made an hour ago, by another clock; its kubelet has not begun with it, and the report is from before.
    let now = cluster.now;
    for pod in deleted(&first) {
        let pod = cluster.kube.pods.get_mut(pod).unwrap();
        pod.created = now - SignedDuration::from_hours(1);
        (pod.phase, pod.ready) = (PodPhase::Pending, false);
        pod.addresses.clear();
        pod.environment.remove("FDB_PUBLIC_IP");
        cluster.dead.extend(pod.group.clone().map(|id| id.0));
    }
    cluster.spoil(move |report| *report = before.clone());
    let done: Vec<String> = (0..20).flat_map(|_| told(&cluster.round(1))).collect();
    assert!(!deleted(&done).iter().any(|pod| elsewhere.contains(*pod)), "{done:?}");
}

#[test]
fn who_never_ran_holds_no_zone_up() {
    let mut cluster = Cluster::usual();
    cluster.desired.counts.insert(Storage, 5);
    cluster.unplaceable.insert("storage-12".to_owned());
    cluster.rounds(3);
    assert!(cluster.group("storage-12").addresses.is_empty());
    cluster.desired.image = "fdb:another".to_owned();
    cluster.desired.automation.pod_update = PodUpdate::Delete;
    let done = cluster.rounds(3);
    let serving = deleted(&done).iter().filter(|pod| **pod != "sample-storage-12").count();
    assert!(serving > 0, "{done:?} {:?}", cluster.decided().holds);
}

#[test]
fn while_a_zone_comes_back_the_database_is_asked_every_second_and_at_rest_it_is_not() {
    let mut cluster = another_image();
    let mut next = BTreeSet::new();
    for _ in 0..40 {
        let decision = cluster.round(1);
        next.extend(decision.wake.0.map(|wake| wake.duration_since(cluster.now).as_secs()));
    }
    assert!(next.contains(&1), "{next:?}");
    cluster.rounds(200);
    let wake = cluster.decided().wake.0.map(|wake| wake.duration_since(cluster.now).as_secs());
    assert_eq!(wake, Some(30));
    // While a pod is not ready, its events are enough.
    let mut cluster = another_image();
    cluster.rounds(2);
    let young = cluster.kube.pods.values_mut().find(|pod| pod.created == cluster.now).unwrap();
    young.ready = false;
    let wake = cluster.decided().wake.0.map(|wake| wake.duration_since(cluster.now).as_secs());
    assert_eq!(wake, Some(5));
    // Data that moves for hours is no zone that comes back.
    let mut cluster = another_image();
    cluster.spoil(|report| report.full_replication = Some(false));
    let wake = cluster.decided().wake.0.map(|wake| wake.duration_since(cluster.now).as_secs());
    assert_eq!(wake, Some(5));
}

#[test]
fn how_much_at_once_is_for_the_user_to_say() {
    for (mode, count) in [(AtOnce::All, 11), (AtOnce::Zone, 3), (AtOnce::ProcessGroup, 1), (AtOnce::Nothing, 0)] {
        let mut cluster = another_image();
        cluster.desired.automation.deletion = mode;
        assert_eq!(deleted(&told(&cluster.decided())).len(), count, "{mode:?}");
    }
}

#[test]
fn a_bad_template_does_not_stand_in_the_way_of_its_correction() {
    let mut cluster = another_image();
    // The pods of one zone were made with an image that does not start.
    for id in ["storage-8", "log-1"] {
        cluster.pod(id).ready = false;
        cluster.kill(id);
    }
    cluster.rounds(3);
    assert!(deleted(&cluster.rounds(3)).len() <= 2);
    assert!(cluster.pod("storage-8").ready && cluster.pod("log-1").ready, "they were made again at once");
}

#[test]
fn the_transaction_system_is_replaced_instead_where_that_costs_less() {
    let mut cluster = another_image();
    cluster.desired.automation.pod_update = PodUpdate::ReplaceTransactionSystem;
    cluster.round(5);
    assert_eq!(cluster.marked().len(), 7, "logs and stateless ones");
    assert!(!cluster.marked().iter().any(|id| id.starts_with("storage")));
    cluster.rounds(400);
    assert!(!cluster.kube.recorded.groups.contains_key(&group_id("log-1")));
    assert_eq!((told(&cluster.decided()), codes(&cluster.decided())), (vec![], vec![]));
}

#[test]
fn no_pod_goes_in_the_moment_in_which_the_coordinators_change() {
    let mut cluster = another_image();
    cluster.desired.automation.pod_update = PodUpdate::ReplaceTransactionSystem;
    let first = told(&cluster.round(5));
    assert!(first.iter().any(|step| step.starts_with("coordinators")), "{first:?}");
    assert!(deleted(&first).is_empty(), "{first:?}");
}

#[test]
fn a_zone_where_a_successor_starts_is_not_taken_down_besides_the_one_that_is() {
    let mut cluster = another_image();
    cluster.desired.automation.pod_update = PodUpdate::ReplaceTransactionSystem;
    cluster.desired.automation.timers.recovery_before_undesired_coordinator = SignedDuration::from_hours(1000);
    let first = told(&cluster.round(5));
    assert_eq!(deleted(&first).len(), 1, "one storage pod: {first:?}");
    // The successors have just been made, one of them beside a storage process that is outdated as well.
    let storage = |pod: &crate::PodFacts| pod.group.as_ref().is_some_and(|group| group.0.starts_with("storage"));
    let nodes: BTreeSet<_> = cluster.kube.pods.values().filter(|pod| storage(pod)).map(|pod| pod.node.clone()).collect();
    let young = cluster.kube.pods.values_mut().filter(|pod| pod.created == cluster.now && nodes.contains(&pod.node));
    let mut changed = 0;
    for pod in young {
        pod.ready = false;
        changed += 1;
    }
    assert!(changed > 0);
    let second = told(&cluster.round(1));
    assert!(deleted(&second).is_empty(), "{second:?}");
}

#[test]
fn a_successor_that_serves_nobody_yet_gets_another_pod_and_no_successor() {
    let mut cluster = another_image();
    cluster.desired.automation.pod_update = PodUpdate::ReplaceTransactionSystem;
    let successors: Vec<String> =
        (12..=18).map(|number| format!("{}-{number}", if number < 16 { "log" } else { "stateless" })).collect();
    cluster.dead.extend(successors.iter().cloned());
    cluster.round(5);
    let replaced: Vec<String> = cluster.marked().into_iter().map(str::to_owned).collect();
    for image in ["fdb:a-third", "fdb:a-fourth"] {
        for id in &successors {
            cluster.pod(id).ready = false;
        }
        cluster.desired.image = image.to_owned();
        let done = told(&cluster.round(5));
        let again: Vec<String> = deleted(&done).iter().filter_map(|pod| pod.strip_prefix("sample-").map(str::to_owned)).collect();
        assert!(successors.iter().all(|id| again.contains(id)), "{again:?}");
        assert_eq!(cluster.marked(), replaced);
        cluster.round(5);
    }
    cluster.dead.clear();
    cluster.rounds(400);
    assert!(successors.iter().all(|id| cluster.group(id).removal.is_none()));
    assert_eq!((told(&cluster.decided()), codes(&cluster.decided())), (vec![], vec![]));
}

#[test]
fn edits_that_follow_each_other_pile_up_no_generations() {
    let mut cluster = another_image();
    cluster.desired.automation.pod_update = PodUpdate::ReplaceTransactionSystem;
    let mut held = false;
    for edit in 0..30 {
        cluster.desired.image = format!("fdb:{edit}");
        for _ in 0..4 {
            held |= codes(&cluster.round(5)).contains(&"ReplacementHeld");
            let in_flight = cluster.kube.recorded.groups.values().filter(|group| group.is_in_flight()).count();
            assert!(in_flight <= 7, "{:?}", cluster.marked());
        }
    }
    assert!(held, "who waits is said");
    cluster.rounds(600);
    assert_eq!((told(&cluster.decided()), codes(&cluster.decided())), (vec![], vec![]));
}

#[test]
fn a_newer_operator_that_renders_otherwise_restarts_nobody() {
    let mut cluster = Cluster::usual();
    cluster.kube.pods.values_mut().for_each(|pod| pod.rendering = Some("of an older version".to_owned()));
    assert!(told(&cluster.decided()).is_empty());
}

#[test]
fn a_pod_that_is_not_ready_is_said() {
    let mut cluster = Cluster::usual();
    cluster.pod("stateless-5").ready = false;
    cluster.pod("stateless-6").phase = PodPhase::Unknown;
    assert!(codes(&cluster.decided()).contains(&"PodNotReady"));
}

#[test]
fn who_asks_for_more_is_replaced_where_that_is_wanted_and_made_again_where_it_is_not() {
    for replaces in [true, false] {
        let mut cluster = Cluster::usual();
        cluster.desired.automation.pod_update = PodUpdate::Delete;
        cluster.desired.automation.replace_when_resources_grow = replaces;
        let resources = serde_json::json!({"requests": {"cpu": "4", "memory": "8Gi"}});
        let containers = serde_json::json!([{"name": crate::objects::MAIN_CONTAINER, "resources": resources}]);
        let pod = serde_json::from_value(serde_json::json!({"spec": {"containers": containers}})).unwrap();
        cluster.desired.templates.insert(Storage, ClassTemplate { pod, ..ClassTemplate::default() });
        let first = told(&cluster.round(5));
        assert_eq!(cluster.marked().len(), if replaces { 4 } else { 0 });
        assert_eq!(deleted(&first).is_empty(), replaces, "{first:?}");
    }
}

#[test]
fn deletions_that_never_arrived_hold_nothing_up_for_ever() {
    let mut cluster = another_image();
    cluster.desired.automation.pod_update = PodUpdate::Delete;
    // Two leaders after each other wrote down what they were about to delete, in two zones, and did not come to it.
    for id in ["storage-8", "storage-9"] {
        cluster.goes(id);
    }
    let done = cluster.rounds(20);
    assert!(deleted(&done).is_empty(), "they may still arrive: {done:?}");
    assert!(!deleted(&cluster.rounds(20)).is_empty());
}

#[test]
fn a_volume_in_place_of_a_lost_one_holds_other_zones_up_until_the_database_knows() {
    let mut cluster = another_image();
    cluster.desired.automation.deletion = AtOnce::Nothing;
    let elsewhere = pods_elsewhere(&mut cluster, "storage-8");
    cluster.kube.claims.remove("sample-storage-8-data");
    let done = told(&cluster.round(1));
    assert!(done.iter().any(|step| step.starts_with("create claim sample-storage-8")), "{done:?}");
    // Its process serves as if nothing had happened, and everything looks whole.
    cluster.desired.automation.deletion = AtOnce::Zone;
    let done = cluster.rounds(17);
    assert!(!deleted(&done).iter().any(|pod| elsewhere.contains(*pod)), "{done:?}");
    let done = cluster.rounds(20);
    assert!(deleted(&done).iter().any(|pod| elsewhere.contains(*pod)), "{done:?}");
}

#[test]
fn the_copies_of_a_lost_volume_are_missed_where_they_were() {
    let mut cluster = Cluster::usual();
    let zone = cluster.group("storage-8").fault_domain.clone().unwrap();
    cluster.kube.claims.remove("sample-storage-8-data");
    cluster.round(1);
    // Its pod is in another zone by now, and no watch shows the new claim yet.
    cluster.kube.claims.remove("sample-storage-8-data");
    cluster.spoil(|report| {
        let its = report.processes.values_mut().filter(|process| process.group == Some(group_id("storage-8")));
        its.for_each(|process| process.zone = Some("elsewhere".to_owned()));
    });
    cluster.round(5);
    assert_eq!(cluster.group("storage-8").fault_domain.as_deref(), Some("elsewhere"));
    assert_eq!(cluster.journal.0["sample-storage-8-data"].zone, zone);
}

#[test]
fn a_clock_that_is_put_forward_tells_nobody_what_the_database_knows() {
    let mut cluster = another_image();
    let elsewhere = pods_elsewhere(&mut cluster, "storage-8");
    cluster.desired.automation.deletion = AtOnce::Nothing;
    cluster.kube.claims.remove("sample-storage-8-data");
    cluster.round(1);
    cluster.desired.automation.deletion = AtOnce::Zone;
    cluster.now += SignedDuration::from_secs(160);
    cluster.steady_since = cluster.now;
    let done = cluster.rounds(17);
    assert!(!deleted(&done).iter().any(|pod| elsewhere.contains(*pod)), "{done:?}");
    let done = cluster.rounds(20);
    assert!(deleted(&done).iter().any(|pod| elsewhere.contains(*pod)), "{done:?}");
}

#[test]
fn who_is_to_run_another_number_of_servers_is_replaced_whatever_the_strategy() {
    for strategy in [PodUpdate::Delete, PodUpdate::ReplaceTransactionSystem] {
        let mut cluster = Cluster::usual();
        cluster.desired.automation.pod_update = strategy;
        cluster.desired.servers_per_pod = [(Storage, 2), (Log, 2)].into();
        let done = told(&cluster.round(1));
        assert!(deleted(&done).is_empty(), "{strategy:?}: {done:?}");
        let groups = cluster.kube.recorded.groups.values();
        let stateful = groups.filter(|group| group.class.is_stateful() && group.addresses.iter().any(|at| !at.is_empty()));
        assert!(stateful.clone().count() > 0 && stateful.clone().all(|group| group.removal.is_some()), "{strategy:?}");
    }
}

#[test]
fn no_zone_goes_in_the_moment_in_which_a_volume_is_found_lost_elsewhere() {
    let mut cluster = another_image();
    let elsewhere = pods_elsewhere(&mut cluster, "storage-8");
    // Its pod is gone as well, which nobody has heard yet, and its process is still listed.
    cluster.kube.claims.remove("sample-storage-8-data");
    let done = told(&cluster.decided());
    assert!(done.iter().any(|step| step.starts_with("create claim sample-storage-8")), "{done:?}");
    assert!(!deleted(&done).iter().any(|pod| elsewhere.contains(*pod)), "{done:?}");
}

#[test]
fn a_pod_that_was_made_again_is_waited_for_whatever_the_time_is_elsewhere() {
    let mut cluster = another_image();
    let before = cluster.database.report(cluster.now);
    let first = told(&cluster.round(1));
    let gone: Vec<String> = deleted(&first).into_iter().map(str::to_owned).collect();
    let again = cluster.decided();
    cluster.carry_out(&again);
    // The API server's clock is an hour behind ours, and the report is from before.
    cluster.spoil(move |report| report.clone_from(&before));
    for name in &gone {
        let hour_ago = cluster.now - SignedDuration::from_hours(1);
        let pod = cluster.kube.pods.get_mut(name).unwrap();
        (pod.created, pod.ready, pod.phase) = (hour_ago, false, PodPhase::Pending);
    }
    let done = told(&cluster.decided());
    assert!(deleted(&done).is_empty(), "{done:?}");
}

#[test]
fn who_never_ran_keeps_no_zone_from_being_made_again() {
    let mut cluster = another_image();
    cluster.desired.counts.insert(Storage, 5);
    cluster.unplaceable.insert("storage-12".to_owned());
    assert!(!deleted(&cluster.rounds(5)).is_empty());
}

#[test]
fn copies_that_were_missing_before_a_recovery_are_not_forgotten_with_it() {
    // One is gone, and of one nobody knows more than that data moves: a dead server that is excluded is told like that.
    let told_of: [fn(&mut DatabaseReport); 2] = [
        |report| report.data.as_mut().unwrap().min_replicas_remaining = Some(1),
        |report| report.data.as_mut().unwrap().healthy = Some(false),
    ];
    for told_of in told_of {
        let mut cluster = another_image();
        cluster.spoil(told_of);
        assert!(deleted(&cluster.rounds(20)).is_empty(), "a copy is missing");
        // A recovery, and the database calls everything healthy.
        for seconds in [40.0, 89.0] {
            cluster.spoil(move |report| report.recovery.as_mut().unwrap().seconds_since = Some(seconds));
            let decision = cluster.round(5);
            assert!(deleted(&told(&decision)).is_empty(), "{seconds} s after a recovery");
            let held = decision.holds.iter().any(|hold| hold.sentence.contains("copies were missing since"));
            assert!(held, "{:?}", decision.holds);
        }
        cluster.spoil(|report| report.recovery.as_mut().unwrap().seconds_since = Some(91.0));
        assert!(!deleted(&told(&cluster.round(5))).is_empty());
        assert!(cluster.journal.0.values().all(|entry| entry.what != "copies missing"));
    }
}

#[test]
fn the_zone_that_leads_goes_last() {
    let without = another_image();
    let zone_of = |cluster: &Cluster| {
        let done = told(&cluster.decided());
        let zones: BTreeSet<_> = deleted(&done).into_iter().map(|pod| cluster.kube.pods[pod].node.clone()).collect();
        zones.into_iter().next().flatten()
    };
    let first = zone_of(&without).unwrap();
    let mut cluster = another_image();
    let leading = first.clone();
    cluster.spoil(move |report| {
        let there = report.processes.values_mut().find(|process| process.zone.as_ref() == Some(&leading)).unwrap();
        there.roles.insert("data_distributor".to_owned());
    });
    assert_ne!(zone_of(&cluster), Some(first));
}

#[test]
fn the_pod_of_a_coordinator_that_is_not_ready_can_be_corrected() {
    let mut cluster = another_image();
    let first = told(&cluster.round(5));
    let zone = cluster.group(deleted(&first)[0].strip_prefix("sample-").unwrap()).fault_domain.clone();
    cluster.rounds(3);
    // A sidecar of the new template is never ready, while the server serves; then the template is corrected.
    let bad: Vec<String> = deleted(&first).into_iter().map(str::to_owned).collect();
    assert!(bad.contains(&"sample-log-1".to_owned()), "{bad:?}");
    for pod in &bad {
        cluster.kube.pods.get_mut(pod).unwrap().ready = false;
    }
    cluster.desired.image = "fdb:good".to_owned();
    let done = cluster.rounds(20);
    assert!(deleted(&done).contains(&"sample-log-1"), "{zone:?} {done:?} {:?}", cluster.decided().holds);
}

#[test]
fn one_by_one_coordinators_of_one_fault_domain_keep_a_majority_too() {
    let mut cluster = another_image();
    cluster.desired.automation.deletion = AtOnce::ProcessGroup;
    // Two of the three are in one zone, which is asked for the one after the other before the database has noticed.
    for id in ["log-1", "log-2"] {
        cluster.kube.recorded.groups.get_mut(&group_id(id)).unwrap().fault_domain = Some("node-1".to_owned());
        cluster.database.servers.get_mut(&group_id(id)).unwrap().zone = "node-1".to_owned();
    }
    let before = cluster.database.report(cluster.now);
    cluster.spoil(move |report| *report = before.clone());
    let done: Vec<String> = (0..6).flat_map(|_| told(&cluster.round(1))).collect();
    let coordinators = deleted(&done).iter().filter(|pod| ["sample-log-1", "sample-log-2", "sample-log-3"].contains(pod)).count();
    assert!(coordinators <= 1, "{done:?}");
}

#[test]
fn a_process_group_that_is_to_go_is_a_zone_that_is_down_while_its_pod_is_away() {
    let mut cluster = another_image();
    cluster.desired.automation.deletion = AtOnce::Nothing;
    cluster.unplaceable.insert("storage-12".to_owned());
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.rounds(3);
    // Its node is drained before its data is elsewhere; the database has not noticed.
    let elsewhere = pods_elsewhere(&mut cluster, "storage-8");
    let now = cluster.now;
    cluster.pod("storage-8").deleted_since = Some(now);
    cluster.desired.automation.deletion = AtOnce::Zone;
    let done = cluster.rounds(10);
    assert!(!deleted(&done).iter().any(|pod| elsewhere.contains(*pod)), "{done:?}");
}

#[test]
fn no_more_zones_go_at_once_than_there_are_copies_to_spare_whatever_is_asked_for() {
    let mut cluster = another_image();
    cluster.desired.automation.most_unavailable_zones = Some(3);
    let first = told(&cluster.round(5));
    cluster.desired.automation.deletion = AtOnce::Nothing;
    cluster.rounds(40);
    // One of the new pods is not ready any more; everything serves.
    let stateless = deleted(&first).into_iter().find(|pod| pod.contains("stateless")).unwrap().to_owned();
    cluster.kube.pods.get_mut(&stateless).unwrap().ready = false;
    cluster.desired.automation.deletion = AtOnce::Zone;
    let decision = cluster.round(5);
    assert_eq!(deleted(&told(&decision)), Vec::<&str>::new());
    assert!(codes(&decision).contains(&"AnotherZoneIsDisrupted"), "{:?}", decision.holds);
}

/// Storage asks for nodes with this kind of disk; the first node has a slow one, all others a fast one.
fn asks_for_disks(disk: &str) -> Cluster {
    let mut cluster = Cluster::usual();
    for node in cluster.nodes.clone() {
        let labels = [("disk".to_owned(), if node == "node-1" { "slow" } else { "fast" }.to_owned())].into();
        cluster.kube.nodes.insert(node, crate::NodeFacts { labels, ready: true, ..crate::NodeFacts::default() });
    }
    let template = cluster.desired.templates.get_mut(&Storage).unwrap();
    template.pod.spec.get_or_insert_default().node_selector = Some([("disk".to_owned(), disk.to_owned())].into());
    cluster
}

#[test]
fn who_may_no_longer_be_where_it_is_gets_a_successor_for_its_volume_may_not_follow() {
    let mut cluster = asks_for_disks("fast");
    let is_slow = |pod: &crate::PodFacts| pod.node.as_deref() == Some("node-1");
    let slow = cluster.kube.pods.iter().filter(|(name, pod)| name.contains("storage") && is_slow(pod));
    let slow: Vec<String> = slow.filter_map(|(_, pod)| Some(pod.group.as_ref()?.0.clone())).collect();
    assert!(!slow.is_empty());
    cluster.round(5);
    assert_eq!(cluster.marked(), slow, "the others are made again where they are");
}

#[test]
fn nobody_is_marked_because_too_few_nodes_are_as_asked_for() {
    // None, or one for two copies.
    for disk in ["fsat", "slow"] {
        let mut cluster = asks_for_disks(disk);
        cluster.rounds(20);
        assert_eq!(cluster.marked(), [""; 0], "a typing error, or nodes that are still to come: {disk}");
    }
}

#[test]
fn nodes_that_nobody_is_on_yet_are_places_to_move_to() {
    let mut cluster = asks_for_disks("new");
    for node in ["node-7", "node-8"] {
        let labels = [("disk".to_owned(), "new".to_owned())].into();
        cluster.kube.nodes.insert(node.to_owned(), crate::NodeFacts { labels, ready: true, ..crate::NodeFacts::default() });
        cluster.nodes.push(node.to_owned());
    }
    let deleted = told(&cluster.round(5));
    assert_eq!(cluster.marked().iter().filter(|id| id.starts_with("storage")).count(), 4);
    assert!(!deleted.iter().any(|step| step.starts_with("delete pod")), "their volumes would not follow: {deleted:?}");
}

#[test]
fn a_volume_is_served_by_as_many_servers_as_it_was_made_for_until_a_successor_has_taken_over() {
    let mut cluster = Cluster::new(&[(Storage, 4), (crate::ProcessClass::Log, 4)]);
    cluster.desired.servers_per_pod.insert(Storage, 2);
    cluster.until(|decision| decision.status.configured);
    cluster.rounds(20);
    cluster.desired.servers_per_pod.insert(Storage, 1);
    let servers = |cluster: &Cluster| -> Vec<u32> {
        let storage = cluster.kube.pods.iter().filter(|(name, _)| name.contains("storage"));
        storage.map(|(_, pod)| pod.servers).collect()
    };
    assert_eq!(servers(&cluster), [2; 4]);
    // All pods are lost before anybody could go.
    cluster.kube.pods.clear();
    let done = cluster.rounds(3);
    let with_two = servers(&cluster).into_iter().filter(|servers| *servers == 2).count();
    assert_eq!(with_two, 4, "the second server of each has its data there: {done:?}");
    let deleted = |done: &[String]| done.iter().filter(|step| step.starts_with("delete pod")).count();
    assert_eq!(deleted(&done), 0, "another pod would be the same");
    cluster.rounds(400);
    assert!(servers(&cluster).iter().all(|servers| *servers == 1), "{:?}", cluster.decided().holds);
    assert_eq!(cluster.decided().status.groups.values().filter(|group| group.class == Storage).count(), 4);
}
