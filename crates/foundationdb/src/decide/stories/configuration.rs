//! The database is made as it was asked to be.

use super::cluster::{Cluster, codes, told};
use crate::RedundancyMode;
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
