//! What the monitor of a pod starts: which servers, with which command lines.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Container, Node, ObjectFieldSelector, Pod};
use quorate_foundationdb::monitor::{Argument, MonitorConfiguration};

use super::folders::{files, volumes};

/// The file of a config map's volume that the monitor reads.
const CONFIGURATION: &str = "config.json";
/// The container that the monitor runs in, unless the pod has another first.
const CONTAINER: &str = "foundationdb";

/// What a pod's monitor was told, and what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The configuration, byte by byte.
    pub configuration: String,
    /// The environment of its container.
    pub environment: BTreeMap<String, String>,
    /// The variables that the configuration refers to.
    pub referenced: BTreeMap<String, String>,
    /// The servers to run; none if it was told not to.
    pub servers: Vec<Server>,
}

/// One server of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its number in the pod, from 1.
    pub number: i64,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// What the monitor of a pod makes of its configuration.
pub fn servers(pod: &Pod, config_map: &ConfigMap, node: Option<&Node>) -> Result<Launch> {
    let container = container(pod).context("the pod has no container")?;
    let sources = volumes(pod).filter_map(|volume| volume.config_map.as_ref());
    let mut texts = sources.flat_map(|source| files(source, config_map));
    let (_, text) = texts.find(|(path, _)| *path == CONFIGURATION).context("the config map has no configuration for the pod")?;
    let configuration: MonitorConfiguration = serde_json::from_str(text).context("reading the monitor's configuration")?;
    let environment = environment(pod, container, node);
    let servers = (1..=process_count(container)).map(|number| {
        let arguments = configuration.command_line(&environment, number).context("putting a command line together")?;
        Ok(Server { number, arguments })
    });
    let servers = servers.collect::<Result<Vec<_>>>()?;
    let mut referenced = BTreeMap::new();
    for name in configuration.arguments.iter().flat_map(sources_of) {
        referenced.extend(environment.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    let runs = configuration.run_servers != Some(false);
    Ok(Launch { configuration: text.to_owned(), environment, referenced, servers: if runs { servers } else { Vec::new() } })
}

/// The container that the monitor runs in.
pub(super) fn container(pod: &Pod) -> Option<&Container> {
    let containers = &pod.spec.as_ref()?.containers;
    containers.iter().find(|container| container.name == CONTAINER).or(containers.first())
}

/// The config map that has the monitor's configuration.
pub(super) fn config_map_of(pod: &Pod) -> Option<&str> {
    let mut sources = volumes(pod).filter_map(|volume| volume.config_map.as_ref());
    let has = |item: &k8s_openapi::api::core::v1::KeyToPath| item.path == CONFIGURATION;
    let source = sources.find(|source| source.items.as_ref().is_none_or(|items| items.iter().any(has)))?;
    Some(source.name.as_str())
}

fn environment(pod: &Pod, container: &Container, node: Option<&Node>) -> BTreeMap<String, String> {
    let mut environment: BTreeMap<String, String> = BTreeMap::new();
    for variable in container.env.iter().flatten() {
        let field = variable.value_from.as_ref().and_then(|source| source.field_ref.as_ref());
        let value = match (&variable.value, field) {
            (Some(value), _) => Some(expanded(value, &environment)),
            (None, Some(field)) => value_of(pod, field),
            (None, None) => None,
        };
        environment.insert(variable.name.clone(), value.unwrap_or_default());
    }
    if environment.get("ENABLE_NODE_WATCH").is_some_and(|value| value == "true") {
        let labels = node.iter().flat_map(|node| node.metadata.labels.iter().flatten());
        environment.extend(
            labels.map(|(key, value)| (format!("NODE_LABEL_{}", key.to_uppercase().replace(['/', '.'], "_")), value.clone())),
        );
    }
    environment
}

/// `$(NAME)` in a value stands for a variable set before it.
fn expanded(value: &str, environment: &BTreeMap<String, String>) -> String {
    environment.iter().fold(value.to_owned(), |value, (name, with)| value.replace(&format!("$({name})"), with))
}

/// A field of the pod, as the downward API gives it.
fn value_of(pod: &Pod, field: &ObjectFieldSelector) -> Option<String> {
    let (metadata, spec, status) = (&pod.metadata, pod.spec.as_ref(), pod.status.as_ref());
    let keyed = |prefix: &str| field.field_path.strip_prefix(prefix)?.strip_prefix("['")?.strip_suffix("']");
    if let Some(key) = keyed("metadata.labels") {
        return metadata.labels.as_ref()?.get(key).cloned();
    }
    if let Some(key) = keyed("metadata.annotations") {
        return metadata.annotations.as_ref()?.get(key).cloned();
    }
    match field.field_path.as_str() {
        "metadata.name" => metadata.name.clone(),
        "metadata.namespace" => metadata.namespace.clone(),
        "metadata.uid" => metadata.uid.clone(),
        "spec.nodeName" => spec?.node_name.clone(),
        "spec.serviceAccountName" => spec?.service_account_name.clone(),
        "status.hostIP" => status?.host_ip.clone(),
        "status.podIP" => status?.pod_ip.clone(),
        "status.podIPs" => {
            let addresses = status?.pod_ips.as_ref()?.iter().map(|address| address.ip.as_str());
            Some(addresses.collect::<Vec<_>>().join(","))
        }
        _ => None,
    }
}

/// How many servers the monitor was told to run.
fn process_count(container: &Container) -> i64 {
    const FLAG: &str = "--process-count";
    let arguments: Vec<&str> = container.args.iter().flatten().map(String::as_str).collect();
    let joined = arguments.iter().find_map(|argument| argument.strip_prefix(FLAG)?.strip_prefix('='));
    let apart = arguments.iter().position(|argument| *argument == FLAG).and_then(|at| arguments.get(at + 1).copied());
    joined.or(apart).and_then(|count| count.parse().ok()).unwrap_or(1)
}

/// The variables that an argument refers to.
fn sources_of(argument: &Argument) -> Vec<&str> {
    argument.source.as_deref().into_iter().chain(argument.values.iter().flat_map(sources_of)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(arguments: &[&str]) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "sample-storage-1", "labels": {"id": "storage-1"}},
            "spec": {
                "containers": [{
                    "name": "foundationdb", "args": arguments,
                    "env": [
                        {"name": "FDB_PUBLIC_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                        {"name": "FDB_INSTANCE_ID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['id']"}}},
                        {"name": "FDB_ZONE_ID", "value": "zone-of-$(FDB_INSTANCE_ID)"},
                        {"name": "ENABLE_NODE_WATCH", "value": "true"},
                    ],
                }],
                "volumes": [{"name": "config-map", "configMap": {"name": "sample-config", "items": [
                    {"key": "fdbmonitor-conf-storage-json", "path": "config.json"},
                ]}}],
            },
            "status": {"podIP": "198.18.0.7"},
        }))
        .unwrap()
    }

    fn config_map(configuration: &serde_json::Value) -> ConfigMap {
        let data = BTreeMap::from([("fdbmonitor-conf-storage-json".to_owned(), configuration.to_string())]);
        ConfigMap { data: Some(data), ..ConfigMap::default() }
    }

    fn arguments() -> serde_json::Value {
        let environment = |source: &str| json!({"type": "Environment", "source": source});
        json!([
            {"type": "Concatenate", "values": [
                {"value": "--public_address=["}, environment("FDB_PUBLIC_IP"), {"value": "]:"},
                {"type": "ProcessNumber", "multiplier": 2, "offset": 4499},
            ]},
            {"type": "Concatenate", "values": [{"value": "--locality_zoneid="}, environment("FDB_ZONE_ID")]},
            {"type": "Concatenate", "values": [{"value": "--locality_data_hall="}, environment("NODE_LABEL_EXAMPLE_ORG_HALL")]},
        ])
    }

    fn node() -> Node {
        serde_json::from_value(json!({"metadata": {"name": "node-1", "labels": {"example.org/hall": "h1"}}})).unwrap()
    }

    #[test]
    fn each_process_number_has_its_own_command_line() {
        let configuration = json!({"version": "7.3.63", "arguments": arguments()});
        let launch = servers(&pod(&["--process-count", "2"]), &config_map(&configuration), Some(&node())).unwrap();
        let line = |port: &str| {
            vec![
                format!("--public_address=[198.18.0.7]:{port}"),
                "--locality_zoneid=zone-of-storage-1".to_owned(),
                "--locality_data_hall=h1".to_owned(),
            ]
        };
        let expected = [Server { number: 1, arguments: line("4501") }, Server { number: 2, arguments: line("4503") }];
        assert_eq!(launch.servers, expected);
        assert_eq!(launch.configuration, configuration.to_string());
        let referenced: Vec<&str> = launch.referenced.keys().map(String::as_str).collect();
        assert_eq!(referenced, ["FDB_PUBLIC_IP", "FDB_ZONE_ID", "NODE_LABEL_EXAMPLE_ORG_HALL"]);
    }

    #[test]
    fn nothing_is_started_before_there_are_coordinators() {
        let configuration = json!({"version": "7.3.63", "runServers": false, "arguments": arguments()});
        assert_eq!(servers(&pod(&[]), &config_map(&configuration), Some(&node())).unwrap().servers, []);
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let configuration = json!({"version": "7.3.63", "arguments": arguments()});
        let problem = servers(&pod(&[]), &config_map(&configuration), None).unwrap_err();
        assert!(format!("{problem:#}").contains("NODE_LABEL_EXAMPLE_ORG_HALL"), "{problem:#}");
    }
}
