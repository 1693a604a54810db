//! What happens to a cluster: one line per concern, each in a file of its own. No concern stops another; each names its own holds and
//! its own wake-up, and the budget grants what takes something away.

mod claims;
mod growth;
mod health;
mod pods;
#[cfg(test)]
mod stories;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use quorate_quorum::budget::Budget;
use quorate_quorum::{Epoch, Gate, Hold, Journal, Notice, Severity, Snapshot, Step, Wake};
use serde::Serialize;

use crate::configuration::ConfigurationKeys;
use crate::facts::KubeFacts;
use crate::{DatabaseReport, Desired, ProcessGroup, ProcessGroupId, reasons};

/// What is seen of a FoundationDB cluster.
pub type ClusterSnapshot = Snapshot<Desired, KubeFacts, DatabaseReport>;
/// What follows for it.
pub type ClusterDecision = quorate_quorum::Decision<Adds, TakesAway, ClusterStatus>;
/// One step of it.
pub type ClusterStep = Step<Adds, TakesAway>;

/// What is added to a cluster, or made as it was asked to be, without taking anything away from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Adds {
    /// A pod.
    Pod(Box<Pod>),
    /// A volume claim.
    Claim(Box<PersistentVolumeClaim>),
    /// A service.
    Service(Box<Service>),
    /// The ConfigMap.
    ConfigMap(Box<ConfigMap>),
    /// The ConfigMap in place of the one the guard names.
    ConfigMapAgain(Box<ConfigMap>),
    /// The disruption budget.
    DisruptionBudget(Box<PodDisruptionBudget>),
    /// How many pods must stay, in the disruption budget the guard names.
    MinAvailable {
        /// The budget.
        name: String,
        /// How many.
        min_available: i32,
    },
    /// A larger volume, in the claim the guard names.
    ClaimSize {
        /// The claim.
        name: String,
        /// The new size.
        size: String,
    },
    /// The claim the guard names belongs to the object from now on, and goes with it; or no longer does.
    ClaimOwner {
        /// The claim.
        name: String,
        /// Its owner, if it is to have one.
        owner: Option<Box<OwnerReference>>,
    },
    /// Annotations on the pod the guard names.
    PodAnnotations {
        /// The pod.
        name: String,
        /// What to set.
        annotations: BTreeMap<String, String>,
    },
    /// The database itself, created under this id of 16 bytes in hex, with these keys of its configuration.
    Database {
        /// The id, which tells our own creation from somebody else's.
        id: String,
        /// The configuration.
        keys: ConfigurationKeys,
    },
    /// Keys of the database's configuration.
    Configuration(ConfigurationKeys),
    /// Places that may be used again: addresses and localities.
    Include(Vec<String>),
}

/// What is taken away from a cluster, if only for a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TakesAway {
    /// A pod, by name; its guard says which one.
    Pod(String),
    /// A volume claim, by name; its guard says which one.
    Claim(String),
    /// A service, by name; its guard says which one.
    Service(String),
    /// Places where nothing may live any more: addresses and localities.
    Exclude(Vec<String>),
    /// The coordinators, which are these from now on; it costs one recovery.
    Coordinators(Vec<String>),
    /// Servers are restarted, by address.
    Kill(Vec<String>),
}

/// What the cluster's status shall say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// The generation it speaks of.
    pub observed_generation: i64,
    /// The last generation that was wholly carried out.
    pub reconciled: Option<i64>,
    /// The leadership that writes it.
    pub epoch: Epoch,
    /// Every process group.
    pub groups: BTreeMap<ProcessGroupId, ProcessGroup>,
    /// The highest number that was ever given to a process group.
    pub last_number: i64,
    /// What was begun and not seen to finish.
    pub journal: Journal,
    /// How many process groups there should be.
    pub desired_groups: usize,
    /// How many are as they should be.
    pub reconciled_groups: usize,
    /// Whether the database can be read and written; `None` if it does not say.
    pub available: Option<bool>,
    /// Whether it calls itself healthy.
    pub healthy: Option<bool>,
    /// Whether its data is fully replicated.
    pub full_replication: Option<bool>,
    /// The version most processes run.
    pub running_version: Option<String>,
    /// The connection string.
    pub connection: Option<String>,
    /// Whether the database was ever created, by us or before us.
    pub configured: bool,
    /// What the database's configuration is, by the names of `configure`.
    pub configuration: BTreeMap<String, String>,
    /// How far data movement has to go, as the database ranks it.
    pub data_movement_priority: Option<i64>,
    /// Room for automatic replacements, per bucket.
    pub buckets: Vec<quorate_quorum::buckets::Shown>,
}

