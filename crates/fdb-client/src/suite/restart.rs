//! Restarting processes.

use std::time::Duration;

use super::ensure;
use super::session::{Session, available, bare, process_at, status};
use crate::contract::{Answer, Call, Seen};

const PATIENCE: Duration = Duration::from_secs(60);

fn uptime(seen: &Seen, address: &str) -> Option<f64> {
    process_at(seen, address)["uptime_seconds"].as_f64()
}

pub(crate) async fn known_processes_are_restarted_and_with_one_unknown_none(session: &mut Session<'_>) -> Result<(), String> {
    let addresses = session.database(3).await?;
    let two = addresses[1..].to_vec();
    session
        .until("they have been up for a while", &|seen| {
            two.iter().all(|address| uptime(seen, address).is_some_and(|seconds| seconds > 12.0))
        })
        .await?;
    let known: Vec<String> = two.iter().map(|address| bare(address)).collect();
    let mut with_unknown = known.clone();
    with_unknown.push("127.0.0.1:1".to_owned());
    let nobody = session.call(Call::Kill(with_unknown), PATIENCE).await;
    ensure!(nobody == Ok(Answer::Killed(false)), "one is unknown: {nobody:?}");
    session.bench.wait(Duration::from_secs(6)).await;
    session
        .until("nobody was restarted", &|seen| {
            two.iter().all(|address| uptime(seen, address).is_some_and(|seconds| seconds > 12.0))
        })
        .await?;

    let sent = session.call(Call::Kill(known), PATIENCE).await;
    ensure!(sent == Ok(Answer::Killed(true)), "all are known: {sent:?}");
    session
        .until("they are up anew", &|seen| {
            available(seen)
                && two.iter().all(|address| uptime(seen, address).is_some_and(|seconds| seconds < 12.0))
                && !status(seen, "/cluster/recovery_state/name").is_null()
        })
        .await?;
    Ok(())
}
