//! What happens to a cluster: one line per concern, each in a file of its own. No concern stops another; each names its own holds and
//! its own wake-up, and the budget grants what takes something away.

mod alongside;
mod birth;
mod bounce;
mod claims;
mod conditions;
mod config_map;
mod configuration;
mod coordinators;
mod copies;
mod disruption_budget;
mod draft;
mod exclusion;
mod failures;
mod families;
mod growth;
mod halls;
mod health;
mod hosts;
mod lateness;
mod lock;
mod lost_pods;
mod making_room;
mod members;
mod misconfigured;
mod moves;
mod pods;
mod poke;
mod precedence;
mod removal;
mod requested;
mod revival;
mod room;
mod roster;
mod services;
mod shrink;
#[cfg(test)]
mod stories;
mod tags;
mod updates;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use quorate_quorum::{Epoch, Gate, Hold, Journal, Shared, Snapshot, Step};
use serde::Serialize;

use crate::configuration::ConfigurationKeys;
use crate::facts::KubeFacts;
use crate::objects::Tags;
use crate::{DatabaseReport, Desired, PodFacts, ProcessGroup, ProcessGroupId, SetAside, Wish, reasons};
use draft::Draft;
pub use lateness::is_too_late;
pub use lost_pods::lost_pods;
pub use revival::READ_BACK;

/// What is seen of a FoundationDB cluster.
pub type ClusterSnapshot = Snapshot<Wish, KubeFacts, Shared<DatabaseReport>>;
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
    ConfigMapAgain {
        /// What it is to be.
        map: Box<ConfigMap>,
        /// Labels and annotations to take back.
        back: Tags,
    },
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
    /// Labels and annotations on the pod the guard names.
    PodTags {
        /// The pod.
        name: String,
        /// What to set, and what to take back.
        tags: Tags,
    },
    /// Labels and annotations on the claim the guard names.
    ClaimTags {
        /// The claim.
        name: String,
        /// What to set, and what to take back.
        tags: Tags,
    },
    /// Labels on the service the guard names.
    ServiceTags {
        /// The service.
        name: String,
        /// What to set, and what to take back.
        tags: Tags,
    },
    /// Labels on the disruption budget the guard names.
    DisruptionBudgetTags {
        /// The budget.
        name: String,
        /// What to set, and what to take back.
        tags: Tags,
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
    /// The lock that operators share: taken, kept for longer, or given back.
    Lock {
        /// Its key.
        key: Vec<u8>,
        /// What it must say now.
        from: Option<Vec<u8>>,
        /// What it says then; nothing if it is given back.
        to: Option<Vec<u8>>,
    },
    /// Operators that may not take the lock, as key and name; or that may again.
    DenyList {
        /// To be written.
        deny: Vec<(Vec<u8>, String)>,
        /// To be cleared.
        allow: Vec<Vec<u8>>,
    },
}

/// What is taken away from a cluster, if only for a moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TakesAway {
    /// A pod, by name; its guard says which one.
    Pod(String),
    /// A pod in whose stead another one is made, if the API would take that one.
    PodForAnother {
        /// Its name; its guard says which one.
        name: String,
        /// The other one.
        #[serde(skip)]
        next: Box<Pod>,
    },
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
    /// Operators that may not take the lock.
    pub denied: Vec<String>,
    /// Logical fault domains that found no host, by name.
    pub set_aside: BTreeMap<String, SetAside>,
    /// Room for automatic replacements, per bucket.
    pub buckets: Vec<quorate_quorum::buckets::Shown>,
}

/// Decides what happens to a cluster.
pub fn decide(seen: &ClusterSnapshot) -> ClusterDecision {
    let seen = &*families::next(seen);
    let mut draft = Draft::begin(seen);
    let left_alone = left_alone(seen);
    if !left_alone.is_empty() {
        draft.holds.extend(left_alone);
        // Whoever touches nothing may still say how things are.
        health::propose_of_one_left_alone(&mut draft);
        failures::show(&mut draft);
        return draft.finish();
    }
    revival::propose(&mut draft);
    birth::learn(&mut draft);
    conditions::observe(&mut draft);
    copies::remember(&mut draft);
    draft.budget = draft.zone_budget();
    // Before anything is made or replaced: nothing is made for who is empty, and who is makes room in its bucket.
    removal::confirm(&mut draft);
    // Who is to go, and who comes in their place.
    requested::propose(&mut draft);
    misconfigured::propose(&mut draft);
    failures::propose(&mut draft);
    hosts::propose(&mut draft);
    moves::propose(&mut draft);
    shrink::propose(&mut draft);
    growth::propose(&mut draft);
    // What the cluster is made of.
    birth::propose(&mut draft);
    services::propose(&mut draft);
    config_map::propose(&mut draft);
    claims::propose(&mut draft);
    pods::propose(&mut draft);
    poke::propose(&mut draft);
    tags::propose(&mut draft);
    // What the database is asked for, the most urgent recovery first.
    coordinators::propose(&mut draft);
    configuration::propose(&mut draft);
    exclusion::propose(&mut draft);
    removal::propose(&mut draft);
    bounce::propose(&mut draft);
    updates::propose(&mut draft);
    disruption_budget::propose(&mut draft);
    lock::keep_the_deny_list(&mut draft);
    health::propose(&mut draft);
    failures::show(&mut draft);
    lock::give_back(&mut draft);
    draft.finish()
}

