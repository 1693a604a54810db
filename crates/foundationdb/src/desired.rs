//! What the user asked for, checked and with every default filled in. After this nobody reaches into the raw object.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, PodTemplateSpec};

use crate::configuration::Migration;
use crate::{ProcessClass, ProcessGroupId, RedundancyMode, Version};

/// What the user asked for, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// The cluster's name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its uid.
    pub uid: String,
    /// Which version of the wish this is.
    pub generation: i64,
    /// Whether the object is being deleted.
    pub deleting: bool,
    /// Whether the cluster is to be left alone.
    pub skip: bool,
    /// What can't be carried out as it was written; while there is any, nothing is changed.
    pub problems: Vec<FieldProblem>,

    /// The version to run.
    pub version: Version,
    /// The database's own configuration.
    pub database: DatabaseWish,
    /// How many process groups there are of each class.
    pub counts: BTreeMap<ProcessClass, u32>,
    /// Processes in one pod, where that is not one.
    pub servers_per_pod: BTreeMap<ProcessClass, u32>,
    /// What process group IDs begin with.
    pub prefix: Option<String>,
    /// Where processes are, as far as pods are made for it.
    pub topology: Topology,
    /// Logical fault domains that process groups are packed into; `None` if they are not.
    pub distribution: Option<Distribution>,
    /// Which classes may be coordinators, and how gladly. Without any, every class that keeps state.
    pub coordinator_selection: BTreeMap<ProcessClass, i64>,
    /// The connection string of a running database to join.
    pub seed_connection: Option<String>,
    /// The first part of a new connection string, before the colon.
    pub description: Option<String>,
    /// The second part of a new connection string, between colon and at sign.
    pub database_id: Option<String>,

    /// The image of the main container.
    pub image: String,
    /// The image of the sidecar.
    pub sidecar_image: String,
    /// Pods, volumes and parameters of each class.
    pub templates: BTreeMap<ProcessClass, ClassTemplate>,
    /// Addresses, names and services.
    pub routing: Routing,
    /// Labels that are set and selected by.
    pub labels: Labels,
    /// Data and metadata merged into the ConfigMap.
    pub config_map: Option<ConfigMap>,
    /// The log group in trace files.
    pub log_group: String,
    /// Root certificates in PEM that processes trust.
    pub trusted_cas: Vec<String>,
    /// What a peer's certificate must say.
    pub peer_verification_rules: String,
    /// Whether volumes go with the object.
    pub delete_volumes: bool,

    /// Process groups to replace.
    pub remove: BTreeSet<String>,
    /// Process groups to remove without moving their data away.
    pub remove_without_exclusion: BTreeSet<String>,
    /// What is done automatically, how much at once, and after which waits.
    pub automation: Automation,
    /// The lock that operators of one database share; `None` if it is not used.
    pub lock: Option<LockWish>,
    /// Faults to inject.
    pub buggify: Buggify,

    /// Fields that are not acted on, as `field: why`.
    pub fields_without_effect: Vec<String>,
    /// Fields that have a successor, as `field: what to use`.
    pub deprecated_fields: Vec<String>,
}

/// A field that can't be carried out as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// Where, such as `spec.processes.general.customParameters[1]`.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub right: String,
}

/// The database's own configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseWish {
    /// The redundancy mode.
    pub redundancy_mode: RedundancyMode,
    /// The storage engine, by its name.
    pub storage_engine: String,
    /// How storage servers come to another engine, if that was asked for.
    pub migration: Option<Migration>,
    /// Numbers of roles and other settings that were asked for, by the name that both `configure` and the status give them, such as
    /// `logs` or `grv_proxies`. Of a role that is not here there are as many as of a new database; another setting is left as it is.
    pub settings: BTreeMap<String, i64>,
}

/// Pods, volumes and parameters of a class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassTemplate {
    /// The pods.
    pub pod: PodTemplateSpec,
    /// The volumes, if the class has any.
    pub claim: Option<PersistentVolumeClaim>,
    /// Parameters as `name` and `value`, in the order they were written.
    pub parameters: Vec<(String, String)>,
}

