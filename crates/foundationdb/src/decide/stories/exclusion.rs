//! Data moves away from process groups that are to go.

use super::cluster::{Cluster, codes, group_id, told};
use crate::ProcessClass::{Log, Storage};

fn exclusions(done: &[String]) -> Vec<&str> {
    done.iter().map(String::as_str).filter(|step| step.starts_with("exclude")).collect()
}

#[test]
fn a_process_is_excluded_once_its_successor_serves() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("storage-8".to_owned());
    let decision = cluster.round(5);
    assert!(told(&decision).contains(&"create pod sample-storage-12".to_owned()));
    assert!(codes(&decision).contains(&"NoHeadroom"));
    assert_eq!(exclusions(&cluster.rounds(3)), ["exclude locality_instance_id:storage-8"]);
}

#[test]
fn a_dead_one_is_excluded_although_nobody_took_its_place() {
    let mut cluster = Cluster::usual();
    cluster.unplaceable.insert("storage-12".to_owned());
    cluster.kill("storage-8");
    cluster.rounds(3);
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.pass(90);
    assert_eq!(exclusions(&cluster.rounds(2)).first(), Some(&"exclude locality_instance_id:storage-8"));
}

#[test]
fn the_last_one_with_data_is_excluded_when_another_one_has_some() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove = ["storage-8", "storage-9"].map(str::to_owned).into();
    // The others came back after their data had been copied elsewhere, and get some only when they are needed.
    cluster.spoil(|report| {
        let are_to_go = [Some(group_id("storage-8")), Some(group_id("storage-9"))];
        let others = report.processes.values_mut().filter(|process| !are_to_go.contains(&process.group));
        others.for_each(|process| {
            process.roles.remove("storage");
        });
    });
    assert_eq!(exclusions(&cluster.rounds(5)), ["exclude locality_instance_id:storage-8"]);
    assert!(codes(&cluster.decided()).contains(&"NoHeadroom"));
    cluster.unspoil();
    assert_eq!(exclusions(&cluster.rounds(5)), ["exclude locality_instance_id:storage-9"]);
}

/// All storage was away for so long that its data was copied to two logs, and runs again for so many seconds.
fn with_data_on_logs(storage_runs_for: f64) -> Cluster {
    let mut cluster = Cluster::usual();
    cluster.desired.remove = ["log-3", "log-4", "stateless-5"].map(str::to_owned).into();
    cluster.spoil(move |report| {
        for process in report.processes.values_mut() {
            if process.roles.remove("storage") {
                process.uptime = Some(storage_runs_for);
            }
            if [Some(group_id("log-3")), Some(group_id("log-4"))].contains(&process.group) {
                process.roles.insert("storage".to_owned());
            }
        }
    });
    cluster
}

#[test]
fn the_transaction_system_does_not_wait_for_the_last_one_with_data() {
    let mut cluster = with_data_on_logs(600.0);
    let done = cluster.rounds(100);
    assert_eq!(exclusions(&done), ["exclude locality_instance_id:log-3, locality_instance_id:stateless-5"]);
    assert!(codes(&cluster.decided()).contains(&"NoHeadroom"));
    cluster.unspoil();
    assert_eq!(exclusions(&cluster.rounds(50)), ["exclude locality_instance_id:log-4"]);
}

#[test]
fn nobody_is_the_last_one_with_data_before_all_storage_has_said_what_it_has() {
    let mut cluster = with_data_on_logs(10.0);
    let done = cluster.rounds(100);
    assert!(exclusions(&done).is_empty(), "{done:?}");
    cluster.unspoil();
    let together = "exclude locality_instance_id:log-3, locality_instance_id:log-4, locality_instance_id:stateless-5";
    assert_eq!(exclusions(&cluster.rounds(50)), [together]);
}

#[test]
fn storage_that_has_a_part_in_the_transaction_system_keeps_the_distance_of_a_recovery() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.spoil(|report| {
        let of_it = report.processes.values_mut().filter(|process| process.group == Some(group_id("storage-8")));
        of_it.for_each(|process| {
            process.roles.insert("log".to_owned());
        });
    });
    let now = cluster.now;
    cluster.database.recover(now);
    assert!(exclusions(&cluster.rounds(20)).is_empty());
    assert!(codes(&cluster.decided()).contains(&"ExclusionHeld"));
    assert_eq!(exclusions(&cluster.rounds(10)), ["exclude locality_instance_id:storage-8"]);
}

