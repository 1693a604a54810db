//! `FoundationDBCluster.status`. Everything that was read from a database is an open string here: what a human configured by
//! hand must never make a status write fail.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{ExcludedServer, Region, RoleCounts};

/// What a FoundationDB cluster is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundationDBClusterStatus {
    /// The generation of the spec that this status speaks of.
    pub observed_generation: Option<i64>,
    /// The state in Kubernetes' usual form.
    #[schemars(schema_with = "crate::conditions::schema")]
    #[serde(default)]
    pub conditions: Option<Vec<Condition>>,
    /// The configuration the database has.
    pub database_configuration: Option<ObservedDatabaseConfiguration>,
    /// Per kind of work, the newest generation that still needs it.
    pub generations: Option<Generations>,
    /// How the database is.
    pub health: Option<ClusterHealth>,
    /// Which kinds of addresses processes need at the moment.
    pub required_addresses: Option<RequiredAddresses>,
    /// Whether the ConfigMap differs from what it should be.
    pub has_incorrect_config_map: Option<bool>,
    /// Whether a service differs from what it should be.
    pub has_incorrect_service_config: Option<bool>,
    /// Whether coordinators must be changed.
    pub needs_new_coordinators: Option<bool>,
    /// The version most processes run.
    pub running_version: Option<String>,
    /// The connection string.
    pub connection_string: Option<String>,
    /// Whether the database was configured; never goes back.
    pub configured: Option<bool>,
    /// Whether every pod knows its own address.
    #[serde(rename = "hasListenIPsForAllPods")]
    pub has_listen_ips_for_all_pods: Option<bool>,
    /// How many storage processes the pods have, all values there are.
    #[schemars(length(max = 5))]
    pub storage_servers_per_disk: Option<Vec<i32>>,
    /// How many log processes the pods have, all values there are.
    #[schemars(length(max = 5))]
    pub log_servers_per_disk: Option<Vec<i32>>,
    /// Which image types are in use.
    #[schemars(length(max = 10))]
    pub image_types: Option<Vec<String>>,
    /// Every process group.
    pub process_groups: Option<Vec<ProcessGroupStatus>>,
    /// The lock between operators.
    pub locks: Option<LockStatus>,
    /// Maintenance of a zone.
    pub maintenance_mode_info: Option<MaintenanceModeInfo>,
    /// How many process groups there should be.
    pub desired_process_groups: Option<i32>,
    /// How many are as they should be.
    pub reconciled_process_groups: Option<i32>,
    /// What Quorate itself needs to remember, and why it does nothing more.
    pub quorate: Option<QuorateStatus>,
}

/// What Quorate needs to remember between two decisions, and why it does nothing more.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuorateStatus {
    /// The leadership that wrote this: an operator with a smaller one changes nothing.
    pub epoch: Option<i64>,
    /// The highest number that was ever given to a process group.
    pub last_process_group_number: Option<i64>,
    /// What was begun and not seen to finish.
    pub journal: Option<Vec<JournalEntry>>,
    /// Why nothing more is done.
    pub holds: Option<Vec<HoldStatus>>,
    /// Room for automatic replacements.
    pub buckets: Option<Vec<BucketStatus>>,
    /// Logical fault domains that found no host and are not used until there is another node.
    pub set_aside: Option<Vec<SetAsideStatus>>,
}

/// A logical fault domain that found no host.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetAsideStatus {
    /// Its name.
    pub fault_domain: String,
    /// Since when.
    pub since: Option<Time>,
    /// How many nodes took any pod when it was set aside; with one more it is tried again.
    #[serde(default)]
    pub open_nodes: i64,
}

/// Room for automatic replacements of one kind of process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BucketStatus {
    /// Its name; `fault domains` for the limit that counts those.
    pub bucket: String,
    /// How many replacements are in flight, or in how many fault domains they are.
    pub used: i64,
    /// How many may be.
    pub limit: i64,
    /// The process groups that are being replaced.
    #[serde(default)]
    pub held_by: Vec<String>,
}

/// Something that was begun.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// What it is done to.
    pub name: String,
    /// What is done.
    pub what: String,
    /// The uid of what it is done to.
    pub uid: String,
    /// The zone it disrupts.
    pub zone: String,
    /// Since when.
    pub since: Option<Time>,
}

/// Something that is not done now, and why.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HoldStatus {
    /// A stable code.
    pub reason: String,
    /// What it concerns.
    pub about: String,
    /// What is not done, and why.
    pub sentence: String,
    /// The value that was measured.
    pub measured: Option<String>,
    /// The value it was compared with.
    pub threshold: Option<String>,
    /// Since when.
    pub since: Option<Time>,
    /// What would release it.
    pub released_by: String,
}

