//! JSON merge patch (RFC 7386).

use serde_json::{Map, Value};

/// What the object is after the patch: `null` removes, objects are merged, all else replaces.
pub(super) fn apply(object: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut merged = object.as_object().cloned().unwrap_or_else(Map::new);
    for (key, change) in changes {
        if change.is_null() {
            merged.shift_remove(key);
        } else {
            let before = merged.get(key).cloned().unwrap_or(Value::Null);
            merged.insert(key.clone(), apply(&before, change));
        }
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn null_removes_and_lists_are_replaced() {
        let object = json!({"a": {"b": 1, "c": [1, 2]}, "d": "x"});
        let patch = json!({"a": {"b": null, "c": [3], "e": {"f": null, "g": 1}}, "d": {"h": 1}});
        assert_eq!(apply(&object, &patch), json!({"a": {"c": [3], "e": {"g": 1}}, "d": {"h": 1}}));
    }
}
