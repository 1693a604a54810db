//! The three kinds of patches.

mod json;
mod merge;
mod merge_keys;
mod strategic;

use serde_json::Value;

use super::resource::Resource;
use super::status::Status;

const KINDS: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"];

/// What kind of patch a request has; refused where it is none that the resource takes, whether there is an object or not.
pub(crate) fn kind<'a>(resource: &Resource, content_type: &'a str) -> Result<&'a str, Status> {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    // What custom objects are made of is known to their definitions only, so nothing can be merged by its keys.
    let allowed = if resource.custom.is_some() { &KINDS[..2] } else { &KINDS[..] };
    if allowed.contains(&kind) { Ok(kind) } else { Err(Status::unsupported_patch(kind, allowed)) }
}

/// Applies a patch of this kind to an object.
pub(crate) fn apply(kind: &str, body: &[u8], object: &Value) -> Result<Value, Status> {
    let decoded = serde_json::from_slice::<Value>(body);
    let patch = decoded.map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
    match kind {
        "application/json-patch+json" => json::apply(object, &patch),
        "application/merge-patch+json" => Ok(merge::apply(object, &patch)),
        _ => strategic::apply(object, &patch),
    }
}
