//! What the operator counts. controller-runtime's names where it has one, so that existing dashboards work; our own begin with `quorate_`.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::decided::Decided;

/// The controller in controller-runtime's labels.
const CONTROLLER: &str = "foundationdbcluster";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Controller {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reconcile {
    controller: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Named {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Effect {
    effect: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: String,
    code: String,
}

/// Everything that is counted, in a registry of its own.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    reconciles: Family<Reconcile, Counter>,
    reconcile_errors: Family<Controller, Counter>,
    reconcile_panics: Family<Controller, Counter>,
    requests: Family<Request, Counter>,
    reconcile_time: Family<Controller, Histogram, fn() -> Histogram>,
    active_workers: Family<Controller, Gauge>,
    queue_depth: Family<Named, Gauge>,
    queue_duration: Family<Named, Histogram, fn() -> Histogram>,
    leading: Family<Named, Gauge>,
    effects: Family<Effect, Counter>,
    unreadable: Gauge,
}

impl Metrics {
    /// Nothing was counted yet; what was decided is counted when somebody asks.
    pub(crate) fn new(decided: Arc<Decided>) -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(exponential_buckets(0.001, 2.0, 16));
        let mut metrics = Self {
            registry: Registry::default(),
            reconciles: Family::default(),
            reconcile_errors: Family::default(),
            reconcile_panics: Family::default(),
            requests: Family::default(),
            reconcile_time: Family::new_with_constructor(seconds),
            active_workers: Family::default(),
            queue_depth: Family::default(),
            queue_duration: Family::new_with_constructor(seconds),
            leading: Family::default(),
            effects: Family::default(),
            unreadable: Gauge::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("controller_runtime_reconcile", "Rounds, by how they ended", metrics.reconciles.clone());
        registry.register("controller_runtime_reconcile_errors", "Rounds that failed", metrics.reconcile_errors.clone());
        registry.register("controller_runtime_reconcile_panics", "Rounds that panicked", metrics.reconcile_panics.clone());
        registry.register("rest_client_requests", "Requests to the API server, by method and code", metrics.requests.clone());
        registry.register("controller_runtime_reconcile_time_seconds", "How long rounds took", metrics.reconcile_time.clone());
        registry.register("controller_runtime_active_workers", "Rounds under way", metrics.active_workers.clone());
        registry.register("workqueue_depth", "Clusters that wait for a round", metrics.queue_depth.clone());
        registry.register(
            "workqueue_queue_duration_seconds",
            "How long clusters waited from being marked until their round began",
            metrics.queue_duration.clone(),
        );
        registry.register("leader_election_master_status", "1 while this operator leads", metrics.leading.clone());
        registry.register(
            "quorate_effects",
            "What was done to Kubernetes and to databases, by kind and outcome",
            metrics.effects.clone(),
        );
        registry.register("quorate_unreadable_objects", "Objects that could not be read", metrics.unreadable.clone());
        registry.register_collector(Box::new(decided));
        metrics
    }

    /// All of it, in the text format of OpenMetrics.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a String can't fail.
        encode(&mut text, &self.registry).ok();
        text
    }

    pub(crate) fn round(&self, seconds: f64, failed: bool) {
        let result = if failed { "error" } else { "success" };
        self.reconciles.get_or_create(&Reconcile { controller: CONTROLLER, result }).inc();
        self.reconcile_time.get_or_create(&Controller { controller: CONTROLLER }).observe(seconds);
        if failed {
            self.reconcile_errors.get_or_create(&Controller { controller: CONTROLLER }).inc();
        }
    }

    pub(crate) fn panicked(&self) {
        self.reconcile_panics.get_or_create(&Controller { controller: CONTROLLER }).inc();
    }

    pub(crate) fn request(&self, method: &str, code: String) {
        self.requests.get_or_create(&Request { method: method.to_owned(), code }).inc();
    }

    pub(crate) fn queue(&self, depth: usize, at_work: usize) {
        self.queue_depth.get_or_create(&Named { name: CONTROLLER.to_owned() }).set(i64::try_from(depth).unwrap_or(i64::MAX));
        self.active_workers.get_or_create(&Controller { controller: CONTROLLER }).set(i64::try_from(at_work).unwrap_or(i64::MAX));
    }

    pub(crate) fn waited(&self, seconds: f64) {
        self.queue_duration.get_or_create(&Named { name: CONTROLLER.to_owned() }).observe(seconds);
    }

    pub(crate) fn leading(&self, lease: &str, leads: bool) {
        self.leading.get_or_create(&Named { name: lease.to_owned() }).set(i64::from(leads));
    }

    pub(crate) fn effect(&self, effect: &'static str, ok: bool) {
        self.effects.get_or_create(&Effect { effect, result: if ok { "done" } else { "failed" } }).inc();
    }

    pub(crate) fn unreadable(&self, count: usize) {
        self.unreadable.set(i64::try_from(count).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_counted_under_controller_runtimes_names() {
        let metrics = Metrics::new(Arc::default());
        metrics.round(0.02, true);
        let text = metrics.text();
        assert!(
            text.contains(r#"controller_runtime_reconcile_total{controller="foundationdbcluster",result="error"} 1"#),
            "{text}"
        );
        assert!(text.contains("controller_runtime_reconcile_errors_total"), "{text}");
    }
}
