//! Create, replace and patch: the order in which every write is checked and completed.

use std::sync::Arc;

use serde_json::{Value, json};

use super::object::Metadata;
use super::request::{Body, Call, Options, Verb};
use super::resource::Resource;
use super::state::{Outcome, Reply, State};
use super::status::{Cause, Status};
use super::store::Key;
use super::{custom, fields, kinds, metadata, patch, present};

impl Call {
    /// The server's own wish to create something.
    pub(crate) fn create(resource: &Arc<Resource>, namespace: &str, object: &Value) -> Self {
        Self {
            client: "world".into(),
            verb: Verb::Create,
            resource: Arc::clone(resource),
            namespace: namespace.to_owned(),
            name: String::new(),
            subresource: String::new(),
            options: Options::default(),
            form: present::Form::Object,
            content_type: "application/json".to_owned(),
            body: Body::Read(object.clone()),
        }
    }
}

impl State {
    pub(crate) fn create(&mut self, call: &Call) -> Result<Reply, Status> {
        self.create_as(call, call.object()?)
    }

    fn create_as(&mut self, call: &Call, object: Value) -> Result<Reply, Status> {
        let resource = &call.resource;
        let mut object = decoded(call, object)?;
        if resource.manners.create_only {
            return Ok(Outcome::Other { code: 201, body: kinds::review::answered(resource, object) }.into());
        }
        let warnings = fields::check(resource, &call.options, &mut object)?;
        self.place(call, &mut object)?;
        if resource.namespaced {
            self.check_namespace(call, object.name())?;
        }
        self.complete(resource, &mut object);
        kinds::prepare_create(self, resource, &mut object)?;
        custom::default(resource, &mut object);
        let mut causes = metadata::faults(resource, &object);
        causes.extend(kinds::faults(resource, &object, None));
        causes.extend(custom::faults(resource, &object, None, ""));
        let name = object.name().to_owned();
        refuse(resource, &name, &causes)?;
        let key = Key::new(&resource.storage, &call.namespace, &name);
        if self.store.get(&key).is_some() {
            return Err(Status::already_exists(resource, &name));
        }
        if resource.storage == "customresourcedefinitions" {
            custom::definition::complete(&mut object, self.now);
        }
        let object = if call.options.dry_run() { Arc::new(object) } else { self.commit(key, Some(object)) };
        Ok(Reply { outcome: Outcome::Object { code: 201, resource: Arc::clone(resource), object }, warnings })
    }

    pub(crate) fn update(&mut self, call: &Call) -> Result<Reply, Status> {
        self.update_to(call, call.object()?)
    }

    /// The same for an object that was read already; the call needs no body.
    pub(crate) fn update_to(&mut self, call: &Call, object: Value) -> Result<Reply, Status> {
        let mut object = decoded(call, object)?;
        let warnings = fields::check(&call.resource, &call.options, &mut object)?;
        let named = object.name();
        if named.is_empty() {
            let kind = &call.resource.kind;
            let cause = Cause::required("metadata.name", "name is required");
            return Err(if call.resource.custom.is_some() {
                Status::invalid(&call.resource, "", &[cause])
            } else {
                Status::bad_request(format!(
                    "the name of the object ({kind} in the data) does not match the name on the URL ({})",
                    call.name
                ))
            });
        }
        if named != call.name {
            let message = format!("the name of the object ({named}) does not match the name on the URL ({})", call.name);
            return Err(Status::bad_request(message));
        }
        check_body_namespace(call, &mut object)?;
        let Some(old) = self.store.get(&Self::key(call)).cloned() else {
            if call.resource.manners.create_on_update && call.subresource.is_empty() {
                // What nobody knows is not in it any more.
                return Ok(Reply { warnings, ..self.create_as(call, object)? });
            }
            return Err(Status::not_found(&call.resource, &call.name));
        };
        let version = object.resource_version();
        if (version.is_empty() || version == "0") && !call.resource.manners.unconditional_update {
            return Err(Status::version_missing(&call.resource, &call.name));
        }
        self.replace(call, &old, object, warnings)
    }

    pub(crate) fn patch(&mut self, call: &Call) -> Result<Reply, Status> {
        let kind = patch::kind(&call.resource, &call.content_type)?;
        let old = self.existing(call)?;
        let shown = present::versioned(&call.resource, &old);
        let patched = patch::apply(kind, call.body.bytes(), &shown)?;
        let mut object = decoded(call, patched)?;
        let warnings = fields::check(&call.resource, &call.options, &mut object)?;
        if object.name() != call.name {
            let message =
                format!("the name of the object ({}) does not match the name on the URL ({})", object.name(), call.name);
            return Err(Status::bad_request(message));
        }
        self.replace(call, &old, object, warnings)
    }

