//! The database is made as it was asked to be.

use super::cluster::{Cluster, codes, told};
use crate::RedundancyMode;
use crate::configuration::Migration;
use crate::report::Backlog;

#[test]
fn what_differs_is_configured_once_and_in_one_recovery() {
    let mut cluster = Cluster::usual();
    cluster.desired.database.settings.insert("logs".to_owned(), 4);
    cluster.database.keys.insert("logs".to_owned(), b"3".to_vec());
    let done = cluster.rounds(60);
    assert_eq!(done.iter().filter(|step| step.starts_with("configure")).collect::<Vec<_>>(), ["configure logs"], "{done:?}");
}

#[test]
fn more_copies_than_there_are_zones_are_not_configured() {
    let mut cluster = Cluster::usual();
    cluster.desired.database.redundancy_mode = RedundancyMode::ThreeDatacenter;
    let decision = cluster.decided();
    assert!(!told(&decision).iter().any(|step| step.starts_with("configure")));
    assert!(codes(&decision).contains(&"ConfigurationHeld"));
    cluster.desired.database.redundancy_mode = RedundancyMode::Triple;
    cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("configure log_anti_quorum")));
}

#[test]
fn halls_in_which_logs_have_no_two_zones_are_no_halls_to_span() {
    // The server accepts the mode, and then recruits no logs.
    for (zones, configured) in [([3, 1, 1], false), ([2, 2, 1], true)] {
        let mut cluster = Cluster::at_rest(&[(crate::ProcessClass::Storage, 5), (crate::ProcessClass::Log, 5)]);
        cluster.spoil(move |report| {
            for process in report.processes.values_mut() {
                let zone = process.group.as_ref().and_then(crate::ProcessGroupId::number).map_or(0, |number| (number - 1) % 5);
                let hall = if zone < zones[0] { 0 } else { 1 + usize::from(zone >= zones[0] + zones[1]) };
                (process.zone, process.physical_zone) = (Some(format!("zone-{zone}")), None);
                process.hall = Some(format!("hall-{hall}"));
            }
        });
        cluster.desired.database.redundancy_mode = RedundancyMode::ThreeDataHall;
        let done = told(&cluster.decided());
        assert_eq!(done.iter().any(|step| step.starts_with("configure")), configured, "{done:?} {:?}", cluster.decided().holds);
    }
}

#[test]
fn it_is_left_as_it_is_where_that_was_asked_for_or_while_data_moves() {
    let mut cluster = Cluster::usual();
    cluster.desired.database.settings.insert("logs".to_owned(), 4);
    cluster.database.keys.insert("logs".to_owned(), b"3".to_vec());
    cluster.desired.automation.configure_database = false;
    assert_eq!(codes(&cluster.decided()), ["ConfigurationHeld"]);
    cluster.desired.automation.configure_database = true;
    cluster.spoil(|report| report.data.as_mut().unwrap().healthy = Some(false));
    let decision = cluster.decided();
    assert!(codes(&decision).contains(&"ConfigurationHeld") && told(&decision).iter().all(|step| step.starts_with("keep")));
}

#[test]
fn it_waits_for_servers_that_are_far_behind() {
    let none = Backlog::default();
    let behind = [
        (Backlog { data_lag: 61.0, ..none }, "more than 60 s behind"),
        (Backlog { durability_lag: 61.0, ..none }, "more than 60 s behind"),
        (Backlog { log_queue: 3e8, ..none }, "a log has more than 250 MiB in its queue"),
        (Backlog { storage_queue: 3e8, ..none }, "a storage server has more than 250 MiB in its queue"),
    ];
    for (backlog, said) in behind {
        let mut cluster = Cluster::usual();
        cluster.desired.database.settings.insert("logs".to_owned(), 4);
        cluster.database.keys.insert("logs".to_owned(), b"3".to_vec());
        cluster.spoil(move |report| report.backlog = backlog);
        let decision = cluster.decided();
        assert!(decision.steps.is_empty(), "{:?}", told(&decision));
        assert!(decision.holds.iter().any(|hold| hold.sentence.contains(said)), "{:?}", decision.holds);
    }
}

/// What is configured in the next minutes.
fn configured(cluster: &mut Cluster) -> Vec<String> {
    cluster.rounds(60).into_iter().filter(|step| step.starts_with("configure")).collect()
}

#[test]
fn a_role_that_is_asked_for_no_longer_is_as_if_it_never_was() {
    let mut cluster = Cluster::usual();
    cluster.desired.database.settings.insert("logs".to_owned(), 5);
    assert_eq!(configured(&mut cluster), ["configure logs"]);
    cluster.desired.database.settings.clear();
    assert_eq!(configured(&mut cluster), ["configure logs"]);
    assert_eq!(cluster.database.keys["logs"], b"3");
    assert_eq!(codes(&cluster.decided()), [""; 0]);
}

