//! How long after a pod is gone the operator makes it again, over the time that the news and one call take to travel.

use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use k8s_openapi::api::core::v1::Pod;
use quorate_world::Stage;
use quorate_world::scenery::NAMESPACE;
use quorate_world::stage::{Did, in_virtual_time};

use super::Measured;
use super::stage::{self, Counts};

/// How long an answer of the API takes, and an event of a watch.
const LATENCY: Duration = Duration::from_millis(20);
/// What an operator does that looks every so often: half of it on average.
const RESYNC: Duration = Duration::from_secs(15);

pub(super) fn measure() -> Result<Measured> {
    in_virtual_time(react())?
}

async fn react() -> Result<Measured> {
    let stage = stage::grown(Counts { storage: 4, log: 4, stateless: 8 }).await?;
    stage.set_latency(LATENCY);
    // Watches that were opened before are far away as well from their next event on.
    stage.pass(Duration::from_secs(60)).await;
    let pods: Vec<Pod> = stage.kubernetes().list(NAMESPACE).map_err(|status| anyhow!("listing pods: {status:?}"))?;
    // One of each class: a storage server's database takes seconds to say how it is.
    let names = pods.into_iter().filter_map(|pod| pod.metadata.name);
    let mut reactions = Vec::new();
    for name in names {
        reactions.push(delete(&stage, &name).await?);
        stage::rest(&stage, "a pod was deleted").await?;
        // The database is left in peace, and the answer of a moment ago grows old.
        stage.pass(Duration::from_secs(120)).await;
    }
    stage.end().await;
    let slowest = reactions.iter().max().copied().unwrap_or_default();
    let ratio = |time: Duration| time.as_secs_f64() / (2 * LATENCY).as_secs_f64();
    Ok(Measured {
        value: Some(ratio(slowest)),
        baseline: Some(ratio(RESYNC / 2)),
        note: format!("the slowest of {} took {} ms", reactions.len(), slowest.as_millis()),
    })
}

/// From a pod being gone to its creation. It ends in its own time, as pods do.
async fn delete(stage: &Stage, name: &str) -> Result<Duration> {
    let get = |stage: &Stage| stage.kubernetes().get::<Pod>(NAMESPACE, name).ok().and_then(|pod| pod.metadata.uid);
    let (position, was) = (stage.ledger.position(), get(stage));
    stage.kubernetes().delete::<Pod>(NAMESPACE, name, None).map_err(|status| anyhow!("deleting a pod: {status:?}"))?;
    ensure!(stage.until(Duration::from_secs(120), |stage| get(stage) != was).await, "{name} did not go");
    let gone = stage.elapsed();
    let made = |did: &Did| matches!(did, Did::Kubernetes(call, _) if call.verb == "create" && call.resource == "pods");
    let is_made = |stage: &Stage| stage.ledger.since(position).iter().any(|entry| made(&entry.did));
    ensure!(stage.until(Duration::from_secs(120), is_made).await, "{name} was not made again");
    let entries = stage.ledger.since(position);
    let create = entries.iter().find(|entry| made(&entry.did)).map(|entry| entry.at).unwrap_or_default();
    Ok(create.saturating_sub(gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operator_hears_of_it_and_acts() {
        let measured = measure().unwrap();
        assert!(measured.value.is_some_and(|value| value <= 3.0), "{}", measured.note);
    }
}
