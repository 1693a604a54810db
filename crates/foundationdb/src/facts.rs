//! What is known when a decision is made: the checked wish, Kubernetes' side, and what the object's own status recorded.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolumeClaimSpec, PodTemplateSpec};
use quorate_quorum::Epoch;

use crate::{ProcessClass, ProcessGroup, ProcessGroupId, RedundancyMode, Version};

/// What the user asked for, checked. After this nobody reaches into the raw object.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// The cluster's name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its uid.
    pub uid: String,
    /// The state of the object this was read from; the status is written against it.
    pub resource_version: String,
    /// Which version of the wish this is.
    pub generation: i64,
    /// Whether the object is being deleted.
    pub deleting: bool,
    /// Whether the cluster is to be left alone.
    pub skip: bool,
    /// The version to run.
    pub version: Version,
    /// The redundancy mode.
    pub redundancy_mode: RedundancyMode,
    /// How many process groups there are of each class.
    pub counts: BTreeMap<ProcessClass, u32>,
    /// What process group IDs begin with.
    pub prefix: Option<String>,
    /// The image of the main container.
    pub image: String,
    /// Pods and volumes of each class.
    pub templates: BTreeMap<ProcessClass, ClassTemplate>,
    /// Fields that are not acted on, as `field: why`.
    pub fields_without_effect: Vec<String>,
    /// Fields that have a successor, as `field: what to use`.
    pub deprecated_fields: Vec<String>,
}

/// Pods and volumes of a class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassTemplate {
    /// The pods.
    pub pod: PodTemplateSpec,
    /// The volumes, if the class has any.
    pub claim: Option<PersistentVolumeClaimSpec>,
}

/// What Kubernetes says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KubeFacts {
    /// Pods of this cluster, by name.
    pub pods: BTreeMap<String, PodFacts>,
    /// Volume claims of this cluster, by name.
    pub claims: BTreeMap<String, ClaimFacts>,
    /// What the object's status recorded.
    pub recorded: Recorded,
}

/// A pod, as far as decisions need it.
#[derive(Clone, Debug, PartialEq)]
pub struct PodFacts {
    /// Its uid.
    pub uid: String,
    /// Its state.
    pub resource_version: String,
    /// The process group it belongs to, from its label.
    pub group: Option<ProcessGroupId>,
    /// The uid of the cluster that owns it.
    pub owner: Option<String>,
    /// Where it runs.
    pub node: Option<String>,
    /// How far it is.
    pub phase: PodPhase,
    /// Whether all its containers are ready.
    pub ready: bool,
    /// Its address.
    pub address: Option<String>,
    /// When it was created.
    pub created: Timestamp,
    /// Since when it is being deleted.
    pub deleted_since: Option<Timestamp>,
    /// What the scheduler says, if it found no place.
    pub unschedulable: Option<String>,
}

/// How far a pod is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "Kubernetes' own words")]
pub enum PodPhase {
    #[default]
    Pending,
    Running,
    Succeeded,
    Failed,
    Unknown,
}

/// A volume claim, as far as decisions need it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimFacts {
    /// Its uid.
    pub uid: String,
    /// Its state.
    pub resource_version: String,
    /// The process group it belongs to, from its label.
    pub group: Option<ProcessGroupId>,
    /// Since when it is being deleted.
    pub deleted_since: Option<Timestamp>,
}

/// What the object's status recorded, by this operator or one before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Every process group.
    pub groups: BTreeMap<ProcessGroupId, ProcessGroup>,
    /// The highest number that was ever given to a process group.
    pub last_number: i64,
    /// The last leadership that wrote it.
    pub epoch: Epoch,
    /// The last generation that was wholly carried out.
    pub reconciled: Option<i64>,
}
