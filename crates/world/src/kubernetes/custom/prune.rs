//! Fields that a schema does not know: they are removed, and reported.

use serde_json::Value;

use super::path::Path;

/// Removes what the schema does not know and says where it was. The root's own `metadata` is not the schema's business.
pub(crate) fn unknown_fields(schema: &Value, object: &mut Value) -> Vec<String> {
    let mut found = vec![];
    prune(schema, object, Path::Root, true, &mut found);
    found
}

fn prune(schema: &Value, value: &mut Value, path: Path<'_>, is_resource: bool, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let preserves = schema["x-kubernetes-preserve-unknown-fields"] == true;
            let properties = schema["properties"].as_object();
            let additional = schema.get("additionalProperties").filter(|additional| **additional != Value::Bool(false));
            map.retain(|name, value| {
                if is_resource && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
                    return true;
                }
                if let Some(child) = properties.and_then(|properties| properties.get(name)).or(additional) {
                    let is_embedded = child["x-kubernetes-embedded-resource"] == true;
                    prune(child, value, path.field(name), is_embedded, found);
                    true
                } else {
                    if !preserves {
                        found.push(path.field(name).into());
                    }
                    preserves
                }
            });
        }
        Value::Array(items) => {
            let child = &schema["items"];
            let is_embedded = child["x-kubernetes-embedded-resource"] == true;
            for (index, item) in items.iter_mut().enumerate() {
                prune(child, item, path.item(index), is_embedded, found);
            }
        }
        _ => {}
    }
}
