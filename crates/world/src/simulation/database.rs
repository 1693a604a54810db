//! The operator's connection to the simulated databases.

use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use quorate_operator::{ClusterKey, DatabaseError, FoundationDb};

use super::clock::SimulatedClock;
use crate::foundationdb;
use crate::kubernetes::Kubernetes;

/// Databases that are as their pods are.
pub(crate) struct SimulatedDatabases {
    pub(crate) kubernetes: Kubernetes,
    pub(crate) clock: Arc<SimulatedClock>,
}

impl FoundationDb for SimulatedDatabases {
    fn status<'a>(&'a self, cluster: &'a ClusterKey) -> BoxFuture<'a, Result<Vec<u8>, DatabaseError>> {
        Box::pin(async move {
            let pods: Vec<Pod> = self.kubernetes.list(&cluster.namespace).unwrap_or_default();
            let report = foundationdb::report(&pods, &cluster.namespace, &cluster.name, self.clock.true_now());
            match report {
                Some(report) => Ok(report.to_string().into_bytes()),
                None => Err(DatabaseError::Unreachable("no process answers".to_owned())),
            }
        })
    }
}
