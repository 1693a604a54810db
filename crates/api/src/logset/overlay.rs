//! `spec.overlay`: what the pods of a LogSet have beyond what Quorate gives them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, Container, EnvFromSource, EnvVar, HostAlias, Lifecycle, LocalObjectReference, PersistentVolumeClaim, PodDNSConfig,
    PodSecurityContext, Probe, SecurityContext, Toleration, TopologySpreadConstraint, Volume, VolumeMount,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::embedded;

/// What the pods have beyond what Quorate gives them.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Overlay {
    /// The main container's command.
    pub command: Option<Vec<String>>,
    /// The main container's arguments.
    pub args: Option<Vec<String>>,
    /// Its environment.
    #[schemars(schema_with = "embedded::list::<EnvVar>")]
    #[serde(default)]
    pub env: Option<Vec<EnvVar>>,
    /// Sources of its environment.
    #[schemars(schema_with = "embedded::list::<EnvFromSource>")]
    #[serde(default)]
    pub env_from: Option<Vec<EnvFromSource>>,
    /// When its image is pulled.
    pub image_pull_policy: Option<String>,
    /// Its mounts.
    #[schemars(schema_with = "embedded::list::<VolumeMount>")]
    #[serde(default)]
    pub volume_mounts: Option<Vec<VolumeMount>>,
    /// When it counts as alive.
    #[schemars(schema_with = "embedded::schema::<Probe>")]
    #[serde(default)]
    pub liveness_probe: Option<Probe>,
    /// When it counts as ready.
    #[schemars(schema_with = "embedded::schema::<Probe>")]
    #[serde(default)]
    pub readiness_probe: Option<Probe>,
    /// When it counts as started.
    #[schemars(schema_with = "embedded::schema::<Probe>")]
    #[serde(default)]
    pub startup_probe: Option<Probe>,
    /// What runs when it starts and stops.
    #[schemars(schema_with = "embedded::schema::<Lifecycle>")]
    #[serde(default)]
    pub lifecycle: Option<Lifecycle>,
    /// Its security context.
    #[schemars(schema_with = "embedded::schema::<SecurityContext>")]
    #[serde(default)]
    pub main_container_security_context: Option<SecurityContext>,
    /// Further volumes.
    #[schemars(schema_with = "embedded::list::<Volume>")]
    #[serde(default)]
    pub volumes: Option<Vec<Volume>>,
    /// Further disks, one per pod.
    #[schemars(schema_with = "embedded::list::<PersistentVolumeClaim>")]
    #[serde(default)]
    pub volume_claims: Option<Vec<PersistentVolumeClaim>>,
    /// Containers that run first. Their schema is left to Kubernetes, which checks the pods.
    #[schemars(schema_with = "container_list")]
    #[serde(default)]
    pub init_containers: Option<Vec<Container>>,
    /// Containers that run beside the log store. Their schema is left to Kubernetes, which checks the pods.
    #[schemars(schema_with = "container_list")]
    #[serde(default)]
    pub sidecar_containers: Option<Vec<Container>>,
    /// The pods' service account.
    pub service_account_name: Option<String>,
    /// The pods' security context.
    #[schemars(schema_with = "embedded::schema::<PodSecurityContext>")]
    #[serde(default)]
    pub security_context: Option<PodSecurityContext>,
    /// Secrets to pull images with.
    #[schemars(schema_with = "embedded::list::<LocalObjectReference>")]
    #[serde(default)]
    pub image_pull_secrets: Option<Vec<LocalObjectReference>>,
    /// Where pods may run.
    #[schemars(schema_with = "embedded::schema::<Affinity>")]
    #[serde(default)]
    pub affinity: Option<Affinity>,
    /// Taints the pods tolerate.
    #[schemars(schema_with = "embedded::list::<Toleration>")]
    #[serde(default)]
    pub tolerations: Option<Vec<Toleration>>,
    /// The pods' priority.
    pub priority_class_name: Option<String>,
    /// How long pods may take to stop.
    pub termination_grace_period_seconds: Option<i64>,
    /// Further entries of the hosts file.
    #[schemars(schema_with = "embedded::list::<HostAlias>")]
    #[serde(default)]
    pub host_aliases: Option<Vec<HostAlias>>,
    /// How pods are spread; not together with `topologySpread`.
    #[schemars(schema_with = "embedded::list::<TopologySpreadConstraint>")]
    #[serde(default)]
    pub topology_spread_constraints: Option<Vec<TopologySpreadConstraint>>,
    /// The container runtime.
    pub runtime_class_name: Option<String>,
    /// How pods resolve names.
    #[schemars(schema_with = "embedded::schema::<PodDNSConfig>")]
    #[serde(default)]
    pub dns_config: Option<PodDNSConfig>,
    /// Further labels of the pods.
    pub pod_labels: Option<BTreeMap<String, String>>,
    /// Further annotations of the pods.
    pub pod_annotations: Option<BTreeMap<String, String>>,
    /// Whether containers see each other's processes.
    pub share_process_namespace: Option<bool>,
}

/// A list of containers whose inner schema is open: written out twice it would be a third of the CRD.
fn container_list(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "image": {"type": "string"}},
            "x-kubernetes-preserve-unknown-fields": true,
        },
    })
}
