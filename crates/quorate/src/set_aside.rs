//! Logical fault domains that are set aside, as the commands show them.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use quorate_api::foundationdb::FoundationDBCluster;
use serde::Serialize;

/// A logical fault domain that is not used, because it found no host.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetAside {
    pub(crate) fault_domain: String,
    since: Option<Time>,
    brought_back_by: String,
}

/// Those of a cluster.
pub(crate) fn set_aside(cluster: &FoundationDBCluster) -> Vec<SetAside> {
    let quorate = cluster.status.as_ref().and_then(|status| status.quorate.as_ref());
    let all = quorate.and_then(|quorate| quorate.set_aside.as_deref()).unwrap_or_default();
    let shown = all.iter().map(|aside| SetAside {
        fault_domain: aside.fault_domain.clone(),
        since: aside.since.clone(),
        brought_back_by: format!(
            "a new node or more than {} that are ready, or spec.distribution.required: true",
            aside.open_nodes
        ),
    });
    shown.collect()
}

impl fmt::Display for SetAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = self.since.as_ref().map_or_else(String::new, |since| format!(" since {}", since.0));
        writeln!(f, "  fault domain {} is set aside{since}: no host was found for it", self.fault_domain)?;
        writeln!(f, "    brought back by: {}", self.brought_back_by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_domain_that_is_set_aside_says_since_when_and_what_brings_it_back() {
        let aside =
            json!([{"faultDomain": "storage-3", "since": "2026-01-02T03:04:05Z", "openNodes": 3}, {"faultDomain": "log-3"}]);
        let cluster = json!({
            "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster", "metadata": {"name": "sample"},
            "spec": {"version": "7.3.69"}, "status": {"quorate": {"setAside": aside}},
        });
        let told: Vec<String> = set_aside(&serde_json::from_value(cluster).unwrap()).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "  fault domain storage-3 is set aside since 2026-01-02T03:04:05Z: no host was found for it\n    \
                 brought back by: a new node or more than 3 that are ready, or spec.distribution.required: true\n",
                "  fault domain log-3 is set aside: no host was found for it\n    \
                 brought back by: a new node or more than 0 that are ready, or spec.distribution.required: true\n",
            ]
        );
    }
}
