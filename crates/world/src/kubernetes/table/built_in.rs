//! The columns of built-in kinds.

use jiff::Timestamp;
use serde_json::Value;

use super::{Column, age, pod};
use crate::kubernetes::object::Metadata;

/// Columns by name; a star marks those of `-o wide`.
fn names(storage: &str) -> &'static str {
    match storage {
        "pods" => "Name,Ready,Status,Restarts,Age,*IP,*Node,*Nominated Node,*Readiness Gates",
        "nodes" => "Name,Status,Roles,Age,Version,*Internal-IP,*External-IP,*OS-Image,*Kernel-Version,*Container-Runtime",
        "services" => "Name,Type,Cluster-IP,External-IP,Port(s),Age,*Selector",
        "configmaps" => "Name,Data,Age",
        "secrets" => "Name,Type,Data,Age",
        "persistentvolumeclaims" => "Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age,*VolumeMode",
        "persistentvolumes" => {
            "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age,*VolumeMode"
        }
        "events" => "Last Seen,Type,Reason,Object,*Subobject,*Source,Message,*First Seen,*Count,*Name",
        "namespaces" => "Name,Status,Age",
        "storageclasses" => "Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age",
        "leases" => "Name,Holder,Age",
        "poddisruptionbudgets" => "Name,Min Available,Max Unavailable,Allowed Disruptions,Age",
        "endpointslices" => "Name,AddressType,Ports,Endpoints,Age",
        "customresourcedefinitions" => "Name,Created At",
        _ => "Name,Age",
    }
}

pub(super) fn columns(storage: &str) -> Vec<Column> {
    let column = |name: &str| {
        let mut column = name.strip_prefix('*').map_or_else(|| Column::new(name, 0), |name| Column::new(name, 1));
        match name {
            "Allowed Disruptions" => "integer".clone_into(&mut column.kind),
            "Created At" => "date".clone_into(&mut column.kind),
            _ => {}
        }
        column
    };
    names(storage).split(',').map(column).collect()
}

