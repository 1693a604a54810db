//! The examples of the validation rules, read from `tests/rules/`. The end-to-end tests read the same files.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

/// One of the two API objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    FoundationDBCluster,
    LogSet,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::FoundationDBCluster, Self::LogSet];

    pub fn name(self) -> &'static str {
        match self {
            Self::FoundationDBCluster => "FoundationDBCluster",
            Self::LogSet => "LogSet",
        }
    }

    /// The smallest object of this kind that is accepted.
    fn minimal(self) -> Value {
        match self {
            Self::FoundationDBCluster => json!({
                "apiVersion": "apps.foundationdb.org/v1beta2", "kind": self.name(), "metadata": {"name": "example"},
                "spec": {"version": "7.3.69"},
            }),
            Self::LogSet => json!({
                "apiVersion": "core.matrixorigin.io/v1alpha1", "kind": self.name(), "metadata": {"name": "example"},
                "spec": {
                    "image": "matrixorigin/matrixone:2.0.3", "replicas": 3, "volume": {"size": "10Gi"},
                    "sharedStorage": {"fileSystem": {"path": "/data"}},
                },
            }),
        }
    }
}

/// A rule with a spec that keeps it and one that breaks it.
#[derive(Clone, Debug)]
pub struct Example {
    pub kind: Kind,
    pub rule: String,
    pub says: String,
    pub fragments: Fragments,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Fragments {
    rule: String,
    says: String,
    before: Option<Value>,
    status: Option<Value>,
    good: Value,
    bad: Value,
    /// Whether the change can also be made through the scale subresource.
    #[serde(default)]
    #[allow(dead_code, reason = "only the end-to-end tests have a scale subresource")]
    pub scale: bool,
}

impl Example {
    /// What a change starts from, if this rule is about a change.
    pub fn before(&self) -> Option<Value> {
        let fragment = self.fragments.before.as_ref()?;
        Some(merged(self.with_status(), &json!({"spec": fragment})))
    }

    pub fn good(&self) -> Value {
        self.changed(&self.fragments.good)
    }

    pub fn bad(&self) -> Value {
        self.changed(&self.fragments.bad)
    }

    /// The refused part, on one line.
    #[allow(dead_code, reason = "only the docs show it")]
    pub fn shown(&self) -> String {
        let yaml = |value: &Value| format!("`{}`", in_one_line(value));
        let from = self.fragments.before.as_ref().map(|before| format!("{} changed by ", yaml(before)));
        format!("{}{}", from.unwrap_or_default(), yaml(&self.fragments.bad))
    }

    fn changed(&self, fragment: &Value) -> Value {
        merged(self.before().unwrap_or_else(|| self.with_status()), &json!({"spec": fragment}))
    }

    fn with_status(&self) -> Value {
        let mut object = self.kind.minimal();
        if let Some(status) = &self.fragments.status {
            object["status"] = status.clone();
        }
        object
    }
}

/// All examples of a kind.
pub fn examples(kind: Kind) -> Vec<Example> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(rules_folder()).join(format!("{}.yaml", file_of(kind)));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let fragments: Vec<Fragments> = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    fragments
        .into_iter()
        .map(|fragments| Example { kind, rule: fragments.rule.clone(), says: fragments.says.clone(), fragments })
        .collect()
}

fn file_of(kind: Kind) -> &'static str {
    match kind {
        Kind::FoundationDBCluster => "foundationdb",
        Kind::LogSet => "logset",
    }
}

/// Seen from the crate that reads them: this module is shared with the end-to-end tests.
fn rules_folder() -> &'static str {
    if env!("CARGO_PKG_NAME") == "quorate-api" { "tests/rules" } else { "../crates/api/tests/rules" }
}

/// YAML as people write it on one line.
fn in_one_line(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Object(map) => {
            format!("{{{}}}", joined(map.iter().map(|(key, value)| format!("{key}: {}", in_one_line(value))).collect()))
        }
        Value::Array(items) => format!("[{}]", joined(items.iter().map(in_one_line).collect())),
        Value::String(text) if !text.is_empty() && text.parse::<f64>().is_err() => text.clone(),
        other => other.to_string(),
    }
}

/// A merge patch: objects are merged, `null` removes, everything else replaces.
fn merged(mut target: Value, patch: &Value) -> Value {
    let (Some(fields), true) = (patch.as_object(), target.is_object()) else { return patch.clone() };
    for (name, value) in fields {
        if value.is_null() {
            target.as_object_mut().map(|object| object.remove(name));
        } else {
            let old = target.get_mut(name).map(Value::take);
            target[name] = if value.is_object() { merged(old.unwrap_or_else(|| json!({})), value) } else { value.clone() };
        }
    }
    target
}

/// A generated file must be what its generator says; `QUORATE_UPDATE=1` writes it.
#[allow(dead_code, reason = "the end-to-end tests generate nothing")]
pub fn assert_generated(path: &str, content: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("QUORATE_UPDATE").is_some() {
        std::fs::write(&file, content).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == content, "{path} is not what its generator writes; run the tests with QUORATE_UPDATE=1 and commit it");
}
