//! Which clusters a command is about: those of a live Kubernetes, or those in a file.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use kube::ResourceExt;
use quorate_api::foundationdb::FoundationDBCluster;
use serde_json::Value;

use crate::kubernetes::Kubernetes;

/// Which clusters.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// One cluster; all of them if it is not given.
    name: Option<String>,
    /// Its namespace; all of them if it is not given. Of objects in a file, that of those that do not say it.
    #[arg(short, long)]
    namespace: Option<String>,
    /// Read objects from this file (YAML or JSON, as `kubectl get -o yaml` prints them) instead of asking Kubernetes; `-` is the input.
    #[arg(short, long)]
    file: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Which {
    /// The clusters, sorted by namespace and name. None at all is an error: somebody mistyped something.
    pub(crate) fn find(&self) -> Result<Vec<FoundationDBCluster>> {
        let mut clusters = match &self.file {
            Some(file) => read(file)?,
            None => Kubernetes::connect()?.clusters(self.namespace.as_deref())?,
        };
        if self.file.is_some() {
            let namespace = self.namespace.as_deref().unwrap_or("default");
            for cluster in &mut clusters {
                cluster.metadata.namespace.get_or_insert_with(|| namespace.to_owned());
            }
        }
        clusters.retain(|cluster| {
            let fits = |wanted: &Option<String>, found: Option<String>| wanted.is_none() || *wanted == found;
            fits(&self.name, Some(cluster.name_any())) && (self.file.is_some() || fits(&self.namespace, cluster.namespace()))
        });
        clusters.sort_by_key(|cluster| (cluster.namespace(), cluster.name_any()));
        match (&self.name, clusters.is_empty()) {
            (Some(name), true) => bail!("there is no FoundationDBCluster called {name}{}", self.place()),
            (None, true) => bail!("there is no FoundationDBCluster{}", self.place()),
            _ => Ok(clusters),
        }
    }

    /// Whether Kubernetes is asked.
    pub(crate) const fn is_live(&self) -> bool {
        self.file.is_none()
    }

    fn place(&self) -> String {
        self.file.as_ref().map_or_else(String::new, |file| format!(" in {}", file.display()))
    }
}

/// Every FoundationDBCluster in a file.
pub(crate) fn read(file: &PathBuf) -> Result<Vec<FoundationDBCluster>> {
    let text = if file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin()).context("reading the input")?
    } else {
        std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?
    };
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&text).with_context(|| format!("{} is not YAML or JSON", file.display()))?;
    let objects = documents.into_iter().flat_map(|document| match document.get("items").and_then(Value::as_array) {
        Some(items) => items.clone(),
        None => vec![document],
    });
    objects
        .filter(|object| object["kind"] == "FoundationDBCluster")
        .map(|object| {
            let name = object["metadata"]["name"].as_str().unwrap_or("without a name").to_owned();
            let cluster: FoundationDBCluster = serde_path_to_error::deserialize(&object)
                .with_context(|| format!("the FoundationDBCluster {name} in {} can't be read", file.display()))?;
            let understood = serde_json::to_value(&cluster.spec).unwrap_or_default();
            for field in unknown("spec", &object["spec"], &understood) {
                eprintln!("{name}: {field} is no field of a FoundationDBCluster; Kubernetes would drop it");
            }
            Ok(cluster)
        })
        .collect()
}

/// What was written and not understood, field by field. Whatever is empty says nothing, and may have been left out.
fn unknown(at: &str, given: &Value, understood: &Value) -> Vec<String> {
    let says_something = |value: &Value| match value {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    match (given, understood) {
        (Value::Object(given), Value::Object(understood)) => given
            .iter()
            .filter(|(_, value)| says_something(value))
            .flat_map(|(key, value)| {
                let field = format!("{at}.{key}");
                understood.get(key).map_or_else(|| vec![field.clone()], |known| unknown(&field, value, known))
            })
            .collect(),
        (Value::Array(given), Value::Array(understood)) => {
            let pairs = given.iter().zip(understood).enumerate();
            pairs.flat_map(|(index, (given, understood))| unknown(&format!("{at}[{index}]"), given, understood)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_no_field_is_named_where_it_is() {
        let spec = json!({
            "version": "7.3.69", "processCount": {"storage": 9}, "processCounts": {"storge": 9, "log": 3}, "processGroupsToRemove": [],
            "processes": {"general": {"podTemplate": {"spec": {"containers": [{"name": "foundationdb", "images": "x"}]}}}},
        });
        let cluster: FoundationDBCluster = serde_json::from_value(json!({
            "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster", "metadata": {"name": "sample"}, "spec": spec,
        }))
        .unwrap();
        assert_eq!(
            unknown("spec", &spec, &serde_json::to_value(&cluster.spec).unwrap()),
            ["spec.processCount", "spec.processCounts.storge", "spec.processes.general.podTemplate.spec.containers[0].images"]
        );
    }
}
