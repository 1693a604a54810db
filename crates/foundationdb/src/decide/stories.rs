//! Given a cluster like this, when this happens, then this is decided.

use jiff::{SignedDuration, Timestamp};
use quorate_quorum::{Effect, Epoch, Journal, Sighting};

use super::*;
use crate::{ClaimFacts, PodFacts, PodPhase, ProcessClass, ProcessReport, RedundancyMode};

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1)
}

fn asked_for(counts: &[(ProcessClass, u32)]) -> ClusterSnapshot {
    let desired = Desired {
        name: "sample".into(),
        namespace: "default".into(),
        uid: "cluster-uid".into(),
        resource_version: "1".into(),
        generation: 1,
        deleting: false,
        skip: false,
        version: "7.3.69".parse().unwrap(),
        redundancy_mode: RedundancyMode::Double,
        counts: counts.iter().copied().collect(),
        prefix: None,
        image: "fdb:7.3.69".into(),
        templates: BTreeMap::new(),
        fields_without_effect: vec![],
        deprecated_fields: vec![],
    };
    let kube = KubeFacts::default();
    Snapshot { now: now(), epoch: Epoch(1), desired, kube, database: Sighting::NotAsked, journal: Journal::default() }
}

/// The same cluster after a decision was carried out: its objects exist, its pods run, the database sees them.
fn carried_out(mut seen: ClusterSnapshot, decision: &ClusterDecision) -> ClusterSnapshot {
    for step in &decision.steps {
        match &step.effect {
            Effect::Adds(Adds::Pod(pod)) => {
                let name = pod.metadata.name.clone().unwrap();
                let address = format!("198.18.0.{}", seen.kube.pods.len() + 1);
                let facts = PodFacts {
                    uid: format!("uid-{name}"),
                    resource_version: "5".into(),
                    group: pod.metadata.labels.as_ref().map(|labels| ProcessGroupId(labels[crate::labels::GROUP].clone())),
                    owner: Some("cluster-uid".into()),
                    node: Some(format!("node-{}", seen.kube.pods.len() + 1)),
                    phase: PodPhase::Running,
                    ready: true,
                    address: Some(address),
                    created: seen.now,
                    deleted_since: None,
                    unschedulable: None,
                };
                seen.kube.pods.insert(name, facts);
            }
            Effect::Adds(Adds::Claim(claim)) => {
                let name = claim.metadata.name.clone().unwrap();
                let facts =
                    ClaimFacts { uid: format!("uid-{name}"), resource_version: "5".into(), group: None, deleted_since: None };
                seen.kube.claims.insert(name, facts);
            }
            Effect::TakesAway { action: TakesAway::Pod(name), .. } => {
                seen.kube.pods.remove(name);
            }
        }
    }
    seen.kube.recorded.groups = decision.status.groups.clone();
    seen.kube.recorded.last_number = decision.status.last_number;
    seen.kube.recorded.reconciled = decision.status.reconciled;
    seen.journal = decision.status.journal.clone();
    let process =
        |pod: &PodFacts| ProcessReport { group: pod.group.clone(), version: Some("7.3.69".into()), ..ProcessReport::default() };
    let processes =
        seen.kube.pods.values().map(|pod| (format!("{}:4501", pod.address.as_deref().unwrap()), process(pod))).collect();
    let report = DatabaseReport { available: true, healthy: true, full_replication: Some(true), generation: Some(2), processes };
    seen.database = Sighting::Seen { at: seen.now, facts: report };
    seen
}

/// A cluster at rest.
fn settled(counts: &[(ProcessClass, u32)]) -> ClusterSnapshot {
    let mut seen = asked_for(counts);
    for _ in 0..3 {
        let decision = decide(&seen);
        seen = carried_out(seen, &decision);
    }
    seen
}

