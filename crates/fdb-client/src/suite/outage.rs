//! A database that can't be reached.

use std::time::Duration;

use super::ensure;
use super::session::{Session, available, bare, own, process, set, status};
use crate::contract::{Answer, Call, Commit, Failure, Look, Management, Seen};

fn says(seen: &Seen, name: &str) -> bool {
    status(seen, "/client/messages").as_array().is_some_and(|list| list.iter().any(|message| message["name"] == name))
}

pub(crate) async fn a_database_without_coordinators_still_reports(session: &mut Session<'_>) -> Result<(), String> {
    let addresses = session.database(1).await?;
    session.bench.stop("unset-1").await?;
    session.until("the status says so", &|seen| says(seen, "quorum_not_reachable")).await?;
    let look = Look { exclusions: true, ranges: vec![super::session::between("a", "b")] };
    match session.call(Call::Look(look), Duration::from_secs(10)).await {
        Ok(Answer::Seen(seen)) => {
            ensure!(!available(&seen), "it is not available");
            ensure!(matches!(seen.connection, Some(Err(Failure::Timeout { .. }))), "{:?}", seen.connection);
            ensure!(matches!(seen.ranges, Some(Err(Failure::Timeout { .. }))), "{:?}", seen.ranges);
        }
        other => return Err(format!("a look: {other:?}")),
    }
    // FoundationDB's own timeout is not honoured by all of these.
    for call in [
        Call::Commit(Commit { writes: vec![set("a", "b")], ..Commit::default() }),
        Call::Commit(Commit {
            manage: Some(Management::Include(addresses.iter().map(|address| bare(address)).collect())),
            ..Commit::default()
        }),
        Call::Commit(Commit { manage: Some(Management::EndMaintenance), ..Commit::default() }),
        Call::Kill(addresses.iter().map(|address| bare(address)).collect()),
    ] {
        let answer = session.call(call.clone(), Duration::from_secs(2)).await;
        ensure!(answer == Err(Failure::Timeout { milliseconds: 2000 }), "{call:?}: {answer:?}");
    }
    session.bench.start(&process("unset", 1)).await?;
    session.until("it is back", &|seen| available(seen)).await?;
    let works = session.commit(Commit { writes: vec![crate::contract::Write::Clear(own("a"))], ..Commit::default() }).await;
    ensure!(works == Ok(Answer::Committed), "and works: {works:?}");
    Ok(())
}
