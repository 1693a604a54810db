//! Schemas of Kubernetes' own types inside ours.
//!
//! Taken whole they would make a CRD of half a megabyte, which `kubectl apply` refuses: their descriptions are left out here, and
//! an embedded `metadata` keeps what makes sense inside a template.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// The schema of a Kubernetes type, without its descriptions.
pub(crate) fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = generator.subschema_for::<T>().to_value();
    slim(&mut schema);
    Schema::try_from(schema).expect("a schema stays a schema when descriptions are taken out")
}

/// The schema of a list of a Kubernetes type.
pub(crate) fn list<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": schema::<T>(generator)})
}

/// A number or a text.
pub(crate) fn int_or_string(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-int-or-string": true})
}

/// A quantity that rules may compare: a number, or a text of bounded length.
pub(crate) fn quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-int-or-string": true, "maxLength": 64})
}

fn slim(value: &mut Value) {
    match value {
        Value::Object(schema) => {
            if describes(schema, QUANTITY_MARK) {
                // People write `cpu: 1`; the generated schema would take only a string.
                *schema = Map::from_iter([("x-kubernetes-int-or-string".to_owned(), Value::Bool(true))]);
                return;
            }
            if is_object_meta(schema) {
                *value = embedded_metadata();
                return;
            }
            // A property may be called `description` too; then it is a schema, not a text.
            if schema.get("description").is_some_and(Value::is_string) {
                schema.remove("description");
            }
            // A template without metadata is complete, and Kubernetes takes a reference without a name for one with an empty name.
            let is_reference = is_reference(schema);
            if let Some(Value::Array(required)) = schema.get_mut("required") {
                required.retain(|field| field != "metadata" && !(is_reference && field == "name"));
            }
            if schema.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
                schema.remove("required");
            }
            schema.values_mut().for_each(slim);
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(slim),
        _ => {}
    }
}

/// How the description of a quantity begins; its schema has nothing else to know it by.
const QUANTITY_MARK: &str = "Quantity is a fixed-point representation of a number";

fn describes(schema: &Map<String, Value>, mark: &str) -> bool {
    schema.get("description").and_then(Value::as_str).is_some_and(|text| text.contains(mark))
}

/// Names a Secret or ConfigMap and says nothing of its own.
fn is_reference(schema: &Map<String, Value>) -> bool {
    let known = ["name", "namespace", "optional", "items", "defaultMode"];
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| properties.keys().all(|name| known.contains(&name.as_str())))
}

fn is_object_meta(schema: &Map<String, Value>) -> bool {
    schema.get("properties").is_some_and(|properties| properties.get("managedFields").is_some())
}

/// The part of `metadata` that makes sense in a template; the same fields as the existing operator's CRD has.
fn embedded_metadata() -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({
        "type": "object",
        "properties": {
            "annotations": texts,
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "labels": texts,
            "name": {"type": "string"},
            "namespace": {"type": "string"},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::PodTemplateSpec;
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

    fn generator() -> SchemaGenerator {
        let mut settings = schemars::generate::SchemaSettings::openapi3();
        settings.inline_subschemas = true;
        settings.into_generator()
    }

    #[test]
    fn a_quantity_is_recognised_and_may_be_a_number() {
        let schema = super::schema::<Quantity>(&mut generator());
        assert_eq!(schema.to_value(), json!({"x-kubernetes-int-or-string": true}));
    }

    #[test]
    fn a_pod_template_loses_its_descriptions_and_nothing_else() {
        let whole = generator().subschema_for::<PodTemplateSpec>().to_value();
        let slim = super::schema::<PodTemplateSpec>(&mut generator()).to_value();
        let text = slim.to_string();
        assert!(text.len() < 70_000, "{}", text.len());
        let containers = |schema: &Value| schema["properties"]["spec"]["properties"]["containers"]["items"]["properties"].clone();
        let names = |schema: &Value| containers(schema).as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&slim), names(&whole));
        assert!(slim["properties"]["metadata"]["properties"].get("labels").is_some());
    }
}
