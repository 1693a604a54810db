//! One round for one cluster: ask the database, decide, act. What was decided is carried out and never decided again on the way.

mod ask;
mod bring_back;
mod effects;
mod expected;
mod telling;
mod wished;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_fdb_client::{FoundationDb, TlsIdentity};
use quorate_foundationdb::decide::{ClusterDecision, ClusterSnapshot};
use quorate_foundationdb::{DatabaseReport, KubeFacts, decide};
use quorate_quorum::{Epoch, Gate, Notice, Shared, Sighting};
use tokio::time::Instant;

use crate::clock::SteadyClock;
use crate::decided::Measured;
use crate::events::Recorder;
use crate::foundationdb::{recorded_journal, recorded_status, shown_status};
use crate::index::Kind;
use crate::metrics::Metrics;
use crate::{ClusterKey, Leadership};
use effects::{Done, Stopped};
pub(crate) use expected::{Expected, Unseen};
use telling::{Telling, must_be_written};
use wished::Wished;

/// Everything a round needs besides the cluster.
#[derive(Clone)]
pub(crate) struct Hands {
    pub(crate) client: Client,
    pub(crate) clock: SteadyClock,
    pub(crate) leadership: Leadership,
    pub(crate) database: Arc<dyn FoundationDb>,
    /// What is shown to databases that speak TLS.
    pub(crate) identity: Option<TlsIdentity>,
    pub(crate) recorder: Recorder,
    pub(crate) metrics: Arc<Metrics>,
    /// Namespaces and digests of pods that the API said it would take.
    pub(crate) rehearsed: Arc<Mutex<BTreeSet<(String, String)>>>,
}

/// What a round leaves to the next one of its cluster. All of it can be lost: it is only saved work.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    /// What the database said.
    pub(crate) sighting: Sighting<Shared<DatabaseReport>>,
    /// When it was asked for that.
    pub(crate) asked: Option<Instant>,
    /// Since when what costs a recovery was not sent, because every answer came too late for it.
    pub(crate) late_since: Option<Instant>,
    /// Whether something was done to it since, so that what it said is old.
    pub(crate) database_changed: bool,
    /// What failed, as sentences.
    pub(crate) failures: Vec<String>,
    /// Names that somebody had when they were to be given.
    pub(crate) taken: BTreeSet<(Kind, String)>,
    /// What the last decision gave notice of.
    pub(crate) said: Vec<Notice>,
    /// What of the status waits to be written.
    pub(crate) telling: Telling,
    /// What its user asked for.
    pub(crate) wished: Wished,
    /// The connection string that its status recorded last, as seen or as written, and of which object: a status can be lost, and the
    /// ConfigMap be seen as it was before.
    pub(crate) connection: Option<(String, String)>,
    /// The state of the object that we have written over since; whoever still shows it shows what was before.
    pub(crate) written_over: Option<String>,
}

impl Default for Remembered {
    fn default() -> Self {
        Self {
            sighting: Sighting::NotAsked,
            asked: None,
            late_since: None,
            database_changed: false,
            failures: vec![],
            taken: BTreeSet::new(),
            said: vec![],
            telling: Telling::default(),
            wished: Wished::default(),
            connection: None,
            written_over: None,
        }
    }
}

impl Remembered {
    /// Keeps what an object says that was seen.
    fn keep_connection(&mut self, object: &FoundationDBCluster) {
        if self.written_over.is_none() || self.written_over != object.metadata.resource_version {
            self.keep_connection_of(object);
        }
    }

    /// Keeps what was written over an object.
    fn keep_what_was_written(&mut self, written: &FoundationDBCluster) {
        self.written_over.clone_from(&written.metadata.resource_version);
        self.keep_connection_of(written);
    }

    fn keep_connection_of(&mut self, object: &FoundationDBCluster) {
        let recorded = object.status.as_ref().and_then(|status| status.connection_string.clone());
        if let (Some(uid), Some(connection)) = (&object.metadata.uid, recorded.filter(|connection| !connection.is_empty())) {
            self.connection = Some((uid.clone(), connection));
        }
    }

    fn connection_of(&self, object: &FoundationDBCluster) -> Option<String> {
        let (uid, connection) = self.connection.as_ref()?;
        (object.metadata.uid.as_ref() == Some(uid)).then(|| connection.clone())
    }
}

/// What a round leads to.
pub(crate) struct Outcome {
    pub(crate) remembered: Remembered,
    pub(crate) decision: ClusterDecision,
    pub(crate) measured: Measured,
    pub(crate) expected: Expected,
    pub(crate) ended: Ended,
}

/// How a round ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Well,
    /// Some of it was not done; the rest was.
    Partly(String),
    /// Nothing was done.
    Badly(String),
}

