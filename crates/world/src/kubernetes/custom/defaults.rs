//! Defaults of a structural schema.

use serde_json::{Map, Value};

/// The part of a schema that leads to defaults, which is next to nothing of it: every write is walked through for them.
pub(crate) fn leading_to_defaults(schema: &Value) -> Value {
    let mut kept = Map::new();
    for (key, value) in schema.as_object().into_iter().flatten() {
        let part = match key.as_str() {
            "default" => value.clone(),
            "items" | "additionalProperties" => leading_to_defaults(value),
            "properties" => {
                let children = value.as_object().into_iter().flatten();
                let children = children.map(|(name, child)| (name.clone(), leading_to_defaults(child)));
                Value::Object(children.filter(|(_, child)| !child.is_null()).collect())
            }
            _ => continue,
        };
        let is_empty = key == "properties" && part.as_object().is_some_and(Map::is_empty);
        if !part.is_null() && !is_empty {
            kept.insert(key.clone(), part);
        }
    }
    if kept.is_empty() {
        return Value::Null;
    }
    if let Some(nullable) = schema.get("nullable") {
        kept.insert("nullable".to_owned(), nullable.clone());
    }
    Value::Object(kept)
}

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_part_that_leads_to_defaults_is_kept_and_it_says_the_same() {
        let with_default = json!({"type": "object", "properties": {"a": {"type": "integer", "nullable": true, "default": 1}, "b": {"type": "string"}}});
        let schema = json!({"properties": {
            "list": {"type": "array", "items": with_default},
            "map": {"additionalProperties": with_default},
            "plain": {"properties": {"c": {"type": "string"}}},
        }});
        let outline = leading_to_defaults(&schema);
        assert_eq!(outline["properties"].as_object().map(Map::len), Some(2));
        let mut object = json!({"list": [{}, {"a": null, "b": "x"}], "map": {"one": {"a": 2}, "other": {}}, "plain": {}});
        let mut same = object.clone();
        apply(&schema, &mut object);
        apply(&outline, &mut same);
        assert_eq!(object, same);
        assert_eq!(object["list"][0]["a"], 1);
    }
}