#[test]
fn one_that_is_away_for_a_moment_is_not_dead() {
    let mut cluster = Cluster::usual();
    cluster.unplaceable.insert("storage-12".to_owned());
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.rounds(3);
    assert!(codes(&cluster.decided()).contains(&"NoHeadroom"));
    // Its node reboots.
    cluster.kill("storage-8");
    let done = cluster.rounds(8);
    assert!(exclusions(&done).is_empty(), "{done:?}");
    cluster.dead.clear();
    assert!(exclusions(&cluster.rounds(50)).is_empty());
    assert!(codes(&cluster.decided()).contains(&"NoHeadroom"));
}

#[test]
fn those_of_another_object_are_nobodys_successors() {
    let mut cluster = Cluster::usual();
    cluster.unplaceable.insert("storage-12".to_owned());
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.spoil(|report| {
        let is_storage = |process: &&crate::ProcessReport| process.class == Some(Storage);
        let like = report.processes.values().find(is_storage).cloned().unwrap();
        for number in 1..=3 {
            let group = Some(group_id(&format!("other-storage-{number}")));
            let zone = Some(format!("other-{number}"));
            let theirs = crate::ProcessReport { group, zone, excluded: None, ..like.clone() };
            report.processes.insert(format!("10.9.0.{number}:4501"), theirs);
        }
    });
    let done = cluster.rounds(20);
    assert!(exclusions(&done).is_empty(), "{done:?}");
    assert!(codes(&cluster.decided()).contains(&"NoHeadroom"));
}

#[test]
fn the_transaction_system_is_excluded_together() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove = ["log-4", "stateless-5", "storage-8"].map(str::to_owned).into();
    cluster.unplaceable.insert("log-12".to_owned());
    let done = cluster.rounds(10);
    assert_eq!(exclusions(&done), ["exclude locality_instance_id:storage-8"], "storage goes by itself");
    assert!(codes(&cluster.decided()).contains(&"ExcludedTogether"));
    cluster.kube.pods.remove("sample-log-12");
    cluster.unplaceable.clear();
    let done = cluster.rounds(10);
    assert_eq!(exclusions(&done), ["exclude locality_instance_id:log-4, locality_instance_id:stateless-5"]);
}

#[test]
fn where_there_is_no_room_for_long_those_of_the_transaction_system_go_that_can() {
    let mut cluster = Cluster::usual();
    // Whoever is a coordinator stays one, for nobody else can be it.
    cluster.desired.automation.timers.recovery_before_undesired_coordinator = jiff::SignedDuration::from_hours(10);
    cluster.desired.remove = ["log-1", "stateless-5"].map(str::to_owned).into();
    assert!(exclusions(&cluster.rounds(100)).is_empty(), "they go together");
    assert!(codes(&cluster.decided()).contains(&"ExcludedTogether"));
    // A storage process finds no node, and may find one if others go.
    cluster.desired.counts.insert(Storage, 5);
    let number = cluster.kube.recorded.last_number + 1;
    cluster.unplaceable.insert(format!("storage-{number}"));
    assert!(exclusions(&cluster.rounds(10)).is_empty(), "it may come in a moment");
    // Those who wait for it have waited long enough.
    assert_eq!(exclusions(&cluster.rounds(10)), ["exclude locality_instance_id:stateless-5"]);
}

#[test]
fn an_exclusion_that_costs_a_recovery_keeps_its_distance_and_one_of_storage_does_not() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove = ["log-4", "storage-8"].map(str::to_owned).into();
    cluster.database.recover(cluster.now);
    let done = cluster.rounds(10);
    assert_eq!(exclusions(&done), ["exclude locality_instance_id:storage-8"]);
    assert!(codes(&cluster.decided()).contains(&"ExclusionHeld"));
    assert_eq!(exclusions(&cluster.rounds(20)), ["exclude locality_instance_id:log-4"]);
}

#[test]
fn copies_need_zones_not_processes() {
    let mut cluster = Cluster::new(&[(Storage, 4), (Log, 4)]);
    cluster.nodes.truncate(3);
    let mut cluster = cluster.settled();
    // Everything of storage class is on two nodes by now.
    for id in ["storage-5", "storage-6", "storage-7", "storage-8"] {
        let zone = if id == "storage-5" { "node-1" } else { "node-2" };
        cluster.database.servers.get_mut(&super::cluster::group_id(id)).unwrap().zone = zone.to_owned();
    }
    cluster.desired.counts.insert(Storage, 3);
    cluster.kube.recorded.groups.get_mut(&super::cluster::group_id("storage-5")).unwrap().removal = Some(cluster.now);
    let done = cluster.rounds(10);
    assert!(exclusions(&done).is_empty(), "{done:?}");
    assert_eq!(codes(&cluster.decided()).iter().filter(|code| **code == "TooFewZones").count(), 1);
}