/// Where processes are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Where the zone of a process comes from.
    pub zone: Zone,
    /// The environment variable that names the zone all the same, where each pod or the whole Kubernetes cluster would be one.
    pub zone_variable: Option<String>,
    /// The locality `dcid` of every process.
    pub datacenter: Option<String>,
    /// The locality `data_hall` of every process.
    pub hall: Option<String>,
}

/// Logical fault domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// How many for each class.
    pub domains: u32,
    /// Whether all of them are waited for where there are too few hosts, instead of doing with fewer.
    pub required: bool,
}

/// Where the zone of a process comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Zone {
    /// The node it runs on, with pods of a class kept apart by this node label.
    Node {
        /// The label, `kubernetes.io/hostname` unless said otherwise.
        label: String,
        /// Where the zone's name is taken from instead of the node's name: an environment variable, with its `$`.
        value_from: Option<String>,
    },
    /// Each pod is a zone of its own (`foundationdb.org/none`).
    Pod,
    /// The whole Kubernetes cluster is one zone (`foundationdb.org/kubernetes-cluster`).
    Cluster(String),
}

impl Zone {
    /// The node label that tells zones apart, where one does.
    pub fn label(&self) -> Option<&str> {
        match self {
            Self::Node { label, .. } => Some(label),
            Self::Pod | Self::Cluster(_) => None,
        }
    }
}

impl Default for Zone {
    fn default() -> Self {
        Self::Node { label: "kubernetes.io/hostname".to_owned(), value_from: None }
    }
}

/// Addresses, names and services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routing {
    /// Whether there is a headless service, so that pods have names.
    pub headless_service: bool,
    /// Whether coordinators are written by name.
    pub dns_in_cluster_file: bool,
    /// Whether processes carry their name as a locality; always, where coordinators are written by name.
    pub dns_locality: bool,
    /// The domain of the names.
    pub dns_domain: String,
    /// Whether each pod has a service whose address stays.
    pub service_per_pod: bool,
    /// 4 or 6, where the pods have both.
    pub family: Option<u8>,
    /// Whether TLS is spoken.
    pub tls: bool,
    /// Whether fdbserver listens on the pod's address explicitly.
    pub explicit_listen_address: bool,
}

/// The domain of a Kubernetes cluster, unless it says otherwise.
pub(crate) const DEFAULT_DNS_DOMAIN: &str = "cluster.local";

impl Default for Routing {
    fn default() -> Self {
        Self {
            headless_service: true,
            dns_in_cluster_file: true,
            dns_locality: true,
            dns_domain: DEFAULT_DNS_DOMAIN.to_owned(),
            service_per_pod: false,
            family: None,
            tls: false,
            explicit_listen_address: false,
        }
    }
}

/// Labels that are set and selected by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// What everything of the cluster is selected by.
    pub matching: BTreeMap<String, String>,
    /// Put on everything besides.
    pub resource: BTreeMap<String, String>,
    /// Under which keys the process group is named.
    pub group: Vec<String>,
    /// Under which keys the class is named.
    pub class: Vec<String>,
}

/// What is done automatically, how much at once, and after which waits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the object")]
pub struct Automation {
    /// Whether the database's configuration is changed.
    pub configure_database: bool,
    /// Whether processes are restarted.
    pub kill_processes: bool,
    /// Whether processes are excluded by locality.
    pub exclude_by_locality: bool,
    /// Replacement of failed process groups.
    pub replacements: Replacements,
    /// How many process groups are replaced at once because their configuration changed.
    pub misconfigured_at_once: i64,
    /// After how long a pending pod is left out of account.
    pub ignore_pending_after: SignedDuration,
    /// After how long a pod that is being deleted is left out of account.
    pub ignore_terminating_after: SignedDuration,
    /// After how long restarts go on without a missing process.
    pub ignore_missing_after: SignedDuration,
    /// After how long a pod that is being deleted, and does not go, counts as failing.
    pub pod_failed_after: SignedDuration,
    /// How many pods are deleted at once to be made again.
    pub deletion: AtOnce,
    /// How many process groups are removed at once.
    pub removal: AtOnce,
    /// How long to wait between removals.
    pub between_removals: SignedDuration,
    /// How a changed pod template reaches the pods.
    pub pod_update: PodUpdate,
    /// Whether pods whose requests grew are replaced.
    pub replace_when_resources_grow: bool,
    /// The most zones with unavailable pods while pods are being deleted.
    pub most_unavailable_zones: Option<u32>,
    /// How long everything must be up before processes are restarted.
    pub uptime_before_bounce: SignedDuration,
    /// Waits that protect the database.
    pub timers: SafetyTimers,
}

