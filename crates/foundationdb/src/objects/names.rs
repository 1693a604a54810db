//! Names.

use super::port;
use crate::{Desired, ProcessClass, ProcessGroupId};

/// How the name of a volume claim ends.
const DATA: &str = "-data";

/// The pod of a process group: the cluster's name, the class and the number, without the group's prefix.
pub fn pod_name(desired: &Desired, class: ProcessClass, group: &ProcessGroupId) -> String {
    // Asked for more often than anything else: put together by hand.
    let number = group.number().unwrap_or_default().to_string();
    let class = class.name();
    let mut name = String::with_capacity(desired.name.len() + class.len() + number.len() + 2 + DATA.len());
    name.push_str(&desired.name);
    name.push('-');
    name.extend(class.chars().map(|letter| if letter == '_' { '-' } else { letter }));
    name.push('-');
    name.push_str(&number);
    name
}

/// The volume claim of a process group is named after its pod.
pub fn claim_name(pod: &str) -> String {
    [pod, DATA].concat()
}

/// The ConfigMap that every pod of the cluster mounts.
pub fn config_map_name(desired: &Desired) -> String {
    format!("{}-config", desired.name)
}

/// The name a pod has in DNS, by the headless service.
pub fn dns_name(desired: &Desired, pod: &str) -> String {
    format!("{pod}.{}.{}.svc.{}", desired.name, desired.namespace, desired.routing.dns_domain)
}

/// Whether a connection string has a coordinator that is written otherwise than by its address.
pub fn has_names(connection: &str) -> bool {
    let coordinators = connection.split_once('@').map_or("", |(_, coordinators)| coordinators);
    let is_address = |one: &str| one.trim_end_matches(":tls").parse::<std::net::SocketAddr>().is_ok();
    coordinators.split(',').any(|one| !one.is_empty() && !is_address(one))
}

/// Where the process of this number listens on a host, as connection strings write it.
pub fn address(desired: &Desired, host: &str, process: i32) -> String {
    let (port, tls) = (port(process, desired.routing.tls), if desired.routing.tls { ":tls" } else { "" });
    if host.contains(':') { format!("[{host}]:{port}{tls}") } else { format!("{host}:{port}{tls}") }
}
