//! `LogSet.status`. Other MatrixOne components wait for the conditions `Ready` and `Synced`, and read `discovery`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What a set of log stores is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogSetStatus {
    /// The generation of the spec that this status speaks of.
    pub observed_generation: Option<i64>,
    /// The state in Kubernetes' usual form.
    #[schemars(schema_with = "crate::conditions::schema")]
    #[serde(default)]
    pub conditions: Option<Vec<Condition>>,
    /// Stores that work.
    pub available_stores: Option<Vec<StoreStatus>>,
    /// Stores that don't.
    pub failed_stores: Option<Vec<StoreStatus>>,
    /// Where HAKeeper is found.
    pub discovery: Option<Discovery>,
    /// How many replicas the log shard and HAKeeper were born with; fewer stores than this are refused.
    pub log_shard_replicas: Option<i32>,
    /// How many stores exist, for the scale subresource.
    pub replicas: Option<i32>,
    /// Which pods they are, for the scale subresource.
    pub label_selector: Option<String>,
}

/// One log store.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreStatus {
    /// Its pod.
    pub pod_name: Option<String>,
    /// `Up` or `Down`.
    pub phase: Option<String>,
    /// Since when.
    pub last_transition: Option<Time>,
}

/// Where HAKeeper is found.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Discovery {
    /// The port.
    pub port: Option<i32>,
    /// The name of the service.
    pub address: Option<String>,
}
