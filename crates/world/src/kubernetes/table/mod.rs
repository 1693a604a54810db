//! Tables, as `kubectl get` prints them.

mod age;
mod built_in;
mod json_path;
mod pod;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::object::Metadata;
use super::resource::Resource;

/// How much of each object goes with its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rows {
    None,
    #[default]
    Metadata,
    Object,
}

impl Rows {
    pub(crate) fn including(include: &str) -> Self {
        match include {
            "None" => Self::None,
            "Object" => Self::Object,
            _ => Self::Metadata,
        }
    }
}

struct Column {
    name: String,
    kind: String,
    format: &'static str,
    description: String,
    priority: i64,
}

impl Column {
    fn new(name: &str, priority: i64) -> Self {
        let format = if name == "Name" { "name" } else { "" };
        Self { name: name.to_owned(), kind: "string".to_owned(), format, description: String::new(), priority }
    }

    fn definition(&self) -> Value {
        json!({"name": self.name, "type": self.kind, "format": self.format, "description": self.description, "priority": self.priority})
    }
}

pub(crate) fn table<'a>(
    resource: &Resource,
    objects: impl IntoIterator<Item = &'a Value>,
    metadata: &Value,
    rows: Rows,
    now: Timestamp,
    with_columns: bool,
) -> Value {
    let columns = columns(resource);
    let row = |object: &Value| {
        let mut row = json!({"cells": cells(resource, object, now)});
        let partial = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]});
        match rows {
            Rows::None => {}
            Rows::Metadata => row["object"] = partial,
            Rows::Object => row["object"] = super::present::versioned(resource, object),
        }
        row
    };
    let rows: Vec<Value> = objects.into_iter().map(row).collect();
    let definitions = if with_columns { columns.iter().map(Column::definition).collect() } else { Value::Null };
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": definitions, "rows": rows})
}

fn columns(resource: &Resource) -> Vec<Column> {
    let Some(custom) = &resource.custom else { return built_in::columns(&resource.storage) };
    let mut columns = vec![Column::new("Name", 0)];
    if custom.columns.is_empty() {
        columns.push(Column { kind: "date".to_owned(), ..Column::new("Age", 0) });
    }
    columns.extend(custom.columns.iter().map(|column| Column {
        kind: column.text(&["type"]).to_owned(),
        description: column.text(&["description"]).to_owned(),
        format: "",
        ..Column::new(column.text(&["name"]), column["priority"].as_i64().unwrap_or(0))
    }));
    columns
}

fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    let Some(custom) = &resource.custom else { return built_in::cells(&resource.storage, object, now) };
    let mut cells = vec![object["metadata"]["name"].clone()];
    if custom.columns.is_empty() {
        cells.push(age::since(&object["metadata"]["creationTimestamp"], now).into());
    }
    cells.extend(custom.columns.iter().map(|column| custom_cell(column, object, now)));
    cells
}

/// The value of a CRD's column; what is not there is null, which kubectl leaves empty.
fn custom_cell(column: &Value, object: &Value, now: Timestamp) -> Value {
    let found = json_path::find(object, column.text(&["jsonPath"]));
    let Some(value) = found.first().filter(|value| !value.is_null()) else { return Value::Null };
    match column.text(&["type"]) {
        "date" => age::since(value, now).into(),
        "string" => match value {
            Value::String(text) => text.clone().into(),
            other => other.to_string().into(),
        },
        "integer" => value.as_i64().map_or(Value::Null, Into::into),
        "number" => value.as_f64().map_or(Value::Null, Into::into),
        "boolean" => value.as_bool().map_or(Value::Null, Into::into),
        _ => Value::Null,
    }
}
