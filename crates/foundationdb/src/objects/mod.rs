//! The Kubernetes objects of a cluster, as pure functions of what was asked for.
//!
//! Names, labels and the monitor's documents are those of the existing operator, byte for byte, so that everything that selects by them
//! goes on working. One file for each kind of object.

mod asked_for;
mod claim;
mod config_map;
mod containers;
mod digest;
mod disruption_budget;
mod environment;
mod metadata;
mod monitor_configuration;
mod names;
mod placement;
mod pod;
mod requests;
mod service;
mod tags;
mod volumes;

pub use asked_for::{asked_for, claim_asked_for};
pub use claim::{claim, claim_size, claim_storage_class};
pub(crate) use config_map::config_map_of;
pub use config_map::{CLUSTER_FILE, config_map, is_our_key, monitor_digest, monitor_text};
pub use disruption_budget::disruption_budget;
pub(crate) use environment::PUBLIC_IP;
pub use environment::ZONE_ID;
pub use metadata::owner;
pub use monitor_configuration::monitor_configuration;
pub(crate) use monitor_configuration::runs_servers;
pub use names::{address, claim_name, config_map_name, dns_name, has_names, pod_name};
pub use placement::domains_must_be_apart;
pub use pod::pod;
pub(crate) use pod::pod_asked_for;
pub use requests::{Requests, requests, servers_in};
pub use service::{headless_service, pod_service};
pub use tags::{Tags, claim_tags, pod_tags, resource_tags};

/// The labels of the existing operator, which everything else selects by.
pub mod labels {
    /// The cluster.
    pub const CLUSTER: &str = "foundationdb.org/fdb-cluster-name";
    /// The process class.
    pub const CLASS: &str = "foundationdb.org/fdb-process-class";
    /// The process group.
    pub const GROUP: &str = "foundationdb.org/fdb-process-group-id";
    /// The logical fault domain, on pods that are in one.
    pub const DISTRIBUTION_KEY: &str = "foundationdb.org/distribution-key";
}

/// The annotations on objects.
pub mod annotations {
    /// Ours: the digest of what the user asked this object to be.
    pub const ASKED_FOR: &str = "quorate.io/asked-for";
    /// Ours: the digest of how that was rendered.
    pub const RENDERING: &str = "quorate.io/rendering";
    /// Where a pod's public address comes from, `pod` or `service`.
    pub const PUBLIC_IP_SOURCE: &str = "foundationdb.org/public-ip-source";
    /// The public address of a pod that has a service of its own.
    pub const PUBLIC_IP: &str = "foundationdb.org/public-ip";
    /// Which kind of image a pod runs.
    pub const IMAGE_TYPE: &str = "foundationdb.org/image-type";
    /// Ours: how many servers have their data on a volume.
    pub const SERVERS: &str = "quorate.io/servers";
    /// Kubernetes': the node for which the volume of a claim is made, once a pod asks for it.
    pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
    /// Ours: the keys of the labels and annotations that a user gave to this object.
    pub const GIVEN: &str = "quorate.io/given";
    /// Ours: the digest of what the ConfigMap says, for which a pod was poked.
    pub const POKED_FOR: &str = "quorate.io/poked-for";
    /// When a pod was poked, so that its kubelet and its monitor look after it at once: in seconds since 1970, for the monitor reads it.
    pub const OUTDATED_SEEN: &str = "foundationdb.org/outdated-config-map-seen";
    /// The node a pod is on.
    pub const CURRENT_NODE: &str = "foundationdb.org/current-node";
    /// The family of addresses a pod was asked to use, 0 for whatever comes first.
    pub const IP_FAMILY: &str = "foundationdb.org/ip-family";
}

/// The container that runs fdbserver under the monitor.
pub const MAIN_CONTAINER: &str = "foundationdb";
/// The container that brings further versions of fdbserver.
pub const SIDECAR_CONTAINER: &str = "foundationdb-kubernetes-sidecar";
/// A container that only split images need; templates that still have it lose it.
const INIT_CONTAINER: &str = "foundationdb-kubernetes-init";

/// Ports of the process of this number in its pod.
const fn port(process: i32, tls: bool) -> i32 {
    port_offset(tls) + 2 * process
}

/// What the ports are counted from.
const fn port_offset(tls: bool) -> i32 {
    if tls { 4498 } else { 4499 }
}
