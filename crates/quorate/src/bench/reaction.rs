//! How long after a pod is gone the operator makes it again, over the time that the news and one call take to travel.

use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use k8s_openapi::api::core::v1::Pod;
use quorate_fdb_client::Call;
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
    let names = pods.into_iter().filter_map(|pod| pod.metadata.name).filter(|name| name.contains("stateless"));
    let mut reactions = Vec::new();
    for name in names {
        reactions.push(delete(&stage, &name).await?);
        stage::rest(&stage, "a pod was deleted").await?;
        // The database is left in peace, and the answer of a moment ago grows old.
        stage.pass(Duration::from_secs(120)).await;
    }
    stage.end().await;
    let worst = reactions.iter().map(Reaction::ratio).fold(0.0, f64::max);
    let slowest = reactions.iter().map(|reaction| reaction.took).max().unwrap_or_default();
    let asked = reactions.iter().map(|reaction| reaction.database).max().unwrap_or_default();
    Ok(Measured {
        value: Some(worst),
        baseline: Some(RESYNC.as_secs_f64() / 2.0 / (2 * LATENCY).as_secs_f64()),
        note: format!(
            "the worst of {}; the slowest took {} ms, of which the database took {} ms to answer",
            reactions.len(),
            slowest.as_millis(),
            asked.as_millis()
        ),
    })
}

struct Reaction {
    took: Duration,
    /// How long the database's report took that was asked for in between.
    database: Duration,
}

impl Reaction {
    /// The database's own time is not the operator's: after a death it takes seconds to say how it is.
    fn ratio(&self) -> f64 {
        self.took.saturating_sub(self.database).as_secs_f64() / (2 * LATENCY).as_secs_f64()
    }
}

async fn delete(stage: &Stage, name: &str) -> Result<Reaction> {
    let (position, began) = (stage.ledger.position(), stage.elapsed());
    stage.kubernetes().delete::<Pod>(NAMESPACE, name, Some(0)).map_err(|status| anyhow!("deleting a pod: {status:?}"))?;
    let made = |did: &Did| matches!(did, Did::Kubernetes(call, _) if call.verb == "create" && call.resource == "pods");
    let is_made = |stage: &Stage| stage.ledger.since(position).iter().any(|entry| made(&entry.did));
    ensure!(stage.until(Duration::from_secs(120), is_made).await, "{name} was not made again");
    let entries = stage.ledger.since(position);
    let create = entries.iter().find(|entry| made(&entry.did)).map(|entry| entry.at).unwrap_or_default();
    // Between the look and the round's next call nothing else takes time.
    let looked = entries.iter().filter(|entry| matches!(entry.did, Did::Database(Call::Look(_)))).map(|entry| entry.at);
    let of_a_round = |did: &Did| matches!(did, Did::Kubernetes(call, _) if !call.resource.starts_with("leases"));
    let answered = |at: Duration| {
        let next = entries.iter().filter(|entry| of_a_round(&entry.did) && entry.at >= at).map(|entry| entry.at);
        next.min().unwrap_or(at).saturating_sub(at)
    };
    let database = looked.filter(|at| *at <= create).map(answered).sum();
    Ok(Reaction { took: create.saturating_sub(began), database })
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
