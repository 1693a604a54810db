//! A cluster that lived before.

use quorate_quorum::{Hold, Sighting};

use super::cluster::{Cluster, codes, group_id, told};
use super::updates::{another_image, deleted};
use crate::ProcessClass::{Log, Storage};
use crate::{Distribution, Recorded, decide};

/// A cluster with one storage group more than anybody knows of: its objects arrived when it was forgotten.
fn with_a_stray() -> Cluster {
    let mut cluster = Cluster::usual();
    cluster.desired.counts.insert(Storage, 5);
    cluster.rounds(10);
    cluster.desired.counts.insert(Storage, 4);
    forget(&mut cluster, "storage-12");
    cluster
}

/// Nobody knows of a process group any more.
pub(super) fn forget(cluster: &mut Cluster, id: &str) {
    cluster.kube.recorded.groups.remove(&group_id(id));
}

#[test]
fn a_status_that_was_lost_is_read_back_from_the_objects() {
    let mut cluster = Cluster::usual();
    let before = cluster.kube.recorded.clone();
    cluster.kube.recorded = Recorded::default();
    let decision = cluster.round(5);
    let made: Vec<String> = told(&decision).into_iter().filter(|step| step.starts_with("create")).collect();
    assert_eq!(made, Vec::<String>::new(), "nothing is made twice");
    cluster.rounds(10);
    let after = &cluster.kube.recorded;
    assert_eq!(after.groups.keys().collect::<Vec<_>>(), before.groups.keys().collect::<Vec<_>>());
    assert_eq!((&after.connection, after.last_number), (&before.connection, before.last_number));
}

#[test]
fn a_status_that_was_lost_is_not_begun_anew_with_what_the_object_was_made_with() {
    let mut cluster = Cluster::usual();
    let connection = cluster.kube.recorded.connection.clone();
    cluster.desired.seed_connection = Some("sample:first@10.9.9.1:4501,10.9.9.2:4501,10.9.9.3:4501".to_owned());
    cluster.kube.recorded = Recorded::default();
    cluster.pass(5);
    let mut seen = cluster.seen();
    seen.database = Sighting::NotAsked;
    assert_eq!(decide(&seen).status.connection, connection);
}

#[test]
fn after_a_status_was_lost_no_database_is_created_before_the_coordinators_have_spoken() {
    let mut cluster = Cluster::usual();
    cluster.kube.recorded = Recorded::default();
    cluster.pass(5);
    let mut seen = cluster.seen();
    seen.database = Sighting::NotAsked;
    let decision = decide(&seen);
    let creates = |step: &String| step.contains("database");
    assert!(!told(&decision).iter().any(creates), "{:?}", told(&decision));
    let asked_for = decision.holds.iter().find(|hold| hold.sentence.starts_with("whether the database exists is not known"));
    assert!(asked_for.is_some(), "{:?}", decision.holds);
}

#[test]
fn after_a_status_was_lost_nothing_is_made_while_watches_are_behind() {
    let mut cluster = Cluster::usual();
    cluster.kube.recorded = Recorded::default();
    // A pod that was made a moment ago; nobody may give its name away again.
    let made = cluster.kube.pods.remove("sample-stateless-7").unwrap();
    cluster.kube.unseen.insert("sample-stateless-7".to_owned());
    let decision = cluster.round(5);
    assert!(decision.steps.is_empty() && decision.status.groups.is_empty(), "{:?}", told(&decision));
    assert_eq!(codes(&decision), ["WaitingForProcesses"]);
    cluster.kube.unseen.clear();
    cluster.kube.pods.insert("sample-stateless-7".to_owned(), made);
    assert_eq!(cluster.round(5).status.groups.len(), 11);
}

#[test]
fn a_status_that_was_lost_makes_nobody_one_that_never_served() {
    let mut cluster = another_image();
    cluster.kube.recorded = Recorded::default();
    // Nothing is heard of some nodes, and without a status nobody knows the way to the database.
    for id in ["storage-8", "storage-9", "log-1"] {
        cluster.pod(id).ready = false;
    }
    cluster.pass(5);
    let mut seen = cluster.seen();
    seen.database = Sighting::NotAsked;
    let decision = decide(&seen);
    assert!(deleted(&told(&decision)).is_empty(), "{:?}", told(&decision));
    assert_eq!(decision.status.groups.len(), 11);
}

#[test]
fn after_a_status_was_lost_no_zone_goes_until_the_database_knows_who_is_missing() {
    let mut cluster = another_image();
    cluster.kube.recorded = Recorded::default();
    let mut waited = 0;
    while waited < 90 {
        let decision = cluster.round(5);
        assert!(deleted(&told(&decision)).is_empty(), "after {waited} s: {:?}", told(&decision));
        let said = |hold: &Hold| hold.sentence.contains("the status was lost and read back");
        assert!(decision.holds.iter().any(said), "after {waited} s: {:?}", decision.holds);
        waited += 5;
    }
    assert_eq!(deleted(&told(&cluster.round(5))).len(), 3);
}

#[test]
fn volumes_of_a_database_that_nobody_knows_the_way_to_are_left_alone() {
    let mut cluster = Cluster::usual();
    let connection = cluster.kube.recorded.connection.clone();
    // The object was deleted and made again: its pods and its ConfigMap went with it, its volumes stayed.
    cluster.kube.recorded = Recorded::default();
    cluster.kube.pods.clear();
    cluster.kube.config_map = None;
    let decision = cluster.decided();
    assert!(decision.steps.is_empty());
    assert_eq!(codes(&decision), ["VolumesOfAnEarlierLife"]);
    // Whoever says how it is reached gets it back, under its old names.
    cluster.desired.seed_connection = connection;
    let made = told(&cluster.round(5));
    assert!(made.contains(&"create pod sample-storage-8".to_owned()), "{made:?}");
    assert!(!made.iter().any(|step| step.contains("claim")), "{made:?}");
}

