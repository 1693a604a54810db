//! What the database says, and what is made of it.

use jiff::SignedDuration;
use quorate_quorum::Sighting;

use super::cluster::{Cluster, codes, told};
use crate::{PodPhase, decide};

#[test]
fn a_silent_database_is_said_and_nothing_is_taken_away() {
    let mut cluster = Cluster::usual();
    cluster.silent_since = Some(cluster.now);
    let decision = cluster.decided();
    assert_eq!(codes(&decision), ["DatabaseUnreachable"]);
    assert_eq!(told(&decision), ["keep 11 pods"], "and nobody else may take anything away either");
    assert_eq!(decision.status.available, Some(false));
}

#[test]
fn one_that_answers_and_cant_be_used_is_said_with_what_it_complains_of() {
    let mut cluster = Cluster::usual();
    cluster.spoil(|report| {
        report.available = false;
        report.messages.insert("unreadable_configuration".to_owned());
    });
    let decision = cluster.decided();
    let hold = decision.holds.iter().find(|hold| hold.reason.0 == "DatabaseUnavailable").unwrap();
    assert!(hold.sentence.contains("unreadable_configuration"));
}

#[test]
fn who_is_not_ready_is_not_counted_as_being_as_it_should() {
    let mut cluster = Cluster::usual();
    assert_eq!(cluster.decided().status.reconciled_groups, 11);
    // It has a node and starts, and the database still lists its process.
    let pod = cluster.pod("storage-8");
    (pod.phase, pod.ready) = (PodPhase::Pending, false);
    let decision = cluster.decided();
    assert!(decision.status.groups.values().all(|group| group.conditions.is_empty()));
    assert_eq!(decision.status.reconciled_groups, 10);
}

#[test]
fn one_that_is_not_healthy_is_looked_at_again_soon() {
    let mut cluster = Cluster::usual();
    let next = |cluster: &Cluster| cluster.decided().wake.0.unwrap().duration_since(cluster.now).as_secs();
    assert_eq!(next(&cluster), 30);
    cluster.spoil(|report| report.healthy = false);
    assert_eq!((told(&cluster.decided()), codes(&cluster.decided())), (vec![], vec![]));
    assert_eq!(next(&cluster), 5);
}

#[test]
fn the_earliest_wish_to_look_again_wins() {
    let mut cluster = Cluster::usual();
    cluster.desired.automation.replacements.after = SignedDuration::from_secs(100);
    cluster.kill("stateless-5");
    cluster.rounds(2);
    let due = cluster.group("stateless-5").conditions.values().min().copied().unwrap() + SignedDuration::from_secs(100);
    cluster.now = due - SignedDuration::from_secs(3);
    assert_eq!(cluster.decided().wake.0, Some(due), "the replacement is due before the next look, and nothing delays it");
}

#[test]
fn an_old_report_is_as_good_as_none() {
    let cluster = Cluster::usual();
    let mut seen = cluster.seen();
    let Sighting::Seen { at, .. } = &mut seen.database else { panic!() };
    *at -= SignedDuration::from_secs(31);
    let decision = decide(&seen);
    assert_eq!(codes(&decision), ["DatabaseUnreachable"]);
}

#[test]
fn holds_say_the_same_while_nothing_changes() {
    let mut cluster = Cluster::usual();
    cluster.kill("storage-8");
    cluster.kill("log-1");
    cluster.desired.remove = ["storage-9", "stateless-5"].map(str::to_owned).into();
    cluster.database.drains_in = SignedDuration::from_hours(5);
    cluster.desired.image = "fdb:other".to_owned();
    cluster.rounds(200);
    let text = |cluster: &Cluster| cluster.decided().holds.iter().map(ToString::to_string).collect::<Vec<_>>();
    let before = text(&cluster);
    assert!(!before.is_empty());
    cluster.pass(7);
    assert_eq!(text(&cluster), before);
}

#[test]
fn a_group_that_is_given_time_is_said_to_be() {
    let mut cluster = Cluster::usual();
    cluster.spoil(|report| {
        report.processes.values_mut().take(1).for_each(|process| process.messages.extend(["io_error".to_owned()]));
    });
    assert_eq!(codes(&cluster.decided()), ["ReplacementHeld"]);
}
