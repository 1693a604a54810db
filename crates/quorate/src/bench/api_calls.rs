//! How many calls the operator makes, over the fewest that would do: a large cluster is made, loses some processes, gets a new pod template
//! and is deleted.

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_world::Stage;
use quorate_world::kubelet::{Fault, Window};
use quorate_world::scenery::{CLUSTER, NAMESPACE};
use quorate_world::stage::in_virtual_time;
use serde_json::json;

use super::Measured;
use super::round_trips;
use super::stage::{self, Calls, Counts, ratio};

/// 500 process groups.
const SIZE: Counts = Counts { storage: 400, log: 60, stateless: 40 };
/// One in so many fails.
const FAILS_ONE_IN: usize = 20;
/// The status is written at least when something begins and when it has ended.
const STATUS_PER_PHASE: usize = 2;
/// The config map and the disruption budget.
const SINGLE_OBJECTS: usize = 2;
/// For how long a cluster at rest is watched.
const REST: Duration = Duration::from_secs(600);

pub(super) fn measure() -> Result<Measured> {
    in_virtual_time(script(SIZE))?
}

pub(super) fn measure_at_rest() -> Result<Measured> {
    in_virtual_time(at_rest())?
}

/// What one phase of the script took.
struct Phase {
    name: &'static str,
    calls: Calls,
    fewest: usize,
    /// What a loop that applies everything in every round would have written.
    naive: usize,
}

async fn script(size: Counts) -> Result<Measured> {
    let stage = stage::empty(size.all() + size.all() / FAILS_ONE_IN)?;
    let mut phases = Vec::new();
    let mut phase = Begun::now(&stage);
    let mut cluster = stage::cluster(size);
    // Otherwise 25 replacements, one after the other, would be measured as a wait.
    let room = size.all();
    cluster["spec"]["automationOptions"] = json!({
        "podUpdateStrategy": "Delete",
        "replacements": {
            "failureDetectionTimeSeconds": 60,
            "replacementBucket": {"enabled": true, "storage": room, "log": room, "stateless": room},
        },
    });
    stage.kubernetes().create_value(cluster).map_err(|status| anyhow::anyhow!("creating the cluster: {status:?}"))?;
    stage::rest(&stage, "growing").await?;
    phases.push(phase.ended(&stage, "make", size.all() + size.stateful() + SINGLE_OBJECTS + STATUS_PER_PHASE));

    let (failed, stateful) = fail_some(&stage)?;
    let gone =
        |stage: &Stage| stage::object(stage).is_ok_and(|cluster| failed.iter().all(|name| !names(&cluster).contains(name)));
    anyhow::ensure!(stage.until(stage::PATIENCE, gone).await, "not all that failed was replaced");
    stage::rest(&stage, "replacing").await?;
    // A pod and, with data, a claim: one made, one deleted.
    phases.push(phase.ended(&stage, "replace", 2 * (failed.len() + stateful) + STATUS_PER_PHASE));

    stage::edit(&stage, |spec| {
        spec["processes"]["general"]["podTemplate"] = json!({"spec": {"containers": [
            {"name": "foundationdb", "env": [{"name": "ROLLED", "value": "yes"}]},
        ]}});
    })?;
    stage::rest(&stage, "rolling").await?;
    phases.push(phase.ended(&stage, "roll", 2 * size.all() + STATUS_PER_PHASE));

    stage.kubernetes().delete::<FoundationDBCluster>(NAMESPACE, CLUSTER, None).ok();
    stage.pass(Duration::from_secs(120)).await;
    // Kubernetes itself removes what belonged to it.
    phases.push(phase.ended(&stage, "delete", 0));
    stage.end().await;
    Ok(summary(&phases))
}

