//! Addresses, services and the connection string.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// How processes are reached.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Routing {
    /// Whether there is a headless service.
    pub headless_service: Option<bool>,
    /// `pod` or `service`: whose address processes announce; unset means `pod`.
    #[serde(rename = "publicIPSource")]
    pub public_ip_source: Option<PublicIpSource>,
    /// 4 or 6: which of the pod's addresses is used; 0 or unset takes the first.
    #[serde(rename = "podIPFamily")]
    pub pod_ip_family: Option<i32>,
    /// Whether coordinators are DNS names; unset means yes.
    #[serde(rename = "useDNSInClusterFile")]
    pub use_dns_in_cluster_file: Option<bool>,
    /// Whether processes carry their DNS name as a locality; implied by DNS names in the cluster file.
    #[serde(rename = "defineDNSLocalityFields")]
    pub define_dns_locality_fields: Option<bool>,
    /// The domain of the Kubernetes cluster; unset means `cluster.local`.
    #[schemars(length(min = 1, max = 253))]
    #[serde(rename = "dnsDomain")]
    pub dns_domain: Option<String>,
}

/// Whose address a process announces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PublicIpSource {
    /// The pod's own.
    #[default]
    Pod,
    /// That of a service per pod.
    Service,
}

/// Parts of a connection string, `databaseName:generationID@coordinators`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionString {
    /// What comes before the colon.
    pub database_name: Option<String>,
    /// What comes between the colon and the at sign; it changes with the coordinators.
    #[serde(rename = "generationID")]
    pub generation_id: Option<String>,
    /// The coordinators.
    pub coordinators: Option<Vec<String>>,
}
