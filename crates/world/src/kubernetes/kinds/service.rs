//! Services: an address for each, unless it asks for none.

use serde_json::{Value, json};

use crate::kubernetes::object::{Metadata, default_to, object_at};
use crate::kubernetes::state::State;
use crate::kubernetes::status::Cause;

/// The API's own service.
pub(crate) fn of_the_api() -> Value {
    json!({
        "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ports": [{"name": "https", "port": 443, "targetPort": 443}]},
    })
}

pub(super) fn prepare_create(state: &mut State, service: &mut Value) {
    default(service);
    let kind = service.text(&["spec", "type"]).to_owned();
    if kind != "ExternalName" {
        let spec = object_at(service, "spec");
        default_to(spec, "ipFamilies", json!(["IPv4"]));
        if !spec.contains_key("clusterIP") {
            let address = state.ids.service_address(spec["ipFamilies"][0].as_str().unwrap_or_default());
            spec.insert("clusterIP".to_owned(), address.into());
        }
        let address = spec["clusterIP"].clone();
        default_to(spec, "clusterIPs", json!([address]));
        default_to(spec, "ipFamilyPolicy", "SingleStack");
    }
    service["status"] = json!({"loadBalancer": {}});
}

fn default(service: &mut Value) {
    let spec = object_at(service, "spec");
    default_to(spec, "sessionAffinity", "None");
    default_to(spec, "type", "ClusterIP");
    let kind = spec["type"].as_str().unwrap_or_default().to_owned();
    if kind == "NodePort" || kind == "LoadBalancer" {
        default_to(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        default_to(spec, "allocateLoadBalancerNodePorts", true);
    }
    if kind != "ExternalName" {
        default_to(spec, "internalTrafficPolicy", "Cluster");
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(port) = port.as_object_mut() {
            default_to(port, "protocol", "TCP");
            let number = port.get("port").cloned().unwrap_or_default();
            default_to(port, "targetPort", number);
        }
    }
}

pub(super) fn prepare_update(old: &Value, service: &mut Value) {
    default(service);
    // What the server gave out is kept when the client leaves it out.
    let spec = object_at(service, "spec");
    // The first of the list follows the one that clients write.
    if spec.get("clusterIP").is_some_and(|address| !address.is_null() && *address != old["spec"]["clusterIP"]) {
        let address = spec["clusterIP"].clone();
        spec.insert("clusterIPs".to_owned(), json!([address]));
    }
    for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if let Some(value) = old["spec"].get(key) {
            default_to(spec, key, value.clone());
        }
    }
}

pub(super) fn faults(service: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = vec![];
    let spec = &service["spec"];
    let is_headless = spec["clusterIP"] == "None";
    let ports = spec["ports"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    if ports.is_empty() && !is_headless && spec["type"] != "ExternalName" {
        causes.push(Cause::required("spec.ports", ""));
    }
    for (index, port) in ports.iter().enumerate() {
        let name = port.text(&["name"]);
        if name.is_empty() && ports.len() > 1 {
            causes.push(Cause::required(format!("spec.ports[{index}].name"), ""));
        }
        if !port["port"].as_i64().is_some_and(|number| (1..=65535).contains(&number)) {
            let shown = port.get("port").cloned().unwrap_or_else(|| json!(0));
            causes.push(Cause::invalid(format!("spec.ports[{index}].port"), &shown, "must be between 1 and 65535, inclusive"));
        }
    }
    let address = |service: &Value| service["spec"]["clusterIPs"][0].clone();
    if old.is_some_and(|old| !address(old).is_null() && address(old) != address(service)) {
        causes.push(Cause::invalid("spec.clusterIPs[0]", &service["spec"]["clusterIPs"], "may not change once set"));
    }
    causes
}