#[test]
fn a_report_that_is_not_whole_excludes_nobody() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.round(5);
    cluster.complains_of("unreadable_configuration");
    assert!(exclusions(&cluster.rounds(10)).is_empty());
    assert!(codes(&cluster.decided()).contains(&"ExclusionHeld"));
    cluster.unspoil();
    assert_eq!(exclusions(&cluster.rounds(3)).len(), 1);
}

#[test]
fn without_localities_every_address_is_excluded() {
    let mut cluster = Cluster::usual();
    cluster.desired.automation.exclude_by_locality = false;
    cluster.desired.remove.insert("storage-8".to_owned());
    let address = cluster.pod("storage-8").addresses[0].clone();
    let done = cluster.rounds(40);
    assert_eq!(exclusions(&done), [format!("exclude {address}")]);
    assert!(done.contains(&format!("include {address}")), "{done:?}");
}

#[test]
fn one_that_never_had_an_address_needs_no_exclusion_by_address() {
    let mut cluster = Cluster::usual();
    cluster.desired.automation.exclude_by_locality = false;
    cluster.unplaceable.insert("storage-12".to_owned());
    cluster.desired.counts.insert(Storage, 5);
    cluster.rounds(3);
    cluster.desired.remove.insert("storage-12".to_owned());
    let done = cluster.rounds(10);
    assert!(done.contains(&"delete pod sample-storage-12".to_owned()), "{done:?} {:?}", cluster.decided().holds);
}

#[test]
fn who_may_have_just_started_is_not_excluded_as_dead() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("log-4".to_owned());
    // Its pod was made again, its server says nothing yet, and nobody has heard of its address.
    cluster.spoil(|report| {
        let of_log_4 = |process: &crate::ProcessReport| process.group == Some(group_id("log-4"));
        let address = report.processes.iter().find(|(_, process)| of_log_4(process)).map(|(address, _)| address.clone()).unwrap();
        let process = report.processes.remove(&address).unwrap();
        let silent = crate::ProcessReport { group: None, uptime: Some(3.0), ..process };
        report.processes.insert("10.9.9.9:4501".to_owned(), silent);
    });
    let done = cluster.rounds(20);
    assert!(!done.iter().any(|step| step.starts_with("exclude")), "{done:?}");
    assert!(codes(&cluster.decided()).contains(&"ExclusionHeld"));
    cluster.unspoil();
    cluster.until(|decision| told(decision).contains(&"exclude locality_instance_id:log-4".to_owned()));
}

#[test]
fn who_never_says_whose_it_is_holds_nobody_up() {
    let mut cluster = Cluster::usual();
    // Somebody has added a server by hand, without the name of a process group.
    cluster.spoil(|report| {
        let stranger = report.processes.values().find(|process| process.group == Some(group_id("storage-10"))).cloned();
        let stranger = stranger.map(|process| crate::ProcessReport { group: None, uptime: Some(3600.0), ..process });
        report.processes.extend(stranger.map(|process| ("10.9.9.9:4501".to_owned(), process)));
    });
    cluster.kill("storage-8");
    cluster.rounds(3);
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.pass(90);
    assert_eq!(exclusions(&cluster.rounds(2)), ["exclude locality_instance_id:storage-8"]);
}

#[test]
fn whose_addresses_others_have_goes_when_what_it_had_is_elsewhere() {
    let mut cluster = Cluster::usual();
    cluster.desired.automation.exclude_by_locality = false;
    cluster.desired.remove.insert("log-4".to_owned());
    cluster.kill("log-4");
    let addresses = std::mem::take(&mut cluster.pod("log-4").addresses);
    cluster.pod("log-3").addresses.extend(addresses);
    // An older generation of the log is needed, which it may have a part of.
    cluster.spoil(|report| report.recovery.as_mut().unwrap().active_generations = Some(2));
    let done = cluster.rounds(60);
    assert!(!done.iter().any(|step| step.starts_with("delete")), "{done:?}");
    assert!(codes(&cluster.decided()).contains(&"ExclusionHeld"));
    cluster.unspoil();
    assert!(cluster.rounds(60).contains(&"delete pod sample-log-4".to_owned()), "{:?}", cluster.decided().holds);
}

