//! From an HTTP request to a call: the verb, the object it is about, and the options.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use serde_json::Value;

use super::present::Form;
use super::resource::{Registry, Resource};
use super::status::Status;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

/// A request about objects.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) client: Arc<str>,
    pub(crate) verb: Verb,
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
    pub(crate) options: Options,
    pub(crate) form: Form,
    pub(crate) content_type: String,
    pub(crate) body: Body,
}

/// The query, word by word.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options(BTreeMap<String, String>);

impl Options {
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(key), decoded(value))
        });
        Self(pairs.collect())
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.0.insert(key.to_owned(), value.to_owned());
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub(crate) fn is_true(&self, key: &str) -> bool {
        matches!(self.text(key), "true" | "1")
    }

    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.text(key).parse().ok()
    }

    pub(crate) fn dry_run(&self) -> bool {
        self.text("dryRun") == "All"
    }

    pub(crate) fn resource_version(&self) -> Result<Option<u64>, Status> {
        match self.text("resourceVersion") {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                Status::bad_request(format!(
                    "invalid resource version: resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"
                ))
            }),
        }
    }
}

/// What a request is about.
pub(crate) enum Target {
    /// Objects.
    Objects(Box<Call>),
    /// What the server says about itself: discovery, version, health, schemas.
    Server(Vec<String>),
}

/// Reads a request.
pub(crate) fn parse(registry: &Registry, client: &Arc<str>, request: http::Request<Vec<u8>>) -> Result<Target, Status> {
    let (parts, body) = request.into_parts();
    let segments: Vec<String> = parts.uri.path().split('/').filter(|part| !part.is_empty()).map(decoded).collect();
    let words: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (group, version, rest) = match words.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Ok(Target::Server(segments)),
    };
    let (namespace, plural, name, subresource) = match rest {
        // A namespace's own subresources look like kinds inside of it.
        ["namespaces", name, sub @ ("status" | "finalize")] if group.is_empty() => ("", "namespaces", *name, *sub),
        ["namespaces", namespace, plural] => (*namespace, *plural, "", ""),
        ["namespaces", namespace, plural, name] => (*namespace, *plural, *name, ""),
        ["namespaces", namespace, plural, name, sub] => (*namespace, *plural, *name, *sub),
        [plural] => ("", *plural, "", ""),
        [plural, name] => ("", *plural, *name, ""),
        [plural, name, sub] => ("", *plural, *name, *sub),
        _ => return Err(Status::no_such_path()),
    };
    let resource = registry.find(group, version, plural).ok_or_else(Status::no_such_path)?;
    let is_placed = namespace.is_empty() != resource.namespaced || (namespace.is_empty() && name.is_empty());
    if !is_placed {
        return Err(Status::no_such_path());
    }
    if !subresource.is_empty() && !resource.has(subresource) {
        // Whoever serves custom objects serves every path below one of them, and says that it is not there.
        return Err(if resource.custom.is_some() { Status::not_found(&resource, name) } else { Status::no_such_path() });
    }
    let header =
        |name: http::HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let options = Options::parse(parts.uri.query().unwrap_or_default());
    let verb = match (&parts.method, name.is_empty()) {
        (&Method::GET, _) if options.is_true("watch") => Verb::Watch,
        (&Method::GET, true) => Verb::List,
        (&Method::GET, false) => Verb::Get,
        (&Method::POST, true) => Verb::Create,
        (&Method::POST, false) if matches!(subresource, "binding" | "eviction") => Verb::Create,
        (&Method::PUT, false) => Verb::Update,
        (&Method::PATCH, false) => Verb::Patch,
        (&Method::DELETE, true) => Verb::DeleteCollection,
        (&Method::DELETE, false) if subresource.is_empty() => Verb::Delete,
        _ => return Err(Status::method_not_allowed()),
    };
    let mut call = Call {
        client: Arc::clone(client),
        verb,
        resource,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
        form: Form::from_accept(&header(http::header::ACCEPT), options.text("includeObject")),
        options,
        content_type: header(http::header::CONTENT_TYPE),
        body: Body::Raw(body),
    };
    // A watch of one object by its path is a watch of the collection, by name.
    if verb == Verb::Watch && !call.name.is_empty() {
        let selector = format!("metadata.name={}", call.name);
        call.options.set("fieldSelector", &selector);
        call.name.clear();
    }
    Ok(Target::Objects(Box::new(call)))
}

impl Call {
    /// The body as an object.
    pub(crate) fn object(&self) -> Result<Value, Status> {
        if self.content_type.contains("protobuf") || self.content_type.contains("cbor") {
            return Err(Status::new(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: application/json (this embedded API reads no protobuf; send YAML or JSON, for example with kubectl create -f)",
            ));
        }
        match &self.body {
            Body::Read(object) => Ok(object.clone()),
            Body::Raw(bytes) => serde_json::from_slice(bytes).map_err(|error| {
                let kind = &self.resource.kind;
                Status::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {error}"))
            }),
        }
    }
}

/// What was sent: bytes from outside, or an object from the world's own actors, which needs no reading.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Raw(Vec<u8>),
    Read(Value),
}

impl Default for Body {
    fn default() -> Self {
        Self::Raw(Vec::new())
    }
}

impl Body {
    /// The bytes from outside; the world's own actors send no patches.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Raw(bytes) => bytes,
            Self::Read(_) => &[],
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Raw(bytes) if bytes.is_empty())
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex =
            tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok()).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = tail;
            }
            (other, _) => {
                bytes.push(*other);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
