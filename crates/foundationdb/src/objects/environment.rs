//! The environment of the main container: what the monitor puts into arguments, and what FoundationDB's own libraries read.

use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, ObjectFieldSelector};

use super::{annotations, dns_name, pod_name, volumes};
use crate::{Desired, ProcessClass, ProcessGroupId, Zone};

pub(crate) const PUBLIC_IP: &str = "FDB_PUBLIC_IP";
pub(super) const POD_IP: &str = "FDB_POD_IP";
pub(super) const MACHINE_ID: &str = "FDB_MACHINE_ID";
/// The zone of a pod's processes.
pub const ZONE_ID: &str = "FDB_ZONE_ID";
pub(super) const PHYSICAL_ZONE_ID: &str = "FDB_PHYSICAL_ZONE_ID";
pub(super) const INSTANCE_ID: &str = "FDB_INSTANCE_ID";
pub(super) const DNS_NAME: &str = "FDB_DNS_NAME";

const NODE_NAME: &str = "spec.nodeName";
const POD_NAME: &str = "metadata.name";

/// Our variables, in the existing operator's order.
pub(super) fn environment(desired: &Desired, class: ProcessClass, group: &ProcessGroupId, domain: Option<&str>) -> Vec<EnvVar> {
    let mut variables = vec![text("FDB_CLUSTER_FILE", "/var/dynamic-conf/fdb.cluster")];
    if !desired.trusted_cas.is_empty() {
        variables.push(text("FDB_TLS_CA_FILE", "/var/dynamic-conf/ca.pem"));
    }
    let servers = desired.servers_per_pod(class);
    if servers > 1 {
        variables.push(text(&format!("{}_SERVERS_PER_POD", class.name().to_uppercase()), &servers.to_string()));
    }
    variables.extend([
        field("FDB_POD_NAME", POD_NAME),
        field("FDB_POD_NAMESPACE", "metadata.namespace"),
        text("FDB_NETWORK_OPTION_TRACE_LOG_GROUP", &desired.log_group),
        text("FDB_NETWORK_OPTION_TRACE_ENABLE", volumes::LOG_PATH),
        field("FDB_NODE_NAME", NODE_NAME),
    ]);
    variables.extend(addresses(desired));
    match domain {
        Some(domain) => variables.extend(packed(&desired.topology.zone, domain)),
        None => variables.extend(machine_and_zone(&desired.topology.zone)),
    }
    variables.push(text(INSTANCE_ID, &group.0));
    if desired.routing.dns_locality {
        variables.push(text(DNS_NAME, &dns_name(desired, &pod_name(desired, class, group))));
    }
    variables
}

/// Adds variables that the template does not set itself.
pub(super) fn extend(container: &mut Container, variables: Vec<EnvVar>) {
    let set = container.env.get_or_insert_default();
    for variable in variables {
        if !set.iter().any(|other| other.name == variable.name) {
            set.push(variable);
        }
    }
}

fn addresses(desired: &Desired) -> Vec<EnvVar> {
    // Where a family was asked for, the monitor picks from all addresses of the pod.
    let of_pod = if desired.routing.family.is_some() { "status.podIPs" } else { "status.podIP" };
    let of_service = format!("metadata.annotations['{}']", annotations::PUBLIC_IP);
    let public = if desired.routing.service_per_pod { &of_service } else { of_pod };
    let mut variables = vec![field(PUBLIC_IP, public)];
    if desired.listens_explicitly() {
        variables.push(field(POD_IP, of_pod));
    }
    variables
}

fn machine_and_zone(zone: &Zone) -> Vec<EnvVar> {
    match zone {
        Zone::Pod => vec![field(MACHINE_ID, POD_NAME), field(ZONE_ID, POD_NAME)],
        Zone::Cluster(zone) => vec![field(MACHINE_ID, NODE_NAME), text(ZONE_ID, zone)],
        // A variable of the user's, or of the monitor's if it watches nodes.
        Zone::Node { value_from: Some(from), .. } if from.starts_with('$') => vec![field(MACHINE_ID, NODE_NAME)],
        Zone::Node { value_from, .. } => {
            vec![field(MACHINE_ID, NODE_NAME), field(ZONE_ID, value_from.as_deref().unwrap_or(NODE_NAME))]
        }
    }
}

/// The logical fault domain is the zone; where the pod really is goes by another name.
fn packed(zone: &Zone, domain: &str) -> Vec<EnvVar> {
    let mut variables = vec![field(MACHINE_ID, NODE_NAME), text(ZONE_ID, domain)];
    match zone {
        Zone::Node { value_from: Some(from), .. } if from.starts_with('$') => {}
        Zone::Node { value_from, .. } => variables.push(field(PHYSICAL_ZONE_ID, value_from.as_deref().unwrap_or(NODE_NAME))),
        Zone::Pod | Zone::Cluster(_) => variables.push(field(PHYSICAL_ZONE_ID, NODE_NAME)),
    }
    variables
}

fn text(name: &str, value: &str) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value.to_owned()), value_from: None }
}

fn field(name: &str, path: &str) -> EnvVar {
    let field_ref = ObjectFieldSelector { field_path: path.to_owned(), api_version: None };
    let source = EnvVarSource { field_ref: Some(field_ref), ..EnvVarSource::default() };
    EnvVar { name: name.to_owned(), value: None, value_from: Some(source) }
}
