//! What the built-in kinds have of their own: defaults, admission and the rules that an operator can meet.

pub(crate) mod claim;
pub(crate) mod event;
pub(crate) mod pod;
mod pod_faults;
pub(crate) mod quantity;
pub(crate) mod review;
pub(crate) mod service;
mod small;

use serde_json::Value;

use super::object::remove_nulls;
use super::request::Call;
use super::resource::Resource;
use super::state::State;
use super::status::{Cause, Status};

/// Defaults and admission of a new object.
pub(crate) fn prepare_create(state: &mut State, resource: &Resource, object: &mut Value) -> Result<(), Status> {
    if resource.custom.is_none() {
        remove_nulls(object);
    }
    match resource.storage.as_str() {
        "pods" => pod::prepare_create(state, resource, object),
        "services" => {
            service::prepare_create(state, object);
            Ok(())
        }
        "persistentvolumeclaims" => {
            claim::prepare_create(state, object);
            Ok(())
        }
        storage => {
            small::prepare_create(storage, object);
            Ok(())
        }
    }
}

/// Defaults of a changed object, and what it keeps of the old one.
pub(crate) fn prepare_update(call: &Call, old: &Value, object: &mut Value) {
    if call.resource.custom.is_none() {
        remove_nulls(object);
    }
    match call.resource.storage.as_str() {
        "pods" => pod::default(object),
        "services" => service::prepare_update(old, object),
        "namespaces" => small::keep_namespace_finalizers(call, old, object),
        storage => small::default(storage, object),
    }
}

/// What is wrong with an object, and with its change.
pub(crate) fn faults(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    match resource.storage.as_str() {
        "pods" => pod_faults::faults(object, old),
        "services" => service::faults(object, old),
        "persistentvolumeclaims" => claim::faults(object, old),
        storage => small::faults(storage, object, old),
    }
}
