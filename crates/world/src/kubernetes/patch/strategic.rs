//! Strategic merge patch, as kubectl sends it for built-in kinds.

use serde_json::{Map, Value};

use super::merge_keys::{ListType, list_type};
use crate::kubernetes::status::Status;

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const REMOVE: &str = "$deleteFromPrimitiveList/";

pub(super) fn apply(object: &Value, patch: &Value) -> Result<Value, Status> {
    let (Some(object), Some(patch)) = (object.as_object(), patch.as_object()) else {
        return Err(Status::bad_request("error decoding patch: it is not an object"));
    };
    merge_object(object, patch, &mut vec![]).map(Value::Object)
}

fn merge_object(
    object: &Map<String, Value>,
    changes: &Map<String, Value>,
    path: &mut Vec<String>,
) -> Result<Map<String, Value>, Status> {
    match changes.get(DIRECTIVE).and_then(Value::as_str) {
        Some("delete") => return Ok(Map::new()),
        Some("replace") => {
            let mut replaced = changes.clone();
            replaced.shift_remove(DIRECTIVE);
            return Ok(replaced);
        }
        _ => {}
    }
    let mut merged = object.clone();
    if let Some(retained) = changes.get(RETAIN).and_then(Value::as_array) {
        merged.retain(|key, _| retained.iter().any(|one| one == key));
    }
    for (key, change) in changes {
        if key == DIRECTIVE || key == RETAIN || key.starts_with(ORDER) {
            continue;
        }
        if let Some(list) = key.strip_prefix(REMOVE) {
            if let (Some(Value::Array(items)), Some(gone)) = (merged.get_mut(list), change.as_array()) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        path.push(key.clone());
        let order = changes.get(&format!("{ORDER}{key}")).and_then(Value::as_array);
        let value = merge_value(merged.get(key), change, order, path)?;
        path.pop();
        match value {
            Some(value) => merged.insert(key.clone(), value),
            None => merged.shift_remove(key),
        };
    }
    // An order may be given for a list that is otherwise unchanged.
    for (key, order) in changes.iter().filter_map(|(key, order)| Some((key.strip_prefix(ORDER)?, order.as_array()?))) {
        if changes.contains_key(key) {
            continue;
        }
        path.push(key.to_owned());
        if let Some(Value::Array(items)) = merged.get_mut(key) {
            put_in_order(items, order, list_type(path));
        }
        path.pop();
    }
    Ok(merged)
}

fn merge_value(
    before: Option<&Value>,
    change: &Value,
    order: Option<&Vec<Value>>,
    path: &mut Vec<String>,
) -> Result<Option<Value>, Status> {
    match (before, change) {
        (_, Value::Null) => Ok(None),
        (Some(Value::Object(before)), Value::Object(change)) => {
            let deleted = change.get(DIRECTIVE).is_some_and(|directive| directive == "delete");
            let merged = merge_object(before, change, path)?;
            Ok((!deleted).then_some(Value::Object(merged)))
        }
        (None, Value::Object(change)) => Ok(Some(Value::Object(merge_object(&Map::new(), change, path)?))),
        (before, Value::Array(changes)) => {
            let before = before.and_then(Value::as_array).map_or(&[] as &[Value], Vec::as_slice);
            let mut items = merge_list(before, changes, path)?;
            if let Some(order) = order {
                put_in_order(&mut items, order, list_type(path));
            }
            Ok(Some(Value::Array(items)))
        }
        _ => Ok(Some(change.clone())),
    }
}

fn merge_list(before: &[Value], changes: &[Value], path: &mut Vec<String>) -> Result<Vec<Value>, Status> {
    let is_directive = |item: &Value, directive: &str| item.get(DIRECTIVE).is_some_and(|one| one == directive);
    if changes.iter().any(|item| is_directive(item, "replace")) {
        return Ok(changes.iter().filter(|item| !is_directive(item, "replace")).cloned().collect());
    }
    match list_type(path) {
        ListType::Atomic => Ok(changes.to_vec()),
        ListType::Set => {
            let mut items = before.to_vec();
            items.extend(changes.iter().filter(|item| !before.contains(item)).cloned());
            Ok(items)
        }
        ListType::Keyed(key) => {
            let mut items = before.to_vec();
            for change in changes {
                let Some(id) = change.get(key) else {
                    let message = format!("map: {change} does not contain declared merge key: {key}");
                    return Err(Status::new(500, "InternalError", message));
                };
                let place = items.iter().position(|item| item.get(key) == Some(id));
                if is_directive(change, "delete") {
                    items.retain(|item| item.get(key) != Some(id));
                } else if let Some(place) = place {
                    if let Some(merged) = merge_value(Some(&items[place]), change, None, path)? {
                        items[place] = merged;
                    }
                } else if let Some(added) = merge_value(None, change, None, path)? {
                    items.push(added);
                }
            }
            Ok(items)
        }
    }
}

/// Sorts items as the order says; those it does not name keep their place relative to their neighbours.
fn put_in_order(items: &mut [Value], order: &[Value], list_type: ListType) {
    let identity = |item: &Value| match list_type {
        ListType::Keyed(key) => item.get(key).cloned().unwrap_or(Value::Null),
        _ => item.clone(),
    };
    let rank = |item: &Value| {
        let id = identity(item);
        order.iter().position(|one| identity(one) == id)
    };
    let mut named: Vec<Value> = items.iter().filter(|item| rank(item).is_some()).cloned().collect();
    named.sort_by_key(|item| rank(item));
    let mut named = named.into_iter();
    for slot in items.iter_mut() {
        if rank(slot).is_some()
            && let Some(next) = named.next()
        {
            *slot = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn containers_are_told_apart_by_name() {
        let pod = json!({"spec": {"containers": [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b", "image": "1"}]}});
        let patch = json!({"spec": {
            "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
            "containers": [{"name": "a", "image": "2", "env": [{"name": "Y", "value": "2"}, {"name": "X", "$patch": "delete"}]}],
        }});
        let expected = json!({"spec": {"containers": [{"name": "b", "image": "1"}, {"name": "a", "image": "2", "env": [{"name": "Y", "value": "2"}]}]}});
        assert_eq!(apply(&pod, &patch).expect("it applies"), expected);
    }

    #[test]
    fn directives_delete_replace_and_retain() {
        let object = json!({"metadata": {"finalizers": ["a", "b"], "labels": {"x": "1", "y": "2"}}, "spec": {"volumes": [{"name": "v", "emptyDir": {}}], "strategy": {"type": "A", "old": 1}}});
        let patch = json!({
            "metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"], "labels": {"$patch": "replace", "z": "3"}},
            "spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}], "strategy": {"$retainKeys": ["type"], "type": "B"}},
        });
        let expected = json!({"metadata": {"finalizers": ["b", "c"], "labels": {"z": "3"}}, "spec": {"volumes": [{"name": "v", "configMap": {"name": "c"}}], "strategy": {"type": "B"}}});
        assert_eq!(apply(&object, &patch).expect("it applies"), expected);
    }
}
