//! One round for one cluster: ask the database, decide, act. What was decided is carried out and never decided again on the way.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{ObjectReference, PersistentVolumeClaim, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Status;
use kube::{Api, Client, Resource};
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_fdb_client::{Answer, Call, FoundationDb, Look, Target};
use quorate_foundationdb::decide::{Adds, ClusterDecision, ClusterSnapshot, ClusterStep, TakesAway};
use quorate_foundationdb::{DatabaseReport, Desired, KubeFacts, decide};
use quorate_quorum::{Effect, Epoch, Gate, Notice, Severity, Sighting};
use tokio::time::timeout;
use tracing::{info, warn};

use crate::events::Recorder;
use crate::foundationdb::{checked_wish, recorded_journal, recorded_status, shown_status};
use crate::index::Known;
use crate::metrics::Metrics;
use crate::{Clock, ClusterKey, Leadership};

/// How long a call to the API server may take. kube has no limit of its own.
const CALL_DEADLINE: Duration = Duration::from_secs(10);
/// How long the database may take to answer; it is slowest exactly when it matters.
const DATABASE_DEADLINE: Duration = Duration::from_secs(20);
/// A burst of events asks the database once.
const ASK_AT_MOST_EVERY: SignedDuration = SignedDuration::from_secs(1);

/// Everything a round needs besides the cluster.
#[derive(Clone)]
pub(crate) struct Hands {
    pub(crate) client: Client,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) leadership: Leadership,
    pub(crate) database: Arc<dyn FoundationDb>,
    pub(crate) recorder: Recorder,
    pub(crate) metrics: Arc<Metrics>,
}

/// What a round leads to.
pub(crate) struct Outcome {
    pub(crate) sighting: Sighting<DatabaseReport>,
    pub(crate) decision: Option<ClusterDecision>,
    /// What the watches must show before the next round sees the world as this one left it.
    pub(crate) expected: Expected,
    pub(crate) failed: Option<String>,
}

/// What was done and is not seen yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The object must have left this state.
    pub(crate) object_was: Option<String>,
    /// These must have appeared.
    pub(crate) pods: BTreeSet<String>,
    pub(crate) claims: BTreeSet<String>,
}

impl Expected {
    /// Whether the watches have caught up.
    pub(crate) fn is_seen(&self, known: &Known) -> bool {
        let state = known.object.as_ref().and_then(|object| object.metadata.resource_version.as_ref());
        (self.object_was.is_none() || self.object_was.as_ref() != state)
            && self.pods.iter().all(|name| known.pods.contains_key(name))
            && self.claims.iter().all(|name| known.claims.contains_key(name))
    }
}

/// Why an effect did not happen.
enum Stopped {
    /// We no longer lead.
    NotLeading,
    /// The object is not as it was when this was decided; look again.
    Changed,
    Failed(String),
}

impl Hands {
    pub(crate) async fn round(&self, key: &ClusterKey, known: &Known, epoch: Epoch, last: Sighting<DatabaseReport>) -> Outcome {
        let nothing = |sighting, failed| Outcome { sighting, decision: None, expected: Expected::default(), failed };
        let Some(object) = known.object.clone() else { return nothing(last, None) };
        let desired = match checked_wish(&object) {
            Ok(desired) => desired,
            Err(error) => {
                let notice = Notice { severity: Severity::Warning, reason: "InvalidSpec", note: error.to_string() };
                self.recorder.publish_once(&reference(&object), &notice).await;
                return nothing(last, Some(error.to_string()));
            }
        };
        let sighting = self.ask(key, &object, last).await;
        let seen = self.snapshot(known, &object, desired, epoch, sighting.clone());
        let decision = decide(&seen);
        let mut expected = Expected::default();
        if !Gate::EpochFence.passes(seen.kube.recorded.epoch <= epoch) {
            // Somebody of a later leadership was here: nothing of ours is written, not even a status.
            self.leadership.go_beyond(seen.kube.recorded.epoch);
            return Outcome { sighting, decision: Some(decision), expected, failed: None };
        }
        let failed = match self.carry_out(&object, &seen, &decision, &mut expected).await {
            Ok(()) | Err(Stopped::NotLeading) => None,
            Err(Stopped::Changed) => Some("the object changed while this was decided".to_owned()),
            Err(Stopped::Failed(why)) => Some(why),
        };
        Outcome { sighting, decision: Some(decision), expected, failed }
    }

