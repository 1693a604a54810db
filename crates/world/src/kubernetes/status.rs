//! What a refusal looks like: the `Status` object, with the texts that kube-apiserver uses.

use serde_json::{Value, json};

use super::resource::Resource;

/// A refusal, as the API answers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The HTTP status.
    pub code: u16,
    /// The machine's word for it, such as `NotFound`.
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
    details: Option<Box<Value>>,
    /// With which token a list goes on that can't be consistent any more.
    goes_on: Option<Box<str>>,
    /// After how many seconds the client should try again.
    pub(crate) retry_after: Option<u32>,
}

/// One reason why an object is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) field: String,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Cause {
    fn new(reason: &'static str, field: impl Into<String>, message: String) -> Self {
        Self { field: field.into(), reason, message }
    }

    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        Self::new("FieldValueRequired", field, with_detail("Required value", detail))
    }

    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::new("FieldValueInvalid", field, with_detail(&format!("Invalid value: {}", shown(value)), detail))
    }

    /// An invalid value that is already written as the message shows it, or is not shown.
    pub(crate) fn invalid_shown(field: impl Into<String>, shown: &str, detail: &str) -> Self {
        let what = if shown.is_empty() { "Invalid value".to_owned() } else { format!("Invalid value: {shown}") };
        Self::new("FieldValueInvalid", field, with_detail(&what, detail))
    }

    pub(crate) fn wrong_type(field: impl Into<String>, shown: &str, detail: &str) -> Self {
        Self::new("FieldValueTypeInvalid", field, with_detail(&format!("Invalid value: {shown}"), detail))
    }

    pub(crate) fn not_supported(field: impl Into<String>, value: &Value, supported: &[String]) -> Self {
        let supported: Vec<_> = supported.iter().map(|one| format!("\"{one}\"")).collect();
        let message = format!("Unsupported value: {}: supported values: {}", shown(value), supported.join(", "));
        Self::new("FieldValueNotSupported", field, message)
    }

    pub(crate) fn duplicate(field: impl Into<String>, shown: &str) -> Self {
        Self::new("FieldValueDuplicate", field, format!("Duplicate value: {shown}"))
    }

    pub(crate) fn not_found(field: impl Into<String>, value: &Value) -> Self {
        Self::new("FieldValueNotFound", field, format!("Not found: {}", shown(value)))
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, with_detail("Forbidden", detail))
    }

    pub(crate) fn too_long(field: impl Into<String>, maximum: u64) -> Self {
        let unit = if maximum == 1 { "byte" } else { "bytes" };
        Self::new("FieldValueTooLong", field, format!("Too long: may not be more than {maximum} {unit}"))
    }

    pub(crate) fn too_many(field: impl Into<String>, actual: usize, maximum: u64) -> Self {
        let unit = if maximum == 1 { "item" } else { "items" };
        Self::new("FieldValueTooMany", field, format!("Too many: {actual}: must have at most {maximum} {unit}"))
    }

    pub(crate) fn text(&self) -> String {
        if self.field.is_empty() { self.message.clone() } else { format!("{}: {}", self.field, self.message) }
    }
}

fn with_detail(what: &str, detail: &str) -> String {
    if detail.is_empty() { what.to_owned() } else { format!("{what}: {detail}") }
}

/// A value as Go prints it in a message.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Null => "null".to_owned(),
        other => other.to_string(),
    }
}

const CONTINUE_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

