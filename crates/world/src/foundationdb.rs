//! A small FoundationDB: one process per ready pod, and the report it would give of itself.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use quorate_foundationdb::labels;
use serde_json::{Value, json};

/// For this long after its start a process does not say who it is; only its address tells.
const SILENT_AFTER_START: SignedDuration = SignedDuration::from_secs(5);

/// What `status json` says of the database of a cluster, or nothing if no process could answer.
pub fn report(pods: &[Pod], namespace: &str, cluster: &str, now: Timestamp) -> Option<Value> {
    let processes: BTreeMap<String, Value> = pods
        .iter()
        .filter(|pod| belongs_to(pod, namespace, cluster))
        .filter_map(|pod| Some((pod.metadata.uid.clone()?, process(pod, now)?)))
        .collect();
    let has = |class: &str| processes.values().any(|process| process["class_type"] == class);
    if processes.is_empty() {
        return None;
    }
    let available = has("storage") && has("log");
    Some(json!({
        "client": {"database_status": {"available": available, "healthy": available}},
        "cluster": {"generation": 2, "full_replication": available, "processes": processes},
    }))
}

fn belongs_to(pod: &Pod, namespace: &str, cluster: &str) -> bool {
    let label = pod.metadata.labels.as_ref().and_then(|labels| labels.get(labels::CLUSTER));
    pod.metadata.namespace.as_deref() == Some(namespace) && label.is_some_and(|name| name == cluster)
}

fn process(pod: &Pod, now: Timestamp) -> Option<Value> {
    let ready = pod
        .status
        .as_ref()?
        .conditions
        .as_ref()?
        .iter()
        .find(|condition| condition.type_ == "Ready" && condition.status == "True")?;
    let labels = pod.metadata.labels.as_ref()?;
    let address = pod.status.as_ref()?.pod_ip.as_ref()?;
    let since = ready.last_transition_time.as_ref().map_or(now, |time| time.0);
    let mut process = json!({"address": format!("{address}:4501"), "class_type": labels.get(labels::CLASS)?, "excluded": false});
    if now.duration_since(since) >= SILENT_AFTER_START {
        process["version"] = json!("7.3.69");
        process["locality"] = json!({"instance_id": labels.get(labels::GROUP)?, "zoneid": pod.spec.as_ref()?.node_name});
    }
    Some(process)
}
