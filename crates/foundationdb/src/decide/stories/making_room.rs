//! Who keeps nothing makes room for those without whom there is no database.

use super::cluster::{Cluster, codes, group_id, told};
use crate::ProcessClass::Stateless;
use crate::{AtOnce, DatabaseReport};

/// A stateless and a storage process group were found empty; then a log lost its pod, finds no node, and the database says nothing.
fn crowded() -> Cluster {
    let mut cluster = Cluster::usual();
    cluster.desired.remove = ["stateless-5", "storage-8"].map(str::to_owned).into();
    cluster.desired.automation.removal = AtOnce::Nothing;
    let found_empty = |id: &str, cluster: &Cluster| cluster.group(id).exclusion.is_some();
    for _ in 0..500 {
        cluster.round(5);
    }
    assert!(found_empty("stateless-5", &cluster) && found_empty("storage-8", &cluster));
    cluster.desired.automation.removal = AtOnce::All;
    cluster.unplaceable.insert("log-2".to_owned());
    cluster.kube.pods.remove("sample-log-2");
    cluster.kill("log-2");
    cluster.silent_since = Some(cluster.now);
    cluster
}

fn deleted(cluster: &mut Cluster) -> Vec<String> {
    let mut done = cluster.rounds(5);
    done.retain(|step| step.starts_with("delete"));
    done
}

#[test]
fn who_was_found_empty_and_keeps_nothing_goes_when_a_log_finds_no_node_and_the_database_is_silent() {
    let mut cluster = crowded();
    let announced = cluster.until(|decision| told(decision).contains(&"delete pod sample-stateless-5".to_owned()));
    let notes: Vec<&str> = announced.notices.iter().map(|notice| notice.note.as_str()).collect();
    assert!(notes.contains(&"removing stateless-5, where nothing is kept, to make room for log-2"), "{notes:?}");
    assert!(deleted(&mut cluster).is_empty(), "storage keeps data, and only the database knows that it is elsewhere");
    assert!(codes(&cluster.decided()).contains(&"ExclusionInProgress"));
    assert!(
        cluster.kube.recorded.groups.contains_key(&group_id("stateless-5")),
        "its exclusion is lifted when the database answers"
    );
}

#[test]
fn nobody_goes_for_a_database_that_is_silent_while_everybody_has_a_node() {
    let mut cluster = crowded();
    cluster.unplaceable.clear();
    assert_eq!(deleted(&mut cluster), Vec::<String>::new());
}

#[test]
fn who_was_not_found_empty_stays() {
    let mut cluster = crowded();
    cluster.kube.recorded.groups.get_mut(&group_id("stateless-5")).unwrap().exclusion = None;
    assert_eq!(deleted(&mut cluster), Vec::<String>::new());
}

#[test]
fn where_coordinators_may_be_of_its_class_it_stays() {
    let mut cluster = crowded();
    cluster.desired.coordinator_selection.insert(Stateless, 1);
    assert_eq!(deleted(&mut cluster), Vec::<String>::new());
}

/// A stateless process group is to go, a log lost its pod and finds no node, and nobody reads the database's own keys: nothing is excluded.
fn unreadable() -> Cluster {
    let mut cluster = Cluster::usual();
    cluster.desired.remove = ["stateless-5"].map(str::to_owned).into();
    cluster.unplaceable.insert("log-2".to_owned());
    cluster.kube.pods.remove("sample-log-2");
    cluster.kill("log-2");
    cluster.spoil(cannot_be_excluded);
    cluster
}

fn cannot_be_excluded(report: &mut DatabaseReport) {
    report.exclusions_in_progress = None;
    report.recovery.as_mut().unwrap().active_generations = Some(100);
}

#[test]
fn who_can_not_be_excluded_and_keeps_nothing_goes_when_a_log_has_found_no_node_for_long() {
    let mut cluster = unreadable();
    let patience = cluster.desired.automation.ignore_pending_after;
    let since = cluster.now;
    let announced = cluster.until(|decision| told(decision).contains(&"delete pod sample-stateless-5".to_owned()));
    assert!(cluster.now.duration_since(since) >= patience);
    let notes: Vec<&str> = announced.notices.iter().map(|notice| notice.note.as_str()).collect();
    assert!(notes.contains(&"removing stateless-5, where nothing is kept, to make room for log-2"), "{notes:?}");
    let done = cluster.rounds(20);
    assert!(!done.iter().any(|step| step.contains("stateless-5")), "it is not made again: {done:?}");
}

#[test]
fn who_was_given_logs_in_need_stays() {
    let mut cluster = unreadable();
    cluster.spoil(|report| {
        cannot_be_excluded(report);
        let its = report.processes.values_mut().filter(|process| process.group == Some(group_id("stateless-5")));
        its.for_each(|process| process.roles.extend(["log".to_owned()]));
    });
    let done = cluster.rounds(200);
    assert!(!done.iter().any(|step| step.starts_with("delete pod")), "{done:?}");
}

#[test]
fn while_the_database_can_be_used_nobody_goes_without_exclusion() {
    let mut cluster = unreadable();
    cluster.spoil(|report| report.recovery.as_mut().unwrap().active_generations = Some(100));
    let done = cluster.rounds(200);
    assert!(!done.iter().any(|step| step.starts_with("delete pod")), "{done:?}");
}
