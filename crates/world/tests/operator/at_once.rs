//! How many clusters are worked on at once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Target};
use serde_json::json;
use tokio::time::sleep;

use super::{cluster, count, seconds, start, world};

const SLOWLY: Duration = Duration::from_secs(10);

/// Databases that take their time, and note who was asked and how many were at once.
#[derive(Default)]
struct Slow(Mutex<Asked>);

#[derive(Default)]
struct Asked {
    now: usize,
    most: usize,
    who: BTreeSet<String>,
}

impl FoundationDb for Slow {
    fn call<'a>(&'a self, target: &'a Target, _: Call, _: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async {
            {
                let mut asked = self.0.lock().unwrap();
                asked.now += 1;
                asked.most = asked.most.max(asked.now);
                asked.who.insert(target.cluster.clone());
            }
            sleep(SLOWLY).await;
            self.0.lock().unwrap().now -= 1;
            Err(Failure::Unavailable("not started yet".to_owned()))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_clusters_are_worked_on_at_once_than_may_be() {
    let kubernetes = world(quorate_api::crds());
    for number in 0..7 {
        kubernetes.create_value(cluster(&format!("number-{number}"), &json!("7.3.69"))).unwrap();
    }
    let databases = Arc::new(Slow::default());
    let operator = start(&kubernetes, "test", databases.clone());

    sleep(SLOWLY / 2).await;
    let metrics = operator.shown.metrics();
    assert_eq!(count(&metrics, "controller_runtime_active_workers{controller=\"foundationdbcluster\"}"), 2);
    assert_eq!(count(&metrics, "workqueue_depth{name=\"foundationdbcluster\"}"), 5);
    assert!(seconds(&metrics, "workqueue_queue_duration_seconds_sum{name=\"foundationdbcluster\"}") < 1.0, "{metrics}");

    sleep(SLOWLY * 9).await;
    let metrics = operator.end().await.metrics();
    let asked = databases.0.lock().unwrap();
    assert_eq!((asked.most, asked.who.len()), (2, 7));
    // Before everybody had one round, two clusters waited ten seconds, two twenty and one thirty.
    let waited = seconds(&metrics, "workqueue_queue_duration_seconds_sum{name=\"foundationdbcluster\"}");
    assert!(waited >= 90.0, "{metrics}");
    assert!(count(&metrics, "controller_runtime_reconcile_time_seconds_count") >= 7, "{metrics}");
    assert!(seconds(&metrics, "controller_runtime_reconcile_time_seconds_sum") >= 70.0, "{metrics}");
}
