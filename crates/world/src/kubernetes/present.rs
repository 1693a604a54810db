//! How objects are shown to the caller: whole, as metadata only, or as a table.

use std::sync::Arc;

use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use super::kinds::event;
use super::resource::Resource;
use super::table::{self, Rows};

/// The form a caller asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    #[default]
    Object,
    Metadata,
    Table(Rows),
}

impl Form {
    pub(crate) fn from_accept(accept: &str, include: &str) -> Self {
        for choice in accept.split(',') {
            if choice.contains("as=Table") {
                return Self::Table(Rows::including(include));
            }
            if choice.contains("as=PartialObjectMetadata") {
                return Self::Metadata;
            }
            if choice.contains("application/json") || choice.contains("*/*") {
                return Self::Object;
            }
        }
        Self::Object
    }
}

/// A stored object in the version that was asked for.
pub(crate) fn versioned(resource: &Resource, stored: &Value) -> Value {
    let mut object = Map::new();
    object.insert("kind".to_owned(), resource.kind.clone().into());
    object.insert("apiVersion".to_owned(), resource.api_version().into());
    for (key, value) in stored.as_object().into_iter().flatten() {
        if key != "kind" && key != "apiVersion" {
            object.insert(key.clone(), value.clone());
        }
    }
    let object = Value::Object(object);
    if resource.group == "events.k8s.io" { event::to_events_group(object) } else { object }
}

/// The same as text, without a copy in between.
pub(crate) fn versioned_text(resource: &Resource, stored: &Value) -> String {
    if resource.group == "events.k8s.io" {
        return versioned(resource, stored).to_string();
    }
    // Keys are text and values are JSON already, so writing them can't fail.
    serde_json::to_string(&Versioned { resource, stored, says_its_kind: true }).unwrap_or_default()
}

struct Versioned<'a> {
    resource: &'a Resource,
    stored: &'a Value,
    says_its_kind: bool,
}

impl Serialize for Versioned<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { resource, stored, says_its_kind } = self;
        let mut map = serializer.serialize_map(None)?;
        if *says_its_kind {
            map.serialize_entry("kind", &resource.kind)?;
            map.serialize_entry("apiVersion", &resource.api_version())?;
        }
        for (key, value) in stored.as_object().into_iter().flatten() {
            if key != "kind" && key != "apiVersion" {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
    }
}

fn metadata_only(stored: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": stored["metadata"]})
}

pub(crate) fn object(form: Form, resource: &Resource, stored: &Value, now: Timestamp) -> Value {
    match form {
        Form::Object => versioned(resource, stored),
        Form::Metadata => metadata_only(stored),
        Form::Table(rows) => {
            let version = stored["metadata"]["resourceVersion"].clone();
            table::table(resource, [stored], &json!({"resourceVersion": version}), rows, now, true)
        }
    }
}

/// Objects of one kind, as text.
pub(crate) fn list_text(form: Form, resource: &Resource, items: &[Arc<Value>], metadata: &Value, now: Timestamp) -> String {
    let text = if form == Form::Object && resource.group != "events.k8s.io" {
        serde_json::to_string(&Listed { resource, items, metadata })
    } else {
        serde_json::to_string(&list(form, resource, items, metadata, now))
    };
    text.unwrap_or_default()
}

/// A list without a copy of what is in it.
struct Listed<'a> {
    resource: &'a Resource,
    items: &'a [Arc<Value>],
    metadata: &'a Value,
}

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { resource, items, metadata } = self;
        // Lists of built-in kinds leave the kind of their items to the list; custom ones repeat it.
        let says_its_kind = resource.custom.is_some();
        let items: Vec<_> = items.iter().map(|stored| Versioned { resource, stored, says_its_kind }).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &format!("{}List", resource.kind))?;
        map.serialize_entry("apiVersion", &resource.api_version())?;
        map.serialize_entry("metadata", metadata)?;
        map.serialize_entry("items", &items)?;
        map.end()
    }
}

fn list(form: Form, resource: &Resource, items: &[Arc<Value>], metadata: &Value, now: Timestamp) -> Value {
    let listed = |kind: String, api_version: String, items: Vec<Value>| json!({"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items});
    match form {
        Form::Object => {
            let shown = items.iter().map(|item| {
                let mut item = versioned(resource, item);
                // Lists of built-in kinds leave the kind of their items to the list; custom ones repeat it.
                if let (None, Some(map)) = (&resource.custom, item.as_object_mut()) {
                    map.shift_remove("kind");
                    map.shift_remove("apiVersion");
                }
                item
            });
            listed(format!("{}List", resource.kind), resource.api_version(), shown.collect())
        }
        Form::Metadata => {
            let shown = items.iter().map(|item| metadata_only(item)).collect();
            listed("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned(), shown)
        }
        Form::Table(rows) => table::table(resource, items.iter().map(AsRef::as_ref), metadata, rows, now, true),
    }
}

/// The object of a watch event, as text; a table says its columns only in the first.
pub(crate) fn event_text(form: Form, resource: &Resource, stored: &Value, now: Timestamp, first: bool) -> String {
    match form {
        Form::Object => versioned_text(resource, stored),
        Form::Metadata => metadata_only(stored).to_string(),
        Form::Table(rows) => {
            let version = stored["metadata"]["resourceVersion"].clone();
            table::table(resource, [stored], &json!({"resourceVersion": version}), rows, now, first).to_string()
        }
    }
}

pub(crate) fn bookmark(form: Form, object: Value) -> Value {
    match form {
        Form::Object => object,
        Form::Metadata => metadata_only(&object),
        Form::Table(_) => {
            json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]}, "columnDefinitions": null,
                "rows": [{"cells": [], "object": metadata_only(&object)}]})
        }
    }
}
