//! What is lost, and comes back or is replaced.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use quorate_e2e::life::{Ground, Stage, name_of};
use quorate_world::kubelet::{Fault, Window};
use serde_json::{Value, json};

use super::{born, nothing_is_lost, uids};

pub async fn a_deleted_pod_comes_back_with_its_volume(ground: Arc<Ground>) {
    let stage = born(&ground, "deleted", &json!({})).await;
    let pod = stage.ready_pods().await.into_iter().find(|pod| pod.contains("storage")).unwrap();
    let (before, claims) = (stage.get("pod", &pod).await.unwrap(), uids(&stage, "pvc").await);
    stage.delete("pod", &pod).await;
    stage.until_made_again(&pod, &before).await;
    stage.settled().await;
    assert_eq!(uids(&stage, "pvc").await, claims);
    nothing_is_lost(&stage).await;
}

/// The power of a node goes, until it comes back.
fn lose_node(ground: &Ground, node: &str) {
    let fault =
        Fault::NodeLost { node: node.to_owned(), during: Window { from: Timestamp::now(), until: None }, keeps_running: false };
    ground.kubelets.change_settings(|settings| settings.faults.push(fault));
}

fn find_node(ground: &Ground, name: &str) {
    ground.kubelets.change_settings(|settings| {
        settings.faults.retain(|fault| !matches!(fault, Fault::NodeLost { node, .. } if node == name));
    });
}

/// Which pods are on a node.
async fn pods_on(stage: &Stage<'_>, node: &str) -> Vec<Value> {
    let mut pods = stage.list("pod").await;
    pods.retain(|pod| pod["spec"]["nodeName"] == node);
    pods
}

pub async fn what_was_on_a_lost_node_is_replaced(ground: Arc<Ground>) {
    let stage = born(&ground, "lost-node", &json!({})).await;
    // A node with a storage pod on it.
    let storage = stage.list("pod").await.into_iter().find(|pod| name_of(pod).contains("storage")).unwrap();
    let node = storage["spec"]["nodeName"].as_str().unwrap().to_owned();
    let lost: Vec<String> = pods_on(&stage, &node).await.iter().map(name_of).collect();
    lose_node(&ground, &node);
    stage
        .until("as many pods elsewhere as there should be", async || {
            let ready = stage.ready_pods().await;
            ready.iter().filter(|pod| !lost.contains(pod)).count() == 8
        })
        .await;
    nothing_is_lost(&stage).await;
    // Once the node is back, what was on it is cleared away.
    find_node(&ground, &node);
    stage
        .until("nothing to be left of the lost pods", async || {
            let names = stage.names("pod").await;
            !names.iter().any(|name| lost.contains(name)) && stage.list("pvc").await.len() == 6
        })
        .await;
    stage.settled().await;
    nothing_is_lost(&stage).await;
}

pub async fn a_lost_coordinator_is_changed(ground: Arc<Ground>) {
    // Nothing is replaced here, so it is the coordinators that change.
    let replacements = json!({"automationOptions": {"replacements": {"enabled": false}}});
    let stage = born(&ground, "coordinator", &replacements).await;
    let connection = async || stage.cluster().await["status"]["connectionString"].as_str().unwrap_or_default().to_owned();
    let before = connection().await;
    let coordinator = before.split_once('@').unwrap().1.split(['.', ',']).next().unwrap().to_owned();
    let node = stage.get("pod", &coordinator).await.unwrap()["spec"]["nodeName"].as_str().unwrap().to_owned();
    lose_node(&ground, &node);
    stage.until("another coordinator", async || !connection().await.contains(&coordinator)).await;
    assert_eq!(connection().await.split(',').count(), 3);
    nothing_is_lost(&stage).await;
    find_node(&ground, &node);
    stage.settled().await;
}

pub async fn all_pods_are_lost_and_no_data(ground: Arc<Ground>) {
    let stage = born(&ground, "all-lost", &json!({})).await;
    let before: BTreeMap<String, Value> = uids(&stage, "pod").await;
    for pod in before.keys() {
        stage.delete("pod", pod).await;
    }
    stage
        .until("all pods to be made again", async || {
            let (now, ready) = (uids(&stage, "pod").await, stage.ready_pods().await.len());
            ready == 8 && before.iter().all(|(name, uid)| now.get(name).is_some_and(|now| now != uid))
        })
        .await;
    stage.settled().await;
    nothing_is_lost(&stage).await;
}
