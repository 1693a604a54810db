//! Services: one without an address that gives every pod its name, and one for each pod where addresses must stay.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};

use super::{metadata, pod_name, port};
use crate::{Desired, ProcessClass, ProcessGroupId};

/// The service by which pods have names. A coordinator must be found by its name also while its pod is not ready: that may be what
/// the pod is waiting for.
pub fn headless_service(desired: &Desired) -> Service {
    let mut metadata = metadata::cluster_metadata(desired, desired.name.clone(), None);
    metadata.owner_references = Some(vec![metadata::owner(desired)]);
    let spec = ServiceSpec {
        cluster_ip: Some("None".to_owned()),
        selector: Some(metadata::cluster_selector(desired)),
        ip_families: ip_families(desired),
        publish_not_ready_addresses: Some(true),
        ..ServiceSpec::default()
    };
    Service { metadata, spec: Some(spec), status: None }
}

/// The service of one pod, with the ports of every server in it.
pub fn pod_service(desired: &Desired, class: ProcessClass, group: &ProcessGroupId) -> Service {
    let name = pod_name(desired, class, group);
    let mut metadata = metadata::group_metadata(desired, name, None, class, group);
    metadata.owner_references = Some(vec![metadata::owner(desired)]);
    let servers = i32::try_from(desired.servers_per_pod(class)).unwrap_or(i32::MAX);
    let spec = ServiceSpec {
        type_: Some("ClusterIP".to_owned()),
        ports: Some((1..=servers).flat_map(ports).collect()),
        selector: Some(metadata::group_selector(desired, group)),
        ip_families: ip_families(desired),
        publish_not_ready_addresses: Some(true),
        ..ServiceSpec::default()
    };
    Service { metadata, spec: Some(spec), status: None }
}

fn ports(process: i32) -> [ServicePort; 2] {
    let named = |name: &str, tls| {
        let name = if process == 1 { name.to_owned() } else { format!("{name}-{process}") };
        ServicePort { name: Some(name), port: port(process, tls), ..ServicePort::default() }
    };
    [named("tls", true), named("non-tls", false)]
}

fn ip_families(desired: &Desired) -> Option<Vec<String>> {
    desired.routing.family.map(|family| vec![format!("IPv{family}")])
}
