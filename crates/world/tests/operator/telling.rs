//! How often the status is written, and how soon.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_world::Stage;
use quorate_world::scenery::{CLUSTER, NAMESPACE};
use quorate_world::stage::{Did, Entry};
use serde_json::json;

use super::endpoints::Unreachable;
use super::{at_rest, cluster, start, world};

const APART: Duration = Duration::from_secs(10);

fn is_status(entry: &Entry) -> bool {
    matches!(&entry.did, Did::Kubernetes(call, _) if call.subresource == "status")
}

fn takes_a_pod_away(entry: &Entry) -> bool {
    matches!(&entry.did, Did::Kubernetes(call, _) if call.verb == "delete" && call.resource == "pods")
}

/// How many process groups are as they should be: by the status, and by the last decision.
fn told_and_decided(stage: &Stage) -> (usize, usize) {
    let cluster: FoundationDBCluster = stage.kubernetes().get(NAMESPACE, CLUSTER).unwrap();
    let told = cluster.status.unwrap().reconciled_process_groups.unwrap();
    let decided = stage.shown.decisions().values().next().unwrap().status.reconciled_groups;
    (usize::try_from(told).unwrap(), decided)
}

#[tokio::test(start_paused = true)]
async fn what_only_tells_is_gathered_and_told_in_time() {
    let stage = at_rest().await;
    let begun = stage.ledger.position();
    let pods: Vec<Pod> = stage.kubernetes().list(NAMESPACE).unwrap();
    for pod in pods.iter().take(3) {
        stage.kubernetes().delete::<Pod>(NAMESPACE, pod.metadata.name.as_deref().unwrap(), None).unwrap();
        stage.pass(Duration::from_secs(3)).await;
    }
    let (mut differs_for, mut ever_differed) = (Duration::ZERO, false);
    let step = Duration::from_millis(100);
    for _ in 0..600 {
        stage.pass(step).await;
        let (told, decided) = told_and_decided(&stage);
        differs_for = if told == decided { Duration::ZERO } else { differs_for + step };
        ever_differed |= told != decided;
        assert!(differs_for <= APART + step, "{told} were told of, {decided} decided");
    }
    assert!(ever_differed, "nothing was ever gathered");
    assert_eq!(told_and_decided(&stage), (11, 11), "they are back");
    let calls = stage.ledger.since(begun);
    let told: Vec<Duration> = calls.iter().filter(|entry| is_status(entry)).map(|entry| entry.at).collect();
    // Once when it begins, once for each ten seconds that it takes, once when all is well again.
    assert!((2..=4).contains(&told.len()), "told at {told:?}");
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_waits_to_be_told_wakes_whoever_tells() {
    let kubernetes = world(quorate_api::crds());
    kubernetes.create_value(cluster("sample", &json!("7.3.69"))).unwrap();
    let operator = start(&kubernetes, "test", Arc::new(Unreachable));
    let told = || {
        let cluster: FoundationDBCluster = kubernetes.get("default", "sample").unwrap();
        let holds = cluster.status.unwrap().quorate.unwrap().holds.unwrap();
        holds.into_iter().map(|hold| hold.sentence).collect::<Vec<_>>()
    };
    let decided = || {
        let decisions = operator.shown.decisions();
        decisions.values().flat_map(|decision| &decision.holds).map(|hold| hold.sentence.clone()).collect::<Vec<_>>()
    };
    tokio::time::sleep(APART / 2).await;
    assert_ne!(told(), decided(), "pods were made, and nobody was told yet that nobody runs them");
    tokio::time::sleep(APART * 2 / 3).await;
    assert_eq!(told(), decided());
    operator.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_about_to_be_taken_away_is_recorded_first_however_recent_the_last_status() {
    let stage = at_rest().await;
    let begun = stage.ledger.position();
    let (version, kind) = ("apps.foundationdb.org/v1beta2", "FoundationDBCluster");
    let mut cluster = stage.kubernetes().get_value(version, kind, NAMESPACE, CLUSTER).unwrap();
    cluster["spec"]["automationOptions"]["podUpdateStrategy"] = json!("Delete");
    cluster["spec"]["processes"]["general"]["podTemplate"] = json!({"spec": {"containers": [
        {"name": "foundationdb", "env": [{"name": "ROLLED", "value": "yes"}]},
    ]}});
    stage.kubernetes().update_value(cluster).unwrap();
    stage.pass(Duration::from_secs(900)).await;
    let calls = stage.ledger.since(begun);
    stage.end().await;
    let writes: Vec<&Entry> = calls.iter().filter(|entry| entry.did.writes()).collect();
    let mut waves = 0;
    for pair in writes.windows(2).filter(|pair| takes_a_pod_away(pair[1]) && !takes_a_pod_away(pair[0])) {
        waves += 1;
        assert!(is_status(pair[0]) && pair[0].at == pair[1].at, "{pair:?}");
    }
    assert_eq!(waves, 6, "one for each node");
}