    /// Asks the database, unless it was asked just now.
    async fn ask(
        &self,
        key: &ClusterKey,
        object: &FoundationDBCluster,
        last: Sighting<DatabaseReport>,
    ) -> Sighting<DatabaseReport> {
        let now = self.clock.now();
        if let Sighting::Seen { at, .. } = &last
            && *at <= now
            && now.duration_since(*at) < ASK_AT_MOST_EVERY
        {
            return last;
        }
        let why = match self.report(key, object).await {
            Ok(facts) => return Sighting::Seen { at: self.clock.now(), facts },
            Err(why) => why,
        };
        let since = match last {
            Sighting::Unreachable { since, .. } => since,
            _ => now,
        };
        Sighting::Unreachable { since, why }
    }

    /// The database's own report, in one round trip, or why there is none.
    async fn report(&self, key: &ClusterKey, object: &FoundationDBCluster) -> Result<DatabaseReport, String> {
        let known = object.status.as_ref().and_then(|status| status.connection_string.as_ref());
        let Some(connection) = known.or(object.spec.seed_connection_string.as_ref()).filter(|string| !string.is_empty()) else {
            return Err(
                "its connection string is not known: neither status.connectionString nor spec.seedConnectionString says it"
                    .to_owned(),
            );
        };
        let running = object.status.as_ref().and_then(|status| status.running_version.clone());
        let target = Target {
            cluster: key.to_string(),
            connection: connection.clone(),
            version: running.filter(|version| !version.is_empty()).unwrap_or_else(|| object.spec.version.clone()),
            tls: None,
        };
        match self.database.call(&target, Call::Look(Look::default()), DATABASE_DEADLINE).await {
            Ok(Answer::Seen(seen)) => DatabaseReport::parse(&seen.status.0).map_err(|error| error.to_string()),
            Ok(other) => Err(format!("it answered a look with {other:?}")),
            Err(failure) => Err(failure.to_string()),
        }
    }

    fn snapshot(
        &self,
        known: &Known,
        object: &FoundationDBCluster,
        desired: Desired,
        epoch: Epoch,
        database: Sighting<DatabaseReport>,
    ) -> ClusterSnapshot {
        let recorded = recorded_status(object.status.as_ref());
        let kube = KubeFacts { pods: known.pods.clone(), claims: known.claims.clone(), recorded };
        ClusterSnapshot {
            now: self.clock.now(),
            epoch,
            desired,
            kube,
            database,
            journal: recorded_journal(object.status.as_ref()),
        }
    }

    /// The status first, by compare-and-set: it records what is about to happen, and a stale leader fails here.
    async fn carry_out(
        &self,
        object: &FoundationDBCluster,
        seen: &ClusterSnapshot,
        decision: &ClusterDecision,
        expected: &mut Expected,
    ) -> Result<(), Stopped> {
        let shown = shown_status(object.status.as_ref(), decision, &seen.desired, seen.now);
        if object.status.as_ref() != Some(&shown) {
            let mut written = object.clone();
            written.status = Some(shown);
            let clusters: Api<FoundationDBCluster> = Api::namespaced(self.client.clone(), &seen.desired.namespace);
            if !Gate::RecordedFirst.stands() {
                self.perform_all(seen, decision, expected).await?;
            }
            self.check_leading(seen.epoch)?;
            let name = &seen.desired.name;
            if Gate::StatusCompareAndSet.stands() {
                self.call("status", clusters.replace_status(name, &PostParams::default(), &written)).await?;
            } else {
                let status = serde_json::json!({"status": written.status});
                self.call("status", clusters.patch_status(name, &PatchParams::default(), &Patch::Merge(status))).await?;
            }
            expected.object_was = Some(seen.desired.resource_version.clone());
        }
        self.perform_all(seen, decision, expected).await?;
        for notice in &decision.notices {
            self.recorder.publish(&reference(object), notice).await;
        }
        Ok(())
    }

