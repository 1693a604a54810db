//! Validation against a structural schema, with the messages of kube-apiserver.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::Regex;
use serde_json::Value;

use super::path::Path;
use crate::kubernetes::status::Cause;

/// Reading a pattern takes far longer than using it.
static PATTERNS: LazyLock<Mutex<BTreeMap<String, Option<Regex>>>> = LazyLock::new(Mutex::default);

/// What is wrong with an object. What is unchanged since `old` is not looked at again.
pub(super) fn faults(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = vec![];
    check(schema, object, old, Path::Root, &mut causes);
    causes
}

/// The same of its status alone.
pub(super) fn status_faults(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = vec![];
    if let Some(status) = object.get("status") {
        let before = old.and_then(|old| old.get("status"));
        check(&schema["properties"]["status"], status, before, Path::Root.field("status"), &mut causes);
    }
    for cause in &mut causes {
        cause.message = cause.message.replacen(": status.", ": ", 1);
    }
    causes
}

fn check(schema: &Value, value: &Value, old: Option<&Value>, path: Path<'_>, causes: &mut Vec<Cause>) {
    if !schema.is_object() || old == Some(value) || (value.is_null() && schema["nullable"] == true) {
        return;
    }
    if !has_type(schema, value) {
        let (expected, actual) = (expected_type(schema), type_name(value));
        let detail = format!("{} must be of type {expected}: \"{actual}\"", in_body(path));
        causes.push(Cause::wrong_type(path, &format!("\"{actual}\""), &detail));
        return;
    }
    match value {
        Value::String(text) => check_text(schema, text, path, causes),
        Value::Number(_) => check_number(schema, value, path, causes),
        Value::Array(items) => check_list(schema, items, old, path, causes),
        Value::Object(_) => check_object(schema, value, old, path, causes),
        Value::Bool(_) | Value::Null => {}
    }
    if let Some(choices) = schema["enum"].as_array().filter(|choices| !choices.contains(value)) {
        let choices: Vec<String> =
            choices.iter().map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)).collect();
        causes.push(Cause::not_supported(path, value, &choices));
    }
    check_combinations(schema, value, path, causes);
}

fn in_body(path: Path<'_>) -> String {
    format!("{path} in body")
}

fn check_text(schema: &Value, text: &str, path: Path<'_>, causes: &mut Vec<Cause>) {
    let length = text.chars().count() as u64;
    if let Some(maximum) = schema["maxLength"].as_u64().filter(|maximum| length > *maximum) {
        causes.push(Cause::too_long(path, maximum));
    }
    if let Some(minimum) = schema["minLength"].as_u64().filter(|minimum| length < *minimum) {
        causes.push(invalid(path, &text.into(), &format!("should be at least {minimum} chars long")));
    }
    if let Some(pattern) = schema["pattern"].as_str()
        && !matches(pattern, text)
    {
        causes.push(invalid(path, &text.into(), &format!("should match '{pattern}'")));
    }
    let is_time = |text: &str| text.parse::<jiff::Timestamp>().is_ok();
    if schema["format"] == "date-time" && !is_time(text) {
        causes.push(invalid(path, &text.into(), &format!("must be of type date-time: \"{text}\"")));
    }
}

/// Whether a text is as a pattern says; nothing is as one that can't be read.
fn matches(pattern: &str, text: &str) -> bool {
    let mut patterns = PATTERNS.lock().unwrap_or_else(PoisonError::into_inner);
    let compiled = patterns.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).ok());
    compiled.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

fn check_number(schema: &Value, value: &Value, path: Path<'_>, causes: &mut Vec<Cause>) {
    let number = value.as_f64().unwrap_or(f64::NAN);
    let exclusive = |key: &str| schema[key] == true;
    if let Some(maximum) = schema["maximum"].as_f64()
        && (number > maximum || (exclusive("exclusiveMaximum") && number >= maximum))
    {
        let or = if exclusive("exclusiveMaximum") { "" } else { " or equal to" };
        causes.push(invalid(path, value, &format!("should be less than{or} {maximum}")));
    }
    if let Some(minimum) = schema["minimum"].as_f64()
        && (number < minimum || (exclusive("exclusiveMinimum") && number <= minimum))
    {
        let or = if exclusive("exclusiveMinimum") { "" } else { " or equal to" };
        causes.push(invalid(path, value, &format!("should be greater than{or} {minimum}")));
    }
    let bits = match schema["format"].as_str() {
        Some("int32") => i64::from(i32::MIN)..=i64::from(i32::MAX),
        _ => i64::MIN..=i64::MAX,
    };
    if let Some(whole) = value.as_i64().filter(|whole| !bits.contains(whole)) {
        causes.push(invalid(path, value, &format!("must be of type int32: \"{whole}\"")));
    }
}