/// Replacement of failed process groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacements {
    /// Whether there is any.
    pub enabled: bool,
    /// Whether the limit counts fault domains instead of process groups.
    pub by_fault_domain: bool,
    /// After how long a failed process group is replaced.
    pub after: SignedDuration,
    /// How many at once; 0 stops all.
    pub at_once: i64,
    /// Limits per bucket, if they are turned on.
    pub buckets: Option<BucketLimits>,
    /// Taints that lead to a replacement, and after how long; `*` stands for all others.
    pub taints: BTreeMap<String, SignedDuration>,
    /// After how long a process group on a tainted node is replaced.
    pub taint_replaced_after: SignedDuration,
    /// With more tainted fault domains than this, no taint leads to a replacement.
    pub most_tainted_domains: AtMost,
}

/// Limits per bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketLimits {
    /// Storage.
    pub storage: i64,
    /// Log, transaction, coordinator.
    pub log: i64,
    /// All others.
    pub stateless: i64,
}

/// A number, or a share of all in percent (rounded down, but at least one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtMost {
    /// A number.
    Number(u32),
    /// A share of all.
    Percent(u32),
}

/// How much is done at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtOnce {
    /// Everything.
    All,
    /// One zone.
    Zone,
    /// One process group.
    ProcessGroup,
    /// Nothing.
    Nothing,
}

/// How a changed pod template reaches the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodUpdate {
    /// Every process group is replaced.
    Replace,
    /// The transaction system is replaced, the rest made again.
    ReplaceTransactionSystem,
    /// Every pod is made again.
    Delete,
}

/// Waits that protect the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SafetyTimers {
    /// Between a recovery and an exclusion that causes one.
    pub recovery_before_exclusion: SignedDuration,
    /// Between a recovery and an inclusion that may cause one.
    pub recovery_before_inclusion: SignedDuration,
    /// Between a recovery and a change of coordinators because one is undesired.
    pub recovery_before_undesired_coordinator: SignedDuration,
    /// Between a recovery and a change of coordinators because one is missing.
    pub recovery_before_missing_coordinator: SignedDuration,
    /// Between a recovery and a change of the configuration.
    pub recovery_before_configuration: SignedDuration,
    /// How old a pod that has ended must be before it is cleared away.
    pub ended_pod_age: SignedDuration,
}

impl Default for SafetyTimers {
    fn default() -> Self {
        Self {
            recovery_before_exclusion: SignedDuration::from_secs(120),
            recovery_before_inclusion: SignedDuration::from_secs(600),
            recovery_before_undesired_coordinator: SignedDuration::from_mins(5),
            recovery_before_missing_coordinator: SignedDuration::from_mins(2),
            recovery_before_configuration: SignedDuration::from_mins(1),
            ended_pod_age: SignedDuration::from_secs(30),
        }
    }
}

impl Automation {
    /// The longest of its waits.
    pub fn longest_wait(&self) -> SignedDuration {
        let waits = [
            self.timers.recovery_before_exclusion,
            self.timers.recovery_before_inclusion,
            self.timers.recovery_before_undesired_coordinator,
            self.timers.recovery_before_missing_coordinator,
            self.timers.recovery_before_configuration,
            self.timers.ended_pod_age,
            self.replacements.after,
            self.replacements.taint_replaced_after,
            self.ignore_pending_after,
            self.ignore_terminating_after,
            self.ignore_missing_after,
            self.pod_failed_after,
            self.between_removals,
            self.uptime_before_bounce,
        ];
        waits.into_iter().max().unwrap_or_default()
    }
}

