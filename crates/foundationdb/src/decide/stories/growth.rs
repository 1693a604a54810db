//! More process groups, or fewer.

use super::cluster::{Cluster, codes, group_id, told};
use crate::ProcessClass::{Log, Storage};

#[test]
fn growing_adds_under_numbers_that_were_never_used() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("storage-11".to_owned());
    cluster.rounds(60);
    cluster.desired.counts.insert(Storage, 5);
    let done = told(&cluster.round(5));
    assert!(done.contains(&"create pod sample-storage-13".to_owned()), "{done:?}");
    assert_eq!(cluster.kube.recorded.last_number, 13);
}

#[test]
fn a_name_that_is_still_excluded_is_not_given_again() {
    let mut cluster = Cluster::usual();
    let now = cluster.now;
    cluster.database.exclude(&["locality_instance_id:storage-12".to_owned()], now);
    cluster.desired.counts.insert(Storage, 5);
    assert!(told(&cluster.round(5)).contains(&"create pod sample-storage-13".to_owned()));
}

#[test]
fn shrinking_takes_the_youngest_of_the_fullest_zone_and_coordinators_last() {
    let mut cluster = Cluster::usual();
    cluster.desired.counts.insert(Log, 3);
    cluster.round(5);
    assert_eq!(cluster.marked(), ["log-4"], "the others are coordinators");
    let mut cluster = Cluster::usual();
    let zone = cluster.database.servers[&group_id("storage-8")].zone.clone();
    cluster.database.servers.get_mut(&group_id("storage-9")).unwrap().zone = zone;
    cluster.desired.counts.insert(Storage, 3);
    cluster.round(5);
    assert_eq!(cluster.marked(), ["storage-9"]);
}

#[test]
fn who_is_absent_for_a_moment_is_no_victim_of_another_class_that_shrinks() {
    let mut cluster = Cluster::usual();
    cluster.kill("storage-8");
    cluster.pass(10);
    cluster.desired.counts.insert(Log, 3);
    cluster.round(5);
    assert_eq!(cluster.marked(), ["log-4"]);
}

#[test]
fn who_is_absent_for_a_moment_is_no_better_victim_than_others_of_its_class() {
    for absent in ["storage-8", "storage-9", "storage-10"] {
        let mut cluster = Cluster::usual();
        cluster.kill(absent);
        cluster.pass(10);
        cluster.desired.counts.insert(Storage, 3);
        cluster.round(5);
        assert_eq!(cluster.marked(), ["storage-11"], "the youngest, whoever is absent");
    }
}

#[test]
fn nobody_is_chosen_to_go_while_the_database_is_silent() {
    let mut cluster = Cluster::usual();
    cluster.desired.counts.insert(Log, 3);
    cluster.silent_since = Some(cluster.now);
    let decision = cluster.round(5);
    assert!(cluster.marked().is_empty());
    assert!(codes(&decision).contains(&"SurplusProcessGroups"));
}

#[test]
fn another_prefix_replaces_everybody() {
    let mut cluster = Cluster::at_rest(&[(Storage, 4), (Log, 4)]);
    cluster.desired.prefix = Some("dc1".to_owned());
    cluster.desired.automation.misconfigured_at_once = 2;
    let decision = cluster.round(5);
    assert_eq!(cluster.marked().len(), 2);
    assert!(codes(&decision).contains(&"ReplacementHeld"));
    cluster.rounds(1500);
    assert!(cluster.kube.recorded.groups.keys().all(|id| id.0.starts_with("dc1-")), "{:?}", cluster.decided().holds);
}

#[test]
fn shrinking_takes_first_whom_somebody_has_excluded() {
    let mut cluster = Cluster::usual();
    let now = cluster.now;
    cluster.database.exclude(&["locality_instance_id:storage-8".to_owned()], now);
    cluster.rounds(2);
    cluster.desired.counts.insert(Storage, 3);
    cluster.round(5);
    assert_eq!(cluster.marked(), ["storage-8"], "without any other there would be too few who serve");
}
