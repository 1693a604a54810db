//! What the operator shows over HTTP.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use k8s_openapi::api::core::v1::Pod;
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Target};
use quorate_operator::{Shown, router};
use quorate_world::Stage;
use quorate_world::kubernetes::{CallInfo, Interceptor, Status, Verdict};
use serde_json::{Value, json};
use tokio::time::sleep;
use tower::ServiceExt;

use super::{any_object_crd, at_rest, cluster, count, seconds, start, world};

/// A database that nobody reaches.
pub(super) struct Unreachable;

impl FoundationDb for Unreachable {
    fn call<'a>(&'a self, _: &'a Target, _: Call, _: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async { Err(Failure::Unavailable("not started yet".to_owned())) })
    }
}

/// The status, the content type and the body of an answer.
async fn get(shown: &Arc<Shown>, path: &str) -> (StatusCode, String, String) {
    let request = Request::get(path).body(Empty::<Bytes>::new()).unwrap();
    let (parts, body) = router(Arc::clone(shown)).oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let kind = parts.headers.get(header::CONTENT_TYPE).map_or("", |kind| kind.to_str().unwrap());
    (parts.status, kind.to_owned(), String::from_utf8(body.to_vec()).unwrap())
}

async fn json_of(shown: &Arc<Shown>, path: &str) -> (StatusCode, Value) {
    let (status, kind, body) = get(shown, path).await;
    assert_eq!(kind, "application/json");
    (status, serde_json::from_str(&body).unwrap())
}

/// Nobody is told of nodes.
struct NoNodes;

impl Interceptor for NoNodes {
    fn before(&self, call: &CallInfo) -> Verdict {
        if call.resource == "nodes" { Verdict::Refuse(Status::injected(403, "Forbidden", "not for you")) } else { Verdict::Pass }
    }
}

/// Everybody is told of everything.
struct Everything;

impl Interceptor for Everything {}

#[tokio::test(start_paused = true)]
async fn it_is_alive_before_it_is_ready() {
    let shown = Arc::default();
    assert_eq!(get(&shown, "/livez").await.0, StatusCode::OK);
    let (status, readiness) = json_of(&shown, "/readyz").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let everything = json!(["clusters", "pods", "claims", "services", "configmaps", "budgets", "nodes", "storageclasses"]);
    assert_eq!(readiness, json!({"ready": false, "leads": false, "pending": everything, "unreadable": {}}));
}

