//! Pods: the defaults of the API, and what the admission of a plain cluster adds.

use serde_json::{Map, Value, json};

use super::quantity;
use crate::kubernetes::object::{Metadata, default_to, object_at};
use crate::kubernetes::resource::Resource;
use crate::kubernetes::state::State;
use crate::kubernetes::status::Status;
use crate::kubernetes::store::Key;
use crate::kubernetes::write::second;

/// How long a pod stays on a node that is not ready or not reachable, unless it says otherwise.
const TOLERATION_SECONDS: u64 = 300;

pub(crate) fn prepare_create(state: &mut State, resource: &Resource, pod: &mut Value) -> Result<(), Status> {
    pod["status"] = json!({"phase": "Pending"});
    default(pod);
    admit_service_account(state, resource, pod)?;
    let spec = object_at(pod, "spec");
    default_to(spec, "priority", 0);
    default_to(spec, "preemptionPolicy", "PreemptLowerPriority");
    tolerate(spec);
    let class = quality_of_service(pod);
    pod["status"]["qosClass"] = class.into();
    if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        pod["status"]["conditions"] = json!([{
            "lastProbeTime": null, "lastTransitionTime": second(state.now), "message": "Scheduling is blocked due to non-empty scheduling gates",
            "reason": "SchedulingGated", "status": "False", "type": "PodScheduled",
        }]);
    }
    Ok(())
}

/// The defaults that do not depend on the cluster.
pub(crate) fn default(pod: &mut Value) {
    // These two are always written, also when nobody knows them.
    let conditions = pod.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        for time in ["lastProbeTime", "lastTransitionTime"] {
            condition.entry(time).or_insert(Value::Null);
        }
    }
    let spec = object_at(pod, "spec");
    for (key, value) in [
        ("restartPolicy", json!("Always")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("dnsPolicy", json!("ClusterFirst")),
        ("securityContext", json!({})),
        ("schedulerName", json!("default-scheduler")),
        ("enableServiceLinks", json!(true)),
    ] {
        default_to(spec, key, value);
    }
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(container) = container.as_object_mut() {
                default_container(container);
            }
        }
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        default_volume(volume);
    }
    for constraint in spec.get_mut("topologySpreadConstraints").and_then(Value::as_array_mut).into_iter().flatten() {
        constraint.as_object_mut().into_iter().for_each(|map| map.retain(|_, value| !value.is_null()));
    }
}

fn default_container(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default().to_owned();
    default_to(container, "imagePullPolicy", pull_policy(&image));
    default_to(container, "terminationMessagePath", "/dev/termination-log");
    default_to(container, "terminationMessagePolicy", "File");
    default_to(container, "resources", json!({}));
    if let Some(resources) = container.get_mut("resources") {
        quantity::canonical(resources);
        // Who names a limit only asks for as much.
        for (name, limit) in resources["limits"].as_object().cloned().into_iter().flatten() {
            default_to(object_at(resources, "requests"), &name, limit);
        }
    }
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        port.as_object_mut().into_iter().for_each(|port| default_to(port, "protocol", "TCP"));
    }
    for variable in container.get_mut("env").and_then(Value::as_array_mut).into_iter().flatten() {
        default_field_reference(variable.get_mut("valueFrom"));
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(name).and_then(Value::as_object_mut) {
            for (key, value) in [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)] {
                default_to(probe, key, value);
            }
            default_handler(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(hook) =
            container.get_mut("lifecycle").and_then(|lifecycle| lifecycle.get_mut(hook)).and_then(Value::as_object_mut)
        {
            default_handler(hook);
        }
    }
}

fn default_handler(handler: &mut Map<String, Value>) {
    if let Some(get) = handler.get_mut("httpGet").and_then(Value::as_object_mut) {
        default_to(get, "path", "/");
        default_to(get, "scheme", "HTTP");
    }
    if let Some(grpc) = handler.get_mut("grpc").and_then(Value::as_object_mut) {
        default_to(grpc, "service", "");
    }
}

/// An image that can change under its name is pulled every time.
fn pull_policy(image: &str) -> &'static str {
    let last = image.rsplit('/').next().unwrap_or_default();
    let is_fixed = image.contains('@') || last.split_once(':').is_some_and(|(_, tag)| tag != "latest");
    if is_fixed { "IfNotPresent" } else { "Always" }
}

fn default_field_reference(source: Option<&mut Value>) {
    if let Some(reference) = source.and_then(|source| source.get_mut("fieldRef")).and_then(Value::as_object_mut) {
        default_to(reference, "apiVersion", "v1");
    }
}

