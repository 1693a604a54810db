//! How often the operator asks a database in one round, counted in the embedded world while a cluster grows and then rests.

use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use quorate_fdb_client::Call;
use quorate_world::scenery;
use quorate_world::stage::{Did, in_virtual_time};

use super::Measured;
use super::stage;

/// The world is looked at so often; a round takes no simulated time, so it is never in two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Long enough for the cluster to grow, and for rounds that find nothing to do.
const LIFE: Duration = Duration::from_secs(300);

pub(super) fn measure() -> Result<Measured> {
    in_virtual_time(live())?
}

async fn live() -> Result<Measured> {
    let stage = stage::empty(0)?;
    stage.kubernetes().create_value(scenery::sample()).map_err(|status| anyhow!("creating the cluster: {status:?}"))?;
    let (mut tally, mut position, mut looks) = (Tally::default(), 0, 0);
    while stage.elapsed() < LIFE {
        stage.pass(LOOK_EVERY).await;
        let entries = stage.ledger.since(position);
        position += entries.len();
        looks += entries.iter().filter(|entry| matches!(entry.did, Did::Database(Call::Look(_)))).count() as u64;
        tally.take_in(rounds(&stage.shown.metrics()), looks);
    }
    stage.end().await;
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
pub(super) fn rounds(metrics: &str) -> u64 {
    let ended = metrics.lines().filter(|line| line.starts_with("controller_runtime_reconcile_total"));
    ended.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
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