    async fn perform_all(
        &self,
        seen: &ClusterSnapshot,
        decision: &ClusterDecision,
        expected: &mut Expected,
    ) -> Result<(), Stopped> {
        for step in &decision.steps {
            info!(cluster = seen.desired.name, why = step.why, "{}", described(step));
            self.perform(&seen.desired.namespace, step, expected).await?;
        }
        Ok(())
    }

    async fn perform(&self, namespace: &str, step: &ClusterStep, expected: &mut Expected) -> Result<(), Stopped> {
        self.check_leading(step.guard.epoch)?;
        match &step.effect {
            Effect::Adds(Adds::Pod(pod)) => {
                let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
                self.create("pod", &pods, pod.as_ref()).await?;
                expected.pods.extend(pod.metadata.name.clone());
            }
            Effect::Adds(Adds::Claim(claim)) => {
                let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), namespace);
                self.create("claim", &claims, claim.as_ref()).await?;
                expected.claims.extend(claim.metadata.name.clone());
            }
            Effect::TakesAway { action: TakesAway::Pod(name), permit: _ } => {
                let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
                let guard = step.guard.object.as_ref().filter(|_| Gate::DeleteGuard.stands());
                let preconditions = guard.map(|guard| Preconditions {
                    uid: Some(guard.uid.clone()),
                    resource_version: Some(guard.resource_version.clone()),
                });
                let params = DeleteParams { preconditions, ..DeleteParams::default() };
                self.call("delete-pod", pods.delete(name, &params)).await?;
            }
        }
        Ok(())
    }

    /// A name can't be taken twice, so a create that is sent again does no harm.
    async fn create<K>(&self, effect: &'static str, api: &Api<K>, object: &K) -> Result<(), Stopped>
    where
        K: Clone + serde::Serialize + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let params = PostParams::default();
        match timeout(CALL_DEADLINE, api.create(&params, object)).await {
            Ok(Err(kube::Error::Api(status))) if status.is_already_exists() => Ok(()),
            answer => self.judge(effect, answer).map(|_| ()),
        }
    }

    async fn call<T>(&self, effect: &'static str, call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Stopped> {
        self.judge(effect, timeout(CALL_DEADLINE, call).await)
    }

    fn judge<T, E>(&self, effect: &'static str, answer: Result<Result<T, kube::Error>, E>) -> Result<T, Stopped> {
        let judged = match answer {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(kube::Error::Api(status))) if is_stale(&status) => Err(Stopped::Changed),
            Ok(Err(error)) => Err(Stopped::Failed(format!("{effect}: {error}"))),
            Err(_) => {
                Err(Stopped::Failed(format!("{effect}: no answer from the API server within {} s", CALL_DEADLINE.as_secs())))
            }
        };
        self.metrics.effect(effect, judged.is_ok());
        if let Err(Stopped::Failed(why)) = &judged {
            warn!("{why}");
        }
        judged
    }

    fn check_leading(&self, epoch: Epoch) -> Result<(), Stopped> {
        if self.leadership.is_current(epoch) { Ok(()) } else { Err(Stopped::NotLeading) }
    }
}

/// The object is gone, or is another one, or has changed. kube's helpers look at the reason only, a proxy may send the code only.
fn is_stale(status: &Status) -> bool {
    status.is_conflict() || status.is_not_found() || status.code == 409 || status.code == 404
}

fn described(step: &ClusterStep) -> String {
    match &step.effect {
        Effect::Adds(Adds::Pod(pod)) => format!("creating pod {}", pod.metadata.name.as_deref().unwrap_or_default()),
        Effect::Adds(Adds::Claim(claim)) => {
            format!("creating volume claim {}", claim.metadata.name.as_deref().unwrap_or_default())
        }
        Effect::TakesAway { action: TakesAway::Pod(name), .. } => format!("deleting pod {name}"),
    }
}

fn reference(object: &FoundationDBCluster) -> ObjectReference {
    object.object_ref(&())
}
