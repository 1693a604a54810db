//! The operator keeps going, whatever one cluster does to it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Pod};
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Target};
use quorate_operator::{Clock, LeaseSettings, Operator, Settings};
use quorate_world::kubernetes::{CallInfo, Interceptor, Kubernetes, Status, Verdict};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Time that moves with tokio's.
struct Ticking(tokio::time::Instant);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.0.elapsed()
    }
}

/// Asking about one cluster is a defect.
struct Mined;

impl FoundationDb for Mined {
    fn call<'a>(&'a self, target: &'a Target, _: Call, _: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        assert!(target.cluster != "default/mined", "a defect");
        Box::pin(async { Err(Failure::Unavailable("not started yet".to_owned())) })
    }
}

fn world(crds: impl IntoIterator<Item = Value>) -> Kubernetes {
    let start = tokio::time::Instant::now();
    let kubernetes = Kubernetes::new(move || Ticking(start).now());
    for crd in crds {
        kubernetes.create_value(crd).unwrap();
    }
    kubernetes
}

fn cluster(name: &str, version: &Value) -> Value {
    json!({
        "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"version": version, "seedConnectionString": "a:b@198.18.0.1:4501", "processCounts": {"storage": 3, "log": 3, "stateless": 2}},
    })
}

async fn run_for(kubernetes: &Kubernetes, seconds: u64) -> Arc<quorate_operator::Shown> {
    let settings = Settings { namespace: None, rounds_at_once: 2, lease: LeaseSettings::new("default", "quorate", "test") };
    let clock = Arc::new(Ticking(tokio::time::Instant::now()));
    let operator = Operator::new(kubernetes.client("default"), clock, Arc::new(Mined), settings);
    let shown = operator.shown();
    let stop = CancellationToken::new();
    let running = tokio::spawn(operator.run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    assert!(!running.is_finished());
    stop.cancel();
    running.await.unwrap();
    shown
}

fn pods_of(kubernetes: &Kubernetes, cluster: &str) -> usize {
    let pods: Vec<Pod> = kubernetes.list("default").unwrap();
    pods.iter().filter(|pod| pod.metadata.name.as_deref().is_some_and(|name| name.starts_with(cluster))).count()
}

#[tokio::test(start_paused = true)]
async fn a_defect_in_one_clusters_round_costs_that_round_only() {
    let kubernetes = world(quorate_api::crds());
    for name in ["mined", "other", "third"] {
        kubernetes.create_value(cluster(name, &json!("7.3.69"))).unwrap();
    }
    // Two rounds run at once: were the first one's place lost with it, the third cluster would still be served, but nobody after a
    // second defect.
    let shown = run_for(&kubernetes, 120).await;
    assert_eq!((pods_of(&kubernetes, "mined"), pods_of(&kubernetes, "other"), pods_of(&kubernetes, "third")), (0, 8, 8));
    let metrics = shown.metrics();
    let count =
        |name: &str| metrics.lines().find(|line| line.starts_with(name)).and_then(|line| line.rsplit(' ').next()?.parse().ok());
    let panics: Option<u32> = count("controller_runtime_reconcile_panics_total");
    assert!(panics.is_some_and(|panics| panics > 1), "it is tried again: {metrics}");
    let created: Option<u32> = count("rest_client_requests_total{method=\"POST\",code=\"201\"}");
    assert!(created.is_some_and(|created| created >= 16), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cant_be_read_is_told_and_stops_nobody_else() {
    // A cluster whose CRD is older than the operator, and lets anything through.
    let mut crd = quorate_api::foundationdb_crd();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let kubernetes = world([crd]);
    kubernetes.create_value(cluster("odd", &json!({"major": 7}))).unwrap();
    kubernetes.create_value(cluster("other", &json!("7.3.69"))).unwrap();
    run_for(&kubernetes, 30).await;
    assert_eq!((pods_of(&kubernetes, "odd"), pods_of(&kubernetes, "other")), (0, 8));
    let events: Vec<Event> = kubernetes.list("default").unwrap();
    let told = events.iter().find(|event| event.reason.as_deref() == Some("UnreadableObject")).unwrap();
    assert_eq!(told.involved_object.name.as_deref(), Some("odd"));
    assert!(told.message.as_deref().unwrap().contains("version"), "{told:?}");
}

/// A namespace whose quota has no room for volumes.
struct NoRoomForVolumes;

impl Interceptor for NoRoomForVolumes {
    fn before(&self, call: &CallInfo) -> Verdict {
        if call.verb == "create" && call.resource == "persistentvolumeclaims" {
            return Verdict::Refuse(Status::injected(403, "Forbidden", "exceeded quota"));
        }
        Verdict::Pass
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_is_refused_stops_none_of_the_others() {
    let kubernetes = world(quorate_api::crds());
    kubernetes.intercept(Arc::new(NoRoomForVolumes));
    kubernetes.create_value(cluster("other", &json!("7.3.69"))).unwrap();
    let shown = run_for(&kubernetes, 30).await;
    assert_eq!(pods_of(&kubernetes, "other"), 8);
    let metrics = shown.metrics();
    assert!(metrics.contains("quorate_effects_total{effect=\"claim\",result=\"failed\"}"), "{metrics}");
    assert!(metrics.contains("quorate_effects_total{effect=\"pod\",result=\"done\"} 8"), "{metrics}");
}
