//! The world's kubelets on a real control plane: real controllers and a real scheduler, pods that are only models.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use jiff::Timestamp;
use quorate_e2e::{Case, ControlPlane, Kubelets};
use quorate_world::kubelet::{Fault, Window};
use serde_json::{Value, json};

fn get(case: &Case<'_>, what: &[&str]) -> Value {
    let printed = case.kubectl.run(&[&["get"], what, &["-o", "json"]].concat()).unwrap();
    if printed.ok { serde_json::from_str(&printed.out).unwrap() } else { Value::Null }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn apply(case: &Case<'_>, object: &Value) {
    case.kubectl.apply(&object.to_string()).unwrap().expect_ok();
}

fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"},
        "spec": {
            "containers": [{"name": "main", "image": "example.org/any", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "one"}}],
        },
    })
}

/// One control plane has one set of kubelets, so this is one story.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_run_keep_their_volumes_and_leave_lost_nodes() {
    let case = ControlPlane::shared().case("kubelets").await.unwrap();
    let kubelets = Kubelets::start(case.client.clone());
    for (node, zone) in [("node-1", "a"), ("node-2", "b")] {
        kubelets.add_node(node, zone).await.unwrap();
    }
    apply(&case, &Kubelets::storage_class("network"));
    apply(
        &case,
        &json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "one"},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "network",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }),
    );
    apply(&case, &pod());
    until("the pod to be ready", || is_ready(&get(&case, &["pod", "one"]))).await;
    let volume = || get(&case, &["pvc", "one"])["spec"]["volumeName"].clone();
    let first = volume();
    assert!(first.is_string());

    // A pod that is deleted and made again has the same volume.
    case.kubectl.run(&["delete", "pod", "one"]).unwrap().expect_ok();
    apply(&case, &pod());
    until("the second pod to be ready", || is_ready(&get(&case, &["pod", "one"]))).await;
    assert_eq!(volume(), first);

    // It grows with its claim.
    let larger = r#"{"spec": {"resources": {"requests": {"storage": "2Gi"}}}}"#;
    case.kubectl.run(&["patch", "pvc", "one", "-p", larger]).unwrap().expect_ok();
    until("the volume to grow", || get(&case, &["pvc", "one"])["status"]["capacity"]["storage"] == "2Gi").await;

    // Nothing is heard of the node: the real controllers take it for lost, and the pod is to go.
    let node = get(&case, &["pod", "one"])["spec"]["nodeName"].as_str().unwrap().to_owned();
    let during = Window { from: Timestamp::now(), until: None };
    kubelets.change_settings(|settings| {
        settings.faults.push(Fault::NodeLost { node: node.clone(), during, keeps_running: true });
    });
    until("the pod to be asked to go", || get(&case, &["pod", "one"])["metadata"]["deletionTimestamp"].is_string()).await;
    assert!(!get(&case, &["pod", "one"]).is_null(), "nobody is there to confirm its end");
    kubelets.change_settings(|settings| settings.faults.clear());
    until("the node to be back and the pod to be gone", || get(&case, &["pod", "one"]).is_null()).await;

    // With the claim goes the volume.
    case.kubectl.run(&["delete", "pvc", "one"]).unwrap().expect_ok();
    until("the volume to be gone", || get(&case, &["pv", first.as_str().unwrap()]).is_null()).await;
}
