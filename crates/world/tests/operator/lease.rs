//! Who leads after somebody led.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Target};
use serde_json::json;
use tokio::time::sleep;

use super::{Running, count, start, world};

/// A lease holds for 15 seconds, and those who wait for it look every two.
const SOON: Duration = Duration::from_secs(3);

/// There are no databases here.
struct Nobody;

impl FoundationDb for Nobody {
    fn call<'a>(&'a self, _: &'a Target, _: Call, _: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async { Err(Failure::Unavailable("there is none".to_owned())) })
    }
}

fn leads(operator: &Running) -> bool {
    count(&operator.shown.metrics(), "leader_election_master_status{name=\"quorate\"}") == 1
}

#[tokio::test(start_paused = true)]
async fn whoever_ends_gives_the_lease_back() {
    let kubernetes = world(quorate_api::crds());
    let first = start(&kubernetes, "first", Arc::new(Nobody));
    sleep(SOON).await;
    let second = start(&kubernetes, "second", Arc::new(Nobody));
    sleep(Duration::from_secs(60)).await;
    assert!(leads(&first) && !leads(&second));

    let shown = first.end().await;
    assert_eq!(count(&shown.metrics(), "leader_election_master_status"), 0);
    sleep(SOON).await;
    assert!(leads(&second));
}

#[tokio::test(start_paused = true)]
async fn whoever_gave_nothing_back_is_waited_for() {
    let kubernetes = world(quorate_api::crds());
    kubernetes
        .create_value(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "quorate", "namespace": "default"},
            "spec": {"holderIdentity": "somebody who died", "leaseDurationSeconds": 15, "leaseTransitions": 4},
        }))
        .unwrap();
    let next = start(&kubernetes, "next", Arc::new(Nobody));
    sleep(Duration::from_secs(14)).await;
    assert!(!leads(&next));
    sleep(SOON).await;
    assert!(leads(&next));
}
