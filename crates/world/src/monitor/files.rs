//! The files that a ConfigMap becomes in a container.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, ConfigMapVolumeSource, Container, Pod};

/// The volume with the monitor's files.
const CONFIG_VOLUME: &str = "config-map";

/// Files by their whole path, as a container sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<String, String>);

impl Files {
    /// The files in a container of this pod, if its ConfigMap says this.
    pub fn of(pod: &Pod, container: &Container, config_map: &ConfigMap) -> Self {
        let mounts = container.volume_mounts.iter().flatten();
        let Some((source, mount)) = source(pod).zip(mounts.into_iter().find(|mount| mount.name == CONFIG_VOLUME)) else {
            return Self::default();
        };
        let data = config_map.data.iter().flatten();
        let named: BTreeMap<&str, &str> = match &source.items {
            Some(items) => items.iter().map(|item| (item.key.as_str(), item.path.as_str())).collect(),
            None => data.clone().map(|(key, _)| (key.as_str(), key.as_str())).collect(),
        };
        let files =
            data.filter_map(|(key, text)| Some((format!("{}/{}", mount.mount_path, named.get(key.as_str())?), text.clone())));
        Self(files.collect())
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }
}

/// The name of the ConfigMap that a pod's monitor reads.
pub fn config_map_of(pod: &Pod) -> Option<&str> {
    source(pod).map(|source| source.name.as_str())
}

fn source(pod: &Pod) -> Option<&ConfigMapVolumeSource> {
    let volumes = pod.spec.as_ref()?.volumes.as_ref()?;
    volumes.iter().find(|volume| volume.name == CONFIG_VOLUME)?.config_map.as_ref()
}
