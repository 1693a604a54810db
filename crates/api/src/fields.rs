//! Which fields are not acted on, and which have a successor. No field is ignored silently.

use serde_json::Value;

/// What is to be said about a field that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldNote {
    /// Where it is, in the form of [`crate::Rule::at`].
    pub field: &'static str,
    /// Why it has no effect, or what to use instead.
    pub note: &'static str,
}

impl std::fmt::Display for FieldNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.note)
    }
}

/// Picks from a table what an object has set.
pub(crate) fn set_in(object: &Value, table: &[(&'static str, &'static str)]) -> Vec<FieldNote> {
    let is_there = |field: &str| present(object, &field.split('.').collect::<Vec<_>>());
    table.iter().filter(|(field, _)| is_there(field)).map(|&(field, note)| FieldNote { field, note }).collect()
}

fn present(value: &Value, path: &[&str]) -> bool {
    match path {
        [] => !value.is_null(),
        ["[]", rest @ ..] => value.as_array().is_some_and(|items| items.iter().any(|item| present(item, rest))),
        ["{}", rest @ ..] => value.as_object().is_some_and(|map| map.values().any(|item| present(item, rest))),
        [property, rest @ ..] => value.get(property).is_some_and(|item| present(item, rest)),
    }
}

#[cfg(test)]
pub(crate) mod coverage {
    //! A table covers a schema if every property is in it, or is below or above one that is.

    use serde_json::Value;

    /// Properties of a schema that no table speaks of.
    pub(crate) fn not_covered(schema: &Value, tables: &[&[&str]]) -> Vec<String> {
        let mut missing = Vec::new();
        walk(schema, "spec", tables, &mut missing);
        missing
    }

    fn walk(schema: &Value, path: &str, tables: &[&[&str]], missing: &mut Vec<String>) {
        let listed = || tables.iter().flat_map(|table| table.iter());
        if listed().any(|field| *field == path) {
            return;
        }
        let children: Vec<(String, &Value)> = if let Some(properties) = schema["properties"].as_object() {
            properties.iter().map(|(name, child)| (format!("{path}.{name}"), child)).collect()
        } else if schema["items"].is_object() {
            vec![(format!("{path}.[]"), &schema["items"])]
        } else if schema["additionalProperties"].is_object() {
            vec![(format!("{path}.{{}}"), &schema["additionalProperties"])]
        } else {
            vec![]
        };
        let inside = format!("{path}.");
        if children.is_empty() || !listed().any(|field| field.starts_with(&inside)) {
            missing.push(path.to_owned());
            return;
        }
        for (path, child) in children {
            walk(child, &path, tables, missing);
        }
    }
}