fn default_volume(volume: &mut Value) {
    if let Some(map) = volume.as_object_mut().filter(|map| map.keys().all(|key| key == "name")) {
        map.insert("emptyDir".to_owned(), json!({}));
    }
    for kind in ["configMap", "secret", "downwardAPI", "projected"] {
        if let Some(source) = volume.get_mut(kind).and_then(Value::as_object_mut) {
            default_to(source, "defaultMode", 420);
        }
    }
    if let Some(path) = volume.get_mut("hostPath").and_then(Value::as_object_mut) {
        default_to(path, "type", "");
    }
    let items = |source: &mut Value| {
        for item in source["items"].as_array_mut().into_iter().flatten() {
            default_field_reference(Some(item));
        }
    };
    if let Some(source) = volume.get_mut("downwardAPI") {
        items(source);
    }
    for source in volume.get_mut("projected").and_then(|all| all["sources"].as_array_mut()).into_iter().flatten() {
        if let Some(token) = source.get_mut("serviceAccountToken").and_then(Value::as_object_mut) {
            default_to(token, "expirationSeconds", 3600);
        }
        if let Some(downward) = source.get_mut("downwardAPI") {
            items(downward);
        }
    }
}

/// Every pod runs as a service account, and unless it is told not to, has a token of it.
fn admit_service_account(state: &mut State, resource: &Resource, pod: &mut Value) -> Result<(), Status> {
    let deprecated = pod.text(&["spec", "serviceAccount"]).to_owned();
    let spec = object_at(pod, "spec");
    default_to(spec, "serviceAccountName", if deprecated.is_empty() { "default" } else { deprecated.as_str() });
    let account = spec["serviceAccountName"].clone();
    spec.insert("serviceAccount".to_owned(), account);
    let account = pod.text(&["spec", "serviceAccountName"]);
    let key = Key::new("serviceaccounts", pod.namespace(), account);
    let Some(found) = state.store.get(&key).cloned() else {
        let why = format!("error looking up service account {}/{account}: serviceaccount \"{account}\" not found", key.namespace);
        return Err(Status::forbidden(resource, pod.name(), &why));
    };
    let wants_token = pod["spec"]["automountServiceAccountToken"].as_bool().or(found["automountServiceAccountToken"].as_bool());
    if wants_token != Some(false) {
        mount_token(state, pod);
    }
    Ok(())
}

fn mount_token(state: &mut State, pod: &mut Value) {
    const PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    let has_mount =
        |container: &Value| container["volumeMounts"].as_array().into_iter().flatten().any(|mount| mount["mountPath"] == PATH);
    let name = format!("kube-api-access-{}", state.ids.suffix());
    let spec = object_at(pod, "spec");
    let mut used = false;
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if !has_mount(container) {
                let mount = json!({"name": name, "readOnly": true, "mountPath": PATH});
                push(container, "volumeMounts", mount);
                used = true;
            }
        }
    }
    if used {
        let volume = json!({"name": name, "projected": {"sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
        ], "defaultMode": 420}});
        push(&mut pod["spec"], "volumes", volume);
    }
}

fn push(object: &mut Value, list: &str, item: Value) {
    match object[list].as_array_mut() {
        Some(items) => items.push(item),
        None => object[list] = json!([item]),
    }
}

fn tolerate(spec: &mut Map<String, Value>) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |toleration: &Value| {
            let effect = toleration.text(&["effect"]);
            let names = toleration.text(&["key"]);
            (effect.is_empty() || effect == "NoExecute") && (names == key || names.is_empty())
        };
        let is_covered = spec.get("tolerations").and_then(Value::as_array).is_some_and(|all| all.iter().any(covers));
        if !is_covered {
            let toleration =
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_SECONDS});
            match spec.get_mut("tolerations").and_then(Value::as_array_mut) {
                Some(all) => all.push(toleration),
                None => drop(spec.insert("tolerations".to_owned(), json!([toleration]))),
            }
        }
    }
}

fn quality_of_service(pod: &Value) -> &'static str {
    let containers =
        || ["containers", "initContainers"].into_iter().flat_map(|list| pod["spec"][list].as_array().into_iter().flatten());
    let amount = |container: &Value, kind: &str, name: &str| container["resources"][kind][name].as_str().map(str::to_owned);
    let mentions = |container: &Value| {
        ["requests", "limits"].iter().any(|kind| ["cpu", "memory"].iter().any(|name| amount(container, kind, name).is_some()))
    };
    if !containers().any(mentions) {
        return "BestEffort";
    }
    let is_fixed = |container: &Value| {
        ["cpu", "memory"].iter().all(|name| {
            let limit = amount(container, "limits", name);
            limit.is_some() && limit == amount(container, "requests", name)
        })
    };
    if containers().all(is_fixed) { "Guaranteed" } else { "Burstable" }
}
