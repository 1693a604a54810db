//! What is wrong with a pod, and which changes of one are not taken.

use serde_json::{Value, json};

use crate::kubernetes::metadata::label_fault;
use crate::kubernetes::object::Metadata;
use crate::kubernetes::status::Cause;

pub(super) fn faults(pod: &Value, old: Option<&Value>) -> Vec<Cause> {
    let spec = &pod["spec"];
    // What was stored was looked at when it came.
    if old.is_some_and(|old| old["spec"] == *spec) {
        return vec![];
    }
    let mut causes = vec![];
    let containers = spec["containers"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    if containers.is_empty() {
        causes.push(Cause::required("spec.containers", ""));
    }
    let volumes: Vec<&str> = spec["volumes"].as_array().into_iter().flatten().map(|volume| volume.text(&["name"])).collect();
    let mut names: Vec<&str> = vec![];
    for list in ["initContainers", "containers"] {
        for (index, container) in spec[list].as_array().into_iter().flatten().enumerate() {
            let field = format!("spec.{list}[{index}]");
            container_faults(container, &field, &volumes, &mut causes);
            let name = container.text(&["name"]);
            if !name.is_empty() && names.contains(&name) {
                causes.push(Cause::duplicate(format!("{field}.name"), &format!("\"{name}\"")));
            }
            names.push(name);
        }
    }
    let allowed = ["Always", "OnFailure", "Never"].map(str::to_owned);
    if !allowed.iter().any(|one| *one == spec["restartPolicy"]) {
        causes.push(Cause::not_supported("spec.restartPolicy", &spec["restartPolicy"], &allowed));
    }
    if let Some(old) = old {
        causes.extend(change_faults(old, pod));
    }
    causes
}

fn container_faults(container: &Value, field: &str, volumes: &[&str], causes: &mut Vec<Cause>) {
    let name = container.text(&["name"]);
    if name.is_empty() {
        causes.push(Cause::required(format!("{field}.name"), ""));
    } else if let Some(fault) = label_fault(name) {
        causes.push(Cause::invalid(format!("{field}.name"), &json!(name), &fault));
    }
    if container.text(&["image"]).is_empty() {
        causes.push(Cause::required(format!("{field}.image"), ""));
    }
    for (index, mount) in container["volumeMounts"].as_array().into_iter().flatten().enumerate() {
        if !volumes.contains(&mount.text(&["name"])) {
            causes.push(Cause::not_found(format!("{field}.volumeMounts[{index}].name"), &mount["name"]));
        }
    }
}

/// Of a pod's spec only images, a few times, added tolerations and removed gates can change.
fn change_faults(old: &Value, new: &Value) -> Vec<Cause> {
    if mutable_parts_removed(&old["spec"], &new["spec"]) == mutable_parts_removed(&new["spec"], &old["spec"]) {
        return vec![];
    }
    let detail = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
    vec![Cause::forbidden("spec", detail)]
}

fn mutable_parts_removed(spec: &Value, other: &Value) -> Value {
    let mut spec = spec.clone();
    for list in ["initContainers", "containers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            if let Some(container) = container.as_object_mut() {
                container.shift_remove("image");
            }
        }
    }
    if let Some(map) = spec.as_object_mut() {
        map.shift_remove("activeDeadlineSeconds");
        map.shift_remove("tolerations");
        let gates = |spec: &Value| spec["schedulingGates"].as_array().map_or(0, Vec::len);
        let is_gated = gates(other) > 0 || map.get("schedulingGates").is_some();
        map.shift_remove("schedulingGates");
        // While a pod is gated, its node selection may still be narrowed.
        if is_gated {
            map.shift_remove("nodeSelector");
            map.shift_remove("affinity");
        }
    }
    spec
}
