//! Custom resources: what their CRD's schema says about them.

mod cel;
mod cel_values;
mod defaults;
pub(crate) mod definition;
mod path;
mod prune;
mod schema;

use serde_json::Value;

pub(crate) use defaults::leading_to_defaults;
pub(crate) use prune::KnownFields;

use super::resource::{Custom, Resource};
use super::status::Cause;

/// Whether a schema has rules that a write to the status alone can break.
pub(crate) fn status_has_rules(schema: &Value) -> bool {
    schema.get("x-kubernetes-validations").is_some() || cel::has_rules(&schema["properties"]["status"])
}

/// Fills in the schema's defaults.
pub(crate) fn default(resource: &Resource, object: &mut Value) {
    if let Some(custom) = &resource.custom {
        defaults::apply(&custom.defaults, object);
    }
}

/// What is wrong with a custom object. What was wrong before and is unchanged is not held against an update.
pub(crate) fn faults(resource: &Resource, object: &Value, old: Option<&Value>, subresource: &str) -> Vec<Cause> {
    let Some(custom) = &resource.custom else { return vec![] };
    // A write of one half does not answer for the other.
    let is_status = subresource == "status";
    let mut causes =
        if is_status { schema::status_faults(&custom.schema, object, old) } else { whole_faults(custom, object, old) };
    let blocking = ["FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"];
    if !causes.iter().any(|cause| blocking.contains(&cause.reason)) {
        if !is_status || custom.status_has_rules {
            causes.extend(cel::faults(&custom.schema, object, old, is_status));
        }
    } else if cel::has_rules(&custom.schema) {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        causes.push(Cause::invalid_shown("<nil>", "null", detail));
    }
    causes
}

fn whole_faults(custom: &Custom, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = schema::faults(&custom.schema, object, old);
    causes.extend(scale_fault(custom, object));
    causes
}

/// What the scale subresource counts must be a count.
fn scale_fault(custom: &Custom, object: &Value) -> Option<Cause> {
    let path = custom.scale.as_ref()?["specReplicasPath"].as_str()?;
    let value = path.split('.').filter(|part| !part.is_empty()).fold(object, |value, key| &value[key]);
    match value {
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
            Some(Cause::invalid(path, value, "should be a non-negative integer"))
        }
        Value::Null | Value::Number(_) => None,
        other => {
            let shown = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            Some(Cause::invalid_shown(
                path,
                "0",
                &format!("{path} accessor error: {shown} is of the type {}, expected int64", schema::type_name(other)),
            ))
        }
    }
}
