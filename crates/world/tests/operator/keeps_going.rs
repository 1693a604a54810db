//! The operator keeps going, whatever one cluster does to it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Event, Pod};
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Target};
use quorate_operator::Shown;
use quorate_world::kubernetes::{CallInfo, Interceptor, Kubernetes, Status, Verdict};
use serde_json::json;

use super::{any_object_crd, cluster, count, start, world};

/// Asking about one cluster is a defect.
struct Mined;

impl FoundationDb for Mined {
    fn call<'a>(&'a self, target: &'a Target, _: Call, _: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        assert!(target.cluster != "default/mined", "a defect");
        Box::pin(async { Err(Failure::Unavailable("not started yet".to_owned())) })
    }
}

async fn run_for(kubernetes: &Kubernetes, seconds: u64) -> Arc<Shown> {
    let operator = start(kubernetes, "test", Arc::new(Mined));
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    operator.end().await
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
    assert!(count(&metrics, "controller_runtime_reconcile_panics_total") > 1, "it is tried again: {metrics}");
    assert!(count(&metrics, "rest_client_requests_total{method=\"POST\",code=\"201\"}") >= 16, "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cant_be_read_is_told_and_stops_nobody_else() {
    let kubernetes = world([any_object_crd()]);
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