fn check_list(schema: &Value, items: &[Value], old: Option<&Value>, path: Path<'_>, causes: &mut Vec<Cause>) {
    let count = items.len() as u64;
    if let Some(maximum) = schema["maxItems"].as_u64().filter(|maximum| count > *maximum) {
        causes.push(Cause::too_many(path, items.len(), maximum));
    }
    if let Some(minimum) = schema["minItems"].as_u64().filter(|minimum| count < *minimum) {
        causes.push(invalid(path, &items.to_vec().into(), &format!("should have at least {minimum} items")));
    }
    for (index, item) in items.iter().enumerate() {
        let before = counterpart(schema, item, index, old);
        check(&schema["items"], item, before, path.item(index), causes);
    }
    check_uniqueness(schema, items, path, causes);
}

/// The item of the old list that an item is to be compared with.
pub(super) fn counterpart<'a>(schema: &Value, item: &Value, index: usize, old: Option<&'a Value>) -> Option<&'a Value> {
    let old = old?.as_array()?;
    match schema["x-kubernetes-list-type"].as_str() {
        // Most lists keep their order.
        Some("map") => old.get(index).into_iter().chain(old).find(|one| has_same_keys(schema, one, item)),
        _ => old.get(index),
    }
}

fn has_same_keys(schema: &Value, one: &Value, other: &Value) -> bool {
    let mut keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten().filter_map(Value::as_str);
    keys.all(|key| one.get(key) == other.get(key))
}

fn keys_of(schema: &Value, item: &Value) -> Value {
    let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten().filter_map(Value::as_str);
    keys.filter_map(|key| item.get(key).map(|value| (key.to_owned(), value.clone()))).collect::<serde_json::Map<_, _>>().into()
}

fn check_uniqueness(schema: &Value, items: &[Value], path: Path<'_>, causes: &mut Vec<Cause>) {
    let identity: fn(&Value, &Value) -> Value = match schema["x-kubernetes-list-type"].as_str() {
        Some("map") => keys_of,
        Some("set") => |_, item| item.clone(),
        _ => return,
    };
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let id = identity(schema, item).to_string();
        if seen.contains(&id) {
            causes.push(Cause::duplicate(path.item(index), &id));
        } else {
            seen.insert(id);
        }
    }
}

fn check_object(schema: &Value, object: &Value, old: Option<&Value>, path: Path<'_>, causes: &mut Vec<Cause>) {
    let Some(map) = object.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !map.contains_key(name) {
            causes.push(Cause::required(path.field(name), ""));
        }
    }
    let count = map.len() as u64;
    if let Some(maximum) = schema["maxProperties"].as_u64().filter(|maximum| count > *maximum) {
        causes.push(Cause::too_many(path, map.len(), maximum));
    }
    if let Some(minimum) = schema["minProperties"].as_u64().filter(|minimum| count < *minimum) {
        causes.push(invalid(path, object, &format!("should have at least {minimum} properties")));
    }
    for (name, value) in map {
        let before = old.and_then(|old| old.get(name));
        if path.is_root() && name == "metadata" {
            continue;
        }
        if let Some(child) = schema["properties"].get(name).or_else(|| schema.get("additionalProperties")) {
            check(child, value, before, path.field(name), causes);
        }
    }
}

fn check_combinations(schema: &Value, value: &Value, path: Path<'_>, causes: &mut Vec<Cause>) {
    let passes = |one: &Value| {
        let mut causes = vec![];
        check(one, value, None, path, &mut causes);
        causes.is_empty()
    };
    let passing = |key: &str| schema[key].as_array().map(|all| all.iter().filter(|one| passes(one)).count());
    let mut complain = |text: String| causes.push(Cause::invalid_shown(path, "", &text));
    if passing("anyOf") == Some(0) {
        complain(format!("\"{path}\" must validate at least one schema (anyOf)"));
    }
    match passing("oneOf") {
        Some(0) => complain(format!("\"{path}\" must validate one and only one schema (oneOf). Found none valid")),
        Some(many) if many > 1 => {
            complain(format!("\"{path}\" must validate one and only one schema (oneOf). Found {many} valid alternatives"));
        }
        _ => {}
    }
    if schema.get("not").is_some_and(passes) {
        complain(format!("\"{path}\" must not validate the schema (not)"));
    }
    for one in schema["allOf"].as_array().into_iter().flatten() {
        check(one, value, None, path, causes);
    }
}

fn invalid(path: Path<'_>, value: &Value, what: &str) -> Cause {
    Cause::invalid(path, value, &format!("{} {what}", in_body(path)))
}

fn has_type(schema: &Value, value: &Value) -> bool {
    if schema["x-kubernetes-int-or-string"] == true {
        return value.is_string() || value.is_i64() || value.is_u64();
    }
    match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("number") => value.is_number(),
        _ => !value.is_null() || schema["x-kubernetes-preserve-unknown-fields"] == true,
    }
}

fn expected_type(schema: &Value) -> String {
    if schema["x-kubernetes-int-or-string"] == true {
        "integer,string".to_owned()
    } else {
        schema["type"].as_str().unwrap_or_default().to_owned()
    }
}

pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
