//! Defaults of a structural schema.

use serde_json::Value;

/// Sets what is not set and has a default, from the outside in. A `null` where null is not allowed counts as not set.
pub(super) fn apply(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (name, child) in schema["properties"].as_object().into_iter().flatten() {
                let is_unset = match map.get(name) {
                    None => true,
                    Some(Value::Null) => child["nullable"] != true,
                    Some(_) => false,
                };
                if let (true, Some(default)) = (is_unset, child.get("default")) {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (name, child) in map {
                if let Some(schema) = schema["properties"].get(name).or_else(|| schema.get("additionalProperties")) {
                    apply(schema, child);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| apply(&schema["items"], item)),
        _ => {}
    }
}