fn described(decision: &ClusterDecision) -> Vec<String> {
    let name = |step: &ClusterStep| match &step.effect {
        Effect::Adds(Adds::Pod(pod)) => format!("create pod {}", pod.metadata.name.as_deref().unwrap()),
        Effect::Adds(Adds::Claim(claim)) => format!("create claim {}", claim.metadata.name.as_deref().unwrap()),
        Effect::TakesAway { action: TakesAway::Pod(name), .. } => format!("delete pod {name}"),
    };
    decision.steps.iter().map(name).collect()
}

fn codes(decision: &ClusterDecision) -> Vec<&'static str> {
    decision.holds.iter().map(|hold| hold.reason.0).collect()
}

#[test]
fn a_new_cluster_gets_its_groups_claims_and_pods_in_one_decision() {
    let decision = decide(&asked_for(&[(ProcessClass::Storage, 1), (ProcessClass::Stateless, 1)]));
    assert_eq!(
        described(&decision),
        ["create claim sample-storage-2-data", "create pod sample-stateless-1", "create pod sample-storage-2"]
    );
    assert_eq!(decision.status.groups.len(), 2);
    assert_eq!(decision.status.last_number, 2);
}

#[test]
fn a_cluster_at_rest_has_nothing_to_do_and_its_status_stays_as_it_is() {
    let seen = settled(&[(ProcessClass::Storage, 3), (ProcessClass::Log, 2)]);
    let decision = decide(&seen);
    assert!(decision.steps.is_empty() && decision.holds.is_empty() && decision.notices.is_empty(), "{decision:#?}");
    assert_eq!(decision.status.reconciled, Some(1));
    assert_eq!(decision.status.groups, seen.kube.recorded.groups);
    assert_eq!(decision.wake.0, Some(now() + AT_REST));
}

#[test]
fn a_deleted_pod_is_made_again_with_its_volume() {
    let mut seen = settled(&[(ProcessClass::Storage, 3)]);
    seen.kube.pods.remove("sample-storage-2");
    assert_eq!(described(&decide(&seen)), ["create pod sample-storage-2"]);
}

#[test]
fn a_pod_that_ended_is_cleared_away_by_its_uid_and_written_down_first() {
    let mut seen = settled(&[(ProcessClass::Storage, 3)]);
    seen.kube.pods.get_mut("sample-storage-2").unwrap().phase = PodPhase::Failed;
    let decision = decide(&seen);
    assert_eq!(described(&decision), ["delete pod sample-storage-2"]);
    let guard = decision.steps[0].guard.object.as_ref().unwrap();
    assert_eq!((guard.uid.as_str(), guard.resource_version.as_str()), ("uid-sample-storage-2", "5"));
    assert!(decision.status.journal.0.contains_key("sample-storage-2"));
    // Once the pod is gone the entry is too.
    let after = decide(&carried_out(seen, &decision));
    assert!(after.status.journal.0.is_empty());
}

#[test]
fn a_pod_that_is_being_deleted_is_waited_for() {
    let mut seen = settled(&[(ProcessClass::Log, 2)]);
    seen.kube.pods.get_mut("sample-log-1").unwrap().deleted_since = Some(now());
    let decision = decide(&seen);
    assert!(decision.steps.is_empty());
    assert_eq!(codes(&decision), ["PodTerminating"]);
    assert_eq!(decision.wake.0, Some(now() + WHILE_UNDER_WAY));
}

#[test]
fn somebody_elses_pod_is_not_touched() {
    let mut seen = settled(&[(ProcessClass::Log, 2)]);
    seen.kube.pods.get_mut("sample-log-1").unwrap().owner = Some("somebody else".into());
    seen.kube.pods.get_mut("sample-log-1").unwrap().phase = PodPhase::Failed;
    let decision = decide(&seen);
    assert!(decision.steps.is_empty());
    assert_eq!(codes(&decision), ["PodNotOurs"]);
}

