//! The operator's connection to the databases of the world.

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use quorate_operator::{ClusterKey, DatabaseError, FoundationDb};

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
    fn status<'a>(&'a self, cluster: &'a ClusterKey) -> BoxFuture<'a, Result<Vec<u8>, DatabaseError>> {
        Box::pin(async move {
            let pods: Vec<Pod> = self.kubernetes.list(&cluster.namespace).unwrap_or_default();
            match foundationdb::report(&pods, &cluster.namespace, &cluster.name, (self.now)()) {
                Some(report) => Ok(report.to_string().into_bytes()),
                None => Err(DatabaseError::Unreachable("no process answers".to_owned())),
            }
        })
    }
}
