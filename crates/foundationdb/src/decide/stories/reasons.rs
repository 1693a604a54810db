//! For every reason a cluster that is held for it, and the page about them.

use std::collections::BTreeMap;

use quorate_quorum::Hold;

use super::cluster::{Change, Cluster};
use super::{hosts, moves};
use crate::ProcessClass::{Log, Storage};
use crate::{AtMost, AtOnce, BucketLimits, ClassTemplate, FieldProblem, NodeFacts, PodUpdate, RedundancyMode, reasons};

/// Each with what is done to a cluster at rest, and how many rounds later the hold is there.
const EXAMPLES: &[(Change, usize)] = &[
    (|cluster| cluster.desired.skip = true, 0),
    (
        |cluster| {
            *cluster = super::lock::locking();
            super::lock::somebody_else_has_it(cluster);
        },
        30,
    ),
    (
        |cluster| {
            *cluster = super::lock::locking();
            cluster.database.lock.denied.insert("dc1".to_owned());
        },
        30,
    ),
    (
        |cluster| {
            cluster.kube.recorded = crate::Recorded::default();
            cluster.kube.pods.clear();
            cluster.kube.config_map = None;
        },
        0,
    ),
    (|cluster| super::revival::forget(cluster, "storage-11"), 0),
    (
        |cluster| {
            super::revival::forget(cluster, "storage-11");
            cluster.kube.pods.remove("sample-storage-11");
        },
        0,
    ),
    (
        |cluster| {
            cluster.desired.database.storage_engine = "ssd-rocksdb-v1".to_owned();
            cluster.desired.database.migration = Some(crate::configuration::Migration::Aggressive);
            cluster.spoil(|report| {
                let storage = report.processes.values_mut().filter(|process| process.class == Some(Storage));
                storage.take(3).for_each(|process| process.engine = Some("ssd-2".to_owned()));
            });
        },
        60,
    ),
    (|cluster| cluster.desired.deleting = true, 0),
    (|cluster| cluster.kube.recorded.epoch = quorate_quorum::Epoch(7), 0),
    (|cluster| cluster.pod("log-1").asked_for = None, 0),
    (|cluster| cluster.desired.version = "7.4.1".parse().unwrap(), 0),
    (
        |cluster| {
            cluster.desired.problems.push(FieldProblem {
                field: "spec.processes.general.customParameters[0]".to_owned(),
                problem: "knob_max_trace_lines has no value".to_owned(),
                right: "a parameter as name=value".to_owned(),
            });
        },
        0,
    ),
    (|cluster| cluster.kube.failures.push("creating pod sample-log-1: the quota is exceeded".to_owned()), 0),
    (|cluster| cluster.silent_since = Some(cluster.now), 0),
    (
        |cluster| {
            cluster.spoil(|report| {
                report.available = false;
                report.messages.insert("unreadable_configuration".to_owned());
            });
        },
        0,
    ),
    (
        |cluster| {
            *cluster = Cluster::new(&[(Storage, 3), (Log, 3)]);
            cluster.unplaceable.insert("storage-4".to_owned());
        },
        2,
    ),
    (
        |cluster| {
            *cluster = Cluster::new(&[(Storage, 3), (Log, 3)]);
            cluster.dead = ["storage-4", "storage-5", "storage-6"].map(str::to_owned).into();
        },
        4,
    ),
    (|cluster| ["log-1", "log-2"].iter().for_each(|id| cluster.kill(id)), 3),
    (|cluster| cluster.kill("log-1"), 3),
    (
        |cluster| {
            *cluster = Cluster::at_rest(&[(Storage, 3)]);
            cluster.kill("storage-1");
        },
        40,
    ),
    (
        |cluster| {
            cluster.desired.remove.insert("log-1".to_owned());
            cluster.database.recover(cluster.now);
        },
        3,
    ),
    (|cluster| cluster.desired.database.redundancy_mode = RedundancyMode::ThreeDatacenter, 0),
    (|cluster| cluster.kube.config_map.as_mut().unwrap().owner = None, 0),
    (|cluster| *cluster = super::precedence::halfway_when_all_pods_are_lost(), 0),
    (|cluster| cluster.pod("storage-8").deleted_since = Some(cluster.now), 0),
    (|cluster| cluster.pod("storage-8").owner = Some("somebody else".to_owned()), 0),
    (|cluster| cluster.pod("storage-8").ready = false, 0),
    (
        |cluster| {
            cluster.kill("storage-8");
            cluster.desired.image = "fdb:another".to_owned();
            cluster.desired.automation.pod_update = PodUpdate::Delete;
            cluster.desired.automation.deletion = AtOnce::Nothing;
        },
        3,
    ),
    (
        |cluster| {
            cluster.desired.automation.pod_update = PodUpdate::Delete;
            cluster.desired.image = "fdb:another".to_owned();
            cluster.dead.insert("stateless-5".to_owned());
        },
        30,
    ),
    (
        |cluster| {
            *cluster = Cluster::new(&[(Storage, 3)]);
            cluster.desired.routing.service_per_pod = true;
        },
        0,
    ),
    (|cluster| cluster.kube.claims.get_mut("sample-log-1-data").unwrap().deleted_since = Some(cluster.now), 0),
    (|cluster| with_volumes_of(cluster, "64G"), 0),
    (
        |cluster| {
            with_volumes_of(cluster, "256G");
            cluster.kube.claims.values_mut().for_each(|claim| claim.may_grow = None);
        },
        0,
    ),
    (
        |cluster| {
            cluster.desired.counts.insert(Log, 3);
            cluster.silent_since = Some(cluster.now);
        },
        0,
    ),
    (
        |cluster| {
            cluster.desired.automation.replacements.enabled = false;
            long_dead(cluster, &["storage-8"]);
        },
        0,
    ),
    (|cluster| long_dead(cluster, &["storage-8", "storage-9"]), 0),
    (
        |cluster| {
            cluster.desired.automation.replacements.at_once = 0;
            cluster.desired.automation.replacements.buckets = Some(BucketLimits { storage: 1, log: 1, stateless: 1 });
            long_dead(cluster, &["storage-8"]);
        },
        0,
    ),
    (
        |cluster| {
            cluster.desired.automation.replacements.most_tainted_domains = AtMost::Number(1);
            cluster.desired.automation.replacements.taints.insert("*".to_owned(), jiff::SignedDuration::ZERO);
            for node in ["node-1", "node-2"] {
                let taints = ["example.org/broken".to_owned()].into();
                cluster.kube.nodes.insert(node.to_owned(), NodeFacts { taints, ready: true, ..NodeFacts::default() });
            }
            cluster.rounds(3);
            cluster.pass(1800);
        },
        0,
    ),
    (
        |cluster| {
            moves::into(cluster, 2);
        },
        0,
    ),
    (
        |cluster| {
            *cluster = moves::packed(6, 3);
            hosts::no_host_to_spare(cluster);
            moves::into(cluster, 4);
        },
        3,
    ),
    (
        |cluster| {
            cluster.desired.remove = ["log-4", "stateless-5"].map(str::to_owned).into();
            cluster.unplaceable.insert("log-12".to_owned());
            cluster.rounds(3);
        },
        0,
    ),
    (
        |cluster| {
            cluster.desired.remove.insert("log-4".to_owned());
            cluster.database.recover(cluster.now);
        },
        4,
    ),
    (
        |cluster| {
            *cluster = Cluster::at_rest(&[(Storage, 2), (Log, 3)]);
            cluster.desired.counts.insert(Storage, 1);
        },
        2,
    ),
    (
        |cluster| {
            cluster.database.drains_in = jiff::SignedDuration::from_hours(10);
            cluster.desired.remove.insert("storage-8".to_owned());
        },
        5,
    ),
    (
        |cluster| {
            cluster.desired.remove.insert("storage-8".to_owned());
            cluster.desired.automation.removal = AtOnce::Nothing;
        },
        20,
    ),
    (
        |cluster| {
            cluster.desired.remove.insert("log-4".to_owned());
            cluster.desired.automation.exclude_by_locality = false;
        },
        60,
    ),
    (
        |cluster| {
            let parameters = vec![("knob_max_trace_lines".to_owned(), "5".to_owned())];
            cluster.desired.templates.insert(Storage, ClassTemplate { parameters, ..ClassTemplate::default() });
            cluster.out_of_date.insert("sample-storage-9".to_owned());
        },
        3,
    ),
];