fn summary(phases: &[Phase]) -> Measured {
    let sum = |of: fn(&Phase) -> usize| phases.iter().map(of).sum::<usize>();
    let (made, fewest) = (sum(|phase| phase.calls.writes()), sum(|phase| phase.fewest));
    let lines: Vec<String> = phases
        .iter()
        .map(|Phase { name, calls, fewest, .. }| format!("{name} {}+{} status of {fewest}", calls.objects, calls.status))
        .collect();
    let (events, leases, reads) =
        (sum(|phase| phase.calls.events), sum(|phase| phase.calls.leases), sum(|phase| phase.calls.reads));
    Measured {
        value: Some(ratio(made, fewest)),
        baseline: Some(ratio(sum(|phase| phase.naive), fewest)),
        note: format!(
            "{made} writes, {fewest} needed: {}; besides {events} events, {leases} of leases, {reads} reads",
            lines.join(", ")
        ),
    }
}

/// Where a phase began.
struct Begun {
    position: usize,
    rounds: usize,
}

impl Begun {
    fn now(stage: &Stage) -> Self {
        Self { position: stage.ledger.position(), rounds: rounds(stage) }
    }

    fn ended(&mut self, stage: &Stage, name: &'static str, fewest: usize) -> Phase {
        let calls = Calls::of(&stage.ledger.since(self.position));
        let began = std::mem::replace(self, Self::now(stage));
        let pods = stage.kubernetes().list::<Pod>(NAMESPACE).map_or(0, |pods| pods.len());
        let claims = stage.kubernetes().list::<PersistentVolumeClaim>(NAMESPACE).map_or(0, |claims| claims.len());
        let everything = if pods == 0 { 0 } else { pods + claims + SINGLE_OBJECTS + 1 };
        Phase { name, calls, fewest, naive: (self.rounds - began.rounds) * everything }
    }
}

fn rounds(stage: &Stage) -> usize {
    usize::try_from(round_trips::rounds(&stage.shown.metrics())).unwrap_or(usize::MAX)
}

fn names(cluster: &FoundationDBCluster) -> Vec<String> {
    let groups = cluster.status.iter().flat_map(|status| status.process_groups.iter().flatten());
    groups.filter_map(|group| group.process_group_id.clone()).collect()
}

/// Lets every so-manyth process group crash for good; gives their names and how many of them have a volume.
fn fail_some(stage: &Stage) -> Result<(Vec<String>, usize)> {
    let failed: Vec<String> = names(&stage::object(stage)?).into_iter().step_by(FAILS_ONE_IN).collect();
    let during = Window { from: stage.now(), until: None };
    stage.cluster.change_settings(|settings| {
        settings.faults.extend(failed.iter().map(|group| Fault::ContainerCrashLoops {
            namespace: NAMESPACE.to_owned(),
            pod: format!("{CLUSTER}-{group}"),
            container: "foundationdb".to_owned(),
            during,
            runs_for: jiff::SignedDuration::from_millis(100),
            exit_code: 1,
        }));
    });
    let stateful = failed.iter().filter(|group| !group.starts_with("stateless")).count();
    Ok((failed, stateful))
}

async fn at_rest() -> Result<Measured> {
    let stage = stage::grown(Counts { storage: 8, log: 4, stateless: 4 }).await?;
    // What a birth brings with it, such as the first report of good health, is over then.
    stage.pass(REST).await;
    let begun = Begun::now(&stage);
    stage.pass(REST).await;
    let calls = Calls::of(&stage.ledger.since(begun.position));
    let rounds = rounds(&stage) - begun.rounds;
    stage.end().await;
    anyhow::ensure!(rounds > 0, "there was no round in {} s", REST.as_secs());
    Ok(Measured {
        value: Some(ratio(calls.writes() + calls.events + calls.reads, rounds)),
        baseline: None,
        note: format!(
            "{} writes, {} events, {} gets and lists in {rounds} rounds of {} s; {} looks at the database, {} calls for the lease",
            calls.writes(),
            calls.events,
            calls.reads,
            REST.as_secs(),
            calls.looks,
            calls.leases
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_at_rest_costs_nothing() {
        let measured = measure_at_rest().unwrap();
        assert_eq!(measured.value, Some(0.0), "{}", measured.note);
    }

    #[test]
    fn a_life_costs_little_more_than_it_must() {
        let measured = in_virtual_time(script(Counts { storage: 24, log: 8, stateless: 8 })).unwrap().unwrap();
        // The status weighs more in a small cluster.
        assert!(measured.value.is_some_and(|value| value < 2.0), "{}", measured.note);
    }
}