/// How often a cluster is looked at while something is under way.
const WHILE_UNDER_WAY: SignedDuration = SignedDuration::from_secs(5);
/// How often a cluster at rest is looked at.
const AT_REST: SignedDuration = SignedDuration::from_secs(30);

/// A decision while it is being put together.
struct Draft<'a> {
    seen: &'a ClusterSnapshot,
    status: ClusterStatus,
    steps: Vec<ClusterStep>,
    notices: Vec<Notice>,
    holds: Vec<Hold>,
    wake: Wake,
    budget: Budget,
}

/// Decides what happens to a cluster.
pub fn decide(seen: &ClusterSnapshot) -> ClusterDecision {
    let mut draft = Draft::begin(seen);
    if let Some(hold) = left_alone(seen) {
        draft.holds.push(hold);
        return draft.finish();
    }
    growth::propose(&mut draft);
    claims::propose(&mut draft);
    pods::propose(&mut draft);
    health::propose(&mut draft);
    draft.finish()
}

/// A cluster that is not to be touched at all.
fn left_alone(seen: &ClusterSnapshot) -> Option<Hold> {
    let Desired { name, deleting, skip, .. } = &seen.desired;
    if !Gate::EpochFence.passes(seen.kube.recorded.epoch <= seen.epoch) {
        let sentence = "another operator has taken over, so this one changes nothing";
        let hold = Hold::new(reasons::NOT_LEADING, name, sentence, "nothing to do; the other one goes on");
        return Some(hold.compared(format!("epoch {}", seen.epoch.0), format!("epoch {}", seen.kube.recorded.epoch.0)));
    }
    if *deleting {
        let sentence = "the object is being deleted, so nothing is added; its volumes stay";
        return Some(Hold::new(
            reasons::BEING_DELETED,
            name,
            sentence,
            "nothing; create the object again to use the volumes again",
        ));
    }
    (!Gate::Skip.passes(!skip))
        .then(|| Hold::new(reasons::SKIPPED, name, "spec.skip is true, so nothing is changed", "spec.skip: false"))
}

impl<'a> Draft<'a> {
    fn begin(seen: &'a ClusterSnapshot) -> Self {
        let recorded = &seen.kube.recorded;
        let journal = seen.journal.without_what_ended(|entry| seen.kube.pods.values().any(|pod| pod.uid == entry.uid));
        let budget = Budget::of_zones(1, &seen.journal, []);
        let status = ClusterStatus {
            observed_generation: seen.desired.generation,
            reconciled: recorded.reconciled,
            epoch: seen.epoch.max(recorded.epoch),
            groups: recorded.groups.clone(),
            last_number: recorded.last_number,
            journal,
            desired_groups: seen.desired.counts.values().map(|count| *count as usize).sum(),
            connection: recorded.connection.clone(),
            configured: recorded.configured,
            running_version: recorded.running_version.clone(),
            ..ClusterStatus::default()
        };
        Self { seen, status, steps: Vec::new(), notices: Vec::new(), holds: Vec::new(), wake: Wake::default(), budget }
    }

    fn notice(&mut self, severity: Severity, reason: &'static str, note: impl Into<String>) {
        self.notices.push(Notice { severity, reason, note: note.into() });
    }

    fn finish(mut self) -> ClusterDecision {
        let at_rest = self.steps.is_empty() && self.holds.is_empty();
        let next = if at_rest { AT_REST } else { WHILE_UNDER_WAY };
        self.wake.at(self.seen.now + next);
        self.holds.sort_by(|a, b| (&a.about, a.reason).cmp(&(&b.about, b.reason)));
        quorate_quorum::Decision {
            steps: self.steps,
            status: self.status,
            notices: self.notices,
            holds: self.holds,
            wake: self.wake,
        }
    }
}
