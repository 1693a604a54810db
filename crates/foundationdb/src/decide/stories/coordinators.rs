//! Coordinators are lost, or should be others.

use super::cluster::{Cluster, codes, group_id, told};
use crate::ProcessClass::{Log, Storage};

fn changes(done: &[String]) -> Vec<&str> {
    done.iter().map(String::as_str).filter(|step| step.starts_with("coordinators")).collect()
}

#[test]
fn a_dead_coordinator_gets_time_to_come_back_before_another_takes_its_place() {
    let mut cluster = Cluster::usual();
    cluster.kill("log-1");
    let done = cluster.rounds(20);
    assert!(changes(&done).is_empty(), "{done:?}");
    assert!(codes(&cluster.decided()).contains(&"CoordinatorsHeld"));
    let done = cluster.rounds(20);
    assert_eq!(changes(&done), ["coordinators sample-log-2, sample-log-3, sample-log-4"], "those that are good stay");
}

#[test]
fn whose_pod_is_being_made_again_does_not_become_one() {
    let mut cluster = Cluster::usual();
    cluster.kill("log-1");
    cluster.rounds(20);
    // It is deleted in this moment, and neither the report nor the watch shows that yet.
    cluster.goes("log-4");
    let done = cluster.rounds(10);
    assert!(!changes(&done).is_empty() && !changes(&done)[0].contains("log-4"), "{done:?}");
}

#[test]
fn who_is_on_another_host_than_the_report_says_does_not_become_one() {
    let mut cluster = Cluster::usual();
    cluster.kill("log-1");
    cluster.rounds(20);
    // Its pod was lost and is ready elsewhere, and the report still lists the server that died with the one before.
    cluster.pod("log-4").addresses = vec!["10.0.9.9".to_owned()];
    let done = cluster.rounds(10);
    assert!(!changes(&done).is_empty() && !changes(&done)[0].contains("log-4"), "{done:?}");
}

#[test]
fn a_coordinator_that_comes_back_costs_nothing() {
    let mut cluster = Cluster::usual();
    cluster.kill("log-1");
    cluster.rounds(10);
    cluster.dead.clear();
    assert!(changes(&cluster.rounds(60)).is_empty());
}

#[test]
fn without_a_majority_nothing_is_changed_and_the_reason_is_loud() {
    let mut cluster = Cluster::usual();
    cluster.kill("log-1");
    cluster.kill("log-2");
    let done = cluster.rounds(2000);
    assert!(changes(&done).is_empty() && !done.iter().any(|step| step.starts_with("delete")), "{done:?}");
    let decision = cluster.decided();
    let hold = decision.holds.iter().find(|hold| hold.reason.0 == "CoordinatorsLost").unwrap();
    assert_eq!((hold.measured.as_str(), hold.threshold.as_str()), ("1 of 3 answer", "at least 2"));
    assert!(cluster.marked().is_empty(), "silence is no evidence that something is gone");
}

#[test]
fn a_coordinator_that_is_to_go_is_followed_by_another_first() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("log-1".to_owned());
    let done = cluster.rounds(100);
    let at = |what: &str| done.iter().position(|step| step.starts_with(what)).unwrap_or_else(|| panic!("{what}: {done:?}"));
    assert!(at("create pod sample-log-12") < at("coordinators"));
    assert!(at("coordinators") < at("exclude locality_instance_id:log-1"));
    assert!(at("exclude") < at("delete pod sample-log-1"));
    assert_eq!(changes(&done).len(), 1);
}

#[test]
fn one_that_runs_on_though_its_pod_is_deleted_is_followed_as_soon_as_one_that_is_lost() {
    let mut cluster = Cluster::usual();
    // Its node is cut off, its pod and its volume wait for their end, and somebody made it a coordinator by hand.
    cluster.kube.recorded.groups.get_mut(&group_id("log-1")).unwrap().removal = Some(cluster.now);
    let since = cluster.now;
    cluster.pod("log-1").deleted_since = Some(since);
    cluster.database.recover(since);
    let changed = cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("coordinators")));
    assert_eq!(changes(&told(&changed)), ["coordinators sample-log-12, sample-log-2, sample-log-3"]);
    let waited = cluster.now.duration_since(since);
    assert!(waited < cluster.desired.automation.timers.recovery_before_undesired_coordinator, "{waited}");
}

