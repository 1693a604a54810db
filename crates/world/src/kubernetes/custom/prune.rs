//! Fields that a schema does not know: they are removed, and reported.

use serde_json::Value;

/// Removes what the schema does not know and says where it was. The root's own `metadata` is not the schema's business.
pub(crate) fn unknown_fields(schema: &Value, object: &mut Value) -> Vec<String> {
    let mut found = vec![];
    prune(schema, object, "", true, &mut found);
    found
}

fn prune(schema: &Value, value: &mut Value, path: &str, is_resource: bool, found: &mut Vec<String>) {
    let preserves = schema["x-kubernetes-preserve-unknown-fields"] == true;
    match value {
        Value::Object(map) => {
            let properties = schema["properties"].as_object();
            let additional = schema.get("additionalProperties").filter(|additional| **additional != Value::Bool(false));
            let names: Vec<String> = map.keys().cloned().collect();
            for name in names {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let is_type = is_resource && ["apiVersion", "kind", "metadata"].contains(&name.as_str());
                let known = properties.and_then(|properties| properties.get(&name)).or(additional);
                match known {
                    _ if is_type => {}
                    Some(child) => {
                        let is_embedded = child["x-kubernetes-embedded-resource"] == true;
                        if let Some(value) = map.get_mut(&name) {
                            prune(child, value, &below, is_embedded, found);
                        }
                    }
                    None if preserves => {}
                    None => {
                        map.shift_remove(&name);
                        found.push(below);
                    }
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let child = &schema["items"];
                prune(child, item, &format!("{path}[{index}]"), child["x-kubernetes-embedded-resource"] == true, found);
            }
        }
        _ => {}
    }
}
