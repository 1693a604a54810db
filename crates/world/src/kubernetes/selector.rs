//! Label and field selectors.

use serde_json::Value;

use super::object::Metadata;
use super::resource::Resource;
use super::status::Status;

/// Which objects a list or watch is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<(String, String, bool)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

impl Selector {
    pub(crate) fn parse(resource: &Resource, labels: &str, fields: &str) -> Result<Self, Status> {
        let labels = split_outside_parentheses(labels).map(requirement).collect::<Result<_, _>>()?;
        let fields = fields.split(',').filter(|part| !part.is_empty()).map(field).collect::<Result<Vec<_>, _>>()?;
        for (path, _, _) in &fields {
            if !selectable(resource).contains(&path.as_str()) {
                let is_plain = selectable(resource).iter().all(|field| field.starts_with("metadata."));
                let message = if is_plain && resource.custom.is_none() {
                    format!("\"{path}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
                } else {
                    format!("field label not supported: {path}")
                };
                return Err(Status::bad_request(message));
            }
        }
        Ok(Self { labels, fields })
    }

    /// From a `LabelSelector` object; one that is empty selects everything.
    pub(crate) fn from_label_selector(selector: &Value) -> Self {
        let texts =
            |values: &Value| values.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let equal = selector["matchLabels"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, value)| Requirement::In(key.clone(), vec![value.as_str().unwrap_or_default().to_owned()]));
        let expressions = selector["matchExpressions"].as_array().into_iter().flatten().map(|expression| {
            let key = expression.text(&["key"]).to_owned();
            match expression.text(&["operator"]) {
                "In" => Requirement::In(key, texts(&expression["values"])),
                "NotIn" => Requirement::NotIn(key, texts(&expression["values"])),
                "Exists" => Requirement::Exists(key),
                _ => Requirement::Absent(key),
            }
        });
        Self { labels: equal.chain(expressions).collect(), fields: vec![] }
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.labels.iter().all(|requirement| requirement.matches(labels))
            && self.fields.iter().all(|(path, value, equal)| (field_value(object, path) == *value) == *equal)
    }
}

impl Requirement {
    fn matches(&self, labels: &Value) -> bool {
        let value = |key: &str| labels.get(key).and_then(Value::as_str);
        match self {
            Self::In(key, values) => value(key).is_some_and(|value| values.iter().any(|one| one == value)),
            Self::NotIn(key, values) => value(key).is_none_or(|value| values.iter().all(|one| one != value)),
            Self::Exists(key) => value(key).is_some(),
            Self::Absent(key) => value(key).is_none(),
        }
    }
}

/// The fields that a kind can be selected by.
fn selectable(resource: &Resource) -> &'static [&'static str] {
    match resource.storage.as_str() {
        "pods" => &[
            "metadata.name",
            "metadata.namespace",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        "events" => &[
            "metadata.name",
            "metadata.namespace",
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingComponent",
            "reportingController",
            "source",
            "type",
        ],
        "nodes" => &["metadata.name", "spec.unschedulable"],
        "namespaces" => &["metadata.name", "status.phase"],
        "secrets" => &["metadata.name", "metadata.namespace", "type"],
        "services" => &["metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"],
        _ if resource.namespaced => &["metadata.name", "metadata.namespace"],
        _ => &["metadata.name"],
    }
}

/// A field's value as a selector sees it: what is not set is empty, or `false`.
fn field_value(object: &Value, path: &str) -> String {
    let stored = match path {
        "reportingComponent" | "reportingController" => return object.text(&["reportingComponent"]).to_owned(),
        "source" => {
            let component = object.text(&["source", "component"]);
            return if component.is_empty() { object.text(&["reportingComponent"]) } else { component }.to_owned();
        }
        other => other.replace("regarding.", "involvedObject."),
    };
    match stored.split('.').fold(object, |value, key| &value[key]) {
        Value::String(text) => text.clone(),
        Value::Null if path == "spec.unschedulable" || path == "spec.hostNetwork" => "false".to_owned(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn split_outside_parentheses(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    text.split(move |character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
}

fn requirement(text: &str) -> Result<Requirement, Status> {
    if let Some((head, values)) = text.split_once('(') {
        let values = values.trim_end_matches(')').split(',').map(|value| value.trim().to_owned()).collect();
        let mut words = head.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(key), Some("in"), None) => Ok(Requirement::In(key.to_owned(), values)),
            (Some(key), Some("notin"), None) => Ok(Requirement::NotIn(key.to_owned(), values)),
            _ => Err(unparsable(text)),
        };
    }
    if let Some((key, value)) = text.split_once("!=") {
        return Ok(Requirement::NotIn(key.trim().to_owned(), vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = text.split_once('=') {
        let value = value.strip_prefix('=').unwrap_or(value).trim();
        return Ok(Requirement::In(key.trim().to_owned(), vec![value.to_owned()]));
    }
    match text.strip_prefix('!') {
        Some(key) => Ok(Requirement::Absent(key.trim().to_owned())),
        None if text.contains(char::is_whitespace) => Err(unparsable(text)),
        None => Ok(Requirement::Exists(text.to_owned())),
    }
}

fn unparsable(text: &str) -> Status {
    let found = text.split_whitespace().nth(1).unwrap_or_default();
    Status::bad_request(format!("unable to parse requirement: found '{found}', expected: in, notin, =, ==, !=, gt, lt"))
}

fn field(text: &str) -> Result<(String, String, bool), Status> {
    let (path, value, equal) = if let Some((path, value)) = text.split_once("!=") {
        (path, value, false)
    } else if let Some((path, value)) = text.split_once('=') {
        (path, value.strip_prefix('=').unwrap_or(value), true)
    } else {
        return Err(Status::bad_request(format!("invalid selector: '{text}'; can't understand '{text}'")));
    };
    Ok((path.to_owned(), value.to_owned(), equal))
}
