//! CRDs themselves: what the server adds to them.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kubernetes::object::{Metadata, default_to, object_at};
use crate::kubernetes::write::second;

/// Names in full, and the conditions by which a client knows that the kind is served.
pub(crate) fn complete(crd: &mut Value, now: Timestamp) {
    let kind = crd.text(&["spec", "names", "kind"]).to_owned();
    let spec = object_at(crd, "spec");
    default_to(spec, "conversion", json!({"strategy": "None"}));
    let names = object_at(&mut crd["spec"], "names");
    default_to(names, "singular", kind.to_lowercase());
    default_to(names, "listKind", format!("{kind}List"));
    let names = crd["spec"]["names"].clone();
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        if let Some(scale) = version.pointer_mut("/subresources/scale").and_then(Value::as_object_mut) {
            scale.retain(|_, path| !path.is_null());
        }
    }
    let stored: Vec<Value> = crd["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    let at = second(now);
    let condition = |kind: &str, reason: &str, message: &str| json!({"lastTransitionTime": at, "message": message, "reason": reason, "status": "True", "type": kind});
    let fresh = json!([
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ]);
    let status = object_at(crd, "status");
    default_to(status, "conditions", fresh);
    status.insert("acceptedNames".to_owned(), names);
    default_to(status, "storedVersions", stored);
}
