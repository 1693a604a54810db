//! A cluster comes into the world, once.

use super::cluster::{Cluster, codes, told};
use crate::ProcessClass::{Log, Stateless, Storage};

#[test]
fn a_new_cluster_is_made_in_order_and_then_comes_to_rest() {
    let mut cluster = Cluster::new(&[(Storage, 3), (Log, 1)]);
    let first = told(&cluster.round(5));
    assert_eq!(
        first,
        [
            "create service sample",
            "create the ConfigMap",
            "create claim sample-log-1-data",
            "create claim sample-storage-2-data",
            "create claim sample-storage-3-data",
            "create claim sample-storage-4-data",
            "create pod sample-log-1",
            "create pod sample-storage-2",
            "create pod sample-storage-3",
            "create pod sample-storage-4",
            "create the disruption budget",
        ]
    );
    let later = cluster.rounds(20);
    assert_eq!(later.first().map(String::as_str), Some("write the ConfigMap"), "with the first coordinators: {later:?}");
    assert_eq!(later.iter().filter(|step| *step == "create the database").count(), 1, "{later:?}");
    let resting = Cluster::usual();
    let decision = resting.decided();
    assert_eq!((told(&decision), codes(&decision)), (vec![], vec![]));
    assert_eq!(decision.status.reconciled, Some(1));
    assert_eq!(decision.status.groups, resting.kube.recorded.groups, "nothing to do means nothing to write");
}

#[test]
fn stateless() {
    let _ = Stateless;
}
