//! Reading and writing the metadata that every object has.

use serde_json::{Map, Value};

/// The metadata of an object that is still plain JSON.
pub(crate) trait Metadata {
    fn text(&self, path: &[&str]) -> &str;
    fn name(&self) -> &str;
    fn namespace(&self) -> &str;
    fn uid(&self) -> &str;
    fn resource_version(&self) -> &str;
    fn finalizers(&self) -> Vec<&str>;
    fn is_deleting(&self) -> bool;
    /// `metadata`, made if it is not there.
    fn metadata(&mut self) -> &mut Map<String, Value>;
}

impl Metadata for Value {
    fn text(&self, path: &[&str]) -> &str {
        path.iter().fold(self, |value, key| &value[*key]).as_str().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.text(&["metadata", "name"])
    }

    fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"])
    }

    fn uid(&self) -> &str {
        self.text(&["metadata", "uid"])
    }

    fn resource_version(&self) -> &str {
        self.text(&["metadata", "resourceVersion"])
    }

    fn finalizers(&self) -> Vec<&str> {
        self["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    fn is_deleting(&self) -> bool {
        self["metadata"].get("deletionTimestamp").is_some_and(|at| !at.is_null())
    }

    fn metadata(&mut self) -> &mut Map<String, Value> {
        object_at(self, "metadata")
    }
}

/// The object under a key, made if it is not there.
pub(crate) fn object_at<'a>(value: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    let slot = &mut value[key];
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    let Value::Object(map) = slot else { unreachable!("it was just made one") };
    map
}

/// Sets a key that is not set.
pub(crate) fn default_to(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    if map.get(key).is_none_or(Value::is_null) {
        map.insert(key.to_owned(), value.into());
    }
}

/// Removes every `null` that is a field, as an object has after it went through a typed server.
pub(crate) fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.values().any(Value::is_null) {
                map.retain(|_, child| !child.is_null());
            }
            map.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}