/// The database's configuration as it was read: every name is open.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedDatabaseConfiguration {
    /// The redundancy mode, also one that can't be asked for.
    pub redundancy_mode: Option<String>,
    /// The storage engine.
    pub storage_engine: Option<String>,
    /// In how many regions the data is kept.
    pub usable_regions: Option<i32>,
    /// The regions.
    pub regions: Option<Vec<Region>>,
    /// How storage servers are moved to another engine.
    pub storage_migration_type: Option<String>,
    /// 1 while storage servers are rewritten one after the other.
    pub perpetual_storage_wiggle: Option<i32>,
    /// Where they are rewritten.
    pub perpetual_storage_wiggle_locality: Option<String>,
    /// With which engine.
    pub perpetual_storage_wiggle_engine: Option<String>,
    /// Excluded servers.
    pub excluded_servers: Option<Vec<ExcludedServer>>,
    #[expect(missing_docs, reason = "each role is documented where it is defined")]
    #[serde(flatten)]
    pub roles: RoleCounts,
}

/// Per kind of work, the newest generation that still needs it.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Generations {
    /// The last generation that was wholly carried out.
    pub reconciled: Option<i64>,
    /// Needs a change of the database's configuration.
    pub needs_configuration_change: Option<i64>,
    /// Needs other coordinators.
    pub needs_coordinator_change: Option<i64>,
    /// Needs a restart of processes.
    pub needs_bounce: Option<i64>,
    /// Needs pods to be recreated.
    pub needs_pod_deletion: Option<i64>,
    /// Has too many process groups.
    pub needs_shrink: Option<i64>,
    /// Has too few process groups.
    pub needs_grow: Option<i64>,
    /// Has pods with an old configuration.
    pub needs_monitor_conf_update: Option<i64>,
    /// The database does not say how it is.
    pub missing_database_status: Option<i64>,
    /// Processes listen on addresses they no longer need.
    pub has_extra_listeners: Option<i64>,
    /// Needs another service.
    pub needs_service_update: Option<i64>,
    /// Process groups are being removed.
    pub has_pending_removal: Option<i64>,
    /// A process is not healthy.
    pub has_unhealthy_process: Option<i64>,
    /// The deny list of the lock differs.
    pub needs_lock_configuration_changes: Option<i64>,
}

/// How the database is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterHealth {
    /// It can be read and written.
    pub available: Option<bool>,
    /// It calls itself healthy.
    pub healthy: Option<bool>,
    /// Every piece of data has all its copies.
    pub full_replication: Option<bool>,
    /// How urgent the data movement under way is.
    pub data_movement_priority: Option<i32>,
}

/// Which kinds of addresses processes need.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequiredAddresses {
    /// With TLS.
    pub tls: Option<bool>,
    /// Without.
    #[serde(rename = "nonTLS")]
    pub non_tls: Option<bool>,
}

/// One process group: a pod, its volume and its processes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessGroupStatus {
    /// Its name.
    #[serde(rename = "processGroupID")]
    pub process_group_id: Option<String>,
    /// Its class.
    pub process_class: Option<String>,
    /// Every address it was seen with.
    pub addresses: Option<Vec<String>>,
    /// Since when it is to be removed.
    pub removal_timestamp: Option<Time>,
    /// Since when the database confirms that nothing is left on it.
    pub exclusion_timestamp: Option<Time>,
    /// Whether it is removed without moving data away.
    pub exclusion_skipped: Option<bool>,
    /// What is not as it should be, and since when.
    pub process_group_conditions: Option<Vec<ProcessGroupCondition>>,
    /// Its zone.
    #[schemars(length(max = 512))]
    pub fault_domain: Option<String>,
    /// Whether its zone is a logical fault domain, for which it was made.
    pub logical_fault_domain: Option<bool>,
}

/// Something about a process group that is not as it should be.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessGroupCondition {
    /// What.
    #[serde(rename = "type")]
    pub type_: Option<String>,
    /// Since when, in seconds of Unix time.
    pub timestamp: Option<i64>,
}

/// The lock between operators.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LockStatus {
    /// Operators that may not take it.
    pub lock_deny_list: Option<Vec<String>>,
}

/// Maintenance of a zone.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MaintenanceModeInfo {
    /// Since when.
    pub start_timestamp: Option<Time>,
    /// Which zone.
    #[schemars(length(max = 512))]
    #[serde(rename = "zoneID")]
    pub zone_id: Option<String>,
    /// Which process groups are in it.
    #[schemars(length(max = 200))]
    pub process_groups: Option<Vec<String>>,
}
