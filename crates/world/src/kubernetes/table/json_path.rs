//! The JSONPath of printer columns: names, indices, wildcards and filters by one comparison.

use serde_json::Value;

/// All values at a path such as `.status.conditions[?(@.type=='Ready')].status`.
pub(super) fn find<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![object];
    let mut rest = path.trim().trim_start_matches('$');
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let Some(end) = closing(after) else { return vec![] };
            let (inside, after) = after.split_at(end);
            found = found.into_iter().flat_map(|value| bracket(value, inside)).collect();
            rest = &after[1..];
        } else {
            let after = rest.strip_prefix('.').unwrap_or(rest);
            let end = name_end(after);
            let (name, after) = after.split_at(end);
            let name = name.replace("\\.", ".");
            found = found.into_iter().flat_map(|value| child(value, &name)).collect();
            rest = after;
        }
    }
    found
}

fn name_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            '\\' => escaped = true,
            '.' | '[' if !escaped => return at,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Where the bracket closes; quoted text may contain brackets.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn child<'a>(value: &'a Value, name: &str) -> Vec<&'a Value> {
    match value {
        Value::Object(map) if name == "*" => map.values().collect(),
        Value::Array(items) if name == "*" => items.iter().collect(),
        _ if name.is_empty() => vec![value],
        _ => value.get(name).into_iter().collect(),
    }
}

fn bracket<'a>(value: &'a Value, inside: &str) -> Vec<&'a Value> {
    let inside = inside.trim();
    if let Some(filter) = inside.strip_prefix("?(").and_then(|text| text.strip_suffix(')')) {
        return value.as_array().into_iter().flatten().filter(|item| passes(item, filter)).collect();
    }
    if let Some(name) = unquoted(inside) {
        return value.get(name).into_iter().collect();
    }
    match (inside.parse::<i64>(), value.as_array()) {
        (Ok(index), Some(items)) => {
            let place = if index < 0 { index + i64::try_from(items.len()).unwrap_or(0) } else { index };
            usize::try_from(place).ok().and_then(|place| items.get(place)).into_iter().collect()
        }
        _ => child(value, inside),
    }
}

fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

fn passes(item: &Value, filter: &str) -> bool {
    let Some((operator, left, right)) =
        ["==", "!="].iter().find_map(|operator| filter.split_once(operator).map(|(left, right)| (*operator, left, right)))
    else {
        return !find(item, filter.trim().trim_start_matches('@')).is_empty();
    };
    let right = right.trim();
    let expected = unquoted(right).map_or_else(|| serde_json::from_str(right).unwrap_or(Value::Null), Into::into);
    let actual = find(item, left.trim().trim_start_matches('@'));
    actual.first().is_some_and(|actual| (**actual == expected) == (operator == "=="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_are_found() {
        let object = json!({"spec": {"image": "i", "a.b": 1}, "status": {"conditions": [{"type": "A", "status": "x"}, {"type": "Ready", "status": "True"}]}});
        let one = |path: &str| find(&object, path).first().map(|value| (*value).clone());
        assert_eq!(one(".spec.image"), Some(json!("i")));
        assert_eq!(one(".spec.a\\.b"), Some(json!(1)));
        assert_eq!(one(".spec['a.b']"), Some(json!(1)));
        assert_eq!(one(".status.conditions[?(@.type=='Ready')].status"), Some(json!("True")));
        assert_eq!(one(".status.conditions[?(@.type==\"None\")].status"), None);
        assert_eq!(one(".status.conditions[-1].type"), Some(json!("Ready")));
        assert_eq!(find(&object, ".status.conditions[*].type").len(), 2);
        assert_eq!(one(".nothing.here"), None);
    }
}