impl Default for Automation {
    fn default() -> Self {
        Self {
            configure_database: true,
            kill_processes: true,
            exclude_by_locality: true,
            replacements: Replacements::default(),
            misconfigured_at_once: i64::MAX,
            ignore_pending_after: SignedDuration::from_mins(5),
            ignore_terminating_after: SignedDuration::from_mins(10),
            ignore_missing_after: SignedDuration::from_secs(30),
            pod_failed_after: SignedDuration::from_mins(5),
            deletion: AtOnce::Zone,
            removal: AtOnce::Zone,
            between_removals: SignedDuration::from_secs(60),
            pod_update: PodUpdate::ReplaceTransactionSystem,
            replace_when_resources_grow: false,
            most_unavailable_zones: None,
            uptime_before_bounce: SignedDuration::from_secs(600),
            timers: SafetyTimers::default(),
        }
    }
}

impl Default for Replacements {
    fn default() -> Self {
        Self {
            enabled: true,
            by_fault_domain: false,
            after: SignedDuration::from_secs(7200),
            at_once: 1,
            buckets: None,
            taints: BTreeMap::new(),
            taint_replaced_after: SignedDuration::from_secs(1800),
            most_tainted_domains: AtMost::Percent(10),
        }
    }
}

/// The lock that operators of one database share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWish {
    /// Where its keys are.
    pub prefix: Vec<u8>,
    /// Who we are in it.
    pub owner: String,
    /// For how long it is taken.
    pub duration: SignedDuration,
    /// Operators that may not take it (`true`), or may again (`false`).
    pub deny: BTreeMap<String, bool>,
}

/// Faults to inject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buggify {
    /// Process groups whose pods find no node.
    pub no_schedule: BTreeSet<String>,
    /// Per container, process groups whose container does not start; `*` for all.
    pub crash_loop: BTreeMap<String, BTreeSet<String>>,
    /// Whether no servers run at all.
    pub empty_monitor_configuration: bool,
    /// Process groups that are left out of restarts.
    pub ignore_during_restart: BTreeSet<String>,
    /// Process groups that are never removed.
    pub block_removal: BTreeSet<String>,
}

impl Buggify {
    /// Whether a process group is made to fail.
    pub fn concerns(&self, group: &ProcessGroupId) -> bool {
        Desired::names(&self.no_schedule, group) || self.crash_loop.values().any(|targets| Desired::names(targets, group))
    }
}

impl Routing {
    /// Whether coordinators are written by name.
    pub fn uses_names(&self) -> bool {
        self.dns_in_cluster_file && self.headless_service
    }
}

impl Desired {
    /// The redundancy mode.
    pub fn redundancy_mode(&self) -> RedundancyMode {
        self.database.redundancy_mode
    }

    /// Processes in a pod of a class.
    pub fn servers_per_pod(&self, class: ProcessClass) -> u32 {
        self.servers_per_pod.get(&class).copied().unwrap_or(1)
    }

    /// Whether fdbserver is told to listen on the pod's address: it must be, where it announces a service's.
    pub fn listens_explicitly(&self) -> bool {
        self.routing.explicit_listen_address || self.routing.service_per_pod
    }

    /// How many coordinators there should be.
    pub fn coordinator_count(&self) -> usize {
        if self.redundancy_mode().spans_halls() {
            return 9;
        }
        let mode = self.redundancy_mode();
        usize::try_from(mode.minimum_fault_domains() + mode.fault_tolerance()).unwrap_or(1)
    }

    /// Whether a class may be a coordinator, and how gladly it is taken.
    pub fn coordinator_priority(&self, class: ProcessClass) -> Option<i64> {
        if self.coordinator_selection.is_empty() {
            // Logs are read and written in order anyway; storage servers are the busiest.
            let prefers = matches!(class, ProcessClass::Log | ProcessClass::Transaction | ProcessClass::Coordinator);
            return class.is_stateful().then_some(i64::from(prefers));
        }
        self.coordinator_selection.get(&class).copied()
    }

    /// Whether a process group is named in a list, where `*` names all.
    pub fn names(list: &BTreeSet<String>, group: &ProcessGroupId) -> bool {
        list.contains(&group.0) || list.contains("*")
    }
}
