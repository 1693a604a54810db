//! Access reviews: everything is allowed here.

use serde_json::{Value, json};

use crate::kubernetes::resource::Resource;

pub(crate) fn answered(resource: &Resource, mut review: Value) -> Value {
    review["kind"] = resource.kind.clone().into();
    review["apiVersion"] = resource.api_version().into();
    review["status"] = json!({"allowed": true});
    review
}