#[test]
fn a_process_that_was_restarted_counts_once_though_it_is_listed_twice() {
    let mut cluster = Cluster::usual();
    cluster.kill("storage-9");
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.spoil(|report| {
        let again = report.processes.values().find(|process| process.group == Some(group_id("storage-10"))).cloned();
        report.processes.extend(again.map(|process| ("10.9.9.9:4501".to_owned(), process)));
    });
    assert_eq!(exclusions(&cluster.rounds(20)), Vec::<&str>::new());
    assert!(codes(&cluster.decided()).contains(&"NoHeadroom"));
}

#[test]
fn who_was_removed_and_included_again_is_no_successor_while_it_is_still_listed() {
    let mut cluster = Cluster::usual();
    cluster.unplaceable.insert("storage-13".to_owned());
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("include")));
    // The report lists it for some seconds more, and it is excluded no longer.
    cluster.spoil(|report| {
        let like = report.processes.values().find(|process| process.group == Some(group_id("storage-9"))).cloned().unwrap();
        report.processes.insert("10.9.9.9:4501".to_owned(), crate::ProcessReport { group: Some(group_id("storage-8")), ..like });
    });
    cluster.desired.remove.insert("storage-9".to_owned());
    assert_eq!(exclusions(&cluster.rounds(6)), Vec::<&str>::new());
    assert!(cluster.kube.recorded.groups.contains_key(&group_id("storage-8")), "it is not forgotten while it is listed");
    cluster.kube.recorded.groups.remove(&group_id("storage-8"));
    assert_eq!(exclusions(&cluster.rounds(6)), Vec::<&str>::new(), "nor after it was");
    assert!(codes(&cluster.decided()).contains(&"NoHeadroom"));
}

#[test]
fn who_is_being_made_again_does_not_count_as_serving() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.goes("storage-9");
    let done = cluster.rounds(10);
    assert!(exclusions(&done).is_empty(), "{done:?}");
    let done = cluster.rounds(40);
    assert_eq!(exclusions(&done).len(), 1, "it never went, and is there after all: {done:?}");
}

#[test]
fn who_is_being_made_again_needs_a_successor_like_anybody() {
    let mut cluster = Cluster::usual();
    cluster.unplaceable.insert("storage-12".to_owned());
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.goes("storage-8");
    let done = cluster.rounds(10);
    assert!(exclusions(&done).is_empty(), "{done:?}");
}

#[test]
fn more_servers_per_pod_than_successors_were_made_with_are_no_reason_to_wait_for_ever() {
    let mut cluster = Cluster::usual();
    let old = ["log-1", "log-2", "log-3", "log-4"];
    cluster.desired.remove = old.map(str::to_owned).into();
    cluster.round(1);
    cluster.desired.servers_per_pod.insert(Log, 2);
    let done = cluster.rounds(200);
    let excluded = exclusions(&done);
    assert!(old.iter().all(|id| excluded.iter().any(|step| step.contains(id))), "{done:?} {:?}", cluster.decided().holds);
}

#[test]
fn fewer_servers_per_pod_are_no_reason_to_wait() {
    let mut cluster = Cluster::usual();
    // Two servers in each pod, until the successors are there, which have one.
    cluster.spoil(|report| {
        let of_old = |process: &crate::ProcessReport| {
            process.group.as_ref().is_some_and(|id| ["log-1", "log-2", "log-3", "log-4"].contains(&id.0.as_str()))
        };
        let second = report.processes.iter().filter(|(_, process)| of_old(process));
        let second: Vec<_> = second.map(|(at, process)| (at.replace(":4501", ":4503"), process.clone())).collect();
        report.processes.extend(second);
    });
    cluster.desired.remove = ["log-1", "log-2", "log-3", "log-4"].map(str::to_owned).into();
    let done = cluster.rounds(200);
    assert_eq!(exclusions(&done).len(), 1, "{done:?} {:?}", cluster.decided().holds);
}

#[test]
fn nobody_is_excluded_whom_the_mode_set_in_the_same_decision_needs() {
    for mode in [crate::RedundancyMode::Double, crate::RedundancyMode::Triple] {
        let mut cluster = Cluster::at_rest(&[(Storage, 3), (Log, 4)]);
        cluster.desired.counts.insert(Storage, 2);
        cluster.desired.database.redundancy_mode = mode;
        let done = told(&cluster.round(5));
        let excludes = done.iter().any(|step| step.starts_with("exclude"));
        assert_eq!(excludes, mode == crate::RedundancyMode::Double, "{done:?}");
        assert_eq!(done.iter().any(|step| step.starts_with("configure")), mode == crate::RedundancyMode::Triple, "{done:?}");
    }
}
