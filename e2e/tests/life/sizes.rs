//! Birth, growth, shrinking and the end.

use std::sync::Arc;

use quorate_e2e::life::Ground;
use serde_json::json;

use super::{born, counts, nothing_is_lost};

pub async fn a_cluster_is_born_and_rests(ground: Arc<Ground>) {
    let stage = born(&ground, "birth", &json!({})).await;
    assert_eq!(stage.ready_pods().await.len(), 8);
    assert_eq!(stage.list("pvc").await.len(), 6, "storage and log pods have volumes");
    let cluster = stage.cluster().await;
    let connection = cluster["status"]["connectionString"].as_str().unwrap();
    assert_eq!(connection.split(',').count(), 3, "{connection}");
    // At rest nothing is written on the object.
    let version = async || stage.cluster().await["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let before = version().await;
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    assert_eq!(version().await, before);
}

pub async fn it_grows(ground: Arc<Ground>) {
    let stage = born(&ground, "growth", &json!({})).await;
    stage.change(&counts(4)).await;
    stage.settled().await;
    let storage = stage.ready_pods().await.into_iter().filter(|pod| pod.contains("storage")).count();
    assert_eq!(storage, 4);
    let processes = stage.database().await.processes().await;
    assert_eq!(processes.keys().filter(|group| group.starts_with("storage")).count(), 4);
    nothing_is_lost(&stage).await;
}

pub async fn it_shrinks_and_nothing_is_left_of_who_went(ground: Arc<Ground>) {
    let stage = born(&ground, "shrinking", &counts(4)).await;
    stage.change(&counts(3)).await;
    stage.settled().await;
    stage
        .until("one storage pod and its volume to be gone", async || {
            stage.list("pod").await.len() == 8 && stage.list("pvc").await.len() == 6
        })
        .await;
    stage
        .until("nothing to be excluded any more", async || {
            let status = stage.database().await.status().await.unwrap_or_default();
            status["cluster"]["configuration"]["excluded_servers"].as_array().is_some_and(Vec::is_empty)
        })
        .await;
    nothing_is_lost(&stage).await;
}

pub async fn the_object_goes_and_the_volumes_stay(ground: Arc<Ground>) {
    let stage = born(&ground, "end", &json!({})).await;
    stage.delete("fdb", "sample").await;
    stage.until("the pods to go", async || stage.list("pod").await.is_empty()).await;
    assert_eq!(stage.list("pvc").await.len(), 6);
}
