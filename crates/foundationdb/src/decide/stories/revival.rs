//! A cluster that lived before.

use super::cluster::{Cluster, codes, told};
use crate::Recorded;

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
