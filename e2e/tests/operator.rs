//! The operator on a real control plane. There are no nodes here, so pods stay pending: what is shown is what the operator does to the
//! API server, and what it says.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use quorate_e2e::{Case, ControlPlane};
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Target};
use quorate_operator::{LeaseSettings, Operator, Settings, SystemClock};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A database that was never born.
struct NoDatabase;

impl FoundationDb for NoDatabase {
    fn call<'a>(&'a self, _: &'a Target, _: Call, _: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async { Err(Failure::Unavailable("nobody listens".to_owned())) })
    }
}

/// An operator for the case's namespace; it ends with the returned token.
fn start_operator(case: &Case<'_>, identity: &str) -> (CancellationToken, tokio::task::JoinHandle<()>) {
    let settings = Settings {
        namespace: Some(case.namespace.clone()),
        rounds_at_once: 4,
        lease: LeaseSettings::new(&case.namespace, "quorate", identity),
    };
    let operator = Operator::new(case.client.clone(), Arc::new(SystemClock), Arc::new(NoDatabase), settings);
    let stop = CancellationToken::new();
    let running = tokio::spawn(operator.run(stop.clone()));
    (stop, running)
}

fn get(case: &Case<'_>, what: &[&str]) -> Value {
    let arguments = [&["get"], what, &["-o", "json"]].concat();
    serde_json::from_str(&case.kubectl.run(&arguments).unwrap().expect_ok()).unwrap()
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn pods(case: &Case<'_>) -> Vec<String> {
    let list = get(case, &["pods"]);
    list["items"].as_array().unwrap().iter().map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_gets_its_pods_and_volumes_and_a_deleted_pod_comes_back() {
    let case = ControlPlane::shared().case("pods_and_volumes").await.unwrap();
    case.install_crds().unwrap();
    let (stop, running) = start_operator(&case, "one");
    let cluster = serde_json::json!({
        "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster", "metadata": {"name": "sample"},
        "spec": {"version": "7.3.69", "processCounts": {"storage": 2, "log": 1, "stateless": -1}, "dataHall": "h1"},
    });
    case.kubectl.apply(&cluster.to_string()).unwrap().expect_ok();
    until("three pods", || pods(&case).len() == 3).await;
    assert_eq!(pods(&case), ["sample-log-1", "sample-storage-2", "sample-storage-3"]);
    assert_eq!(get(&case, &["pvc"])["items"].as_array().unwrap().len(), 3);

    // It says why nothing more happens, and which fields it does not act on.
    let held = || get(&case, &["fdb", "sample"])["status"]["quorate"]["holds"].as_array().cloned().unwrap_or_default();
    until("the pods' holds", || held().iter().filter(|hold| hold["reason"] == "PodPending").count() == 3).await;
    let status = get(&case, &["fdb", "sample"])["status"].clone();
    let condition =
        |name: &str| status["conditions"].as_array().unwrap().iter().find(|each| each["type"] == name).unwrap().clone();
    assert_eq!(condition("Held")["status"], "True");
    assert!(condition("DeprecatedFields")["message"].as_str().unwrap().contains("spec.dataHall"), "{status}");

    // A deleted pod comes back under its name, as a new one.
    let uid = |name: &str| get(&case, &["pod", name])["metadata"]["uid"].clone();
    let before = uid("sample-storage-2");
    case.kubectl.run(&["delete", "pod", "sample-storage-2"]).unwrap().expect_ok();
    until("the pod to come back", || pods(&case).len() == 3 && uid("sample-storage-2") != before).await;

    // When nothing happens it writes nothing, once the last of it was told.
    let version = || get(&case, &["fdb", "sample"])["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(Duration::from_secs(12)).await;
    let at_rest = version();
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert_eq!(version(), at_rest);

    // Deleting the object takes the pods and keeps the volumes.
    case.kubectl.run(&["delete", "fdb", "sample"]).unwrap().expect_ok();
    until("the pods to go", || pods(&case).is_empty()).await;
    assert_eq!(get(&case, &["pvc"])["items"].as_array().unwrap().len(), 3);
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_operator_takes_over_with_a_larger_epoch() {
    let case = ControlPlane::shared().case("take_over").await.unwrap();
    case.install_crds().unwrap();
    let epoch = || get(&case, &["lease", "quorate"])["spec"]["leaseTransitions"].clone();
    let (stop, running) = start_operator(&case, "one");
    until("the first to lead", || case.kubectl.run(&["get", "lease", "quorate"]).unwrap().ok).await;
    assert_eq!(epoch(), 1);
    let (stop_second, second) = start_operator(&case, "two");
    stop.cancel();
    running.await.unwrap();
    until("the second to lead", || epoch() == 2).await;
    assert_eq!(get(&case, &["lease", "quorate"])["spec"]["holderIdentity"], "two");
    stop_second.cancel();
    second.await.unwrap();
}
