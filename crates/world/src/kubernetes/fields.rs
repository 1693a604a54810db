//! Fields that nobody knows: dropped, warned about, or refused, as the caller asked.

use serde_json::Value;

use super::request::Options;
use super::resource::Resource;
use super::schemas;
use super::status::Status;

/// Drops unknown fields and returns the warnings, or refuses them where the caller is strict.
pub(crate) fn check(resource: &Resource, options: &Options, object: &mut Value) -> Result<Vec<String>, Status> {
    let unknown = match &resource.custom {
        Some(custom) if custom.preserve_unknown => vec![],
        Some(custom) => custom.known_fields.prune(object),
        None => schemas::known_fields(resource).map_or_else(Vec::new, |known| known.prune(object)),
    };
    let texts: Vec<String> = unknown.into_iter().map(|field| format!("unknown field \"{field}\"")).collect();
    match options.text("fieldValidation") {
        "Ignore" => Ok(vec![]),
        "" | "Warn" => Ok(texts),
        "Strict" if texts.is_empty() => Ok(texts),
        "Strict" => Err(Status::bad_request(format!(
            "{kind} in version \"{}\" cannot be handled as a {kind}: strict decoding error: {}",
            resource.version,
            texts.join(", "),
            kind = resource.kind,
        ))),
        other => Err(Status::new(
            422,
            "Invalid",
            format!(
                "CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"{other}\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
            ),
        )),
    }
}