#[tokio::test(start_paused = true)]
async fn it_is_ready_when_every_watch_has_shown_how_things_are() {
    let kubernetes = world(quorate_api::crds());
    kubernetes.intercept(Arc::new(NoNodes));
    let operator = start(&kubernetes, "test", Arc::new(Unreachable));
    sleep(Duration::from_secs(30)).await;
    let (status, readiness) = json_of(&operator.shown, "/readyz").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(readiness, json!({"ready": false, "leads": true, "pending": ["nodes"], "unreadable": {}}));
    assert_eq!(get(&operator.shown, "/livez").await.0, StatusCode::OK, "starting it again would not help");

    kubernetes.intercept(Arc::new(Everything));
    sleep(Duration::from_secs(60)).await;
    let (status, readiness) = json_of(&operator.shown, "/readyz").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(readiness, json!({"ready": true, "leads": true, "pending": [], "unreadable": {}}));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cant_be_read_is_named() {
    let kubernetes = world([any_object_crd()]);
    kubernetes.create_value(cluster("odd", &json!({"major": 7}))).unwrap();
    let operator = start(&kubernetes, "test", Arc::new(Unreachable));
    sleep(Duration::from_secs(5)).await;
    let (status, readiness) = json_of(&operator.shown, "/readyz").await;
    assert_eq!(status, StatusCode::OK, "one user's object is no reason to stop serving the others");
    let why = readiness["unreadable"]["default/odd"].as_str().unwrap();
    assert!(why.starts_with("spec.version: "), "{why}");
    assert_eq!(count(&operator.shown.metrics(), "quorate_unreadable_objects"), 1);

    kubernetes.delete::<FoundationDBCluster>("default", "odd", None).unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(json_of(&operator.shown, "/readyz").await.1["unreadable"], json!({}));
    assert_eq!(count(&operator.shown.metrics(), "quorate_unreadable_objects"), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_decided_is_shown_until_its_cluster_is_gone() {
    let kubernetes = world(quorate_api::crds());
    kubernetes.create_value(cluster("sample", &json!("7.3.69"))).unwrap();
    let operator = start(&kubernetes, "test", Arc::new(Unreachable));
    sleep(Duration::from_secs(5)).await;
    let (status, decisions) = json_of(&operator.shown, "/decisions").await;
    assert_eq!(status, StatusCode::OK);
    let decision = &decisions["default/sample"];
    assert_eq!(decision["status"]["desiredGroups"], 8, "{decisions:#}");
    let is_held_for = |hold: &Value| hold["reason"] == "DatabaseUnreachable";
    assert!(decision["holds"].as_array().unwrap().iter().any(is_held_for), "{decisions:#}");
    let metrics = operator.shown.metrics();
    let held = "quorate_hold_info{namespace=\"default\",cluster=\"sample\",reason=\"DatabaseUnreachable\"}";
    assert_eq!(count(&metrics, held), 1);
    assert!(!metrics.contains("quorate_fault_tolerance{"), "nobody said: {metrics}");

    kubernetes.delete::<FoundationDBCluster>("default", "sample", None).unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(json_of(&operator.shown, "/decisions").await.1, json!({}));
    let metrics = operator.shown.metrics();
    assert!(!metrics.contains("cluster=\"sample\""), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn a_decision_grows_old() {
    let kubernetes = world(quorate_api::crds());
    kubernetes.create_value(cluster("sample", &json!("7.3.69"))).unwrap();
    let operator = start(&kubernetes, "test", Arc::new(Unreachable));
    sleep(Duration::from_secs(5)).await;
    let shown = operator.end().await;
    let age = || seconds(&shown.metrics(), "quorate_decision_age_seconds{namespace=\"default\",cluster=\"sample\"}");
    let then = age();
    sleep(Duration::from_secs(40)).await;
    assert!((age() - then - 40.0).abs() < 0.1, "{then}, then {}", age());
}

fn members(metrics: &str, class: &str, health: &str) -> usize {
    let labels = format!("{{namespace=\"default\",cluster=\"sample\",class=\"{class}\",health=\"{health}\"}}");
    let line = metrics.lines().find_map(|line| line.strip_prefix("quorate_members")?.strip_prefix(labels.as_str()));
    line.map_or(0, |count| count.trim().parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn metrics_are_in_the_format_that_they_say() {
    let (status, kind, metrics) = get(&Arc::default(), "/metrics").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn metrics_tell_how_a_cluster_is() {
    let stage = at_rest().await;
    let metrics = stage.shown.metrics();
    let ready = ["storage", "log", "stateless"].map(|class| members(&metrics, class, "ready"));
    assert_eq!(ready, [4, 4, 3], "{metrics}");
    assert!(!metrics.contains("health=\"not_ready\"") && !metrics.contains("health=\"leaving\""), "{metrics}");
    let tolerance = count(&metrics, "quorate_fault_tolerance{namespace=\"default\",cluster=\"sample\"}");
    assert_eq!(tolerance, 1, "double keeps two copies");
    assert_eq!(count(&metrics, "leader_election_master_status{name=\"quorate\"}"), 1);
    assert_eq!(count(&metrics, "workqueue_depth{name=\"foundationdbcluster\"}"), 0);
    assert_eq!(count(&metrics, "controller_runtime_active_workers{controller=\"foundationdbcluster\"}"), 0);
    let rounds = count(&metrics, "controller_runtime_reconcile_time_seconds_count{controller=\"foundationdbcluster\"}");
    let waits = count(&metrics, "workqueue_queue_duration_seconds_count{name=\"foundationdbcluster\"}");
    assert!(rounds > 0 && rounds == waits, "every round was waited for: {metrics}");
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_lost_is_not_ready_and_one_that_is_to_go_leaves() {
    let stage = at_rest().await;
    let pods: Vec<Pod> = stage.kubernetes().list("default").unwrap();
    let storage = pods.iter().filter_map(|pod| pod.metadata.name.as_deref()).find(|name| name.contains("storage")).unwrap();
    stage.kubernetes().delete::<Pod>("default", storage, Some(0)).unwrap();
    let is_missed = |stage: &Stage| members(&stage.shown.metrics(), "storage", "not_ready") == 1;
    assert!(stage.until(Duration::from_secs(60), is_missed).await, "{}", stage.shown.metrics());
    assert_eq!(members(&stage.shown.metrics(), "storage", "ready"), 3);

    let mut wish = stage.kubernetes().get::<FoundationDBCluster>("default", "sample").unwrap();
    wish.spec.process_counts.as_mut().unwrap().stateless = Some(2);
    stage.kubernetes().update(&wish).unwrap();
    let leaves = |stage: &Stage| members(&stage.shown.metrics(), "stateless", "leaving") == 1;
    assert!(stage.until(Duration::from_secs(60), leaves).await, "{}", stage.shown.metrics());
    assert_eq!(members(&stage.shown.metrics(), "stateless", "ready"), 2);
}
