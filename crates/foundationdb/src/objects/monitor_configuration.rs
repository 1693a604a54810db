//! The monitor's document of a class: which fdbserver runs in its pods, with which arguments, in the existing operator's order.

use super::{environment, port_offset, volumes};
use crate::monitor::{Argument, ArgumentKind, MonitorConfiguration};
use crate::{Desired, ProcessClass, Topology, Zone};

/// The document of a class, or of those of its process groups that are in logical fault domains. Without a connection string, servers
/// would begin databases of their own, so none run.
pub fn monitor_configuration(
    desired: &Desired,
    class: ProcessClass,
    packed: bool,
    connection: Option<&str>,
) -> MonitorConfiguration {
    let runs = runs_servers(desired, connection);
    let mut arguments = vec![
        Argument::literal("--cluster_file=/var/fdb/data/fdb.cluster"),
        Argument::literal("--seed_cluster_file=/var/dynamic-conf/fdb.cluster"),
        address(desired, "public_address", environment::PUBLIC_IP),
        Argument::literal(format!("--class={class}")),
        Argument::literal(format!("--logdir={}", volumes::LOG_PATH)),
        Argument::literal(format!("--loggroup={}", desired.log_group)),
        Argument::concatenated([Argument::literal("--datadir=/var/fdb/data/"), Argument::process_number()]),
        process_id(),
        locality("instance_id", environment::INSTANCE_ID),
        locality("machineid", environment::MACHINE_ID),
    ];
    let zone = zone_variable(&desired.topology);
    if packed {
        // The database keeps copies apart by the first; whoever counts hosts counts the second.
        let physical = if zone == environment::ZONE_ID { environment::PHYSICAL_ZONE_ID } else { zone };
        arguments.extend([locality("zoneid", environment::ZONE_ID), locality("physical_zone", physical)]);
    } else {
        arguments.push(locality("zoneid", zone));
    }
    if desired.listens_explicitly() {
        arguments.push(address(desired, "listen_address", environment::POD_IP));
    }
    if !desired.peer_verification_rules.is_empty() {
        arguments.push(Argument::literal(format!("--tls_verify_peers={}", desired.peer_verification_rules)));
    }
    let parameters = desired.templates.get(&class).map(|template| template.parameters.as_slice()).unwrap_or_default();
    arguments.extend(parameters.iter().map(|(name, value)| parameter(desired, name, value)));
    // What the user's own parameters already say is not said twice.
    let fixed = [("locality_dcid", &desired.topology.datacenter), ("locality_data_hall", &desired.topology.hall)];
    for (name, value) in fixed {
        if let Some(value) = value
            && !parameters.iter().any(|(parameter, _)| parameter == name)
        {
            arguments.push(Argument::literal(format!("--{name}={value}")));
        }
    }
    if desired.routing.dns_locality {
        arguments.push(locality("dns_name", environment::DNS_NAME));
    }
    MonitorConfiguration { version: desired.version.to_string(), run_servers: (!runs).then_some(false), arguments }
}

/// Whether servers run with this connection string; nothing else of it is in the document.
pub(crate) fn runs_servers(desired: &Desired, connection: Option<&str>) -> bool {
    connection.is_some_and(|connection| !connection.is_empty()) && !desired.buggify.empty_monitor_configuration
}

/// `[address]:port`, in brackets for either family; with `:tls` where that is spoken.
fn address(desired: &Desired, parameter: &str, variable: &str) -> Argument {
    let mut parts = vec![
        Argument::literal(format!("--{parameter}=[")),
        from_environment(desired, variable),
        Argument::literal("]:"),
        Argument::port(2, i64::from(port_offset(desired.routing.tls))),
    ];
    if desired.routing.tls {
        parts.push(Argument::literal(":tls"));
    }
    Argument::concatenated(parts)
}

fn process_id() -> Argument {
    Argument::concatenated([
        Argument::literal("--locality_process_id="),
        Argument::environment(environment::INSTANCE_ID),
        Argument::literal("-"),
        Argument::process_number(),
    ])
}

fn locality(key: &str, variable: &str) -> Argument {
    Argument::concatenated([Argument::literal(format!("--locality_{key}=")), Argument::environment(variable)])
}

fn zone_variable(topology: &Topology) -> &str {
    let named = match &topology.zone {
        Zone::Node { value_from, .. } => value_from.as_deref().and_then(|from| from.strip_prefix('$')),
        Zone::Pod | Zone::Cluster(_) => topology.zone_variable.as_deref(),
    };
    named.unwrap_or(environment::ZONE_ID)
}

/// A parameter of the user's; a value that begins with `$` is read from the environment.
fn parameter(desired: &Desired, name: &str, value: &str) -> Argument {
    let literal = |text: String| Argument { kind: Some(ArgumentKind::Literal), ..Argument::literal(text) };
    let value = match value.strip_prefix('$') {
        Some(variable) => from_environment(desired, variable.trim_matches('$')),
        None => literal(value.to_owned()),
    };
    Argument::concatenated([literal(format!("--{name}=")), value])
}

/// A variable; where a family of addresses was asked for, the two that hold a pod's addresses hold several.
fn from_environment(desired: &Desired, variable: &str) -> Argument {
    match desired.routing.family {
        Some(family) if [environment::PUBLIC_IP, environment::POD_IP].contains(&variable) => {
            Argument { kind: Some(ArgumentKind::IpList), ip_family: Some(family), ..Argument::environment(variable) }
        }
        _ => Argument::environment(variable),
    }
}