#[test]
fn where_too_few_have_names_others_are_written_by_their_addresses() {
    let mut cluster = Cluster::usual();
    // Names have been asked for a moment ago: pods that were made before have none.
    cluster.spoil(|report| {
        let is_one = |name: &str| ["log-1.", "log-2.", "log-3."].iter().any(|one| name.contains(one));
        let others = report.processes.values_mut().filter(|process| !process.dns_name.as_deref().is_some_and(is_one));
        others.for_each(|process| process.dns_name = None);
    });
    cluster.kill("log-1");
    cluster.rounds(100);
    let address = &cluster.database.servers[&group_id("log-4")].address;
    let coordinators = &cluster.database.coordinators;
    assert!(coordinators.contains(address), "{coordinators:?}, {address}");
}

#[test]
fn where_names_are_no_longer_asked_for_coordinators_are_written_by_their_addresses() {
    let mut cluster = Cluster::usual();
    cluster.desired.routing.dns_in_cluster_file = false;
    // The report still lists a server at the address of a pod that is gone.
    cluster.pod("log-2").addresses = vec!["10.0.9.9".to_owned()];
    let done = cluster.rounds(200);
    assert_eq!(changes(&done).len(), 1, "{done:?}");
    let coordinators = &cluster.database.coordinators;
    assert!(coordinators.iter().all(|one| one.parse::<std::net::SocketAddr>().is_ok()), "{coordinators:?}");
    let gone = &cluster.database.servers[&group_id("log-2")].address;
    assert!(!coordinators.contains(gone), "{coordinators:?}, {gone}");
}

#[test]
fn with_another_domain_coordinators_are_known_by_their_old_names_and_written_by_new_ones() {
    let mut cluster = Cluster::usual();
    cluster.desired.routing.dns_domain = "another.example".to_owned();
    cluster.desired.automation.pod_update = crate::PodUpdate::Delete;
    for _ in 0..400 {
        cluster.round(5);
        assert!(!codes(&cluster.decided()).contains(&"CoordinatorsLost"));
    }
    let coordinators = cluster.database.coordinators.clone();
    assert!(coordinators.iter().all(|name| name.contains(".svc.another.example:")), "{coordinators:?}");
    assert_eq!(codes(&cluster.decided()), [""; 0]);
}

#[test]
fn too_few_zones_for_coordinators_are_said() {
    let mut cluster = Cluster::at_rest(&[(Storage, 3)]);
    cluster.kill("storage-1");
    cluster.pass(300);
    cluster.rounds(3);
    cluster.pass(300);
    let decision = cluster.round(5);
    assert!(codes(&decision).contains(&"NotEnoughCoordinators"), "{:?}", decision.holds);
    assert!(changes(&told(&decision)).is_empty());
}

#[test]
fn one_that_answers_the_database_but_not_as_a_coordinator_is_not_chosen_again() {
    let mut cluster = Cluster::usual();
    cluster.spoil(|report| {
        report.coordinators.iter_mut().filter(|one| one.address.contains("log-1.")).for_each(|one| one.reachable = false);
    });
    let done = cluster.rounds(100);
    assert_eq!(
        changes(&done).first(),
        Some(&"coordinators sample-log-2, sample-log-3, sample-log-4"),
        "{:?}",
        cluster.decided().holds
    );
}

#[test]
fn coordinators_in_one_zone_move_apart() {
    let mut cluster = Cluster::usual();
    let zone = cluster.database.servers[&group_id("log-2")].zone.clone();
    cluster.database.servers.get_mut(&group_id("log-1")).unwrap().zone = zone;
    let done = cluster.rounds(3);
    assert_eq!(changes(&done).len(), 1, "{done:?}");
}

