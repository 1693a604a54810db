//! Clusters that are not to be touched.

use quorate_quorum::Epoch;

use super::cluster::{Change, Cluster, codes};
use crate::FieldProblem;

#[test]
fn nothing_is_done_for_a_cluster_that_is_skipped_deleted_led_by_another_or_wrong() {
    let changes: [(Change, &str); 6] = [
        (|cluster| cluster.desired.skip = true, "Skipped"),
        (|cluster| cluster.desired.deleting = true, "BeingDeleted"),
        (|cluster| cluster.kube.recorded.epoch = Epoch(7), "NotLeading"),
        (|cluster| cluster.pod("log-1").asked_for = None, "MadeByAnotherOperator"),
        (|cluster| cluster.desired.version = "7.4.1".parse().unwrap(), "VersionChangeHeld"),
        (
            |cluster| {
                cluster.desired.problems.push(FieldProblem {
                    field: "spec.processes.general.customParameters[0]".to_owned(),
                    problem: "knob_x has no value".to_owned(),
                    right: "a parameter as name=value".to_owned(),
                });
            },
            "InvalidSpec",
        ),
    ];
    for (change, code) in changes {
        let mut cluster = Cluster::usual();
        cluster.kube.pods.remove("sample-storage-8");
        change(&mut cluster);
        let decision = cluster.decided();
        assert!(decision.steps.is_empty(), "{code}");
        assert_eq!(codes(&decision), [code]);
        assert_eq!(decision.status.groups, cluster.kube.recorded.groups);
    }
}

#[test]
fn whoever_is_left_alone_is_still_told_of_how_it_is() {
    let mut cluster = Cluster::usual();
    cluster.desired.skip = true;
    assert_eq!(cluster.decided().status.available, Some(true));
    cluster.spoil(|report| report.available = false);
    assert_eq!(cluster.decided().status.available, Some(false));
    assert!(cluster.decided().steps.is_empty());
}
