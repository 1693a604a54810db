//! The ConfigMap that every pod mounts: the cluster file, and the monitor's document for each class.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;

use super::digest::digest;
use super::{config_map_name, metadata, monitor_configuration};
use crate::monitor::MonitorConfiguration;
use crate::{Desired, ProcessClass};

/// Under which key the connection string is.
pub const CLUSTER_FILE: &str = "cluster-file";
pub(super) const CA_FILE: &str = "ca-file";
const RUNNING_VERSION: &str = "running-version";

/// The ConfigMap. `kinds` are the classes that still have process groups, and whether in logical fault domains: their pods mount their
/// document even if no more of them are asked for.
pub fn config_map(
    desired: &Desired,
    connection: Option<&str>,
    kinds: impl IntoIterator<Item = (ProcessClass, bool)>,
) -> ConfigMap {
    let text = |class, packed| monitor_text(&monitor_configuration(desired, class, packed, connection));
    config_map_of(desired, connection, kinds, text)
}

/// The same, of documents that are there already.
pub(crate) fn config_map_of(
    desired: &Desired,
    connection: Option<&str>,
    kinds: impl IntoIterator<Item = (ProcessClass, bool)>,
    text: impl Fn(ProcessClass, bool) -> String,
) -> ConfigMap {
    let theirs = desired.config_map.clone().unwrap_or_default();
    let mut metadata = metadata::cluster_metadata(desired, config_map_name(desired), Some(&theirs.metadata));
    metadata.owner_references = Some(vec![metadata::owner(desired)]);

    let mut data = theirs.data.unwrap_or_default();
    data.insert(CLUSTER_FILE.to_owned(), connection.unwrap_or_default().to_owned());
    data.insert(RUNNING_VERSION.to_owned(), desired.version.to_string());
    if !desired.trusted_cas.is_empty() {
        data.insert(CA_FILE.to_owned(), desired.trusted_cas.join("\n"));
    }
    let packs = desired.distribution.is_some();
    let asked = desired.counts.iter().filter(|(_, count)| **count > 0).map(|(class, _)| (*class, packs));
    let kinds: BTreeSet<(ProcessClass, bool)> = asked.chain(kinds).collect();
    for (class, packed) in kinds {
        data.insert(monitor_key(class, packed), text(class, packed));
    }
    ConfigMap { metadata, data: Some(data), binary_data: theirs.binary_data, immutable: None }
}

/// The monitor's document as it is written into the ConfigMap; the monitor repeats exactly these bytes when it follows them.
pub fn monitor_text(configuration: &MonitorConfiguration) -> String {
    // It has no map whose keys are not text, so writing it can't fail.
    serde_json::to_string(configuration).unwrap_or_default()
}

/// The digest of what a ConfigMap says to the monitors of a class, in logical fault domains or not, if it says anything.
pub fn monitor_digest(data: &BTreeMap<String, String>, class: ProcessClass, packed: bool) -> Option<String> {
    data.get(&monitor_key(class, packed)).map(|text| digest(&Value::from(text.as_str())))
}

/// Whether a key of the ConfigMap is ours to write.
pub fn is_our_key(key: &str) -> bool {
    [CLUSTER_FILE, RUNNING_VERSION, CA_FILE].contains(&key) || key.starts_with("fdbmonitor-conf-")
}

/// Under which key the monitor's document of a class is. Pods in logical fault domains have one of their own, so that turning those on
/// or off changes nothing for the pods that are there.
pub(super) fn monitor_key(class: ProcessClass, packed: bool) -> String {
    if packed { format!("fdbmonitor-conf-{class}-packed-json") } else { format!("fdbmonitor-conf-{class}-json") }
}
