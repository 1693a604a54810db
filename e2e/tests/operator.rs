//! The operator on a real control plane. There are no nodes here, so pods stay pending: what is shown is what the operator does to the
//! API server, and what it says.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use kube::client::{Body, ClientBuilder};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use quorate_e2e::{Case, ControlPlane};
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Target};
use quorate_operator::{LeaseSettings, Operator, Settings, SystemClock};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower::util::MapRequestLayer;

/// A database that was never born.
struct NoDatabase;

impl FoundationDb for NoDatabase {
    fn call<'a>(&'a self, _: &'a Target, _: Call, _: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async { Err(Failure::Unavailable("nobody listens".to_owned())) })
    }
}

/// An operator for the case's namespace; it ends with the returned token.
fn start_operator(case: &Case<'_>, identity: &str) -> (CancellationToken, tokio::task::JoinHandle<()>) {
    start_operator_as(case.client.clone(), case, identity)
}

fn start_operator_as(client: Client, case: &Case<'_>, identity: &str) -> (CancellationToken, tokio::task::JoinHandle<()>) {
    let settings = Settings {
        namespace: Some(case.namespace.clone()),
        rounds_at_once: 4,
        lease: LeaseSettings::new(&case.namespace, "quorate", identity),
    };
    let operator = Operator::new(client, Arc::new(SystemClock), Arc::new(NoDatabase), settings);
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

    // At rest it writes nothing.
    let version = || get(&case, &["fdb", "sample"])["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(Duration::from_secs(2)).await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_runs_under_exactly_the_rules_it_ships_with() {
    let case = ControlPlane::shared().case("exact_rules").await.unwrap();
    case.install_crds().unwrap();
    let rules: Value = serde_saphyr::from_str(include_str!("../../charts/quorate/files/rules.yaml")).unwrap();
    let role = format!("quorate-{}", case.namespace);
    for object in [
        serde_json::json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "quorate"}}),
        // Nodes and storage classes have no namespace, so a Role would not do.
        serde_json::json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": role}, "rules": rules}),
        serde_json::json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "quorate", "namespace": case.namespace}],
        }),
    ] {
        case.kubectl.apply(&object.to_string()).unwrap().expect_ok();
    }
    let (client, used) = recorded_client(&format!("system:serviceaccount:{}:quorate", case.namespace)).await;
    let (stop, running) = start_operator_as(client, &case, "one");
    let cluster = serde_json::json!({
        "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster", "metadata": {"name": "sample"},
        "spec": {"version": "7.3.69", "processCounts": {"storage": 1, "log": -1, "stateless": -1}},
    });
    case.kubectl.apply(&cluster.to_string()).unwrap().expect_ok();
    until("the pod", || pods(&case).len() == 1).await;
    let uid = || get(&case, &["pods"])["items"][0]["metadata"]["uid"].clone();
    let before = uid();
    let failed =
        ["patch", "pod", "sample-storage-1", "--subresource=status", "--type=merge", "-p", r#"{"status": {"phase": "Failed"}}"#];
    case.kubectl.run(&failed).unwrap().expect_ok();
    until("the ended pod to be cleared away and made again", || uid() != before && !uid().is_null()).await;
    stop.cancel();
    running.await.unwrap();
    let allowed = rules.as_array().unwrap().iter().flat_map(|rule| {
        let texts = |field: &str| {
            rule[field].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let (groups, resources, verbs) = (texts("apiGroups"), texts("resources"), texts("verbs"));
        let of = move |verb: String| format!("{verb} {}/{}", groups[0], resources[0]);
        verbs.into_iter().map(of)
    });
    assert_eq!(*used.lock().unwrap(), allowed.collect::<BTreeSet<_>>());
}

/// A client of a user, and everything it asked for as `verb group/resource`.
async fn recorded_client(user: &str) -> (Client, Arc<Mutex<BTreeSet<String>>>) {
    let kubeconfig = Kubeconfig::read_from(ControlPlane::shared().kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    config.auth_info.impersonate = Some(user.to_owned());
    let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let recorder = Arc::clone(&asked);
    let record = move |request: http::Request<Body>| {
        recorder.lock().unwrap().insert(asked_for(request.method().as_str(), request.uri()));
        request
    };
    (ClientBuilder::try_from(config).unwrap().with_layer(&MapRequestLayer::new(record)).build(), asked)
}

fn asked_for(method: &str, uri: &http::Uri) -> String {
    let parts: Vec<_> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => return uri.to_string(),
    };
    let rest = if let ["namespaces", _, rest @ ..] = rest { rest } else { rest };
    let resource = match rest {
        [resource, _, subresource] => format!("{resource}/{subresource}"),
        [resource, ..] => (*resource).to_owned(),
        [] => String::new(),
    };
    let verb = match (method, rest.len(), uri.query().is_some_and(|query| query.contains("watch=true"))) {
        ("GET", 1, true) => "watch",
        ("GET", 1, false) => "list",
        ("GET", ..) => "get",
        ("POST", ..) => "create",
        ("PUT", ..) => "update",
        ("PATCH", ..) => "patch",
        _ => "delete",
    };
    format!("{verb} {group}/{resource}")
}