#[test]
fn growing_adds_and_shrinking_holds() {
    let mut seen = settled(&[(ProcessClass::Log, 2)]);
    seen.desired.counts.insert(ProcessClass::Log, 3);
    assert_eq!(described(&decide(&seen)), ["create claim sample-log-3-data", "create pod sample-log-3"]);
    seen.desired.counts.insert(ProcessClass::Log, 1);
    let decision = decide(&seen);
    assert!(decision.steps.is_empty());
    assert_eq!(codes(&decision), ["SurplusProcessGroups"]);
}

#[test]
fn nothing_is_done_for_a_cluster_that_is_skipped_or_deleted_or_led_by_another() {
    for (change, code) in [
        ((|seen| seen.desired.skip = true) as fn(&mut ClusterSnapshot), "Skipped"),
        (|seen| seen.desired.deleting = true, "BeingDeleted"),
        (|seen| seen.kube.recorded.epoch = Epoch(7), "NotLeading"),
    ] {
        let mut seen = settled(&[(ProcessClass::Log, 2)]);
        seen.kube.pods.clear();
        change(&mut seen);
        let decision = decide(&seen);
        assert!(decision.steps.is_empty());
        assert_eq!(codes(&decision), [code]);
        assert_eq!(decision.status.groups, seen.kube.recorded.groups);
    }
}

#[test]
fn a_number_is_never_used_twice() {
    let mut seen = settled(&[(ProcessClass::Log, 2)]);
    seen.kube.recorded.groups.retain(|id, _| id.0 != "log-2");
    assert_eq!(described(&decide(&seen)), ["create claim sample-log-3-data", "create pod sample-log-3"]);
}

#[test]
fn a_silent_database_is_said_and_nothing_is_taken_away() {
    let mut seen = settled(&[(ProcessClass::Log, 2)]);
    seen.database = Sighting::Unreachable { since: now(), why: "no answer within 10 s".into() };
    let decision = decide(&seen);
    assert!(decision.steps.is_empty());
    assert_eq!(codes(&decision), ["DatabaseUnreachable"]);
    assert_eq!(decision.status.available, Some(false));
}

/// For every reason a cluster that is held for it.
fn one_of_each() -> BTreeMap<&'static str, Hold> {
    let logs = || settled(&[(ProcessClass::Storage, 3), (ProcessClass::Log, 2)]);
    let changes: [fn(&mut ClusterSnapshot); 11] = [
        |seen| seen.desired.skip = true,
        |seen| seen.desired.deleting = true,
        |seen| seen.kube.recorded.epoch = Epoch(7),
        |seen| seen.database = Sighting::Unreachable { since: now(), why: "no answer within 10 s".into() },
        |seen| {
            let pod = seen.kube.pods.get_mut("sample-log-1").unwrap();
            (pod.phase, pod.node, pod.ready) = (PodPhase::Pending, None, false);
            pod.unschedulable = Some("0/6 nodes are available: 6 Insufficient memory.".into());
        },
        |seen| seen.kube.pods.get_mut("sample-log-1").unwrap().deleted_since = Some(now()),
        |seen| seen.kube.pods.get_mut("sample-log-1").unwrap().owner = Some("somebody else".into()),
        |seen| seen.kube.pods.get_mut("sample-log-1").unwrap().ready = false,
        |seen| {
            let Sighting::Seen { facts, .. } = &mut seen.database else { return };
            facts.processes.retain(|_, process| process.group.as_ref().is_none_or(|group| group.0 != "log-1"));
        },
        |seen| seen.kube.claims.get_mut("sample-log-1-data").unwrap().deleted_since = Some(now()),
        |seen| *seen.desired.counts.entry(ProcessClass::Log).or_default() = 1,
    ];
    let holds = changes.into_iter().flat_map(|change| {
        let mut seen = logs();
        change(&mut seen);
        decide(&seen).holds
    });
    holds.map(|hold| (hold.reason.0, hold)).collect()
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
        "# Reasons\n\nWhy something is not done, by its code. The codes never change; `quorate explain` and `status.quorate.holds` show them. \
         This page is generated from real decisions.\n",
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
