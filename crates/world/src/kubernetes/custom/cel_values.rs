//! From JSON to the values that CEL rules see, by the schema.
//!
//! kube-cel's own conversion knows a field `a_b` as `a__b`; the API server knows it as `a_b`, so the conversion is done here.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, Program, Value as Cel};
use serde_json::Value;

/// Words that CEL keeps for itself; a field of that name is known as `__name__`.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name by which a rule refers to a field.
fn field_name(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__").replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}

pub(super) fn convert(schema: &Value, value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(truth) => Cel::Bool(*truth),
        Value::Number(number) => match number.as_i64() {
            Some(whole) if schema["type"] != "number" => Cel::Int(whole),
            _ => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => text_value(schema["format"].as_str().unwrap_or_default(), text),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(|item| convert(&schema["items"], item)).collect())),
        Value::Object(fields) => {
            let properties = &schema["properties"];
            let additional = schema.get("additionalProperties").filter(|additional| **additional != Value::Bool(false));
            let pairs = fields.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
                let child = properties.get(name).or(additional).unwrap_or(&Value::Null);
                // The keys of a map are data, not names.
                let name = if additional.is_some() { name.clone() } else { field_name(name) };
                (Key::String(Arc::new(name)), convert(child, value))
            });
            Cel::Map(Map { map: Arc::new(pairs.collect::<HashMap<_, _>>()) })
        }
    }
}

/// Times and durations are values of their own.
fn text_value(format: &str, text: &str) -> Cel {
    let plain = Cel::String(Arc::new(text.to_owned()));
    let conversion = match format {
        "date-time" => "timestamp(text)",
        "duration" => "duration(text)",
        _ => return plain,
    };
    let mut context = Context::default();
    context.add_variable_from_value("text", plain.clone());
    Program::compile(conversion).ok().and_then(|program| program.execute(&context).ok()).unwrap_or(plain)
}
