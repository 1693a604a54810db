//! The world that benchmarks play in: a cluster of some size that has come to rest.

use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_world::Stage;
use quorate_world::scenery::{self, CLUSTER, NAMESPACE};
use quorate_world::stage::{Did, Entry};
use serde_json::{Value, json};

/// No step of a script may take longer, in the world.
pub(super) const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// A node has 64 GiB and a pod asks for a little more than 8: seven would fit, six leave room to move.
const PODS_PER_NODE: usize = 6;

/// How many process groups of each kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) storage: usize,
    pub(super) log: usize,
    pub(super) stateless: usize,
}

impl Counts {
    pub(super) fn all(self) -> usize {
        self.storage + self.log + self.stateless
    }

    /// Those with a volume.
    pub(super) fn stateful(self) -> usize {
        self.storage + self.log
    }
}

/// A world with nodes enough for so many pods, and nothing else.
pub(super) fn empty(pods: usize) -> Result<Stage> {
    let zones = ["a", "b", "c"];
    let nodes: Vec<String> =
        (0..pods.div_ceil(PODS_PER_NODE).max(6)).map(|number| format!("node-{}{number}", zones[number % 3])).collect();
    Stage::new(nodes.iter().map(String::as_str)).map_err(|status| anyhow!("building the world: {status:?}"))
}

/// The cluster object for these counts.
pub(super) fn cluster(counts: Counts) -> Value {
    let mut object = scenery::sample();
    let Counts { storage, log, stateless } = counts;
    object["spec"]["processCounts"] = json!({"storage": storage, "log": log, "stateless": stateless});
    object
}

/// A world in which a cluster of this size has grown and come to rest.
pub(super) async fn grown(counts: Counts) -> Result<Stage> {
    let stage = empty(counts.all())?;
    stage.kubernetes().create_value(cluster(counts)).map_err(|status| anyhow!("creating the cluster: {status:?}"))?;
    rest(&stage, "growing").await?;
    Ok(stage)
}

/// Waits until everything is as asked for.
pub(super) async fn rest(stage: &Stage, after: &str) -> Result<()> {
    // Reading a large cluster is dear, so it is read only if something was written.
    let mut looked_at = None;
    let rests = stage.until(PATIENCE, |stage| {
        let revision = Some(stage.kubernetes().revision());
        std::mem::replace(&mut looked_at, revision) != revision && is_at_rest(stage)
    });
    let rests = rests.await;
    ensure!(rests, "the cluster did not come to rest after {after}: {:?}", holds(stage));
    Ok(())
}

pub(super) fn object(stage: &Stage) -> Result<FoundationDBCluster> {
    stage.kubernetes().get(NAMESPACE, CLUSTER).map_err(|status| anyhow!("reading the cluster: {status:?}"))
}

/// Changes the cluster's wish.
pub(super) fn edit(stage: &Stage, change: impl FnOnce(&mut Value)) -> Result<()> {
    let kubernetes = stage.kubernetes();
    let (version, kind) = ("apps.foundationdb.org/v1beta2", "FoundationDBCluster");
    let edited = kubernetes.get_value(version, kind, NAMESPACE, CLUSTER).and_then(|mut object| {
        change(&mut object["spec"]);
        kubernetes.update_value(object)
    });
    edited.map(drop).map_err(|status| anyhow!("changing the cluster: {status:?}"))
}

fn is_at_rest(stage: &Stage) -> bool {
    let Ok(cluster) = object(stage) else { return false };
    let Some(status) = cluster.status else { return false };
    let reconciled = status.generations.as_ref().and_then(|generations| generations.reconciled);
    let held = status.quorate.as_ref().and_then(|quorate| quorate.holds.as_ref()).is_some_and(|holds| !holds.is_empty());
    let groups = status.process_groups.iter().flatten();
    reconciled == cluster.metadata.generation
        && !held
        && status.reconciled_process_groups == status.desired_process_groups
        && groups.filter(|group| group.removal_timestamp.is_some()).count() == 0
}

fn holds(stage: &Stage) -> Vec<String> {
    let status = object(stage).ok().and_then(|cluster| cluster.status).unwrap_or_default();
    let holds = status.quorate.and_then(|quorate| quorate.holds).unwrap_or_default();
    holds.into_iter().take(5).map(|hold| hold.sentence).collect()
}

/// Calls to the API, by what they are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Calls {
    /// Objects made, changed and deleted.
    pub(super) objects: usize,
    /// The status of clusters.
    pub(super) status: usize,
    pub(super) events: usize,
    pub(super) leases: usize,
    /// Gets and lists.
    pub(super) reads: usize,
    /// Looks at the database.
    pub(super) looks: usize,
}

impl Calls {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut calls = Self::default();
        for entry in entries {
            match &entry.did {
                Did::Database(quorate_fdb_client::Call::Look(_)) => calls.looks += 1,
                Did::Database(_) | Did::Refused(_) => {}
                Did::Kubernetes(call, _) => {
                    let which = match call.verb {
                        "watch" => continue,
                        // A lease is read before it is written, by whoever leads; it has nothing to do with clusters.
                        _ if call.resource.starts_with("leases") => &mut calls.leases,
                        _ if call.resource.starts_with("events") => &mut calls.events,
                        "get" | "list" => &mut calls.reads,
                        _ if call.subresource == "status" => &mut calls.status,
                        _ => &mut calls.objects,
                    };
                    *which += 1;
                }
            }
        }
        calls
    }

    /// What changes something, but for leases and events.
    pub(super) fn writes(self) -> usize {
        self.objects + self.status
    }
}

/// A ratio of two counts.
#[expect(clippy::cast_precision_loss, reason = "counts far below what a float holds")]
pub(super) fn ratio(one: usize, other: usize) -> f64 {
    one as f64 / other.max(1) as f64
}
