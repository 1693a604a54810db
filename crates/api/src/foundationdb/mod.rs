//! `FoundationDBCluster`, `apps.foundationdb.org/v1beta2`, as users of the existing operator write it, and what is new here.

mod automation;
mod buggify;
mod containers;
mod database;
mod defaults;
mod fields;
mod locks;
mod processes;
mod routing;
mod rules;
mod status;
mod topology;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

use crate::embedded;

pub use automation::*;
pub use buggify::*;
pub use containers::*;
pub use database::*;
pub use fields::{deprecated_fields, fields_without_effect};
pub use locks::*;
pub use processes::*;
pub use routing::*;
pub use rules::rules;
pub use status::*;
pub use topology::*;

/// What a FoundationDB cluster shall be.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "apps.foundationdb.org",
    version = "v1beta2",
    kind = "FoundationDBCluster",
    plural = "foundationdbclusters",
    shortname = "fdb",
    namespaced,
    status = "FoundationDBClusterStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "A FoundationDB cluster.",
    printcolumn(
        name = "Generation",
        type_ = "integer",
        description = "Latest generation of the spec",
        json_path = ".metadata.generation"
    ),
    printcolumn(
        name = "Reconciled",
        type_ = "integer",
        description = "Last generation that was carried out",
        json_path = ".status.generations.reconciled"
    ),
    printcolumn(
        name = "Available",
        type_ = "boolean",
        description = "The database can be read and written",
        json_path = ".status.health.available"
    ),
    printcolumn(
        name = "FullReplication",
        type_ = "boolean",
        description = "Every piece of data has all its copies",
        json_path = ".status.health.fullReplication"
    ),
    printcolumn(
        name = "ReconciledProcessGroups",
        type_ = "integer",
        description = "Process groups that are as they should be",
        json_path = ".status.reconciledProcessGroups",
        priority = 1
    ),
    printcolumn(
        name = "DesiredProcessGroups",
        type_ = "integer",
        description = "Process groups there should be",
        json_path = ".status.desiredProcessGroups",
        priority = 1
    ),
    printcolumn(name = "Version", type_ = "string", description = "Running version", json_path = ".status.runningVersion"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct FoundationDBClusterSpec {
    /// The version of FoundationDB to run, 7.1.0 or newer.
    #[schemars(length(max = 64))]
    pub version: String,
    /// `unified`, the image with the Kubernetes monitor, or `split`, which is accepted and held.
    #[schemars(extend("default" = "unified"))]
    pub image_type: Option<ImageType>,
    /// Images, TLS and probes of the container that runs fdbserver.
    pub main_container: Option<ContainerOverrides>,
    /// Images, TLS and probes of the sidecar.
    pub sidecar_container: Option<ContainerOverrides>,
    /// Upgrade even if clients are connected that do not speak the new version.
    pub ignore_upgradability_checks: Option<bool>,

    /// The database's own configuration.
    pub database_configuration: Option<DatabaseConfiguration>,
    /// How many process groups there are of each class: 0 or unset is inferred, -1 is none.
    pub process_counts: Option<ProcessCounts>,
    /// Storage processes in one pod; unset means 1.
    pub storage_servers_per_pod: Option<i32>,
    /// Log processes in one pod; unset means 1.
    pub log_servers_per_pod: Option<i32>,
    /// Pods, volumes and parameters per class; `general` serves every class that does not say otherwise.
    #[schemars(extend("maxProperties" = 32))]
    pub processes: Option<BTreeMap<String, ProcessSettings>>,

    /// Where a zone comes from; superseded by `localities`.
    pub fault_domain: Option<FaultDomain>,
    /// The locality `dcid` of every process; superseded by `localities`.
    #[schemars(length(max = 253))]
    pub data_center: Option<String>,
    /// The locality `data_hall` of every process; superseded by `localities`.
    #[schemars(length(max = 253))]
    pub data_hall: Option<String>,
    /// The localities of every process: each a key with a value, an environment variable or a node label.
    #[schemars(length(max = 32))]
    pub localities: Option<Vec<Locality>>,
    /// Packs process groups into a chosen number of logical fault domains.
    pub distribution: Option<Distribution>,
    /// Put before every process group ID; also this operator's name in the database's lock.
    #[schemars(length(max = 253))]
    #[serde(rename = "processGroupIDPrefix")]
    pub process_group_id_prefix: Option<String>,
    /// Which classes may be coordinators, highest priority first.
    #[schemars(length(max = 32))]
    pub coordinator_selection: Option<Vec<CoordinatorSelection>>,

    /// The connection string of a running database to join.
    pub seed_connection_string: Option<String>,
    /// Parts of the connection string for a new database.
    pub partial_connection_string: Option<ConnectionString>,

    /// Services, addresses and DNS names.
    pub routing: Option<Routing>,
    /// Whether fdbserver listens on the pod's address explicitly.
    pub use_explicit_listen_address: Option<bool>,

    /// Data and metadata merged into the ConfigMap of the cluster.
    #[schemars(schema_with = "embedded::schema::<ConfigMap>")]
    #[serde(default)]
    pub config_map: Option<ConfigMap>,
    /// The labels Quorate sets and selects by.
    pub labels: Option<LabelConfig>,
    /// The log group in trace files; the cluster's name if unset.
    pub log_group: Option<String>,
    /// Root certificates in PEM that processes trust.
    #[serde(rename = "trustedCAs")]
    pub trusted_cas: Option<Vec<String>>,
    /// Variables the sidecar substitutes; `split` images only.
    pub sidecar_variables: Option<Vec<String>>,

    /// Process groups to replace: their data is moved away, then they are removed.
    #[schemars(length(max = 500), inner(length(max = 63), regex(pattern = r"^(([\w-]+)-(\d+)|\*)$")))]
    pub process_groups_to_remove: Option<Vec<String>>,
    /// Process groups to remove at once, without moving their data away.
    #[schemars(length(max = 500), inner(length(max = 63), regex(pattern = r"^(([\w-]+)-(\d+)|\*)$")))]
    pub process_groups_to_remove_without_exclusion: Option<Vec<String>>,

    /// How long all processes must be up before they are restarted together.
    #[schemars(range(min = 1), extend("default" = 600))]
    pub minimum_uptime_seconds_for_bounce: Option<i32>,
    /// Replace pods whose requests grew, instead of recreating them.
    #[schemars(extend("default" = false))]
    pub replace_instances_when_resources_change: Option<bool>,
    /// The most zones that may have unavailable pods while pods are being deleted.
    pub max_zones_with_unavailable_pods: Option<i32>,
    /// Leaves this cluster alone.
    #[schemars(extend("default" = false))]
    pub skip: Option<bool>,
    /// What is done automatically, how much at once, and after which waits.
    pub automation_options: Option<AutomationOptions>,
    /// The lock that operators of one database share.
    pub lock_options: Option<LockOptions>,
    /// Faults to inject, for tests.
    pub buggify: Option<Buggify>,
    /// What happens to the volumes when this object is deleted; unset means `Retain`.
    pub volume_retention_policy: Option<crate::VolumeRetentionPolicy>,
}

/// Which image the pods run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImageType {
    /// One image with fdbserver and a monitor that knows Kubernetes.
    #[default]
    Unified,
    /// fdbserver and a sidecar in two images; accepted, but held.
    Split,
}
