//! The operator itself, in virtual time, on an embedded Kubernetes; where it says so, with somebody who runs pods.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod at_once;
mod endpoints;
mod keeps_going;
mod lease;
mod telling;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use quorate_fdb_client::FoundationDb;
use quorate_operator::{Clock, LeaseSettings, Operator, Settings, Shown};
use quorate_world::kubernetes::Kubernetes;
use quorate_world::{Stage, scenery};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Time that moves with tokio's.
struct Ticking(tokio::time::Instant);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.0.elapsed()
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

/// A CRD that is older than the operator, and lets anything through.
fn any_object_crd() -> Value {
    let mut crd = quorate_api::foundationdb_crd();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    crd
}

/// A cluster that joins a database, so that the database is asked from the first round on.
fn cluster(name: &str, version: &Value) -> Value {
    json!({
        "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"version": version, "seedConnectionString": "a:b@198.18.0.1:4501", "processCounts": {"storage": 3, "log": 3, "stateless": 2}},
    })
}

/// An operator that runs, two rounds at once.
struct Running {
    shown: Arc<Shown>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

fn start(kubernetes: &Kubernetes, identity: &str, databases: Arc<dyn FoundationDb>) -> Running {
    let settings = Settings { namespace: None, rounds_at_once: 2, lease: LeaseSettings::new("default", "quorate", identity) };
    let clock = Arc::new(Ticking(tokio::time::Instant::now()));
    let operator = Operator::new(kubernetes.client("default"), clock, databases, settings);
    let (shown, stop) = (operator.shown(), CancellationToken::new());
    Running { shown, task: tokio::spawn(operator.run(stop.clone())), stop }
}

impl Running {
    /// Asks it to end; it must not have done so by itself.
    async fn end(self) -> Arc<Shown> {
        assert!(!self.task.is_finished());
        self.stop.cancel();
        self.task.await.unwrap();
        self.shown
    }
}

/// What a metric counts, by its name with its labels.
fn count(metrics: &str, name: &str) -> u64 {
    value(metrics, name).parse().unwrap()
}

/// What a metric measures in seconds, by its name with its labels.
fn seconds(metrics: &str, name: &str) -> f64 {
    value(metrics, name).parse().unwrap()
}

fn value<'a>(metrics: &'a str, name: &str) -> &'a str {
    let line = metrics.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {metrics}"));
    line.rsplit(' ').next().unwrap()
}

/// A small cluster in three zones, at rest.
async fn at_rest() -> Stage {
    let stage = Stage::new(scenery::NODES).unwrap();
    stage.kubernetes().create_value(scenery::sample()).unwrap();
    let is_whole = |stage: &Stage| {
        let decisions = stage.shown.decisions();
        decisions.values().any(|decision| decision.status.reconciled_groups == 11 && decision.steps.is_empty())
    };
    assert!(stage.until(Duration::from_secs(600), is_whole).await);
    stage.pass(Duration::from_secs(60)).await;
    stage
}