impl Status {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, goes_on: None, retry_after: None }
    }

    fn about(mut self, resource: &Resource, name: &str, kind: &str) -> Self {
        let mut details = json!({});
        if !name.is_empty() {
            details["name"] = name.into();
        }
        if !resource.group.is_empty() {
            details["group"] = resource.group.clone().into();
        }
        details["kind"] = kind.into();
        self.details = Some(Box::new(details));
        self
    }

    fn caused_by<'a>(mut self, causes: impl IntoIterator<Item = &'a Cause>) -> Self {
        let causes: Vec<Value> = causes
            .into_iter()
            .map(|cause| {
                let mut shown = json!({"reason": cause.reason, "message": cause.message});
                if !cause.field.is_empty() {
                    shown["field"] = cause.field.clone().into();
                }
                shown
            })
            .collect();
        self.details.get_or_insert_with(|| Box::new(json!({})))["causes"] = causes.into();
        self
    }

    /// The object is not there.
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", resource.qualified())).about(
            resource,
            name,
            &resource.plural,
        )
    }

    pub(crate) fn no_such_path() -> Self {
        let mut status = Self::new(404, "NotFound", "the server could not find the requested resource");
        status.details = Some(Box::new(json!({})));
        status
    }

    /// An object of that name is there already.
    pub fn already_exists(resource: &Resource, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{} \"{name}\" already exists", resource.qualified())).about(
            resource,
            name,
            &resource.plural,
        )
    }

    /// The object is another one than the caller thinks.
    pub fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::new(409, "Conflict", message).about(resource, name, &resource.plural)
    }

    /// A conflict that names the kind instead of the resource, as preconditions do.
    pub(crate) fn kind_conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified_kind());
        Self::new(409, "Conflict", message).about(resource, name, &resource.kind)
    }

    /// A conflict of a subresource.
    pub(crate) fn subresource_conflict(resource: &Resource, subresource: &str, name: &str, why: &str) -> Self {
        let kind = format!("{}/{subresource}", resource.plural);
        Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {kind} \"{name}\": {why}"))
            .about(resource, name, &kind)
    }

    /// The options of a request contradict each other.
    pub(crate) fn invalid_options(kind: &str, cause: &Cause) -> Self {
        let mut status = Self::new(422, "Invalid", format!("{kind}.meta.k8s.io \"\" is invalid: {}", cause.text()));
        status.details = Some(Box::new(json!({"group": "meta.k8s.io", "kind": kind})));
        status.caused_by([cause])
    }

    /// A replace without a version, of a kind that wants one.
    pub(crate) fn version_missing(resource: &Resource, name: &str) -> Self {
        let cause = Cause::invalid_shown("metadata.resourceVersion", "0", "must be specified for an update");
        Self::new(422, "Invalid", format!("{} \"{name}\" is invalid: {}", resource.qualified(), cause.text()))
            .about(resource, name, &resource.plural)
            .caused_by([&cause])
    }

    pub(crate) fn modified(resource: &Resource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", resource.qualified());
        Self::new(403, "Forbidden", message).about(resource, name, &resource.plural)
    }

    pub(crate) fn namespace_ending(resource: &Resource, name: &str, namespace: &str) -> Self {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let cause =
            Cause::new("NamespaceTerminating", "metadata.namespace", format!("namespace {namespace} is being terminated"));
        Self::forbidden(resource, name, &why).caused_by([&cause])
    }

    pub(crate) fn invalid(resource: &Resource, name: &str, causes: &[Cause]) -> Self {
        // The message names each complaint once, the causes name them all.
        let mut texts: Vec<String> = Vec::new();
        for cause in causes {
            let text = cause.text();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let list = if texts.len() == 1 { texts.remove(0) } else { format!("[{}]", texts.join(", ")) };
        Self::new(422, "Invalid", format!("{} \"{name}\" is invalid: {list}", resource.qualified_kind()))
            .about(resource, name, &resource.kind)
            .caused_by(causes)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let mut status = Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
        status.details = Some(Box::new(json!({})));
        status
    }

    pub(crate) fn unsupported_patch(content_type: &str, allowed: &[&str]) -> Self {
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {}", allowed.join(", "));
        let message = if content_type.contains("apply-patch") {
            format!("{message} (server-side apply is not part of this embedded API; use a merge or JSON patch)")
        } else {
            message
        };
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub(crate) fn unprocessable_patch() -> Self {
        let mut status = Self::new(422, "Invalid", "the server rejected our request due to an error in our request");
        status.details = Some(Box::new(json!({})));
        status
    }

    /// What was asked for is older than the history that is kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// A page was asked for that is older than the history that is kept; with this token the list goes on as it is now.
    pub(crate) fn expired_page(token: String) -> Self {
        Self { goes_on: Some(token.into()), ..Self::expired(CONTINUE_EXPIRED) }
    }

    pub(crate) fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {current}");
        let cause = Cause::new("ResourceVersionTooLarge", "", "Too large resource version".to_owned());
        let mut status = Self::new(504, "Timeout", format!("Timeout: {message}")).caused_by([&cause]);
        if let Some(details) = &mut status.details {
            details["retryAfterSeconds"] = 1.into();
        }
        status.retry_after = Some(1);
        status
    }

    pub(crate) fn disruption_refused(message: &str, cause: &str) -> Self {
        let cause = Cause::new("DisruptionBudget", "", cause.to_owned());
        let mut status = Self::new(429, "TooManyRequests", message).caused_by([&cause]);
        status.retry_after = None;
        status
    }

    /// A refusal that the fault injector makes up.
    pub fn injected(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(code, reason, message)
    }

    /// The object that is sent.
    pub fn object(&self) -> Value {
        let mut object = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.goes_on.as_ref().map_or_else(|| json!({}), |token| json!({"continue": token})),
            "status": "Failure",
            "message": self.message,
        });
        if !self.reason.is_empty() {
            object["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            object["details"] = Value::clone(details);
        }
        object["code"] = self.code.into();
        object
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}: {}", self.code, self.reason, self.message)
    }
}

impl std::error::Error for Status {}
