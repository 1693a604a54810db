//! What a real server was seen to do, and what must not follow from it.

use super::cluster::{Cluster, codes, group_id, told};
use crate::ProcessClass::{Log, Storage};
use crate::report::UNKNOWN_LOG;

#[test]
fn a_process_that_says_nothing_of_itself_for_five_seconds_is_not_missing() {
    let mut cluster = Cluster::usual();
    let now = cluster.now;
    cluster.database.servers.get_mut(&group_id("storage-8")).unwrap().started = now;
    let decision = cluster.round(1);
    assert!(decision.status.groups[&group_id("storage-8")].conditions.is_empty());
    assert_eq!(decision.status.groups[&group_id("storage-8")].fault_domain, cluster.group("storage-8").fault_domain);
}

#[test]
fn a_dead_process_that_is_still_listed_does_not_stand_for_the_pod_made_in_its_place() {
    let mut cluster = Cluster::usual();
    cluster.kill("storage-8");
    cluster.kube.pods.remove("sample-storage-8");
    cluster.round(1);
    let decision = cluster.round(1);
    let conditions = &decision.status.groups[&group_id("storage-8")].conditions;
    assert!(conditions.contains_key(&crate::GroupCondition::MissingProcesses), "{conditions:?}");
}

#[test]
fn no_log_goes_while_an_unknown_one_is_needed() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove = ["log-4", "storage-8"].map(str::to_owned).into();
    cluster.spoil(|report| {
        report.exclusions_in_progress.get_or_insert_default().insert(UNKNOWN_LOG.to_owned());
    });
    let done = cluster.rounds(100);
    assert!(done.contains(&"delete pod sample-storage-8".to_owned()));
    assert!(!done.contains(&"delete pod sample-log-4".to_owned()));
    assert!(codes(&cluster.decided()).contains(&"ExclusionInProgress"));
}

#[test]
fn a_lost_copy_is_counted_before_the_database_knows() {
    let mut cluster = Cluster::usual();
    cluster.kill("storage-8");
    cluster.pass(10);
    cluster.rounds(2);
    let seen = cluster.seen();
    let report = seen.database.last().unwrap();
    assert_eq!(report.data.as_ref().and_then(|data| data.healthy), Some(true), "so the database says");
    assert_eq!(cluster.kube.disruption_budget.unwrap().min_available, Some(11), "and yet nobody may be evicted");
}

#[test]
fn exclusions_that_the_database_would_take_and_then_stop_for_good_are_not_asked_for() {
    let mut cluster = Cluster::at_rest(&[(Storage, 3), (Log, 3)]);
    cluster.desired.counts = [(Storage, 1), (Log, 1)].into();
    let done = cluster.rounds(300);
    assert!(!done.is_empty());
    let left = |class| cluster.kube.recorded.groups.values().filter(|group| group.class == class).count();
    assert!(left(Storage) >= 2 && left(Log) >= 2, "two copies need two zones of each: {done:?}");
    assert!(codes(&cluster.decided()).contains(&"TooFewZones"));
}

#[test]
fn a_slow_status_is_an_old_one_and_takes_nothing_away() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.rounds(2);
    let mut seen = cluster.seen();
    let quorate_quorum::Sighting::Seen { at, .. } = &mut seen.database else { panic!() };
    *at -= jiff::SignedDuration::from_secs(60);
    let decision = crate::decide(&seen);
    assert!(told(&decision).iter().all(|step| step.starts_with("create") || step.starts_with("keep")), "{:?}", told(&decision));
}

#[test]
fn knobs_that_the_server_does_not_know_lead_to_one_restart_only() {
    let mut cluster = Cluster::usual();
    let parameters = vec![("knob_no_such_knob".to_owned(), "1".to_owned())];
    cluster.desired.templates.insert(Storage, crate::ClassTemplate { parameters, ..crate::ClassTemplate::default() });
    let done = cluster.rounds(500);
    assert_eq!(done.iter().filter(|step| step.starts_with("restart")).count(), 1, "{done:?}");
}

#[test]
fn a_partial_report_removes_nobody() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("exclude")));
    cluster.complains_of("storage_servers_error");
    let done = cluster.rounds(100);
    assert!(!done.iter().any(|step| step.starts_with("delete")), "{done:?}");
}
