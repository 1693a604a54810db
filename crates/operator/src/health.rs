//! What the operator shows over HTTP: is it alive, is it ready and what is pending, its metrics, and the last decision of each cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};

use crate::operator::{Readiness, Shown};

/// The routes of the operator's own port.
pub fn router(shown: Arc<Shown>) -> Router {
    Router::new()
        // Alive means the process turns over. It depends on nothing that a restart would not mend.
        .route("/livez", get(async || "ok"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/decisions", get(decisions))
        .with_state(shown)
}

async fn readyz(State(shown): State<Arc<Shown>>) -> (StatusCode, Json<Readiness>) {
    let readiness = shown.readiness();
    let code = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, Json(readiness))
}

/// The format of all that is counted.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

async fn metrics(State(shown): State<Arc<Shown>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, OPEN_METRICS)], shown.metrics())
}

async fn decisions(State(shown): State<Arc<Shown>>) -> Json<BTreeMap<String, serde_json::Value>> {
    let decisions = shown.decisions();
    let as_json = |decision| serde_json::to_value(decision).unwrap_or_default();
    Json(decisions.iter().map(|(key, decision)| (key.to_string(), as_json(decision.as_ref()))).collect())
}