    /// Writes `new` in place of `old`.
    pub(crate) fn replace(
        &mut self,
        call: &Call,
        old: &Arc<Value>,
        mut new: Value,
        warnings: Vec<String>,
    ) -> Result<Reply, Status> {
        let resource = &call.resource;
        let name = &call.name;
        if !new.uid().is_empty() && new.uid() != old.uid() {
            let group = if resource.custom.is_some() { format!("{}/", resource.group) } else { String::new() };
            let key = format!("/registry/{group}{}/{}/{name}", resource.plural, call.namespace);
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object meta: {}",
                new.uid(),
                old.uid()
            );
            return Err(Status::conflict(resource, name, &why));
        }
        let version = new.resource_version();
        if !version.is_empty() && version != "0" && version != old.resource_version() {
            return Err(Status::modified(resource, name));
        }
        keep_system_fields(old, &mut new);
        keep_other_half(call, old, &mut new);
        kinds::prepare_update(call, old, &mut new);
        custom::default(resource, &mut new);
        let mut causes = metadata::faults(resource, &new);
        causes.extend(metadata::update_faults(old, &new));
        causes.extend(kinds::faults(resource, &new, Some(old)));
        causes.extend(custom::faults(resource, &new, Some(old), &call.subresource));
        refuse(resource, name, &causes)?;
        raise_generation(call, old, &mut new);
        if resource.storage == "customresourcedefinitions" && call.subresource.is_empty() {
            custom::definition::complete(&mut new, self.now);
        }
        let is_last_finalizer = old.is_deleting()
            && new.finalizers().is_empty()
            && old["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
            && resource.storage != "namespaces";
        let object = if same(old, &new) && !is_last_finalizer {
            Arc::clone(old)
        } else if call.options.dry_run() {
            Arc::new(new)
        } else if is_last_finalizer {
            self.commit(Self::key(call), None);
            Arc::new(new)
        } else {
            self.commit(Self::key(call), Some(new))
        };
        Ok(Reply { outcome: Outcome::Object { code: 200, resource: Arc::clone(resource), object }, warnings })
    }

    /// Name and namespace of a new object.
    fn place(&mut self, call: &Call, object: &mut Value) -> Result<(), Status> {
        check_body_namespace(call, object)?;
        if object.name().is_empty() && !object.text(&["metadata", "generateName"]).is_empty() {
            let prefix: String = object.text(&["metadata", "generateName"]).chars().take(58).collect();
            let name = format!("{prefix}{}", self.ids.suffix());
            object.metadata().insert("name".to_owned(), name.into());
        }
        if !object.resource_version().is_empty() && object.resource_version() != "0" {
            return Err(Status::new(500, "", "resourceVersion should not be set on objects to be created"));
        }
        Ok(())
    }

    fn check_namespace(&self, call: &Call, name: &str) -> Result<(), Status> {
        let namespaces = self.registry.core("namespaces");
        match self.store.get(&Key::new("namespaces", "", &call.namespace)) {
            None => Err(Status::not_found(&namespaces, &call.namespace)),
            Some(namespace) if namespace.is_deleting() => Err(Status::namespace_ending(&call.resource, name, &call.namespace)),
            Some(_) => Ok(()),
        }
    }

    /// What the server itself puts into the metadata of a new object.
    fn complete(&mut self, resource: &Resource, object: &mut Value) {
        let uid = self.ids.uid();
        let now = second(self.now);
        let metadata = object.metadata();
        for key in
            ["resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation", "managedFields"]
        {
            metadata.shift_remove(key);
        }
        metadata.insert("uid".to_owned(), uid.into());
        metadata.insert("creationTimestamp".to_owned(), now.into());
        if resource.manners.generation {
            metadata.insert("generation".to_owned(), 1.into());
        }
        if resource.custom.is_some()
            && resource.has("status")
            && let Some(map) = object.as_object_mut()
        {
            map.shift_remove("status");
        }
    }
}

