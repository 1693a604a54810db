//! Kinds with little of their own: namespaces, nodes, secrets, config maps, budgets, leases, storage.

use serde_json::{Value, json};

use crate::kubernetes::object::{Metadata, default_to, object_at};
use crate::kubernetes::request::Call;
use crate::kubernetes::status::Cause;

pub(super) fn prepare_create(storage: &str, object: &mut Value) {
    default(storage, object);
    match storage {
        "namespaces" => {
            let name = object.name().to_owned();
            object_at(&mut object["metadata"], "labels").insert("kubernetes.io/metadata.name".to_owned(), name.into());
            object["spec"] = json!({"finalizers": ["kubernetes"]});
            object["status"] = json!({"phase": "Active"});
        }
        "poddisruptionbudgets" => {
            object["status"] = json!({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0});
        }
        "persistentvolumes" => {
            let finalizers = object.metadata().entry("finalizers").or_insert_with(|| json!([]));
            if let Some(finalizers) = finalizers.as_array_mut().filter(|all| !all.contains(&json!("kubernetes.io/pv-protection")))
            {
                finalizers.push(json!("kubernetes.io/pv-protection"));
            }
            default_to(object_at(object, "status"), "phase", "Pending");
        }
        _ => {}
    }
}

pub(super) fn default(storage: &str, object: &mut Value) {
    match storage {
        "secrets" => {
            let plain = object.get("stringData").cloned();
            if let (Some(map), Some(Value::Object(plain))) = (object.as_object_mut(), plain) {
                map.shift_remove("stringData");
                for (key, text) in plain {
                    object_at(object, "data").insert(key, base64(text.as_str().unwrap_or_default().as_bytes()).into());
                }
            }
            if let Some(map) = object.as_object_mut() {
                default_to(map, "type", "Opaque");
            }
        }
        "storageclasses" => {
            if let Some(map) = object.as_object_mut() {
                default_to(map, "reclaimPolicy", "Delete");
                default_to(map, "volumeBindingMode", "Immediate");
            }
        }
        "persistentvolumes" => {
            let spec = object_at(object, "spec");
            default_to(spec, "persistentVolumeReclaimPolicy", "Retain");
            default_to(spec, "volumeMode", "Filesystem");
        }
        _ => {}
    }
}

/// A namespace's finalizers change by its own subresource only.
pub(super) fn keep_namespace_finalizers(call: &Call, old: &Value, object: &mut Value) {
    if call.subresource != "finalize" {
        object["spec"] = old["spec"].clone();
    }
    let name = call.name.clone();
    object_at(&mut object["metadata"], "labels").insert("kubernetes.io/metadata.name".to_owned(), name.into());
}

pub(super) fn faults(storage: &str, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    match storage {
        "configmaps" | "secrets" => immutable_faults(storage, object, old),
        "poddisruptionbudgets" => budget_faults(object),
        "storageclasses" => {
            let mut causes = vec![];
            if object.text(&["provisioner"]).is_empty() {
                causes.push(Cause::required("provisioner", ""));
            }
            let fixed = ["provisioner", "parameters", "reclaimPolicy"];
            causes.extend(
                old.into_iter()
                    .flat_map(|old| fixed.iter().filter(|field| old[**field] != object[**field]))
                    .map(|field| Cause::forbidden(*field, &format!("updates to {field} are forbidden."))),
            );
            causes
        }
        "leases" => {
            let duration = &object["spec"]["leaseDurationSeconds"];
            let is_wrong = duration.as_i64().is_some_and(|seconds| seconds <= 0);
            if is_wrong { vec![Cause::invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")] } else { vec![] }
        }
        _ => vec![],
    }
}

/// Keys become names of files.
fn key_faults(object: &Value) -> Vec<Cause> {
    let is_good =
        |key: &str| !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    let detail = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    ["data", "binaryData"]
        .iter()
        .flat_map(|part| object[*part].as_object().into_iter().flat_map(move |map| map.keys().map(move |key| (part, key))))
        .filter(|(_, key)| !is_good(key))
        .map(|(part, key)| Cause::invalid(format!("{part}[{key}]"), &json!(key), detail))
        .collect()
}

fn immutable_faults(storage: &str, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = key_faults(object);
    let Some(old) = old else { return causes };
    if storage == "secrets" && old["type"] != object["type"] {
        causes.push(Cause::invalid("type", &object["type"], "field is immutable"));
    }
    if old["immutable"] == true {
        if object["immutable"] != true {
            causes.push(Cause::forbidden("immutable", "field is immutable when `immutable` is set"));
        }
        if old["data"] != object["data"] {
            causes.push(Cause::forbidden("data", "field is immutable when `immutable` is set"));
        }
    }
    causes
}

fn budget_faults(budget: &Value) -> Vec<Cause> {
    let spec = &budget["spec"];
    if spec.get("minAvailable").is_some() && spec.get("maxUnavailable").is_some() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        return vec![Cause::invalid_shown("spec", &spec.to_string(), detail)];
    }
    vec![]
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_usize, |bits, byte| (bits << 8) | usize::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = char::from(LETTERS[(bits >> (18 - 6 * place)) & 63]);
            text.push(if place <= chunk.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_pads() {
        for (plain, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(super::base64(plain.as_bytes()), encoded);
        }
    }
}
