//! What costs a recovery is not sent by an old report, but not for ever.

use std::time::Duration;

use super::cluster::{Cluster, told};
use crate::decide::{ClusterSnapshot, ClusterStep, is_too_late};

const SECOND: Duration = Duration::from_secs(1);

/// A cluster, and the step that changes its configuration.
fn about_to_configure() -> (Cluster, ClusterStep) {
    let mut cluster = Cluster::usual();
    cluster.desired.database.settings.insert("logs".to_owned(), 4);
    let decision = cluster.decided();
    let step = decision.steps.iter().find(|step| step.why.starts_with("the database is configured otherwise")).unwrap().clone();
    (cluster, step)
}

#[test]
fn an_old_report_is_asked_for_again_but_not_for_ever() {
    let (cluster, step) = about_to_configure();
    let seen = cluster.seen();
    for (age, late_for, expected) in [(9, 0, false), (10, 0, true), (19, 299, true), (19, 300, false)] {
        assert_eq!(is_too_late(&seen, &step, age * SECOND, late_for * SECOND), expected, "{age} s old, late for {late_for} s");
    }
}

#[test]
fn a_database_that_is_down_has_nothing_to_keep_its_distance_from() {
    let (mut cluster, step) = about_to_configure();
    let late = |seen: &ClusterSnapshot| is_too_late(seen, &step, 60 * SECOND, Duration::ZERO);
    assert!(late(&cluster.seen()));
    cluster.spoil(|report| report.available = false);
    assert!(!late(&cluster.seen()));
}

#[test]
fn what_costs_no_recovery_is_sent_by_any_report() {
    let mut cluster = Cluster::usual();
    cluster.kube.pods.clear();
    let decision = cluster.decided();
    assert!(told(&decision).iter().any(|step| step.starts_with("create pod")));
    let seen = cluster.seen();
    assert!(decision.steps.iter().all(|step| !is_too_late(&seen, step, 60 * SECOND, Duration::ZERO)));
}
