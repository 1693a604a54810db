//! A knob: every server must be restarted, and a restart of all costs hardly more than a restart of one.

use std::time::Duration;

use anyhow::Result;
use quorate_fdb_client::Call;

use crate::tour::cast::Cast;
use crate::tour::narrated::times;
use crate::tour::telling::{A_WHILE, Telling};

pub(crate) const ABOUT: &str = "A knob is an argument of fdbserver, so every server must be restarted. Restarted one by one, each would cost \
    a recovery; restarted together, all of them cost two. So every monitor gets the new configuration first, and then all servers are \
    restarted by one command.";

/// What a restart of everything costs, measured on a real server.
const WHOLE_RESTART: u64 = 2;

const KNOB: &str = "--knob_max_outstanding_requests=4";

pub(crate) async fn play(telling: &mut Telling) -> Result<()> {
    telling.begin_with("").await?;
    // What a birth brings with it is over then.
    telling.pass(Duration::from_secs(120)).await;
    let (before, begun) = (telling.cast().recoveries(), telling.stage().ledger.position());
    let pods = uids(telling.cast());
    telling.apply(
        "
spec:
  processes:
    general:
      customParameters:
        - knob_max_outstanding_requests=4
",
    )?;
    let has_it = |cast: Cast<'_>| {
        cast.database(|database| database.command_lines().all(|(_, line)| line.contains(KNOB))) == Some(true) && cast.is_at_rest()
    };
    let why = "Kubelets bring a config map to pods that are annotated for it at once; the restart waits for the last one.";
    telling.await_that("every server runs with the knob, and the cluster is at rest", A_WHILE, has_it, why).await;
    let restarts = times(&telling.stage().ledger.since(begun), |call| matches!(call, Call::Kill(_)));
    let why = "All or none: the command names every server, and the database refuses it if it does not know one of them.";
    telling.expect("one restart of all servers", format!("{restarts}"), restarts == 1, why);
    let recoveries = telling.cast().recoveries() - before;
    let why = "One when the transaction system's processes end, one when the last come back: what a whole restart costs on a real server.";
    let seen = format!("{recoveries}");
    telling.expect(&format!("no more than {WHOLE_RESTART} recoveries"), seen, recoveries <= WHOLE_RESTART, why);
    let same = uids(telling.cast()) == pods;
    let seen = if same { "the same pods as before" } else { "other pods" };
    telling.expect("no pod is made again", seen, same, "The argument is in a file that the monitor reads, not in the pod.");
    Ok(())
}

fn uids(cast: Cast<'_>) -> Vec<Option<String>> {
    cast.pods().into_iter().map(|pod| pod.metadata.uid).collect()
}
