//! Where processes run: zones, halls, datacenters, and logical fault domains.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The fault domain whose value needs no zone: every process is one of its own.
pub const NO_FAULT_DOMAIN: &str = "foundationdb.org/none";
/// The fault domain that is the Kubernetes cluster itself.
pub const KUBERNETES_CLUSTER_FAULT_DOMAIN: &str = "foundationdb.org/kubernetes-cluster";

/// Where a zone comes from.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FaultDomain {
    /// The node label that tells zones apart, `foundationdb.org/none` or `foundationdb.org/kubernetes-cluster`; unset is the host.
    #[schemars(length(max = 317))]
    pub key: Option<String>,
    /// The zone itself.
    #[schemars(length(max = 253))]
    pub value: Option<String>,
    /// The environment variable that holds the zone, `$NAME`.
    #[schemars(length(max = 253))]
    pub value_from: Option<String>,
    /// Over how many Kubernetes clusters the database is spread.
    pub zone_count: Option<i32>,
    /// Which of them this one is, from 0.
    pub zone_index: Option<i32>,
}

/// One locality of every process. The first of `value`, `envValue` and `topologyKey` that is set counts.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Locality {
    /// Its name: zone, machine, datacenter, data_hall or one of your own; processes get `locality_<key>`.
    #[schemars(length(max = 128))]
    pub key: String,
    /// The value itself.
    #[schemars(length(max = 253))]
    pub value: Option<String>,
    /// The name of an environment variable of the pod that holds the value.
    #[schemars(length(max = 253))]
    pub env_value: Option<String>,
    /// The node label that holds the value.
    #[schemars(length(max = 317))]
    pub topology_key: Option<String>,
}

impl Locality {
    /// The name FoundationDB reads it by.
    pub fn fdb_key(&self) -> &str {
        LOCALITY_SPELLINGS.iter().find(|(ours, _)| *ours == self.key).map_or(self.key.as_str(), |(_, theirs)| theirs)
    }
}

/// Keys that people write, and the spelling FoundationDB reads.
pub const LOCALITY_SPELLINGS: [(&str, &str); 3] = [("zone", "zoneid"), ("machine", "machineid"), ("datacenter", "dcid")];

/// Localities that Quorate itself needs, so they can't be set.
pub const RESERVED_LOCALITIES: [&str; 2] = ["instance_id", "process_id"];

/// Packs the process groups of each class into logical fault domains.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Distribution {
    /// Whether process groups are packed; unset means no.
    pub enabled: Option<bool>,
    /// Into how many logical fault domains; unset is the fewest the redundancy mode needs.
    pub desired_fault_domains: Option<i32>,
    /// With too few hosts: wait for more (true), or use fewer domains, never fewer than the mode needs (false, the default).
    pub required: Option<bool>,
}

/// The labels Quorate sets and selects by.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelConfig {
    /// Labels that select everything of this cluster; `foundationdb.org/fdb-cluster-name` if unset.
    pub match_labels: Option<std::collections::BTreeMap<String, String>>,
    /// Further labels on everything.
    pub resource_labels: Option<std::collections::BTreeMap<String, String>>,
    /// Labels that hold the process group ID; `foundationdb.org/fdb-process-group-id` if unset.
    #[schemars(length(max = 100))]
    #[serde(rename = "processGroupIDLabels")]
    pub process_group_id_labels: Option<Vec<String>>,
    /// Labels that hold the process class; `foundationdb.org/fdb-process-class` if unset.
    #[schemars(length(max = 100))]
    pub process_class_labels: Option<Vec<String>>,
    /// Whether only what this object owns counts.
    pub filter_on_owner_reference: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_zone_and_foundationdb_reads_zoneid() {
        let locality = |key: &str| Locality { key: key.to_owned(), ..Locality::default() };
        assert_eq!(locality("zone").fdb_key(), "zoneid");
        assert_eq!(locality("datacenter").fdb_key(), "dcid");
        assert_eq!(locality("data_hall").fdb_key(), "data_hall");
    }
}