pub(super) fn cells(storage: &str, object: &Value, now: Timestamp) -> Vec<Value> {
    let name = object.name().to_owned();
    let age = age::since(&object["metadata"]["creationTimestamp"], now);
    let count = |key: &str| object[key].as_object().map_or(0, serde_json::Map::len);
    match storage {
        "pods" => pod::cells(object, now),
        "nodes" => node(object, age),
        "services" => service(object, age),
        "configmaps" => vec![name.into(), (count("data") + count("binaryData")).into(), age.into()],
        "secrets" => vec![name.into(), object["type"].clone(), count("data").into(), age.into()],
        "persistentvolumeclaims" => claim(object, age),
        "persistentvolumes" => volume(object, age),
        "events" => event(object, now),
        "namespaces" => vec![name.into(), object["status"]["phase"].clone(), age.into()],
        "storageclasses" => storage_class(object, age),
        "leases" => vec![name.into(), object.text(&["spec", "holderIdentity"]).into(), age.into()],
        "poddisruptionbudgets" => {
            let amount = |key: &str| match &object["spec"][key] {
                Value::Null => "N/A".to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let allowed = object["status"]["disruptionsAllowed"].as_i64().unwrap_or(0);
            vec![name.into(), amount("minAvailable").into(), amount("maxUnavailable").into(), allowed.into(), age.into()]
        }
        "endpointslices" => endpoint_slice(object, age),
        "customresourcedefinitions" => vec![name.into(), object["metadata"]["creationTimestamp"].clone()],
        _ => vec![name.into(), age.into()],
    }
}

fn listed<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let text = items.collect::<Vec<_>>().join(",");
    if text.is_empty() { "<none>".to_owned() } else { text }
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

fn node(node: &Value, age: String) -> Vec<Value> {
    const ROLE: &str = "node-role.kubernetes.io/";
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions.into_iter().find(|one| one["type"] == "Ready").map(|one| one["status"] == "True");
    let mut status = match ready {
        Some(true) => "Ready",
        Some(false) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if node["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    let labels = node["metadata"]["labels"].as_object();
    let roles = listed(labels.into_iter().flatten().filter_map(|(key, _)| key.strip_prefix(ROLE)));
    let address = |kind: &str| {
        let all = node["status"]["addresses"].as_array();
        all.into_iter().flatten().find(|one| one["type"] == kind).map_or("<none>", |one| one.text(&["address"])).to_owned()
    };
    let info = |key: &str| or(node.text(&["status", "nodeInfo", key]), "<unknown>").to_owned();
    [
        node.name().to_owned(),
        status,
        roles,
        age,
        node.text(&["status", "nodeInfo", "kubeletVersion"]).to_owned(),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        info("kernelVersion"),
        info("containerRuntimeVersion"),
    ]
    .map(Value::from)
    .into()
}

fn service(service: &Value, age: String) -> Vec<Value> {
    let spec = &service["spec"];
    let ports = spec["ports"].as_array().into_iter().flatten().map(|port| match port.get("nodePort") {
        Some(node) => format!("{}:{node}/{}", port["port"], port.text(&["protocol"])),
        None => format!("{}/{}", port["port"], port.text(&["protocol"])),
    });
    let ports: Vec<String> = ports.collect();
    let external = match spec["type"].as_str() {
        Some("LoadBalancer") => "<pending>",
        Some("ExternalName") => spec.text(&["externalName"]),
        _ => "<none>",
    };
    let selector: Vec<String> = spec["selector"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    [
        service.name().to_owned(),
        spec.text(&["type"]).to_owned(),
        or(spec.text(&["clusterIP"]), "<none>").to_owned(),
        external.to_owned(),
        listed(ports.iter().map(String::as_str)),
        age,
        listed(selector.iter().map(String::as_str)),
    ]
    .map(Value::from)
    .into()
}

fn access_modes(modes: &Value) -> String {
    let short = |mode: &Value| match mode.as_str() {
        Some("ReadWriteOnce") => "RWO",
        Some("ReadOnlyMany") => "ROX",
        Some("ReadWriteMany") => "RWX",
        Some("ReadWriteOncePod") => "RWOP",
        _ => "",
    };
    modes.as_array().into_iter().flatten().map(short).collect::<Vec<_>>().join(",")
}

fn claim(claim: &Value, age: String) -> Vec<Value> {
    let is_bound = !claim.text(&["spec", "volumeName"]).is_empty();
    let phase = if claim.is_deleting() { "Terminating" } else { claim.text(&["status", "phase"]) };
    [
        claim.name().to_owned(),
        phase.to_owned(),
        claim.text(&["spec", "volumeName"]).to_owned(),
        if is_bound { claim.text(&["status", "capacity", "storage"]).to_owned() } else { String::new() },
        if is_bound { access_modes(&claim["status"]["accessModes"]) } else { String::new() },
        claim.text(&["spec", "storageClassName"]).to_owned(),
        or(claim.text(&["spec", "volumeAttributesClassName"]), "<unset>").to_owned(),
        age,
        or(claim.text(&["spec", "volumeMode"]), "<unset>").to_owned(),
    ]
    .map(Value::from)
    .into()
}

fn volume(volume: &Value, age: String) -> Vec<Value> {
    let claim = &volume["spec"]["claimRef"];
    let phase = if volume.is_deleting() { "Terminating" } else { volume.text(&["status", "phase"]) };
    [
        volume.name().to_owned(),
        volume.text(&["spec", "capacity", "storage"]).to_owned(),
        access_modes(&volume["spec"]["accessModes"]),
        volume.text(&["spec", "persistentVolumeReclaimPolicy"]).to_owned(),
        phase.to_owned(),
        if claim.is_null() { String::new() } else { format!("{}/{}", claim.text(&["namespace"]), claim.text(&["name"])) },
        volume.text(&["spec", "storageClassName"]).to_owned(),
        or(volume.text(&["spec", "volumeAttributesClassName"]), "<unset>").to_owned(),
        volume.text(&["status", "reason"]).to_owned(),
        age,
        or(volume.text(&["spec", "volumeMode"]), "<unset>").to_owned(),
    ]
    .map(Value::from)
    .into()
}

fn event(event: &Value, now: Timestamp) -> Vec<Value> {
    let since = |keys: &[&Value]| {
        keys.iter().find(|value| value.is_string()).map_or_else(|| "<unknown>".to_owned(), |at| age::since(at, now))
    };
    let first = since(&[&event["firstTimestamp"], &event["eventTime"]]);
    let series = &event["series"]["lastObservedTime"];
    let last = since(&[series, &event["lastTimestamp"], &event["eventTime"]]);
    let object = &event["involvedObject"];
    let target = match object.text(&["name"]) {
        "" => object.text(&["kind"]).to_lowercase(),
        name => format!("{}/{name}", object.text(&["kind"]).to_lowercase()),
    };
    let component = or(event.text(&["source", "component"]), event.text(&["reportingComponent"]));
    let source = match or(event.text(&["source", "host"]), event.text(&["reportingInstance"])) {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    };
    let count = event["series"]["count"].as_i64().or(event["count"].as_i64()).unwrap_or(1).max(1);
    vec![
        last.into(),
        event["type"].clone(),
        event["reason"].clone(),
        target.into(),
        object.text(&["fieldPath"]).into(),
        source.into(),
        event.text(&["message"]).trim().into(),
        first.into(),
        count.into(),
        event.name().into(),
    ]
}

fn storage_class(class: &Value, age: String) -> Vec<Value> {
    let is_default = class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true";
    let name = if is_default { format!("{} (default)", class.name()) } else { class.name().to_owned() };
    let expands = class["allowVolumeExpansion"] == true;
    vec![
        name.into(),
        class["provisioner"].clone(),
        class["reclaimPolicy"].clone(),
        class["volumeBindingMode"].clone(),
        expands.into(),
        age.into(),
    ]
}

fn endpoint_slice(slice: &Value, age: String) -> Vec<Value> {
    let ports: Vec<String> = slice["ports"].as_array().into_iter().flatten().map(|port| port["port"].to_string()).collect();
    let addresses =
        slice["endpoints"].as_array().into_iter().flatten().flat_map(|one| one["addresses"].as_array().into_iter().flatten());
    let unset = |text: String| if text == "<none>" { "<unset>".to_owned() } else { text };
    [
        slice.name().to_owned(),
        slice.text(&["addressType"]).to_owned(),
        unset(listed(ports.iter().map(String::as_str))),
        unset(listed(addresses.filter_map(Value::as_str))),
        age,
    ]
    .map(Value::from)
    .into()
}
