//! What is known when a decision is made: Kubernetes' side, and what the object's own status recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use quorate_quorum::{Epoch, Shared};

use crate::objects::{Requests, Tags};
use crate::{ProcessGroup, ProcessGroupId};

/// What Kubernetes says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KubeFacts {
    /// Pods of this cluster, by name.
    pub pods: BTreeMap<String, Shared<PodFacts>>,
    /// Volume claims of this cluster, by name.
    pub claims: BTreeMap<String, Shared<ClaimFacts>>,
    /// Services of this cluster, by name.
    pub services: BTreeMap<String, ServiceFacts>,
    /// The ConfigMap of this cluster, if it is there.
    pub config_map: Option<ConfigMapFacts>,
    /// The disruption budget of this cluster, if it is there.
    pub disruption_budget: Option<DisruptionBudgetFacts>,
    /// The nodes that pods of this cluster are on, by name; a node that is not here is gone.
    pub nodes: BTreeMap<String, NodeFacts>,
    /// All nodes that take pods, by name, whoever has pods there.
    pub open_nodes: Shared<BTreeMap<String, Shared<NodeFacts>>>,
    /// The storage classes that there are; nothing where nobody looked.
    pub storage_classes: Option<BTreeSet<String>>,
    /// Pods and claims that were made and that no watch has shown yet, by name: they are there, as far as anybody knows.
    pub unseen: BTreeSet<String>,
    /// What failed in the last round, as the sentences of its errors.
    pub failures: Vec<String>,
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
    /// The logical fault domain it was made for, from its label.
    pub domain: Option<String>,
    /// The uid of the cluster that owns it.
    pub owner: Option<String>,
    /// Where it runs.
    pub node: Option<String>,
    /// How far it is.
    pub phase: PodPhase,
    /// Whether all its containers are ready.
    pub ready: bool,
    /// Its addresses, the first one first.
    pub addresses: Vec<String>,
    /// The family of addresses its servers were asked to use, from the existing operator's annotation.
    pub family: Option<u8>,
    /// The digest of what it was asked to be, from our annotation.
    pub asked_for: Option<String>,
    /// The digest of how that was rendered, from our annotation.
    pub rendering: Option<String>,
    /// What it has of the labels and annotations that a user gave to it.
    pub given: Tags,
    /// What its monitor says it runs with: the configuration, as the monitor wrote it down. All of a class say the same.
    pub active_configuration: Option<Arc<str>>,
    /// The digest of what the ConfigMap said when it was last poked for it, from our annotation.
    pub poked_for: Option<String>,
    /// What its monitor says of its environment.
    pub environment: BTreeMap<String, String>,
    /// What its main container asks of its node.
    pub requests: Requests,
    /// How many servers it runs.
    pub servers: u32,
    /// Whether a human asked for its servers to be stopped and for it to be kept.
    pub isolated: bool,
    /// The first of its containers that is crashing, if one is.
    pub crashing: Option<String>,
    /// When it was created.
    pub created: Timestamp,
    /// Since when it is being deleted, with the time it has to end included.
    pub deleted_since: Option<Timestamp>,
    /// What the scheduler says, if it found no place.
    pub unschedulable: Option<String>,
}

impl PodFacts {
    /// The one of its addresses that its servers announce, as it was made.
    pub fn announced_address(&self) -> Option<&str> {
        let speaks = |address: &&String| self.family.is_none_or(|family| (family == 6) == address.contains(':'));
        self.addresses.iter().find(speaks).map(String::as_str)
    }

    /// Whether its servers can't run as it was made: they crash again and again, or their image can't be had.
    pub fn cannot_run(&self) -> bool {
        !self.ready && self.crashing.as_deref() == Some(crate::objects::MAIN_CONTAINER)
    }
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
    /// The logical fault domain of that one, from its label.
    pub domain: Option<String>,
    /// Since when it is being deleted.
    pub deleted_since: Option<Timestamp>,
    /// The digest of what it was asked to be, from our annotation.
    pub asked_for: Option<String>,
    /// How many servers it was made for, from our annotation.
    pub servers: Option<u32>,
    /// What it has of the labels and annotations that a user gave to it.
    pub given: Tags,
    /// How much it asks for, as it was written.
    pub size: Option<String>,
    /// The storage class it names.
    pub storage_class: Option<String>,
    /// Whether that class lets volumes grow; `None` if the class is not known.
    pub may_grow: Option<bool>,
    /// The uids of its owners; with the object's own among them it goes with the object.
    pub owners: Vec<String>,
    /// Whether it ever got a volume.
    pub bound: bool,
    /// Whether a node was chosen for its volume, because there was a pod for it.
    pub placed: bool,
    /// Whether its volume is lost.
    pub lost: bool,
}

/// A service, as far as decisions need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceFacts {
    /// Its uid.
    pub uid: String,
    /// Its state.
    pub resource_version: String,
    /// The process group it belongs to, from its label.
    pub group: Option<ProcessGroupId>,
    /// The uid of the cluster that owns it.
    pub owner: Option<String>,
    /// Its address; none for a headless one.
    pub address: Option<String>,
    /// The families of the addresses it has or leads to, the first one first.
    pub families: Vec<String>,
    /// Its ports, by name.
    pub ports: BTreeMap<String, i32>,
    /// What it has of the labels that a user gave to it.
    pub given: Tags,
}

/// The ConfigMap, which is wholly ours but for what others added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMapFacts {
    /// Its uid.
    pub uid: String,
    /// Its state.
    pub resource_version: String,
    /// The uid of the cluster that owns it.
    pub owner: Option<String>,
    /// What it says.
    pub data: BTreeMap<String, String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

/// The disruption budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisruptionBudgetFacts {
    /// Its uid.
    pub uid: String,
    /// Its state.
    pub resource_version: String,
    /// The uid of the cluster that owns it.
    pub owner: Option<String>,
    /// How many pods must stay.
    pub min_available: Option<i32>,
    /// What it has of the labels that a user gave to it.
    pub given: Tags,
}

/// A node, as far as decisions need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The keys of its taints.
    pub taints: BTreeSet<String>,
    /// Whether it says it is ready.
    pub ready: bool,
    /// Since when there is a node of this name.
    pub created: Option<Timestamp>,
}

impl NodeFacts {
    /// Whether it takes pods: it is ready, and Kubernetes itself keeps nobody away. Taints of users may be tolerated.
    pub fn is_open(&self) -> bool {
        self.ready && !self.taints.iter().any(|key| key.starts_with("node.kubernetes.io/"))
    }
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
    /// The connection string.
    pub connection: Option<String>,
    /// Whether the database was ever created, by us or before us.
    pub configured: bool,
    /// The version most processes ran.
    pub running_version: Option<String>,
    /// Logical fault domains that found no host, by name.
    pub set_aside: BTreeMap<String, SetAside>,
}

/// A logical fault domain that is not used, because it found no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetAside {
    /// Since when.
    pub since: Timestamp,
    /// How many nodes took pods then; with one more, or a new one, it is tried again.
    pub open_nodes: usize,
}
