//! The rules of a CRD (`x-kubernetes-validations`), evaluated where they stand.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use kube_cel::KubeCelExt;
use kube_cel::cel::{Context, Program, Value as Cel};
use serde_json::Value;

use super::cel_values::convert;
use super::schema::counterpart;
use crate::kubernetes::status::Cause;

/// Reading a rule takes longer than evaluating it, and the same few are read with every write.
static PROGRAMS: LazyLock<Mutex<Programs>> = LazyLock::new(Mutex::default);

/// Rules by their text, with what is wrong with those that can't be read.
type Programs = BTreeMap<String, Result<Arc<Program>, String>>;

fn program(source: &str) -> Result<Arc<Program>, String> {
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let compiled = || Program::compile(source).map(Arc::new).map_err(|error| error.to_string());
    programs.entry(source.to_owned()).or_insert_with(compiled).clone()
}

/// Whether a schema has a rule anywhere.
pub(super) fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.contains_key("x-kubernetes-validations") || map.values().any(has_rules),
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

/// The sentences of all rules that refuse.
pub(super) fn faults(schema: &Value, object: &Value, old: Option<&Value>, status_only: bool) -> Vec<Cause> {
    let context = Context::default().with_all();
    let mut walk = Walk { context: &context, causes: vec![] };
    if status_only {
        walk.rules_of(schema, object, old, "");
        let empty = Value::Null;
        if let Some(status) = object.get("status") {
            walk.visit(&schema["properties"]["status"], status, old.map(|old| old.get("status").unwrap_or(&empty)), "status");
        }
    } else {
        walk.visit(schema, object, old, "");
    }
    walk.causes
}

struct Walk<'a> {
    context: &'a Context<'a>,
    causes: Vec<Cause>,
}

impl Walk<'_> {
    fn visit(&mut self, schema: &Value, value: &Value, old: Option<&Value>, path: &str) {
        if !schema.is_object() {
            return;
        }
        self.rules_of(schema, value, old, path);
        match value {
            Value::Object(map) => {
                for (name, child) in map.iter().filter(|(_, child)| !child.is_null()) {
                    let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    let before = old.and_then(|old| old.get(name)).filter(|old| !old.is_null());
                    if let Some(schema) = schema["properties"].get(name) {
                        self.visit(schema, child, before, &below);
                    } else if let Some(schema) = schema.get("additionalProperties") {
                        self.visit(schema, child, before, &format!("{path}[{name}]"));
                    }
                }
            }
            Value::Array(items) => {
                let is_map = schema["x-kubernetes-list-type"] == "map";
                for (index, item) in items.iter().enumerate() {
                    // Items that have no identity have no past either.
                    let before = if is_map { counterpart(schema, item, index, old) } else { None };
                    self.visit(&schema["items"], item, before, &format!("{path}[{index}]"));
                }
            }
            _ => {}
        }
    }

    fn rules_of(&mut self, schema: &Value, value: &Value, old: Option<&Value>, path: &str) {
        let Some(rules) = schema["x-kubernetes-validations"].as_array() else { return };
        let mut context = self.context.new_inner_scope();
        context.add_variable_from_value("self", convert(schema, value));
        if let Some(old) = old {
            context.add_variable_from_value("oldSelf", convert(schema, old));
        }
        for rule in rules {
            if let Some(cause) = refusal(&context, rule, value, old, path) {
                self.causes.push(cause);
            }
        }
    }
}

/// Why a rule refuses, if it does. A rule that can't be evaluated refuses.
fn refusal(context: &Context<'_>, rule: &Value, value: &Value, old: Option<&Value>, path: &str) -> Option<Cause> {
    let source = rule["rule"].as_str().unwrap_or_default();
    let shown = shown(value);
    let program = match program(source) {
        Ok(program) => program,
        Err(error) => return Some(Cause::invalid_shown(path, &shown, &format!("rule compile error: {error}: {source}"))),
    };
    let is_transition = program.references().has_variable("oldSelf");
    // A rule about a change needs one, and any other has nothing to say about what did not change.
    if (is_transition && old.is_none()) || (!is_transition && old == Some(value)) {
        return None;
    }
    let message = || {
        let fixed = rule["message"].as_str().map(|text| text.trim().to_owned());
        rule["messageExpression"]
            .as_str()
            .and_then(|expression| evaluated_message(context, expression))
            .or(fixed)
            .unwrap_or_else(|| format!("failed rule: {}", source.trim()))
    };
    match program.execute(context) {
        Ok(Cel::Bool(true)) => None,
        Ok(Cel::Bool(false)) => Some(cause(rule, path, &shown, &message())),
        Ok(other) => {
            Some(Cause::invalid_shown(path, &shown, &format!("rule evaluated to {other:?}, not to true or false: {source}")))
        }
        Err(error) => Some(Cause::invalid_shown(path, &shown, &format!("{error} evaluating rule: {source}"))),
    }
}

fn evaluated_message(context: &Context<'_>, expression: &str) -> Option<String> {
    match program(expression).ok()?.execute(context).ok()? {
        Cel::String(text) if !text.trim().is_empty() && !text.contains('\n') => Some(text.trim().to_owned()),
        _ => None,
    }
}

fn cause(rule: &Value, path: &str, shown: &str, message: &str) -> Cause {
    let field = rule["fieldPath"].as_str().map_or_else(
        || path.to_owned(),
        |below| if path.is_empty() { below.trim_start_matches('.').to_owned() } else { format!("{path}{below}") },
    );
    match rule["reason"].as_str() {
        Some("FieldValueForbidden") => Cause::forbidden(field, message),
        Some("FieldValueRequired") => Cause::required(field, message),
        Some("FieldValueDuplicate") => Cause::duplicate(field, shown),
        _ => Cause::invalid_shown(field, shown, message),
    }
}

/// A rule's value in its message: composite ones are left out.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => String::new(),
        other => other.to_string(),
    }
}
