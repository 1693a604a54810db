//! Schemas for kubectl: enough for `explain`, and for it to leave the checking of fields to the server.

use serde_json::{Map, Value, json};

use super::discovery::{Document, groups};
use super::resource::{Registry, Resource};
use super::schemas;
use super::status::Status;

pub(crate) fn answer(registry: &Registry, path: &[&str], accept: &str) -> Result<Document, Status> {
    match path {
        // The old document in its old encoding: the one field that it must have, the version.
        ["v2"] if accept.contains("protobuf") => Ok(Document {
            content_type: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
            body: b"\x0a\x032.0".to_vec(),
        }),
        ["v2"] => Ok(Document::json(&json!({"swagger": "2.0", "info": info(), "paths": {}, "definitions": {}}))),
        ["v3"] => {
            let paths: Map<String, Value> = groups(registry)
                .into_iter()
                .flat_map(|(group, versions)| versions.into_keys().map(|version| location(group, version)).collect::<Vec<_>>())
                .map(|place| (place.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{place}")})))
                .collect();
            Ok(Document::json(&json!({"paths": paths})))
        }
        ["v3", "api", version] => document(registry, "", version),
        ["v3", "apis", group, version] => document(registry, group, version),
        _ => Err(Status::no_such_path()),
    }
}

fn info() -> Value {
    json!({"title": "Kubernetes", "version": "embedded"})
}

fn location(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn document(registry: &Registry, group: &str, version: &str) -> Result<Document, Status> {
    let all = groups(registry);
    let resources = all.get(group).and_then(|versions| versions.get(version)).ok_or_else(Status::no_such_path)?;
    let mut paths = Map::new();
    let mut components = Map::new();
    for resource in resources {
        let name = component(resource);
        let root = location(group, version);
        let place = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
        let path = format!("/{root}/{place}{}/{{name}}", resource.plural);
        paths.insert(path, operations(resource, &name));
        components.insert(name, schema(resource));
    }
    Ok(Document::json(&json!({"openapi": "3.0.0", "info": info(), "paths": paths, "components": {"schemas": components}})))
}

fn component(resource: &Resource) -> String {
    let group: Vec<&str> = resource.group.split('.').rev().filter(|part| !part.is_empty()).collect();
    let group = if group.is_empty() { "io.k8s.api.core".to_owned() } else { group.join(".") };
    format!("{group}.{}.{}", resource.version, resource.kind)
}

fn kind_of(resource: &Resource) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}

/// Patch says that it understands `fieldValidation`; strategic merge is left out, because its merge keys are not in these schemas and
/// kubectl has its own.
fn operations(resource: &Resource, component: &str) -> Value {
    let parameter = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let reference = json!({"schema": {"$ref": format!("#/components/schemas/{component}")}});
    let answers = json!({"200": {"description": "OK", "content": {"application/json": reference}}});
    json!({
        "get": {"responses": answers, "x-kubernetes-action": "get", "x-kubernetes-group-version-kind": kind_of(resource)},
        "patch": {
            "parameters": [parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation")],
            "requestBody": {"content": {"application/json-patch+json": {"schema": {"type": "array"}}, "application/merge-patch+json": {"schema": {"type": "object"}}}},
            "responses": answers, "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": kind_of(resource),
        },
    })
}

fn schema(resource: &Resource) -> Value {
    let own = resource.custom.as_ref().map(|custom| custom.schema.clone()).or_else(|| schemas::built_in(resource).cloned());
    let mut schema = own.unwrap_or_else(|| json!({"type": "object"}));
    schema["x-kubernetes-group-version-kind"] = json!([kind_of(resource)]);
    schema
}
