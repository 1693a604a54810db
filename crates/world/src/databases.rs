//! The operator's connection to the databases of the world.

use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Octets, Seen, Target};

use crate::foundationdb;
use crate::kubernetes::Kubernetes;

/// Databases that are as their pods are.
pub struct ModelDatabases {
    kubernetes: Kubernetes,
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
}

impl ModelDatabases {
    /// Databases of the pods in this cluster, at the time the world has.
    pub fn new(kubernetes: Kubernetes, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { kubernetes, now: Box::new(now) }
    }
}

impl FoundationDb for ModelDatabases {
    fn call<'a>(&'a self, target: &'a Target, call: Call, _: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let nobody = || Failure::Unavailable("no process answers".to_owned());
            let Call::Look(_) = call else { return Err(nobody()) };
            let (namespace, name) = target.cluster.split_once('/').ok_or_else(nobody)?;
            let pods: Vec<Pod> = self.kubernetes.list(namespace).unwrap_or_default();
            let report = foundationdb::report(&pods, namespace, name, (self.now)()).ok_or_else(nobody)?;
            let status = Octets(report.to_string().into_bytes());
            Ok(Answer::Seen(Seen { status, in_progress: None, connection: None, ranges: None }))
        })
    }
}
