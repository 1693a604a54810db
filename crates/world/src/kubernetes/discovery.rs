//! What the server says about itself: versions, groups, kinds, health.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::openapi;
use super::resource::{Registry, Resource};
use super::status::Status;

/// The version of Kubernetes that is imitated.
const MINOR: &str = "35";

/// A document, with the content type it is sent as.
pub(crate) struct Document {
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

impl Document {
    pub(crate) fn json(body: &Value) -> Self {
        Self { content_type: "application/json", body: body.to_string().into_bytes() }
    }

    fn text(text: &str) -> Self {
        Self { content_type: "text/plain; charset=utf-8", body: text.as_bytes().to_vec() }
    }
}

/// Answers a request that is not about objects.
pub(crate) fn answer(registry: &Registry, path: &[String], accept: &str) -> Result<Document, Status> {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    let is_aggregated = accept.contains("as=APIGroupDiscoveryList") && accept.contains("v=v2");
    match words.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => Ok(Document::text("ok")),
        ["version"] => Ok(Document::json(&version())),
        [root @ ("api" | "apis")] if is_aggregated => Ok(aggregated(registry, *root == "api")),
        ["api"] => Ok(Document::json(&json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}))),
        ["apis"] => {
            let groups: Vec<Value> = groups(registry)
                .iter()
                .filter(|(name, _)| !name.is_empty())
                .map(|(name, group)| group_object(name, group))
                .collect();
            Ok(Document::json(&json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})))
        }
        ["apis", name] => match groups(registry).get(*name) {
            Some(group) => {
                let mut object = group_object(name, group);
                object["kind"] = "APIGroup".into();
                object["apiVersion"] = "v1".into();
                Ok(Document::json(&object))
            }
            None => Err(Status::no_such_path()),
        },
        ["api", version] => resource_list(registry, "", version),
        ["apis", group, version] => resource_list(registry, group, version),
        ["openapi", rest @ ..] => openapi::answer(registry, rest, accept),
        _ => Err(Status::no_such_path()),
    }
}

fn version() -> Value {
    json!({
        "major": "1", "minor": MINOR, "emulationMajor": "1", "emulationMinor": MINOR, "minCompatibilityMajor": "1", "minCompatibilityMinor": "34",
        "gitVersion": format!("v1.{MINOR}.0"), "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "", "compiler": "", "platform": "embedded",
    })
}

/// The kinds of each version of each group.
type Group<'a> = BTreeMap<&'a str, Vec<&'a Arc<Resource>>>;

pub(super) fn groups(registry: &Registry) -> BTreeMap<&str, Group<'_>> {
    let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for resource in registry.all() {
        groups.entry(&resource.group).or_default().entry(&resource.version).or_default().push(resource);
    }
    groups
}

fn group_object(name: &str, group: &Group<'_>) -> Value {
    let versions: Vec<Value> =
        group.keys().map(|version| json!({"groupVersion": format!("{name}/{version}"), "version": version})).collect();
    json!({"name": name, "preferredVersion": versions.first(), "versions": versions})
}

/// The kind that a subresource speaks, and its verbs.
fn subresource_kind(
    resource: &Resource,
    subresource: &str,
) -> (Option<(&'static str, &'static str)>, String, &'static [&'static str]) {
    match subresource {
        "binding" => (None, "Binding".to_owned(), &["create"]),
        "eviction" => (Some(("policy", "v1")), "Eviction".to_owned(), &["create"]),
        "scale" => (Some(("autoscaling", "v1")), "Scale".to_owned(), &["get", "patch", "update"]),
        "finalize" => (None, resource.kind.clone(), &["update"]),
        _ => (None, resource.kind.clone(), &["get", "patch", "update"]),
    }
}

fn resource_list(registry: &Registry, group: &str, version: &str) -> Result<Document, Status> {
    let all = groups(registry);
    let resources = all.get(group).and_then(|versions| versions.get(version)).ok_or_else(Status::no_such_path)?;
    let mut listed = vec![];
    for resource in resources {
        let mut entry = json!({
            "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": resource.verbs(),
        });
        if !resource.short_names.is_empty() {
            entry["shortNames"] = resource.short_names.clone().into();
        }
        if !resource.categories.is_empty() {
            entry["categories"] = resource.categories.clone().into();
        }
        listed.push(entry);
        for subresource in &resource.subresources {
            let (other, kind, verbs) = subresource_kind(resource, subresource);
            let mut entry = json!({"name": format!("{}/{subresource}", resource.plural), "singularName": "", "namespaced": resource.namespaced});
            if let Some((group, version)) = other {
                entry["group"] = group.into();
                entry["version"] = version.into();
            }
            entry["kind"] = kind.into();
            entry["verbs"] = json!(verbs);
            listed.push(entry);
        }
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Ok(Document::json(
        &json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}),
    ))
}

/// Everything at once, as newer clients ask.
fn aggregated(registry: &Registry, core: bool) -> Document {
    let response_kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let entry = |resource: &Arc<Resource>| {
        let scope = if resource.namespaced { "Namespaced" } else { "Cluster" };
        let subresources: Vec<Value> = resource
            .subresources
            .iter()
            .map(|name| {
                let (other, kind, verbs) = subresource_kind(resource, name);
                let (group, version) = other.unwrap_or((&resource.group, &resource.version));
                json!({"subresource": name, "responseKind": response_kind(group, version, &kind), "verbs": verbs})
            })
            .collect();
        let mut entry = json!({
            "resource": resource.plural,
            "responseKind": response_kind(&resource.group, &resource.version, &resource.kind),
            "scope": scope, "singularResource": resource.singular, "verbs": resource.verbs(),
        });
        for (key, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
            if !list.is_empty() {
                entry[key] = list.clone().into();
            }
        }
        if !subresources.is_empty() {
            entry["subresources"] = subresources.into();
        }
        entry
    };
    let items: Vec<Value> = groups(registry)
        .into_iter()
        .filter(|(name, _)| name.is_empty() == core)
        .map(|(name, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|(version, resources)| json!({"version": version, "resources": resources.iter().map(|one| entry(one)).collect::<Vec<_>>(), "freshness": "Current"}))
                .collect();
            let metadata = if name.is_empty() { json!({"creationTimestamp": null}) } else { json!({"name": name, "creationTimestamp": null}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    let body = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    Document {
        content_type: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        body: body.to_string().into_bytes(),
    }
}
