//! JSON patch (RFC 6902).

use serde_json::Value;

use crate::kubernetes::status::Status;

pub(super) fn apply(object: &Value, patch: &Value) -> Result<Value, Status> {
    let operations = patch.as_array().ok_or_else(|| {
        Status::bad_request("error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp")
    })?;
    let mut patched = object.clone();
    for operation in operations {
        // A patch is taken whole or not at all; the server does not say which step failed.
        step(&mut patched, operation).ok_or_else(Status::unprocessable_patch)?;
    }
    Ok(patched)
}

fn step(object: &mut Value, operation: &Value) -> Option<()> {
    let path = pointer(operation.get("path")?.as_str()?)?;
    match operation.get("op")?.as_str()? {
        "add" => add(object, &path, operation.get("value")?.clone()),
        "remove" => remove(object, &path).map(drop),
        "replace" => {
            *find(object, &path)? = operation.get("value")?.clone();
            Some(())
        }
        "move" => {
            let value = remove(object, &pointer(operation.get("from")?.as_str()?)?)?;
            add(object, &path, value)
        }
        "copy" => {
            let value = find(object, &pointer(operation.get("from")?.as_str()?)?)?.clone();
            add(object, &path, value)
        }
        "test" => {
            let expected = operation.get("value").unwrap_or(&Value::Null);
            // What is not there equals null.
            (find(object, &path).map_or(&Value::Null, |value| value) == expected).then_some(())
        }
        _ => None,
    }
}

fn pointer(text: &str) -> Option<Vec<String>> {
    if text.is_empty() {
        return Some(vec![]);
    }
    Some(text.strip_prefix('/')?.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

fn find<'a>(value: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, token| match value {
        Value::Object(map) => map.get_mut(token),
        Value::Array(items) => items.get_mut(token.parse::<usize>().ok()?),
        _ => None,
    })
}

fn add(object: &mut Value, path: &[String], value: Value) -> Option<()> {
    let Some((last, parents)) = path.split_last() else {
        *object = value;
        return Some(());
    };
    match find(object, parents)? {
        Value::Object(map) => {
            map.insert(last.clone(), value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let index = last.parse().ok().filter(|index| *index <= items.len())?;
            items.insert(index, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(object: &mut Value, path: &[String]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    match find(object, parents)? {
        Value::Object(map) => map.shift_remove(last),
        Value::Array(items) => {
            let index = last.parse().ok().filter(|index| *index < items.len())?;
            Some(items.remove(index))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_operation_does_its_work() {
        let object = json!({"a": [1, 2], "b": {"c/d": 1}});
        let patch = json!([
            {"op": "test", "path": "/a/0", "value": 1},
            {"op": "add", "path": "/a/1", "value": 9},
            {"op": "add", "path": "/a/-", "value": 3},
            {"op": "replace", "path": "/b/c~1d", "value": 2},
            {"op": "copy", "from": "/b", "path": "/e"},
            {"op": "move", "from": "/a/0", "path": "/f"},
            {"op": "remove", "path": "/b"},
        ]);
        assert_eq!(apply(&object, &patch).expect("it applies"), json!({"a": [9, 2, 3], "e": {"c/d": 2}, "f": 1}));
    }

    #[test]
    fn a_failed_test_refuses_the_whole_patch() {
        let patch = json!([{"op": "add", "path": "/b", "value": 1}, {"op": "test", "path": "/a", "value": 2}]);
        assert_eq!(apply(&json!({"a": 1}), &patch).expect_err("it is refused").code, 422);
        let missing = json!([{"op": "test", "path": "/nowhere/else", "value": "x"}]);
        assert_eq!(apply(&json!({"a": 1}), &missing).expect_err("it is refused").code, 422);
    }
}
