//! Coordinators.

use std::str::FromStr;

use super::ensure;
use super::session::{Session, available, has, own, set};
use crate::connection::{ConnectionString, Coordinator};
use crate::contract::{Answer, Commit, Failure, Management, Seen};

fn are(seen: &Seen, addresses: &[String]) -> bool {
    let wanted: Vec<Coordinator> = addresses.iter().filter_map(|address| Coordinator::from_str(address).ok()).collect();
    let stored = seen.connection.as_ref().and_then(|part| part.as_ref().ok());
    stored.and_then(|text| ConnectionString::from_str(text).ok()).is_some_and(|stored| stored.same_coordinators(&wanted))
}

pub(crate) async fn coordinators_are_changed_and_a_second_time_is_no_change(session: &mut Session<'_>) -> Result<(), String> {
    let addresses = session.database(4).await?;
    let fence = session.commit(Commit { writes: vec![set("fence", "1")], ..Commit::default() }).await;
    ensure!(fence == Ok(Answer::Committed), "the fence: {fence:?}");
    let three = addresses[1..].to_vec();
    let change = |fence: &str, addresses: &[String]| Commit {
        expect: vec![has("fence", Some(fence))],
        manage: Some(Management::Coordinators(addresses.to_vec())),
        writes: vec![],
    };
    let stale = session.commit(change("0", &three)).await;
    ensure!(stale == Err(Failure::Changed { key: own("fence") }), "a stale fence: {stale:?}");

    let changed = session.commit(change("1", &three)).await;
    ensure!(changed == Ok(Answer::Committed), "although the commit itself never says so: {changed:?}");
    let seen = session.until_told("the database names them", &|seen| available(seen) && are(seen, &three)).await?;
    let old = ConnectionString::from_str(&session.bench.target().connection)?;
    let Some(Ok(stored)) = &seen.connection else { return Err(format!("{:?}", seen.connection)) };
    let new = ConnectionString::from_str(stored)?;
    ensure!(new.description == old.description && new.id != old.id, "from {old} to {new}");

    let again = session.commit(change("1", &three)).await;
    match &again {
        Err(Failure::Refused { command, message, retriable: false }) => {
            ensure!(command == "coordinators" && message.starts_with("No change"), "{again:?}");
        }
        other => return Err(format!("the same coordinators again: {other:?}")),
    }
    let kept = session.commit(Commit { expect: vec![has("fence", Some("1"))], ..Commit::default() }).await;
    ensure!(kept == Ok(Answer::Committed), "the fence is as it was: {kept:?}");
    Ok(())
}

pub(crate) async fn a_coordinator_that_nobody_reaches_is_refused_for_now(session: &mut Session<'_>) -> Result<(), String> {
    let addresses = session.database(3).await?;
    session.bench.stop("unset-3").await?;
    let refused = session.manage(Management::Coordinators(addresses.clone())).await;
    match &refused {
        Err(Failure::Refused { command, retriable: true, .. }) => ensure!(command == "coordinators", "{refused:?}"),
        other => return Err(format!("an unreachable coordinator: {other:?}")),
    }
    session.until_told("nothing has changed", &|seen| are(seen, &addresses[..1])).await?;
    Ok(())
}
