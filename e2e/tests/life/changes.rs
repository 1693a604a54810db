//! What users change in a cluster that runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quorate_e2e::life::{Ground, name_of};
use serde_json::{Value, json};

use super::{born, born_on, nothing_is_lost, uids};

pub async fn a_knob_is_set_by_a_restart(ground: Arc<Ground>) {
    let stage = born(&ground, "knob", &json!({})).await;
    let before = uids(&stage, "pod").await;
    stage.change(&json!({"processes": {"storage": {"customParameters": ["knob_disable_posix_kernel_aio=1"]}}})).await;
    stage.settled().await;
    stage
        .until("the knob in the command lines of all storage servers", async || {
            let processes = stage.database().await.processes().await;
            let mut storage = processes.iter().filter(|(group, _)| group.starts_with("storage"));
            processes.len() == 8 && storage.all(|(_, process)| process.command_line.contains("--knob_disable_posix_kernel_aio=1"))
        })
        .await;
    assert_eq!(uids(&stage, "pod").await, before, "no pod is made again for it");
    nothing_is_lost(&stage).await;
}

pub async fn a_new_image_reaches_the_pods_zone_by_zone(ground: Arc<Ground>) {
    const IMAGE: &str = "example.org/foundationdb-kubernetes";
    // As few zones as there can be: each of them costs a recovery, after which the database counts its copies again.
    let stage = born_on(&ground, 3, "image", &json!({})).await;
    let (pods, claims) = (uids(&stage, "pod").await, uids(&stage, "pvc").await);
    let node_of = |pod: &Value| (name_of(pod), pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned());
    let nodes: BTreeMap<String, String> = stage.list("pod").await.iter().map(node_of).collect();
    stage.change(&json!({"mainContainer": {"imageConfigs": [{"baseImage": IMAGE}]}})).await;
    stage
        .until("every pod to be made again", async || {
            let ready = stage.ready_pods().await;
            let down: BTreeSet<&String> = nodes.iter().filter(|(pod, _)| !ready.contains(pod)).map(|(_, node)| node).collect();
            assert!(down.len() <= 1, "pods of {down:?} are down at once");
            let now = uids(&stage, "pod").await;
            now.len() == 8 && pods.iter().all(|(name, uid)| now.get(name).is_some_and(|now| now != uid))
        })
        .await;
    stage.settled().await;
    let has_image = |pod: &Value| {
        let mut containers = pod["spec"]["containers"].as_array().into_iter().flatten();
        containers.any(|one| one["image"].as_str().is_some_and(|image| image.starts_with(IMAGE)))
    };
    assert!(stage.list("pod").await.iter().all(has_image));
    assert_eq!(uids(&stage, "pvc").await, claims);
    nothing_is_lost(&stage).await;
}

pub async fn a_process_group_is_replaced_on_request(ground: Arc<Ground>) {
    let stage = born(&ground, "replacement", &json!({})).await;
    let pod = stage.ready_pods().await.into_iter().find(|pod| pod.contains("storage")).unwrap();
    let group = pod.strip_prefix("sample-").unwrap().to_owned();
    stage.change(&json!({"processGroupsToRemove": [group]})).await;
    stage
        .until("the pod and its volume to be gone", async || {
            stage.get("pod", &pod).await.is_none() && stage.list("pvc").await.len() == 6
        })
        .await;
    stage.settled().await;
    assert_eq!(stage.ready_pods().await.len(), 8);
    nothing_is_lost(&stage).await;
}