#[test]
fn a_change_keeps_its_distance_to_the_last_recovery() {
    let mut cluster = Cluster::at_rest(&[(Storage, 4), (Log, 4)]);
    cluster.desired.remove.insert("log-1".to_owned());
    cluster.database.recover(cluster.now);
    let done = cluster.rounds(50);
    assert!(changes(&done).is_empty(), "{done:?}");
    assert_eq!(changes(&cluster.rounds(20)).len(), 1);
}

/// A cluster whose logs carry the coordinators and are about to be packed into fault domains; nothing but logs may be coordinators.
fn before_being_packed(logs: u32, domains: u32) -> Cluster {
    let mut cluster = Cluster::new(&[(Storage, 3), (Log, logs)]);
    cluster.nodes = (1..=12).map(|node| format!("node-{node}")).collect();
    cluster.desired.coordinator_selection.insert(Log, 1);
    let mut cluster = cluster.settled();
    super::moves::into(&mut cluster, domains);
    cluster
}

#[test]
fn while_everybody_moves_the_coordinators_change_once_to_those_that_have_arrived() {
    let mut cluster = before_being_packed(6, 3);
    let done = cluster.rounds(500);
    assert!(codes(&cluster.decided()).is_empty(), "{:?}", cluster.decided().holds);
    assert_eq!(changes(&done).len(), 1, "{:?}", changes(&done));
    cluster.desired.distribution = None;
    cluster.desired.generation += 1;
    let done = cluster.rounds(500);
    assert!(codes(&cluster.decided()).is_empty(), "{:?}", cluster.decided().holds);
    assert_eq!(changes(&done).len(), 1, "{:?}", changes(&done));
}

#[test]
fn those_that_move_soon_are_coordinators_where_there_are_no_others() {
    let mut cluster = before_being_packed(4, 2);
    cluster.database.drains_in = jiff::SignedDuration::from_hours(10);
    cluster.kill("log-1");
    let done = cluster.rounds(60);
    let chosen = changes(&done)[0];
    let soon = ["log-2", "log-3", "log-4"].iter().filter(|id| chosen.contains(*id)).count();
    assert_eq!((chosen.matches("log-").count(), soon), (3, 1), "two have arrived, and one is still to move: {chosen}");
}

#[test]
fn those_that_are_replaced_soon_are_no_coordinators_where_there_are_others() {
    let mut cluster = Cluster::usual();
    // Every log is asked to be another, and one may be replaced at a time.
    cluster.desired.automation.pod_update = crate::PodUpdate::Replace;
    cluster.desired.automation.misconfigured_at_once = 1;
    let claim = serde_json::json!({"spec": {"storageClassName": "faster"}});
    let claim = Some(serde_json::from_value(claim).unwrap());
    cluster.desired.templates.insert(Log, crate::ClassTemplate { claim, ..crate::ClassTemplate::default() });
    cluster.kill("log-1");
    let changed = cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("coordinators")));
    let coordinators = changes(&told(&changed))[0].to_owned();
    assert!(!["log-2", "log-3", "log-4"].iter().any(|old| coordinators.contains(old)), "{coordinators}");
}

#[test]
fn those_whose_disks_fail_are_no_coordinators_where_there_are_others() {
    let mut cluster = Cluster::usual();
    cluster.spoil(|report| {
        let worn = [Some(group_id("log-2")), Some(group_id("log-4"))];
        let worn = report.processes.values_mut().filter(|process| worn.contains(&process.group));
        worn.for_each(|process| process.messages = ["io_error".to_owned()].into());
    });
    cluster.kill("log-1");
    let changed = cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("coordinators")));
    let coordinators = changes(&told(&changed))[0].to_owned();
    assert!(!["log-2", "log-4"].iter().any(|worn| coordinators.contains(worn)), "{coordinators}");
}

