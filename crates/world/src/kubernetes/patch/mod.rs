//! The three kinds of patches.

mod json;
mod merge;
mod merge_keys;
mod strategic;

use serde_json::Value;

use super::resource::Resource;
use super::status::Status;

/// Applies the patch of a request to an object.
pub(crate) fn apply(resource: &Resource, content_type: &str, body: &[u8], object: &Value) -> Result<Value, Status> {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let patch =
        || serde_json::from_slice::<Value>(body).map_err(|error| Status::bad_request(format!("error decoding patch: {error}")));
    match kind {
        "application/json-patch+json" => json::apply(object, &patch()?),
        "application/merge-patch+json" => Ok(merge::apply(object, &patch()?)),
        "application/strategic-merge-patch+json" if resource.custom.is_none() => strategic::apply(object, &patch()?),
        other if resource.custom.is_some() => {
            Err(Status::unsupported_patch(other, &["application/json-patch+json", "application/merge-patch+json"]))
        }
        other => Err(Status::unsupported_patch(
            other,
            &["application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"],
        )),
    }
}
