//! The environment variables of a container.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Node, Pod};

use crate::view::{annotation, label, name, namespace};

/// The variables of a container of a pod: written out, or read from the pod's own fields.
pub fn environment(pod: &Pod, container: &Container) -> BTreeMap<String, String> {
    let variables = container.env.iter().flatten().filter_map(|variable| {
        let field = variable.value_from.as_ref().and_then(|source| source.field_ref.as_ref());
        let value = match field {
            Some(field) => field_of(pod, &field.field_path)?,
            None if variable.value_from.is_some() => return None,
            None => variable.value.clone().unwrap_or_default(),
        };
        Some((variable.name.clone(), value))
    });
    variables.collect()
}

/// A field of a pod, as the downward API gives it: an annotation or a label that is not there is empty.
fn field_of(pod: &Pod, path: &str) -> Option<String> {
    let (metadata, status) = (&pod.metadata, pod.status.as_ref());
    if let Some(key) = keyed(path, "metadata.annotations") {
        return Some(annotation(metadata, key).unwrap_or_default().to_owned());
    }
    if let Some(key) = keyed(path, "metadata.labels") {
        return Some(label(metadata, key).unwrap_or_default().to_owned());
    }
    match path {
        "metadata.name" => Some(name(metadata).to_owned()),
        "metadata.namespace" => Some(namespace(metadata).to_owned()),
        "metadata.uid" => metadata.uid.clone(),
        "spec.nodeName" => pod.spec.as_ref()?.node_name.clone(),
        "spec.serviceAccountName" => pod.spec.as_ref()?.service_account_name.clone(),
        "status.hostIP" => status?.host_ip.clone(),
        "status.podIP" => status?.pod_ip.clone(),
        "status.podIPs" => {
            let all: Vec<&str> = status?.pod_ips.as_ref()?.iter().map(|address| address.ip.as_str()).collect();
            Some(all.join(","))
        }
        _ => None,
    }
}

/// The key of `field['key']`.
fn keyed<'a>(path: &'a str, field: &str) -> Option<&'a str> {
    path.strip_prefix(field)?.strip_prefix("['")?.strip_suffix("']")
}

/// The labels of a node as variables. A hyphen stays one: the monitor replaces slashes and dots only.
pub fn node_environment(node: &Node) -> impl Iterator<Item = (String, String)> {
    let labels = node.metadata.labels.iter().flatten();
    labels.map(|(key, value)| (format!("NODE_LABEL_{}", key.replace(['/', '.'], "_").to_uppercase()), value.clone()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_are_written_out_or_fields_of_the_pod() {
        let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {
                "name": "sample-storage-1", "namespace": "default", "uid": "u1",
                "labels": {"foundationdb.org/fdb-process-class": "storage"}, "annotations": {"foundationdb.org/public-ip": "10.9.0.1"},
            },
            "spec": {"nodeName": "node-a1", "containers": [{"name": "foundationdb", "env": [
                {"name": "FDB_INSTANCE_ID", "value": "storage-1"},
                field("NAME", "metadata.name"), field("NAMESPACE", "metadata.namespace"), field("UID", "metadata.uid"),
                field("NODE", "spec.nodeName"), field("IP", "status.podIP"), field("IPS", "status.podIPs"),
                field("PUBLIC", "metadata.annotations['foundationdb.org/public-ip']"),
                field("CLASS", "metadata.labels['foundationdb.org/fdb-process-class']"),
                field("MISSING", "metadata.labels['zone']"),
                {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "it", "key": "is"}}},
            ]}]},
            "status": {"podIP": "198.18.0.7", "podIPs": [{"ip": "198.18.0.7"}, {"ip": "fd00::7"}]},
        }))
        .unwrap();
        let expected = [
            ("CLASS", "storage"),
            ("FDB_INSTANCE_ID", "storage-1"),
            ("IP", "198.18.0.7"),
            ("IPS", "198.18.0.7,fd00::7"),
            ("MISSING", ""),
            ("NAME", "sample-storage-1"),
            ("NAMESPACE", "default"),
            ("NODE", "node-a1"),
            ("PUBLIC", "10.9.0.1"),
            ("UID", "u1"),
        ];
        let found = environment(&pod, &pod.spec.as_ref().unwrap().containers[0]);
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn labels_of_the_node_become_variables() {
        let labels = json!({"topology.kubernetes.io/zone": "b", "example.org/rack-row": "7"});
        let node: Node = serde_json::from_value(json!({"metadata": {"labels": labels}})).unwrap();
        let found: BTreeMap<_, _> = node_environment(&node).collect();
        assert_eq!(found["NODE_LABEL_TOPOLOGY_KUBERNETES_IO_ZONE"], "b");
        assert_eq!(found["NODE_LABEL_EXAMPLE_ORG_RACK-ROW"], "7");
    }
}