fn with_volumes_of(cluster: &mut Cluster, size: &str) {
    let claim = serde_json::json!({"spec": {"resources": {"requests": {"storage": size}}}});
    let claim = Some(serde_json::from_value(claim).unwrap());
    cluster.desired.templates.insert(Storage, ClassTemplate { claim, ..ClassTemplate::default() });
}

fn long_dead(cluster: &mut Cluster, ids: &[&str]) {
    for id in ids {
        cluster.kill(id);
    }
    cluster.rounds(3);
    cluster.pass(7200);
}

fn one_of_each() -> BTreeMap<&'static str, Hold> {
    let mut examples = BTreeMap::new();
    for (change, rounds) in EXAMPLES {
        let mut cluster = Cluster::usual();
        change(&mut cluster);
        cluster.rounds(*rounds);
        for hold in cluster.decided().holds {
            examples.entry(hold.reason.0).or_insert(hold);
        }
    }
    examples
}

#[test]
#[expect(clippy::disallowed_methods, reason = "this test compares with a file")]
fn every_reason_is_documented_with_what_it_really_prints() {
    let examples = one_of_each();
    let shown: Vec<&str> = examples.keys().copied().collect();
    let mut listed: Vec<&str> = reasons::ALL.iter().map(|reason| reason.0).collect();
    listed.sort_unstable();
    assert_eq!(shown, listed, "every reason has an example, and every hold a listed reason");
    let mut text = String::from(
        "# Reasons\n\nWhy something is not done, by its code, each as `quorate explain` prints it. The codes never change; `status.quorate.holds` \
         has them, too. This page is generated from real decisions.\n",
    );
    for (code, hold) in &examples {
        text.push_str(&format!("\n## {code}\n\n```\n{hold}\n```\n"));
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reasons.md");
    if std::env::var_os("QUORATE_UPDATE").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    let written = std::fs::read_to_string(file).unwrap_or_default();
    assert!(written == text, "docs/reasons.md is out of date; write it again with QUORATE_UPDATE=1");
}
