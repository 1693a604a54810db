//! How often the operator asks a database in one round, counted in the embedded world while a cluster grows and then rests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Target};
use quorate_operator::{Clock, LeaseSettings, Operator, Settings};
use quorate_world::database::Databases;
use quorate_world::kubelet::{KubeletSettings, Reach};
use quorate_world::kubernetes::Kubernetes;
use quorate_world::monitor::MonitorSettings;
use quorate_world::{Cluster, Fdbservers, scenery};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Measured;

/// The world is looked at so often; a round takes no simulated time, so it is never in two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Long enough for the cluster to grow, and for rounds that find nothing to do.
const LIFE: Duration = Duration::from_secs(300);

pub(super) fn measure() -> Result<Measured> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(live())
}

async fn live() -> Result<Measured> {
    let clock = Ticking(Instant::now());
    let kubernetes = Kubernetes::new(move || clock.now());
    scenery::build(&kubernetes).map_err(|status| anyhow!("building the world: {status:?}"))?;
    let provisioners = BTreeMap::from([(scenery::PROVISIONER.to_owned(), Reach::Anywhere)]);
    let model = Databases::new(move || clock.now());
    let servers = Fdbservers::new(model.clone(), 0, MonitorSettings::default());
    let settings = KubeletSettings { provisioners, ..KubeletSettings::default() };
    let cluster = Cluster::new(kubernetes.clone(), settings).with_servers(servers);
    let databases = Arc::new(Counting { model, calls: AtomicU64::new(0) });
    let settings =
        Settings { namespace: None, rounds_at_once: 1, lease: LeaseSettings::new(scenery::NAMESPACE, "quorate", "bench") };
    let client = kubernetes.client_of("operator", scenery::NAMESPACE);
    let operator = Operator::new(client, Arc::new(clock), Arc::clone(&databases) as Arc<_>, settings);
    let shown = operator.shown();
    let stop = CancellationToken::new();
    let running = tokio::spawn(operator.run(stop.clone()));

    let mut tally = Tally::default();
    while clock.0.elapsed() < LIFE {
        cluster.settle(clock.now());
        tokio::time::sleep(LOOK_EVERY).await;
        tally.take_in(rounds(&shown.metrics()), databases.calls.load(Ordering::Relaxed));
    }
    stop.cancel();
    running.await?;
    let Tally { rounds, calls, most } = tally;
    ensure!(calls > 0, "the operator never asked its database in {rounds} rounds");
    Ok(Measured {
        value: Some(most),
        baseline: None,
        note: format!("the most in one look; {calls} calls in {rounds} rounds in all"),
    })
}

/// Rounds and calls so far, and the most calls per round that were seen between two looks.
#[derive(Debug, Default)]
struct Tally {
    rounds: u64,
    calls: u64,
    most: f64,
}

impl Tally {
    fn take_in(&mut self, rounds: u64, calls: u64) {
        let (new_rounds, new_calls) = (rounds - self.rounds, calls - self.calls);
        if new_calls > 0 {
            #[expect(clippy::cast_precision_loss, reason = "a few calls")]
            let ratio = new_calls as f64 / new_rounds.max(1) as f64;
            self.most = self.most.max(ratio);
        }
        (self.rounds, self.calls) = (rounds, calls);
    }
}

/// The rounds that have ended, however they did.
fn rounds(metrics: &str) -> u64 {
    let ended = metrics.lines().filter(|line| line.starts_with("controller_runtime_reconcile_total"));
    ended.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// Databases of the world, and how often they were asked.
struct Counting {
    model: Databases,
    calls: AtomicU64,
}

impl FoundationDb for Counting {
    fn call<'a>(
        &'a self,
        target: &'a Target,
        call: Call,
        deadline: Duration,
    ) -> futures::future::BoxFuture<'a, Result<Answer, Failure>> {
        if matches!(call, Call::Look(_)) {
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
        self.model.call(target, call, deadline)
    }
}

/// Time that moves with tokio's.
#[derive(Clone, Copy)]
struct Ticking(Instant);

impl Clock for Ticking {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH + self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_asks_twice_is_not_hidden_by_others_that_do_not_ask() {
        let mut tally = Tally::default();
        tally.take_in(10, 1);
        tally.take_in(11, 3);
        tally.take_in(40, 3);
        assert!((tally.most - 2.0).abs() < f64::EPSILON);
    }

    #[test]
    fn the_operator_asks_at_most_once_a_round() {
        let measured = measure().unwrap();
        assert_eq!(measured.value, Some(1.0), "{}", measured.note);
    }
}