#[test]
fn what_another_object_of_the_same_database_asks_for_is_left_alone() {
    let mut cluster = Cluster::usual();
    cluster.database.keys.insert("logs".to_owned(), b"6".to_vec());
    cluster.spoil(|report| {
        let mut other = report.processes.values().next().unwrap().clone();
        other.group = Some(crate::ProcessGroupId("dc2-log-1".to_owned()));
        other.class = Some(crate::ProcessClass::Log);
        report.processes.insert("10.9.9.9:4501".to_owned(), other);
    });
    assert_eq!(configured(&mut cluster), [""; 0]);
    cluster.desired.database.settings.insert("logs".to_owned(), 5);
    assert_eq!(configured(&mut cluster), ["configure logs"], "but what is asked for here is set");
}

#[test]
fn what_nobody_known_may_have_asked_for_is_left_alone_too() {
    let nameless = |report: &mut crate::DatabaseReport| {
        let mut other = report.processes.values().next().unwrap().clone();
        other.group = None;
        report.processes.insert("10.9.9.9:4501".to_owned(), other);
    };
    // One of theirs is a coordinator, and nothing else of theirs is to be seen now.
    let away = |report: &mut crate::DatabaseReport| report.coordinators[0].address = "10.9.9.9:4501".to_owned();
    for spoil in [nameless, away] {
        let mut cluster = Cluster::usual();
        cluster.database.keys.insert("logs".to_owned(), b"6".to_vec());
        cluster.spoil(spoil);
        let done = told(&cluster.decided());
        assert!(!done.iter().any(|step| step.starts_with("configure")), "{done:?}");
    }
}

#[test]
fn a_setting_that_the_database_does_not_name_was_never_set() {
    let mut cluster = Cluster::usual();
    cluster.desired.database.settings.insert("log_version".to_owned(), 6);
    assert_eq!(configured(&mut cluster), ["configure log_version"]);
}

#[test]
fn no_engine_is_set_that_no_server_would_come_to() {
    let engine = |cluster: &mut Cluster| cluster.desired.database.storage_engine = "ssd-rocksdb-v1".to_owned();
    let mut cluster = Cluster::usual();
    engine(&mut cluster);
    assert_eq!(configured(&mut cluster), [""; 0]);
    let hold = cluster.decided().holds.remove(0);
    assert_eq!((hold.reason.0, hold.measured.as_str()), ("ConfigurationHeld", "storage_migration_type disabled"));
    cluster.desired.database.migration = Some(Migration::Gradual);
    assert_eq!(configured(&mut cluster), ["configure storage_migration_type"]);
    assert!(cluster.decided().holds[0].sentence.contains("gradual while perpetual_storage_wiggle is 0"));
    cluster.desired.database.settings.insert("perpetual_storage_wiggle".to_owned(), 1);
    assert_eq!(configured(&mut cluster), ["configure log_engine, perpetual_storage_wiggle, storage_engine"]);
    assert_eq!(codes(&cluster.decided()), [""; 0]);
}

#[test]
fn how_servers_come_to_another_engine_may_be_set_together_with_it() {
    let mut cluster = Cluster::usual();
    cluster.desired.database.storage_engine = "ssd-rocksdb-v1".to_owned();
    cluster.desired.database.migration = Some(Migration::Aggressive);
    assert_eq!(configured(&mut cluster), ["configure log_engine, storage_engine, storage_migration_type"]);
}

#[test]
fn nothing_is_reconciled_while_servers_have_another_engine() {
    let mut cluster = Cluster::usual();
    cluster.spoil(|report| {
        let mut storage = report.processes.values_mut().filter(|process| process.roles.contains("storage"));
        storage.next().unwrap().engine = Some("memory-2".to_owned());
        storage.for_each(|process| process.engine = Some("ssd-2".to_owned()));
    });
    let decision = cluster.round(5);
    assert_eq!(codes(&decision), ["EngineMigration"]);
    assert!(decision.holds[0].sentence.starts_with("1 of 4 storage servers still have another engine than ssd-2"));
}

#[test]
fn servers_that_keep_their_engine_because_nobody_migrates_them_are_said_to_and_those_that_wiggle_are_not_waited_for() {
    let mut cluster = Cluster::usual();
    cluster.spoil(|report| {
        let storage = report.processes.values_mut().filter(|process| process.roles.contains("storage"));
        storage.for_each(|process| process.engine = Some("ssd-rocksdb-v1".to_owned()));
    });
    let hold = cluster.decided().holds.remove(0);
    assert!(hold.sentence.ends_with("and keep it, because storage_migration_type is disabled"), "{}", hold.sentence);
    cluster.spoil(|report| {
        let storage = report.processes.values_mut().filter(|process| process.roles.contains("storage"));
        storage.for_each(|process| process.engine = Some("ssd-rocksdb-v1".to_owned()));
        let words = &mut report.configuration.as_mut().unwrap().words;
        words.insert("perpetual_storage_wiggle_engine".to_owned(), "ssd-rocksdb-v1".to_owned());
    });
    assert_eq!(codes(&cluster.decided()), [""; 0]);
}
