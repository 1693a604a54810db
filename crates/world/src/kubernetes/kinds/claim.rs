//! Persistent volume claims.

use serde_json::{Value, json};

use super::quantity;
use crate::kubernetes::object::{Metadata, default_to, object_at};
use crate::kubernetes::state::State;
use crate::kubernetes::status::Cause;

const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

pub(super) fn prepare_create(state: &mut State, claim: &mut Value) {
    let default_class = state
        .store
        .list("storageclasses", "")
        .find(|(_, class)| class["metadata"]["annotations"][DEFAULT_CLASS] == "true")
        .map(|(key, _)| key.name.clone());
    let spec = object_at(claim, "spec");
    default_to(spec, "volumeMode", "Filesystem");
    if let Some(class) = default_class {
        default_to(spec, "storageClassName", class);
    }
    if let Some(resources) = spec.get_mut("resources") {
        quantity::canonical(resources);
    }
    claim["status"] = json!({"phase": "Pending"});
    let finalizers = claim.metadata().entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut().filter(|all| !all.contains(&json!("kubernetes.io/pvc-protection"))) {
        finalizers.push(json!("kubernetes.io/pvc-protection"));
    }
}

pub(super) fn faults(claim: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = vec![];
    let size = |claim: &Value| claim["spec"]["resources"]["requests"]["storage"].as_str().map(str::to_owned);
    if claim["spec"]["accessModes"].as_array().is_none_or(Vec::is_empty) {
        causes.push(Cause::required("spec.accessModes", "at least 1 access mode is required"));
    }
    let Some(asked) = size(claim) else {
        causes.push(Cause::required("spec.resources[storage]", ""));
        return causes;
    };
    let Some(old) = old else { return causes };
    let before = size(old).unwrap_or_default();
    if quantity::bytes(&asked) < quantity::bytes(&before) {
        causes.push(Cause::forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"));
    }
    // A bound claim can grow; one that waits for its volume can only be given a class or a volume.
    let is_bound = old.text(&["status", "phase"]) == "Bound";
    let fixed = |claim: &Value| {
        let mut spec = claim["spec"].clone();
        if is_bound {
            object_at(&mut spec, "resources").shift_remove("requests");
        }
        if let Some(map) = spec.as_object_mut() {
            map.shift_remove("volumeAttributesClassName");
        }
        spec
    };
    let is_binding = old.text(&["spec", "volumeName"]).is_empty() && !claim.text(&["spec", "volumeName"]).is_empty();
    let mut expected = fixed(old);
    if is_binding {
        expected["volumeName"] = claim["spec"]["volumeName"].clone();
    }
    if old["spec"].get("storageClassName").is_none()
        && let Some(class) = claim["spec"].get("storageClassName")
    {
        expected["storageClassName"] = class.clone();
    }
    if fixed(claim) != expected {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        causes.push(Cause::forbidden("spec", detail));
    }
    causes
}
