//! Objects without HTTP, for the world's own actors: scheduler, kubelet, models. The rules are the same; nothing is counted and
//! nothing goes wrong on purpose.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Kubernetes;
use super::object::Metadata;
use super::present::{self, Form};
use super::request::{Body, Call, Options, Verb};
use super::resource::Resource;
use super::state::{Outcome, Reply, State};
use super::status::Status;

/// A type that is an object of the API.
pub trait Object: kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned {}

impl<T: kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned> Object for T {}

impl Kubernetes {
    /// One object.
    pub fn get<K: Object>(&self, namespace: &str, name: &str) -> Result<K, Status> {
        self.typed::<K>(Verb::Get, namespace, name, "", None)
    }

    /// All objects of a kind, of one namespace or, if it is empty, of all.
    pub fn list<K: Object>(&self, namespace: &str) -> Result<Vec<K>, Status> {
        let objects = self.with_state(|state| {
            let resource = resource_of::<K>(state)?;
            Ok(state
                .store
                .list(&resource.storage, namespace)
                .map(|(_, object)| present::versioned(&resource, object))
                .collect::<Vec<_>>())
        })?;
        objects.into_iter().map(read).collect()
    }

    /// Creates an object in the namespace its metadata says.
    pub fn create<K: Object>(&self, object: &K) -> Result<K, Status> {
        let object = written(object)?;
        let namespace = object.namespace().to_owned();
        self.typed::<K>(Verb::Create, &namespace, "", "", Some(object))
    }

    /// Replaces an object; its resourceVersion must be current if it is set.
    pub fn update<K: Object>(&self, object: &K) -> Result<(), Status> {
        self.replace(object, "")
    }

    /// Replaces the status of an object.
    pub fn update_status<K: Object>(&self, object: &K) -> Result<(), Status> {
        self.replace(object, "status")
    }

    fn replace<K: Object>(&self, object: &K, subresource: &str) -> Result<(), Status> {
        let object = written(object)?;
        let (namespace, name) = (object.namespace().to_owned(), object.name().to_owned());
        self.with_state(|state| {
            let resource = resource_of::<K>(state)?;
            state.update_to(&own_call(resource, Verb::Update, &namespace, &name, subresource, None), object).map(drop)
        })
    }

    /// Deletes an object; with a grace of 0 a pod goes at once.
    pub fn delete<K: Object>(&self, namespace: &str, name: &str, grace: Option<u32>) -> Result<(), Status> {
        self.with_state(|state| {
            let resource = resource_of::<K>(state)?;
            let mut call = own_call(resource, Verb::Delete, namespace, name, "", None);
            if let Some(grace) = grace {
                call.options.set("gracePeriodSeconds", &grace.to_string());
            }
            state.execute(&call, None).map(drop)
        })
    }

    /// Puts a pod on a node, as a scheduler does.
    pub fn bind(&self, namespace: &str, pod: &str, node: &str) -> Result<(), Status> {
        let binding = serde_json::json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": {"kind": "Node", "name": node}});
        self.with_state(|state| {
            let resource = state.registry.core("pods");
            state.execute(&own_call(resource, Verb::Create, namespace, pod, "binding", Some(binding)), None).map(drop)
        })
    }

    /// Creates any object, given as JSON with its `apiVersion` and `kind`.
    pub fn create_value(&self, object: Value) -> Result<Value, Status> {
        let namespace = object.namespace().to_owned();
        self.untyped(Verb::Create, &namespace, "", "", object)
    }

    /// Replaces any object, given as JSON with its `apiVersion` and `kind`.
    pub fn update_value(&self, object: Value) -> Result<Value, Status> {
        let (namespace, name) = (object.namespace().to_owned(), object.name().to_owned());
        self.untyped(Verb::Update, &namespace, &name, "", object)
    }

    /// Replaces the status of any object, given as JSON with its `apiVersion` and `kind`.
    pub fn update_status_value(&self, object: Value) -> Result<Value, Status> {
        let (namespace, name) = (object.namespace().to_owned(), object.name().to_owned());
        self.untyped(Verb::Update, &namespace, &name, "status", object)
    }

    /// Any object, as JSON.
    pub fn get_value(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Value, Status> {
        self.untyped(Verb::Get, namespace, name, "", serde_json::json!({"apiVersion": api_version, "kind": kind}))
    }

    /// All objects of any kind, as JSON.
    pub fn list_values(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, Status> {
        self.with_state(|state| {
            let resource = state.registry.of_kind(api_version, kind).ok_or_else(Status::no_such_path)?;
            Ok(state.store.list(&resource.storage, namespace).map(|(_, object)| present::versioned(&resource, object)).collect())
        })
    }

    fn untyped(&self, verb: Verb, namespace: &str, name: &str, subresource: &str, object: Value) -> Result<Value, Status> {
        self.with_state(|state| {
            let found = state.registry.of_kind(object.text(&["apiVersion"]), object.text(&["kind"]));
            let resource = found.ok_or_else(Status::no_such_path)?;
            let call = own_call(resource, verb, namespace, name, subresource, Some(object));
            state.execute(&call, None).map(shown)
        })
    }

    fn typed<K: Object>(
        &self,
        verb: Verb,
        namespace: &str,
        name: &str,
        subresource: &str,
        object: Option<Value>,
    ) -> Result<K, Status> {
        let shown = self.with_state(|state| {
            let resource = resource_of::<K>(state)?;
            state.execute(&own_call(resource, verb, namespace, name, subresource, object), None).map(shown)
        })?;
        read(shown)
    }
}

fn resource_of<K: Object>(state: &State) -> Result<Arc<Resource>, Status> {
    state.registry.find(&K::group(&()), &K::version(&()), &K::plural(&())).ok_or_else(Status::no_such_path)
}

fn own_call(resource: Arc<Resource>, verb: Verb, namespace: &str, name: &str, subresource: &str, object: Option<Value>) -> Call {
    Call {
        client: "world".into(),
        verb,
        namespace: if resource.namespaced { namespace.to_owned() } else { String::new() },
        resource,
        name: name.to_owned(),
        subresource: subresource.to_owned(),
        options: Options::default(),
        form: Form::Object,
        content_type: "application/json".to_owned(),
        body: object.map_or_else(Body::default, Body::Read),
    }
}

fn shown(reply: Reply) -> Value {
    match reply.outcome {
        Outcome::Object { resource, object, .. } => present::versioned(&resource, &object),
        Outcome::Other { body, .. } => body,
        Outcome::List { .. } | Outcome::Watch(_) => Value::Null,
    }
}

fn written<K: Object>(object: &K) -> Result<Value, Status> {
    serde_json::to_value(object).map_err(|error| Status::bad_request(format!("writing a {}: {error}", K::kind(&()))))
}

fn read<K: Object>(object: Value) -> Result<K, Status> {
    serde_json::from_value(object).map_err(|error| Status::bad_request(format!("reading a {}: {error}", K::kind(&()))))
}
