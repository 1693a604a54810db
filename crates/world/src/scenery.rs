//! What a world begins with: our CRDs, six nodes in three zones, a class of disks, and a small cluster.

use serde_json::{Value, json};

use crate::kubernetes::{Kubernetes, Status};

/// The namespace everything happens in.
pub const NAMESPACE: &str = "default";
/// The cluster.
pub const CLUSTER: &str = "sample";
/// The provisioner of disks that can be reached from everywhere; a name that a real API server takes for a volume's driver as well.
pub const PROVISIONER: &str = "network.simulated.example.org";

/// The class of those disks.
pub(crate) const CLASS: &str = "network";

/// A taint that makes process groups leave a node.
pub(crate) const TAINT: &str = "example.org/maintenance";

/// The cluster as databases know it.
pub(crate) fn known_as() -> String {
    format!("{NAMESPACE}/{CLUSTER}")
}

/// The names of the nodes.
pub const NODES: [&str; 6] = ["node-a1", "node-a2", "node-b1", "node-b2", "node-c1", "node-c2"];

/// Builds all of it.
pub fn build(kubernetes: &Kubernetes) -> Result<(), Status> {
    build_with(kubernetes, &sample())
}

/// Builds all of it around another cluster.
pub(crate) fn build_with(kubernetes: &Kubernetes, cluster: &Value) -> Result<(), Status> {
    land(kubernetes, NODES)?;
    kubernetes.create_value(cluster.clone()).map(drop)
}

/// Builds everything but the cluster.
pub(crate) fn land<'a>(kubernetes: &Kubernetes, nodes: impl IntoIterator<Item = &'a str>) -> Result<(), Status> {
    for crd in quorate_api::crds() {
        kubernetes.create_value(crd)?;
    }
    for node in nodes {
        add_node(kubernetes, node)?;
    }
    kubernetes.create_value(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": PROVISIONER, "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Delete",
    }))?;
    Ok(())
}

/// A small cluster.
pub fn sample() -> Value {
    json!({
        "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
        "metadata": {"name": CLUSTER, "namespace": NAMESPACE},
        "spec": {
            "version": "7.3.69",
            "databaseConfiguration": {"redundancy_mode": "double", "storage_engine": "ssd-2"},
            "processCounts": {"storage": 4, "log": 4, "stateless": 3},
            // Shorter waits than the defaults, so that something can be seen in minutes.
            "minimumUptimeSecondsForBounce": 60,
            "automationOptions": {"replacements": {
                "failureDetectionTimeSeconds": 180,
                "taintReplacementTimeSeconds": 60,
                "taintReplacementOptions": [{"key": TAINT, "durationInSeconds": 60}],
                "replacementBucket": {"enabled": true},
            }},
            "processes": {"general": {"volumeClaimTemplate": {"spec": {"storageClassName": CLASS}}}},
        },
    })
}

/// A node with room for all of it. Its zone is the letter in its name.
pub(crate) fn add_node(kubernetes: &Kubernetes, name: &str) -> Result<Value, Status> {
    let zone = &name[5..6];
    let room = json!({"cpu": "16", "memory": "64Gi", "pods": "110"});
    let mut node = kubernetes.create_value(json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}},
    }))?;
    node["status"] = json!({"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]});
    kubernetes.update_status_value(node)
}
