//! The rules about names, labels, annotations, owners and finalizers, which hold for every kind.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::object::Metadata;
use super::resource::Resource;
use super::status::Cause;

static LABEL: LazyLock<Regex> = LazyLock::new(|| pattern("[a-z0-9]([-a-z0-9]*[a-z0-9])?"));
static SUBDOMAIN: LazyLock<Regex> = LazyLock::new(|| pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"));
static SERVICE: LazyLock<Regex> = LazyLock::new(|| pattern("[a-z]([-a-z0-9]*[a-z0-9])?"));
static QUALIFIED: LazyLock<Regex> = LazyLock::new(|| pattern("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"));

fn pattern(text: &str) -> Regex {
    Regex::new(&format!("^(?:{text})$")).unwrap_or_else(|error| unreachable!("{text} is a pattern: {error}"))
}

const SUBDOMAIN_MESSAGE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_MESSAGE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SERVICE_MESSAGE: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED_MESSAGE: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE_MESSAGE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// What is wrong with a name as a DNS subdomain.
pub(crate) fn subdomain_fault(name: &str) -> Option<String> {
    if name.len() > 253 {
        return Some("must be no more than 253 bytes".to_owned());
    }
    (!SUBDOMAIN.is_match(name)).then(|| SUBDOMAIN_MESSAGE.to_owned())
}

/// What is wrong with a name as a DNS label.
pub(crate) fn label_fault(name: &str) -> Option<String> {
    if name.len() > 63 {
        return Some("must be no more than 63 bytes".to_owned());
    }
    (!LABEL.is_match(name)).then(|| LABEL_MESSAGE.to_owned())
}

fn name_fault(resource: &Resource, name: &str) -> Option<String> {
    match resource.storage.as_str() {
        "services" if name.len() > 63 => Some("must be no more than 63 bytes".to_owned()),
        "services" => (!SERVICE.is_match(name)).then(|| SERVICE_MESSAGE.to_owned()),
        "namespaces" => label_fault(name),
        "events" => None,
        _ => subdomain_fault(name),
    }
}

fn qualified_name_fault(name: &str) -> Option<String> {
    let (prefix, rest) = match name.split_once('/') {
        Some((prefix, rest)) => (Some(prefix), rest),
        None => (None, name),
    };
    if let Some(fault) =
        prefix.and_then(|prefix| if prefix.is_empty() { Some("must be non-empty".to_owned()) } else { subdomain_fault(prefix) })
    {
        return Some(format!("prefix part {fault}"));
    }
    if rest.is_empty() {
        return Some("name part must be non-empty".to_owned());
    }
    if rest.len() > 63 {
        return Some("name part must be no more than 63 bytes".to_owned());
    }
    (!QUALIFIED.is_match(rest)).then(|| QUALIFIED_MESSAGE.to_owned())
}

/// What is wrong with labels, wherever they stand.
pub(crate) fn label_faults(labels: &Value, field: &str) -> Vec<Cause> {
    let mut causes = vec![];
    for (key, value) in labels.as_object().into_iter().flatten() {
        if let Some(fault) = qualified_name_fault(key) {
            causes.push(Cause::invalid(field, &json!(key), &fault));
        }
        let text = value.as_str().unwrap_or_default();
        if text.len() > 63 {
            causes.push(Cause::invalid(field, value, "must be no more than 63 bytes"));
        } else if !text.is_empty() && !QUALIFIED.is_match(text) {
            causes.push(Cause::invalid(field, value, LABEL_VALUE_MESSAGE));
        }
    }
    causes
}

/// What is wrong with an object's metadata.
pub(crate) fn faults(resource: &Resource, object: &Value) -> Vec<Cause> {
    let metadata = &object["metadata"];
    let mut causes = vec![];
    let name = object.name();
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else if let Some(fault) = name_fault(resource, name) {
        causes.push(Cause::invalid("metadata.name", &metadata["name"], &fault));
    }
    causes.extend(label_faults(&metadata["labels"], "metadata.labels"));
    causes.extend(annotation_faults(&metadata["annotations"]));
    for (index, finalizer) in metadata["finalizers"].as_array().into_iter().flatten().enumerate() {
        let text = finalizer.as_str().unwrap_or_default();
        if let Some(fault) = qualified_name_fault(text) {
            causes.push(Cause::invalid(format!("metadata.finalizers[{index}]"), finalizer, &fault));
        }
    }
    causes.extend(owner_faults(&metadata["ownerReferences"]));
    causes
}

fn annotation_faults(annotations: &Value) -> Vec<Cause> {
    let mut causes = vec![];
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        if let Some(fault) = qualified_name_fault(&key.to_lowercase()) {
            causes.push(Cause::invalid("metadata.annotations", &json!(key), &fault));
        }
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > 256 * 1024 {
        causes.push(Cause::too_long("metadata.annotations", 256 * 1024));
    }
    causes
}

fn owner_faults(owners: &Value) -> Vec<Cause> {
    let mut causes = vec![];
    let mut controllers = vec![];
    for (index, owner) in owners.as_array().into_iter().flatten().enumerate() {
        let field = format!("metadata.ownerReferences[{index}]");
        for key in ["apiVersion", "kind", "name", "uid"] {
            if owner.text(&[key]).is_empty() {
                let shown = owner.get(key).cloned().unwrap_or_else(|| json!(""));
                let detail =
                    if key == "apiVersion" { "version must not be empty".to_owned() } else { format!("{key} must not be empty") };
                causes.push(Cause::invalid(format!("{field}.{key}"), &shown, &detail));
            }
        }
        if owner["controller"] == true {
            controllers.push(owner.text(&["name"]));
        }
    }
    if controllers.len() > 1 {
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            controllers[0], controllers[1]
        );
        causes.push(Cause::invalid_shown("metadata.ownerReferences", &owners.to_string(), &detail));
    }
    causes
}

/// What is wrong with a change of metadata.
pub(crate) fn update_faults(old: &Value, new: &Value) -> Vec<Cause> {
    if !old.is_deleting() {
        return vec![];
    }
    let before = old.finalizers();
    let added: Vec<String> =
        new.finalizers().into_iter().filter(|one| !before.contains(one)).map(|one| format!("\"{one}\"")).collect();
    if added.is_empty() {
        return vec![];
    }
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        added.join(", ")
    );
    vec![Cause::forbidden("metadata.finalizers", &detail)]
}
