//! Names.

use super::port;
use crate::{Desired, ProcessClass, ProcessGroupId};

/// The pod of a process group: the cluster's name, the class and the number, without the group's prefix.
pub fn pod_name(desired: &Desired, class: ProcessClass, group: &ProcessGroupId) -> String {
    let number = group.number().unwrap_or_default();
    format!("{}-{}-{number}", desired.name, class.name().replace('_', "-"))
}

/// The volume claim of a process group is named after its pod.
pub fn claim_name(pod: &str) -> String {
    format!("{pod}-data")
}

/// The ConfigMap that every pod of the cluster mounts.
pub fn config_map_name(desired: &Desired) -> String {
    format!("{}-config", desired.name)
}

/// The name a pod has in DNS, by the headless service.
pub fn dns_name(desired: &Desired, pod: &str) -> String {
    format!("{pod}.{}.{}.svc.{}", desired.name, desired.namespace, desired.routing.dns_domain)
}

/// Where the process of this number listens on a host, as connection strings write it.
pub fn address(desired: &Desired, host: &str, process: i32) -> String {
    let (port, tls) = (port(process, desired.routing.tls), if desired.routing.tls { ":tls" } else { "" });
    if host.contains(':') { format!("[{host}]:{port}{tls}") } else { format!("{host}:{port}{tls}") }
}