impl Hands {
    pub(crate) async fn round(
        &self,
        key: &ClusterKey,
        object: &Arc<FoundationDBCluster>,
        kube: KubeFacts,
        epoch: Epoch,
        mut remembered: Remembered,
    ) -> Outcome {
        remembered.keep_connection(object);
        let mut seen = self.snapshot(object, kube, epoch, &remembered);
        remembered.wished.keep(object, &seen.desired);
        let brought_back = self.bring_back(object, &seen, &remembered).await;
        seen.kube.unseen.extend(brought_back.appears.iter().map(|(_, name)| name.clone()));
        (seen.database, remembered.asked) = self.ask(key, object, seen.desired.lock.as_ref(), &remembered).await;
        (seen.now, seen.steady_since) = self.clock.now();
        remembered.database_changed = false;
        remembered.sighting.clone_from(&seen.database);
        let decision = decide(&seen);
        let measured = Measured::new(&seen, &decision);
        if !Gate::EpochFence.passes(seen.kube.recorded.epoch <= epoch) {
            // Somebody of a later leadership was here: nothing of ours is written, not even a status.
            self.leadership.go_beyond(seen.kube.recorded.epoch);
            return Outcome { remembered, decision, measured, expected: brought_back, ended: Ended::Well };
        }
        let mut done = Done::new(key, object, self.identity.as_ref(), &decision, &remembered.taken);
        done.expected = brought_back;
        done.asked = remembered.asked;
        done.late_since = remembered.late_since;
        let ended = match self.carry_out(object, &seen, &decision, &mut done, &mut remembered).await {
            Ok(()) => done.ended(),
            Err(Stopped::NotLeading) => Ended::Well,
            Err(Stopped::Changed) => Ended::Badly("the object changed while this was decided".to_owned()),
            Err(Stopped::Taken) => Ended::Badly("writing the status: somebody else has its name".to_owned()),
            Err(Stopped::Failed(why) | Stopped::Silent(why)) => {
                let sentence = format!("writing the status: {why}");
                remembered.failures = vec![sentence.clone()];
                Ended::Badly(sentence)
            }
        };
        remembered.database_changed = done.database_changed;
        remembered.late_since = done.is_late.then(|| done.late_since.unwrap_or_else(Instant::now));
        Outcome { remembered, decision, measured, expected: done.expected, ended }
    }

    /// What is seen, with what the database said last.
    fn snapshot(
        &self,
        object: &Arc<FoundationDBCluster>,
        kube: KubeFacts,
        epoch: Epoch,
        remembered: &Remembered,
    ) -> ClusterSnapshot {
        let (now, steady_since) = self.clock.now();
        let status = remembered.telling.status(object);
        let mut recorded = recorded_status(status);
        recorded.connection = recorded.connection.or_else(|| remembered.connection_of(object));
        ClusterSnapshot {
            now,
            steady_since,
            epoch,
            desired: remembered.wished.of(object),
            kube: KubeFacts { failures: remembered.failures.clone(), recorded, ..kube },
            database: remembered.sighting.clone(),
            journal: recorded_journal(status),
        }
    }

    /// The status first, by compare-and-set: it records what is about to happen, and a stale leader fails here.
    async fn carry_out(
        &self,
        object: &Arc<FoundationDBCluster>,
        seen: &ClusterSnapshot,
        decision: &ClusterDecision,
        done: &mut Done,
        remembered: &mut Remembered,
    ) -> Result<(), Stopped> {
        let before = remembered.telling.status(object);
        let shown = shown_status(before, decision, &seen.desired, seen.now);
        let now = Instant::now();
        if object.status.as_ref() == Some(&shown) {
            remembered.telling.nothing_waits();
        } else if !remembered.telling.is_time(now) && !must_be_written(before, seen, decision) {
            remembered.telling.waits(object, shown);
        } else {
            let mut written = FoundationDBCluster::clone(object);
            written.status = Some(shown);
            if !Gate::RecordedFirst.stands() {
                self.perform_all(seen, decision, done).await?;
            }
            self.check_leading(seen.epoch)?;
            self.write_status(&written, &seen.desired.namespace, &seen.desired.name).await?;
            remembered.keep_what_was_written(&written);
            done.expected.object_was = Some(object.metadata.resource_version.clone().unwrap_or_default());
            remembered.telling.was_written(now);
        }
        self.perform_all(seen, decision, done).await?;
        remembered.failures.clone_from(&done.failures);
        remembered.taken.clone_from(&done.taken);
        // What the last decision gave notice of too has been said.
        for notice in decision.notices.iter().filter(|notice| !remembered.said.contains(notice)) {
            self.recorder.publish(&reference(object), notice).await;
        }
        remembered.said.clone_from(&decision.notices);
        Ok(())
    }

    async fn write_status(&self, written: &FoundationDBCluster, namespace: &str, name: &str) -> Result<(), Stopped> {
        let clusters: Api<FoundationDBCluster> = Api::namespaced(self.client.clone(), namespace);
        if Gate::StatusCompareAndSet.stands() {
            self.call("status", clusters.replace_status(name, &PostParams::default(), written)).await?;
        } else {
            let status = serde_json::json!({"status": written.status});
            self.call("status", clusters.patch_status(name, &PatchParams::default(), &Patch::Merge(status))).await?;
        }
        Ok(())
    }

    fn check_leading(&self, epoch: Epoch) -> Result<(), Stopped> {
        if self.leadership.is_current(epoch) { Ok(()) } else { Err(Stopped::NotLeading) }
    }
}

fn reference(object: &FoundationDBCluster) -> ObjectReference {
    object.object_ref(&())
}

#[cfg(test)]
mod tests {
    use quorate_api::foundationdb::FoundationDBClusterStatus;

    use super::*;

    fn object(resource_version: &str, connection: &str) -> FoundationDBCluster {
        let mut object = FoundationDBCluster::default();
        object.metadata.uid = Some("uid".to_owned());
        object.metadata.resource_version = Some(resource_version.to_owned());
        object.status = Some(FoundationDBClusterStatus {
            connection_string: Some(connection.to_owned()),
            ..FoundationDBClusterStatus::default()
        });
        object
    }

    #[test]
    fn what_was_written_is_newer_than_what_is_still_seen() {
        let mut remembered = Remembered::default();
        let before = object("10", "old");
        remembered.keep_connection(&before);
        remembered.keep_what_was_written(&object("10", "new"));
        // The watch is behind.
        remembered.keep_connection(&before);
        assert_eq!(remembered.connection_of(&before).as_deref(), Some("new"));
        remembered.keep_connection(&object("12", "somebody else's"));
        assert_eq!(remembered.connection_of(&before).as_deref(), Some("somebody else's"));
    }
}
