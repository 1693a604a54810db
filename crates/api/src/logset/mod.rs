//! `LogSet`, `core.matrixorigin.io/v1alpha1`: the log stores of MatrixOne, as users of the existing operator write them.

mod fields;
mod overlay;
mod rules;
mod status;
mod storage;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{DurationText, VolumeRetentionPolicy, embedded};

pub use fields::{deprecated_fields, fields_without_effect};
pub use overlay::Overlay;
pub use rules::rules;
pub use status::*;
pub use storage::*;

/// What a set of log stores shall be.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.matrixorigin.io",
    version = "v1alpha1",
    kind = "LogSet",
    plural = "logsets",
    namespaced,
    status = "LogSetStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "The log stores of a MatrixOne cluster, with HAKeeper.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.labelSelector"
    ),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "HAKeeper answers and every shard has a leader",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct LogSetSpec {
    /// The image of the log stores.
    #[schemars(length(max = 1024))]
    pub image: Option<String>,
    /// CPU and memory of a log store.
    #[schemars(schema_with = "embedded::schema::<ResourceRequirements>")]
    #[serde(default)]
    pub resources: Option<ResourceRequirements>,
    /// How many log stores there are.
    pub replicas: i32,
    /// Node labels over which the stores are spread evenly; `region`, `zone` and `hostname` stand for the well-known ones.
    #[schemars(length(max = 16), inner(length(max = 317)))]
    pub topology_spread: Option<Vec<String>>,
    /// Nodes the stores may run on.
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Configuration in TOML; what Quorate must set wins.
    pub config: Option<String>,
    /// Without meaning for log stores.
    pub dns_based_identity: Option<bool>,
    /// The domain of the Kubernetes cluster.
    #[schemars(length(max = 253))]
    pub cluster_domain: Option<String>,
    /// Arguments of the log store's program.
    pub service_args: Option<Vec<String>>,
    /// The share of the memory limit that Go's runtime aims for, in percent.
    pub memory_limit_percent: Option<i32>,
    /// Whether metrics are served for Prometheus.
    pub export_to_prometheus: Option<bool>,
    /// How Prometheus finds the stores; unset means `Service`.
    pub prom_discovery_scheme: Option<PromDiscoveryScheme>,
    /// MatrixOne's version, where the image's tag does not say it.
    pub semantic_version: Option<String>,
    /// The operator version whose rendering is asked for.
    pub operator_version: Option<String>,
    /// Runs the program from memory of this size.
    #[schemars(schema_with = "embedded::quantity")]
    #[serde(default)]
    pub memory_fs_size: Option<Quantity>,
    /// What the pods have beyond this.
    pub overlay: Option<Overlay>,

    /// The disk of a log store.
    pub volume: Volume,
    /// Where MatrixOne keeps its data.
    pub shared_storage: SharedStorage,
    /// What the set is born with; it never changes.
    pub initial_config: Option<InitialConfig>,
    /// After how long without a sign of life a store counts as failed; unset means 10m.
    pub store_failure_timeout: Option<DurationText>,
    /// After how long HAKeeper moves the replicas of a silent store elsewhere; unset means 5m.
    pub replica_failure_timeout: Option<DurationText>,
    /// What happens to the pod of a failed store; unset means `Delete`.
    pub failed_pod_strategy: Option<FailedPodStrategy>,
    /// What happens to the disks of this set when it is deleted; unset means `Retain`.
    pub pvc_retention_policy: Option<VolumeRetentionPolicy>,
}

/// What a set of log stores is born with.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitialConfig {
    /// Log shards; MatrixOne runs with exactly one.
    pub log_shards: Option<i32>,
    /// Shards of transaction nodes; without meaning for log stores.
    pub dn_shards: Option<i32>,
    /// How many replicas the log shard and HAKeeper have; unset means 3 where there are 3 stores, else 1.
    pub log_shard_replicas: Option<i32>,
    /// A backup to start from.
    pub restore_from: Option<String>,
}

/// How Prometheus finds the stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PromDiscoveryScheme {
    /// By annotations of the pods.
    Pod,
    /// By a service.
    Service,
}

/// What happens to the pod of a failed store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FailedPodStrategy {
    /// It is deleted once its replicas live elsewhere.
    Delete,
    /// It is left for a human to look at.
    Orphan,
}
