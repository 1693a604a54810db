//! The volumes of a pod, and where its containers see them.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, Container, EmptyDirVolumeSource, KeyToPath, PersistentVolumeClaimVolumeSource, PodSpec, Volume,
    VolumeMount,
};

use super::config_map::{CA_FILE, CLUSTER_FILE, monitor_key};
use super::{claim_name, config_map_name};
use crate::{Desired, ProcessGroup};

pub(super) const DATA: (&str, &str) = ("data", "/var/fdb/data");
pub(super) const CONFIG_MAP: (&str, &str) = ("config-map", "/var/dynamic-conf");
pub(super) const BINARIES: (&str, &str) = ("shared-binaries", "/var/fdb/shared-binaries");
pub(super) const LOGS: (&str, &str) = ("fdb-trace-logs", LOG_PATH);
pub(super) const LOG_PATH: &str = "/var/log/fdb-trace-logs";

/// Adds the volumes that the template does not have itself.
pub(super) fn add_volumes(spec: &mut PodSpec, desired: &Desired, group: &ProcessGroup, pod: &str) {
    let data = if group.class.is_stateful() {
        let claim = PersistentVolumeClaimVolumeSource { claim_name: claim_name(pod), read_only: None };
        Volume { name: DATA.0.to_owned(), persistent_volume_claim: Some(claim), ..Volume::default() }
    } else {
        empty(DATA.0)
    };
    let config_map = Volume {
        name: CONFIG_MAP.0.to_owned(),
        config_map: Some(ConfigMapVolumeSource {
            name: config_map_name(desired),
            items: Some(files(desired, group)),
            ..ConfigMapVolumeSource::default()
        }),
        ..Volume::default()
    };
    let volumes = spec.volumes.get_or_insert_default();
    for volume in [data, empty(BINARIES.0), config_map, empty(LOGS.0)] {
        if !volumes.iter().any(|other| other.name == volume.name) {
            volumes.push(volume);
        }
    }
}

/// Mounts volumes where the template does not mount them itself.
pub(super) fn mount(container: &mut Container, volumes: &[(&str, &str)]) {
    let mounts = container.volume_mounts.get_or_insert_default();
    for (name, path) in volumes {
        if !mounts.iter().any(|mount| mount.name == *name) {
            mounts.push(VolumeMount { name: (*name).to_owned(), mount_path: (*path).to_owned(), ..VolumeMount::default() });
        }
    }
}

fn files(desired: &Desired, group: &ProcessGroup) -> Vec<KeyToPath> {
    let file = |key: &str, path: &str| KeyToPath { key: key.to_owned(), path: path.to_owned(), mode: None };
    let mut files = vec![file(&monitor_key(group.class, group.packed), "config.json"), file(CLUSTER_FILE, "fdb.cluster")];
    if !desired.trusted_cas.is_empty() {
        files.push(file(CA_FILE, "ca.pem"));
    }
    files
}

fn empty(name: &str) -> Volume {
    Volume { name: name.to_owned(), empty_dir: Some(EmptyDirVolumeSource::default()), ..Volume::default() }
}