/// Room for automatic replacements as it is, before anything is decided.
pub(crate) fn room(seen: &ClusterSnapshot) -> Vec<quorate_quorum::buckets::Shown> {
    let mut draft = Draft::begin(seen);
    failures::show(&mut draft);
    draft.status.buckets
}

/// How many of those that a decision marks for removal move to other fault domains.
pub(crate) fn moved(seen: &ClusterSnapshot, marked: &BTreeSet<ProcessGroupId>) -> usize {
    moves::moved(&Draft::begin(seen), marked)
}

/// Why a cluster is not to be touched at all.
fn left_alone(seen: &ClusterSnapshot) -> Vec<Hold> {
    let Desired { name, deleting, skip, problems, .. } = &*seen.desired;
    if !Gate::EpochFence.passes(seen.kube.recorded.epoch <= seen.epoch) {
        let sentence = "another operator has taken over, so this one changes nothing";
        let hold = Hold::new(reasons::NOT_LEADING, name, sentence, "nothing to do; the other one goes on");
        return vec![hold.compared(format!("epoch {}", seen.epoch.0), format!("epoch {}", seen.kube.recorded.epoch.0))];
    }
    if *deleting {
        let sentence = "the object is being deleted, so nothing is added; its volumes stay unless it says otherwise";
        let released_by = "nothing; create the object again to use the volumes again";
        return vec![Hold::new(reasons::BEING_DELETED, name, sentence, released_by).compared("deleted", "not deleted")];
    }
    if !Gate::Skip.passes(!skip) {
        let hold = Hold::new(reasons::SKIPPED, name, "spec.skip is true, so nothing is changed", "spec.skip: false");
        return vec![hold.compared("skip true", "skip false")];
    }
    if let Some((pod, _)) = seen.kube.pods.iter().find(|(_, pod)| is_ours(&seen.desired, pod) && pod.asked_for.is_none()) {
        let sentence = format!("pod {pod} was made by another operator, so this one changes nothing");
        let released_by = "nothing yet: taking over clusters of the other operator is not offered; leave them to it";
        let hold = Hold::new(reasons::MADE_BY_ANOTHER_OPERATOR, name, sentence, released_by);
        return vec![hold.compared("a pod that does not say what it was asked to be", "none")];
    }
    // A version that can't be read is a problem of its own, and not a change to another one.
    let problem = |problem: &crate::FieldProblem| {
        let sentence = format!(
            "{}: {}; until that is put right nothing is changed, and nothing that is lost is made again",
            problem.field, problem.problem
        );
        Hold::new(reasons::INVALID_SPEC, &problem.field, sentence, &problem.right).compared(&problem.problem, &problem.right)
    };
    if !problems.is_empty() {
        return problems.iter().map(problem).collect();
    }
    if let Some(running) = seen.kube.recorded.running_version.as_ref().and_then(|version| version.parse::<crate::Version>().ok())
        && !running.speaks_with(seen.desired.version)
    {
        let sentence = format!(
            "{running} runs, and {} speaks another protocol; changing to it is not offered yet, and nothing that is lost is made again",
            seen.desired.version
        );
        let hold = Hold::new(
            reasons::VERSION_CHANGE_HELD,
            name,
            sentence,
            format!("asking for a version {}.{}", running.major, running.minor),
        );
        return vec![hold.compared(running, seen.desired.version)];
    }
    revival::obstacle(seen).into_iter().collect()
}

/// Whether a pod was made for this object.
fn is_ours(desired: &Desired, pod: &PodFacts) -> bool {
    Gate::OnlyOurPods.passes(pod.owner.as_deref() == Some(&desired.uid))
}