#[test]
fn fault_domains_are_read_back_from_the_pods() {
    let mut cluster = Cluster::new(&[(Storage, 6), (Log, 3)]);
    cluster.desired.distribution = Some(Distribution { domains: 3, required: false });
    let mut cluster = cluster.settled();
    let before = cluster.kube.recorded.groups.clone();
    cluster.kube.recorded = Recorded::default();
    cluster.rounds(60);
    let domains = |groups: &std::collections::BTreeMap<_, crate::ProcessGroup>| -> Vec<Option<String>> {
        groups.values().map(|group| group.domain_key().map(str::to_owned)).collect()
    };
    assert_eq!(domains(&cluster.kube.recorded.groups), domains(&before), "nobody moves because a status was lost");
}

#[test]
fn fault_domains_are_read_back_from_the_volumes_of_an_object_that_was_made_again() {
    let mut cluster = Cluster::new(&[(Storage, 6), (Log, 3)]);
    cluster.desired.distribution = Some(Distribution { domains: 3, required: false });
    let mut cluster = cluster.settled();
    let before = cluster.kube.recorded.clone();
    cluster.kube.recorded = Recorded::default();
    cluster.kube.pods.clear();
    cluster.kube.config_map = None;
    cluster.desired.seed_connection = before.connection;
    let read_back = cluster.decided().status.groups;
    let domains = |groups: &std::collections::BTreeMap<crate::ProcessGroupId, crate::ProcessGroup>| -> Vec<_> {
        groups.iter().map(|(id, group)| (id.clone(), group.domain_key().map(str::to_owned))).collect()
    };
    assert_eq!(domains(&read_back), domains(&before.groups));
}

#[test]
fn a_stray_that_stays_is_drained_and_removed() {
    let mut cluster = with_a_stray();
    assert!(codes(&cluster.round(5)).contains(&"Stray"), "a watch may lag");
    assert!(cluster.marked().is_empty());
    let mut done = cluster.rounds(12);
    assert_eq!(cluster.marked(), ["storage-12"]);
    done.extend(cluster.rounds(60));
    let at = |what: &str| done.iter().position(|step| step.starts_with(what)).unwrap_or_else(|| panic!("{what}: {done:?}"));
    assert!(at("exclude locality_instance_id:storage-12") < at("delete pod sample-storage-12"), "{done:?}");
    assert!(at("delete claim sample-storage-12-data") < at("include"), "{done:?}");
    assert!(!cluster.kube.recorded.groups.contains_key(&group_id("storage-12")));
    assert_eq!(codes(&cluster.decided()), Vec::<&str>::new());
}

#[test]
fn what_only_a_lagging_watch_shows_astray_is_left_alone() {
    let mut cluster = with_a_stray();
    let groups = cluster.kube.recorded.groups.clone();
    cluster.rounds(6);
    cluster.kube.pods.remove("sample-storage-12");
    cluster.kube.claims.remove("sample-storage-12-data");
    let done = cluster.rounds(60);
    assert_eq!(done.iter().filter(|step| step.starts_with("exclude")).count(), 0, "{done:?}");
    assert_eq!(cluster.kube.recorded.groups.keys().collect::<Vec<_>>(), groups.keys().collect::<Vec<_>>());
    assert!(cluster.journal.0.is_empty());
}

#[test]
fn without_a_report_no_stray_is_taken_in() {
    let mut cluster = with_a_stray();
    cluster.silent_since = Some(cluster.now);
    cluster.rounds(60);
    assert!(cluster.marked().is_empty());
    assert!(codes(&cluster.decided()).contains(&"Stray"));
}

#[test]
fn a_volume_that_nobody_knows_stays_and_a_claim_without_one_goes() {
    for bound in [true, false] {
        let mut cluster = with_a_stray();
        cluster.kube.pods.remove("sample-storage-12");
        cluster.kill("storage-12");
        cluster.kube.claims.get_mut("sample-storage-12-data").unwrap().bound = bound;
        let done = cluster.rounds(200);
        assert_eq!(cluster.kube.claims.contains_key("sample-storage-12-data"), bound, "{done:?}");
        assert_eq!(codes(&cluster.decided()), if bound { vec!["UnknownVolume"] } else { Vec::new() });
    }
}

#[test]
fn an_object_that_only_has_the_label_of_a_process_group_is_nobody() {
    for label in ["old-storage-8", "storage-08", "storage-13", "storage-9223372036854775807"] {
        let mut cluster = Cluster::usual();
        let mut copy = (*cluster.kube.claims["sample-storage-8-data"]).clone();
        (copy.group, copy.bound, copy.uid) = (Some(group_id(label)), false, "copied".to_owned());
        cluster.kube.claims.insert("restored".to_owned(), copy.into());
        let done = cluster.rounds(100);
        assert_eq!(done, Vec::<String>::new(), "{label}");
        assert!(cluster.marked().is_empty());
        // Neither is it where everything is read back.
        let recorded = std::mem::take(&mut cluster.kube.recorded);
        cluster.rounds(3);
        assert_eq!(cluster.kube.recorded.last_number, recorded.last_number, "{label}");
    }
}

#[test]
fn a_stray_that_is_deleted_and_does_not_go_is_drained_too() {
    let mut cluster = with_a_stray();
    cluster.pod("storage-12").deleted_since = Some(cluster.now);
    let done = cluster.rounds(40);
    assert!(done.contains(&"exclude locality_instance_id:storage-12".to_owned()), "{done:?}");
}