#[test]
fn how_far_apart_coordinators_are_goes_before_how_long_they_stay() {
    let mut cluster = Cluster::new(&[(Storage, 3), (Log, 5)]);
    cluster.desired.coordinator_selection.insert(Log, 1);
    let mut cluster = cluster.settled();
    // Three are still to move, each alone on its host and in its fault domain; the one that stays shares the one or the other with two.
    cluster.desired.automation.misconfigured_at_once = 0;
    for (id, host, zone) in [("log-1", "node-1", "log-1"), ("log-2", "node-2", "log-0"), ("log-3", "node-3", "log-2")] {
        let group = cluster.kube.recorded.groups.get_mut(&group_id(id)).unwrap();
        (group.packed, group.fault_domain) = (true, Some(zone.to_owned()));
        let server = cluster.database.servers.get_mut(&group_id(id)).unwrap();
        (server.host, server.zone) = (host.to_owned(), zone.to_owned());
    }
    let stays = cluster.database.servers.get_mut(&group_id("log-4")).unwrap();
    (stays.host, stays.zone) = ("node-1".to_owned(), "log-0".to_owned());
    cluster.database.coordinators =
        ["log-1", "log-2", "log-5"].map(|id| format!("{}:4501", cluster.database.servers[&group_id(id)].dns_name)).to_vec();
    cluster.desired.remove.insert("log-5".to_owned());
    let done = told(&cluster.decided());
    assert_eq!(changes(&done), ["coordinators sample-log-1, sample-log-2, sample-log-3"], "{:?}", cluster.decided().holds);
}

#[test]
fn where_there_are_places_for_fewer_those_are_better_than_a_lost_one() {
    let mut cluster = Cluster::at_rest(&[(Storage, 4), (Log, 4)]);
    cluster.desired.database.redundancy_mode = crate::RedundancyMode::Triple;
    let in_four_zones = |report: &mut crate::DatabaseReport| {
        for process in report.processes.values_mut() {
            let number = process.group.as_ref().and_then(crate::ProcessGroupId::number).unwrap_or(0);
            process.zone = Some(format!("zone-{}", number % 4));
        }
    };
    cluster.spoil(in_four_zones);
    let done = cluster.rounds(60);
    assert!(changes(&done).is_empty(), "three are wanted to be five, and there are places for four: {done:?}");
    let held = cluster.decided().holds.into_iter().find(|hold| hold.reason.0 == "NotEnoughCoordinators").unwrap();
    assert_eq!((held.measured.as_str(), held.threshold.as_str()), ("4 zones", "5"), "that is said");
    cluster.kill("log-1");
    let done = cluster.rounds(60);
    let changed = changes(&done);
    assert_eq!(changed.len(), 1, "{done:?}");
    assert_eq!(changed[0].matches("sample-").count(), 3, "of three that are well one more may be lost: {changed:?}");
}

#[test]
fn where_another_object_has_processes_there_may_be_more_places_than_here() {
    let mut cluster = Cluster::at_rest(&[(Storage, 4), (Log, 4)]);
    cluster.desired.database.redundancy_mode = crate::RedundancyMode::Triple;
    cluster.spoil(|report| {
        for process in report.processes.values_mut() {
            let number = process.group.as_ref().and_then(crate::ProcessGroupId::number).unwrap_or(0);
            process.zone = Some(format!("zone-{}", number % 4));
        }
        let mut other = report.processes.values().next().unwrap().clone();
        other.group = Some(group_id("dc2-log-1"));
        report.processes.insert("10.9.9.9:4501".to_owned(), other);
    });
    cluster.kill("log-1");
    let done = cluster.rounds(60);
    assert!(changes(&done).is_empty(), "all of them would be here, and lost together: {done:?}");
    assert!(codes(&cluster.decided()).contains(&"NotEnoughCoordinators"), "{:?}", cluster.decided().holds);
}

#[test]
fn before_a_database_spans_halls_coordinators_need_none() {
    let mut cluster = Cluster::usual();
    cluster.desired.database.redundancy_mode = crate::RedundancyMode::ThreeDataHall;
    cluster.desired.counts.insert(crate::ProcessClass::Coordinator, 6);
    cluster.nodes.extend((7..=12).map(|node| format!("node-{node}")));
    // None of them names a hall.
    cluster.rounds(60);
    let known = cluster.database.coordinators.len();
    cluster.kill("log-1");
    let done = cluster.rounds(60);
    assert!(known > 3 || !changes(&done).is_empty(), "{known} {done:?} {:?}", cluster.decided().holds);
}
