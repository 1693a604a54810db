//! When a kubelet brings a changed ConfigMap to a pod: when it comes by, or as soon as the pod itself changes.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use tokio::time::Instant;

use crate::monitor::is_poked;

/// What a pod has of its ConfigMap.
#[derive(Debug)]
pub(super) struct Delivery {
    /// As it was written into the pod's files.
    pub(super) delivered: ConfigMap,
    /// What others have written on the pod.
    annotations: BTreeMap<String, String>,
    outdated_since: Option<Instant>,
}

impl Delivery {
    /// A pod that starts gets what the ConfigMap says then.
    pub(super) fn first(pod: &Pod, config_map: &ConfigMap, monitors_own: &[&str]) -> Self {
        let annotations = annotations_of_others(pod, monitors_own);
        Self { delivered: config_map.clone(), annotations, outdated_since: None }
    }

    /// The kubelet looks, and brings what has changed if it is time.
    pub(super) fn look(&mut self, pod: &Pod, config_map: &ConfigMap, monitors_own: &[&str], after: Duration, now: Instant) {
        let annotations = annotations_of_others(pod, monitors_own);
        let poked = is_poked(&self.annotations, &annotations);
        self.annotations = annotations;
        if self.delivered.data == config_map.data {
            self.outdated_since = None;
            return;
        }
        let since = *self.outdated_since.get_or_insert(now);
        if poked || now.duration_since(since) >= after {
            self.delivered = config_map.clone();
            self.outdated_since = None;
        }
    }
}

fn annotations_of_others(pod: &Pod, monitors_own: &[&str]) -> BTreeMap<String, String> {
    let annotations = pod.metadata.annotations.iter().flatten().filter(|(key, _)| !monitors_own.contains(&key.as_str()));
    annotations.map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn pod(poked_for: &str, own: &str) -> Pod {
        serde_json::from_value(json!({"metadata": {"annotations": {"poked": poked_for, "own": own}}})).unwrap()
    }

    fn config_map(text: &str) -> ConfigMap {
        ConfigMap { data: Some(BTreeMap::from([("text".to_owned(), text.to_owned())])), ..ConfigMap::default() }
    }

    fn after_a_change(pod_then: &Pod, seconds: u64) -> ConfigMap {
        let start = Instant::now();
        let mut delivery = Delivery::first(&pod("", ""), &config_map("old"), &["own"]);
        delivery.look(&pod("", ""), &config_map("new"), &["own"], MINUTE, start);
        assert_eq!(delivery.delivered, config_map("old"));
        delivery.look(pod_then, &config_map("new"), &["own"], MINUTE, start + Duration::from_secs(seconds));
        delivery.delivered
    }

    #[test]
    fn a_change_arrives_when_the_kubelet_comes_by() {
        assert_eq!(after_a_change(&pod("", ""), 59), config_map("old"));
        assert_eq!(after_a_change(&pod("", ""), 60), config_map("new"));
    }

    #[test]
    fn a_poke_brings_it_at_once_and_what_the_monitor_writes_is_none() {
        assert_eq!(after_a_change(&pod("now", ""), 1), config_map("new"));
        assert_eq!(after_a_change(&pod("", "what it goes by"), 1), config_map("old"));
    }
}