/// The body as the kind that the path says, in the form that is stored.
fn decoded(call: &Call, mut object: Value) -> Result<Value, Status> {
    let resource = &call.resource;
    if !object.is_object() {
        return Err(Status::bad_request(
            "couldn't get version/kind; json parse error: json: cannot unmarshal non-object into Go value of type struct",
        ));
    }
    let (api_version, kind) = (object.text(&["apiVersion"]).to_owned(), object.text(&["kind"]).to_owned());
    let expected = resource.api_version();
    if !kind.is_empty() && (kind != resource.kind || api_version != expected) {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let why = if api_version == expected {
            format!("converting ({version}.{kind}) to (core.{}): unknown conversion", resource.kind)
        } else {
            format!("no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"embedded\"")
        };
        return Err(Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {}: {why}",
            resource.kind
        )));
    }
    object["apiVersion"] = expected.into();
    object["kind"] = resource.kind.clone().into();
    Ok(if resource.group == "events.k8s.io" { kinds::event::from_events_group(object) } else { object })
}

fn check_body_namespace(call: &Call, object: &mut Value) -> Result<(), Status> {
    if call.resource.namespaced {
        if !object.namespace().is_empty() && object.namespace() != call.namespace {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        object.metadata().insert("namespace".to_owned(), call.namespace.clone().into());
    } else {
        object.metadata().shift_remove("namespace");
    }
    Ok(())
}

/// A time as objects carry it.
pub(crate) fn second(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(crate) fn refuse(resource: &Resource, name: &str, causes: &[Cause]) -> Result<(), Status> {
    if causes.is_empty() { Ok(()) } else { Err(Status::invalid(resource, name, causes)) }
}

/// What no client can change.
fn keep_system_fields(old: &Value, new: &mut Value) {
    let metadata = new.metadata();
    metadata.shift_remove("managedFields");
    metadata.shift_remove("selfLink");
    for key in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "generateName",
    ] {
        match old["metadata"].get(key) {
            Some(value) => metadata.insert(key.to_owned(), value.clone()),
            None => metadata.shift_remove(key),
        };
    }
}

/// A write to the object leaves its status, a write to the status leaves all else.
fn keep_other_half(call: &Call, old: &Value, new: &mut Value) {
    let carry = |new: &mut Value, key: &str| match (old.get(key), new.as_object_mut()) {
        (Some(value), _) => new[key] = value.clone(),
        (None, Some(map)) => drop(map.shift_remove(key)),
        (None, None) => {}
    };
    if call.subresource == "status" {
        let is_carried = |key: &str| key != "status" && (key != "metadata" || call.resource.custom.is_some());
        if let Some(map) = new.as_object_mut() {
            map.retain(|key, _| !is_carried(key) || old.get(key).is_some());
        }
        for key in old.as_object().into_iter().flat_map(|map| map.keys()).filter(|key| is_carried(key)) {
            carry(new, key);
        }
    } else if call.subresource.is_empty() && call.resource.has("status") {
        carry(new, "status");
    }
}

/// A changed spec is a new generation. For custom kinds everything counts but metadata and status.
fn raise_generation(call: &Call, old: &Value, new: &mut Value) {
    if !call.resource.manners.generation {
        return;
    }
    let is_desire = |key: &str| match call.resource.custom {
        Some(_) if call.resource.has("status") => key != "metadata" && key != "status",
        Some(_) => key != "metadata",
        None => key == "spec" || key == "endpoints" || key == "ports",
    };
    let desires = |object: &Value| object.as_object().map_or(0, |map| map.keys().filter(|key| is_desire(key)).count());
    let has_all_of = |one: &Value, other: &Value| {
        one.as_object().into_iter().flatten().filter(|(key, _)| is_desire(key)).all(|(key, value)| other.get(key) == Some(value))
    };
    if desires(old) != desires(new) || !has_all_of(old, new) {
        let generation = old["metadata"]["generation"].as_u64().unwrap_or(0) + 1;
        new.metadata().insert("generation".to_owned(), generation.into());
    }
}

/// Whether nothing changed; neither the order of keys counts, nor metadata that says nothing.
fn same(old: &Value, new: &Value) -> bool {
    let says_something = |value: &Value| !value.is_null() && value != &json!({}) && value != &json!([]);
    let has_all_of = |one: &Value, other: &Value| {
        let fields = one["metadata"].as_object().into_iter().flatten();
        fields.filter(|(_, value)| says_something(value)).all(|(key, value)| other["metadata"].get(key) == Some(value))
    };
    let rest = |object: &Value| object.as_object().map_or(0, |map| map.keys().filter(|key| *key != "metadata").count());
    let fields = old.as_object().into_iter().flatten().filter(|(key, _)| *key != "metadata");
    rest(old) == rest(new)
        && has_all_of(old, new)
        && has_all_of(new, old)
        && fields.into_iter().all(|(key, value)| new.get(key) == Some(value))
}
