//! The CRDs as they are installed: the derived schema, slimmed, with the validation rules in their places.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

use crate::foundationdb::FoundationDBCluster;
use crate::logset::LogSet;
use crate::{Rule, foundationdb, logset};

/// Both CRDs, as JSON with their keys in a stable order.
pub fn crds() -> [Value; 2] {
    [foundationdb_crd(), logset_crd()]
}

/// The CRD of `FoundationDBCluster`.
pub fn foundationdb_crd() -> Value {
    finish(&FoundationDBCluster::crd(), &foundationdb::rules())
}

/// The CRD of `LogSet`.
pub fn logset_crd() -> Value {
    finish(&LogSet::crd(), &logset::rules())
}

fn finish(crd: &CustomResourceDefinition, rules: &[Rule]) -> Value {
    let mut crd = serde_json::to_value(crd).expect("a CRD is plain data");
    // Deleting a Helm release must not delete every cluster with it.
    crd["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
    let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema.as_object_mut().expect("a schema is an object").remove("title");
    drop_nullable(schema);
    for rule in rules {
        rule.insert_into(schema);
    }
    crd
}

/// An optional field is one that may be left out. Kubernetes drops a `null` where a field is not nullable, which is what people mean
/// by writing one, and every `nullable: true` that is not there makes the CRD smaller.
fn drop_nullable(value: &mut Value) {
    match value {
        Value::Object(schema) => {
            if schema.get("nullable") == Some(&Value::Bool(true)) {
                schema.remove("nullable");
            }
            if let Some(Value::Array(allowed)) = schema.get_mut("enum") {
                allowed.retain(|value| !value.is_null());
            }
            schema.values_mut().for_each(drop_nullable);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nullable),
        _ => {}
    }
}

/// A CRD as YAML. Our own part is written for people; the schemas of Kubernetes' types inside it are written without line breaks for
/// every brace, because indentation alone would make the file three times as large.
pub fn to_yaml(crd: &Value) -> String {
    let mut outline = crd.clone();
    let mut folded = Vec::new();
    fold_embedded(&mut outline, &mut folded);
    let yaml = serde_saphyr::to_string(&outline).expect("a CRD is plain data");
    let lines = yaml.lines().map(|line| match line.split_once(FOLD_MARK) {
        None => format!("{line}\n"),
        Some((key, number)) => {
            let schema = number.trim_matches('"').parse().ok().and_then(|number: usize| folded.get(number));
            let indent = key.len() - key.trim_start().len() + 2;
            format!("{}\n{}", key.trim_end_matches('"').trim_end(), flow(schema.expect("every mark has its schema"), indent))
        }
    });
    lines.collect()
}

const FOLD_MARK: &str = "folded-schema-";

/// Schemas that came from Kubernetes have no descriptions; ours all have one.
fn fold_embedded(value: &mut Value, folded: &mut Vec<Value>) {
    match value {
        Value::Object(map) => {
            let keys: Vec<_> = map.keys().cloned().collect();
            for key in keys {
                let child = &mut map[&key];
                let embedded = matches!(key.as_str(), "properties" | "items")
                    && child.to_string().len() > 200
                    && !child.to_string().contains("\"description\"");
                if embedded {
                    folded.push(child.take());
                    *child = Value::String(format!("{FOLD_MARK}{}", folded.len() - 1));
                } else {
                    fold_embedded(child, folded);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fold_embedded(item, folded)),
        _ => {}
    }
}

/// JSON, which is also YAML, broken into lines of readable length at its commas.
fn flow(value: &Value, indent: usize) -> String {
    let json = value.to_string();
    let mut out = " ".repeat(indent);
    let (mut width, mut in_string, mut escaped) = (0, false, false);
    for c in json.chars() {
        out.push(c);
        width += 1;
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_string = !in_string,
            ',' if !in_string && width > 110 => {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                width = 0;
            }
            _ => {}
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_crd_fits_into_the_annotation_of_kubectl_apply_with_room_to_spare() {
        for crd in crds() {
            let (yaml, json) = (to_yaml(&crd).len(), crd.to_string().len());
            assert!(yaml < 200_000 && json < 200_000, "{}: {yaml} bytes of YAML, {json} of JSON", crd["metadata"]["name"]);
        }
    }

    #[test]
    fn the_yaml_says_what_the_crd_says() {
        for crd in crds() {
            let read: Value = serde_saphyr::from_str(&to_yaml(&crd)).unwrap();
            assert_eq!(read, crd);
        }
    }

    #[test]
    fn nothing_is_required_but_what_has_no_default() {
        let required =
            |crd: &Value| crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"].clone();
        assert_eq!(required(&foundationdb_crd()), json!(["version"]));
        assert_eq!(required(&logset_crd()), json!(["replicas", "sharedStorage", "volume"]));
        for crd in crds() {
            assert_eq!(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["required"], Value::Null);
        }
    }
}
