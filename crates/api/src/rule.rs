//! A validation rule: where it stands, what it demands, and what it says when it is broken.
//!
//! Rules are values, not attributes on the types, so that the CRD, the tests and the table in the docs are made from the same list.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::duration::DURATION_PATTERN;

/// One CEL rule of a CRD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// A short name, for tests and docs.
    pub name: &'static str,
    /// The part of the object it looks at: property names, `{}` for every value of a map, `[]` for every item of a list.
    pub at: Cow<'static, str>,
    /// What must hold there, in CEL.
    pub holds: Cow<'static, str>,
    /// What is wrong, where, and what would be right.
    pub message: Cow<'static, str>,
    /// The same with the values that were found, as a CEL expression.
    pub message_with_values: Option<Cow<'static, str>>,
    /// The field to name, below `at`.
    pub field: Option<&'static str>,
}

impl Rule {
    pub(crate) fn new(
        name: &'static str,
        at: impl Into<Cow<'static, str>>,
        holds: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { name, at: at.into(), holds: holds.into(), message: message.into(), message_with_values: None, field: None }
    }

    /// The message with `%d` and `%s` in it, and the expressions whose values take their places.
    ///
    /// Not a sum of strings: the API server reckons with the worst length of each, and refuses the CRD for its cost.
    pub(crate) fn with_values(mut self, text: impl AsRef<str>, values: &[&str]) -> Self {
        let text = text.as_ref().replace('\\', r"\\").replace('\'', r"\'");
        self.message_with_values = Some(format!("'{text}'.format([{}])", values.join(", ")).into());
        self
    }

    pub(crate) fn naming(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    /// Puts the rule into the schema of a CRD version.
    pub(crate) fn insert_into(&self, schema: &mut Value) {
        let place = self.at.split('.').filter(|step| !step.is_empty()).fold(schema, |node, step| match step {
            "[]" => &mut node["items"],
            "{}" => &mut node["additionalProperties"],
            property => &mut node["properties"][property],
        });
        let place = place
            .as_object_mut()
            .unwrap_or_else(|| panic!("rule {} stands at {}, which is not in the schema", self.name, self.at));
        let rules = place.entry("x-kubernetes-validations").or_insert_with(|| json!([]));
        rules.as_array_mut().expect("validations are a list").push(self.as_validation());
    }

    fn as_validation(&self) -> Value {
        let mut validation = Map::new();
        validation.insert("rule".to_owned(), json!(self.holds));
        validation.insert("message".to_owned(), json!(self.message));
        if let Some(expression) = &self.message_with_values {
            validation.insert("messageExpression".to_owned(), json!(expression));
        }
        if let Some(field) = self.field {
            validation.insert("fieldPath".to_owned(), json!(field));
        }
        Value::Object(validation)
    }
}

/// A field must be a duration.
pub(crate) fn duration(name: &'static str, at: impl Into<Cow<'static, str>>) -> Rule {
    let at = at.into();
    let pattern = DURATION_PATTERN.replace('\\', r"\\");
    let message = format!("{at} must be a duration such as 90s, 5m or 1h30m");
    let with_values = format!("{at} is \"%s\", which is no duration; write it as 90s, 5m or 1h30m");
    Rule::new(name, at, format!("self.matches('{pattern}')"), message).with_values(with_values, &["self"])
}
