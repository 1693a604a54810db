//! Exclusion and inclusion.

use std::time::Duration;

use serde_json::Value;

use super::ensure;
use super::session::{Session, available, bare, has, own, process_at, set, status};
use crate::contract::{Answer, Call, Commit, Failure, Management, Seen};

fn excluded(seen: &Seen) -> Vec<String> {
    let list = status(seen, "/cluster/configuration/excluded_servers");
    let name = |entry: &Value| ["address", "locality"].iter().find_map(|key| entry[key].as_str().map(str::to_owned));
    list.as_array().map(|list| list.iter().filter_map(name).collect()).unwrap_or_default()
}

pub(crate) async fn an_excluded_process_is_drained_and_included_again(session: &mut Session<'_>) -> Result<(), String> {
    let addresses = session.database(4).await?;
    let by_address = bare(&addresses[3]);
    let by_locality = "locality_instance_id:unset-3".to_owned();
    for who in [&by_address, &by_locality] {
        let done = session.manage(Management::Exclude(vec![who.clone()])).await;
        ensure!(done == Ok(Answer::Committed), "excluding {who}: {done:?}");
        let again = session.manage(Management::Exclude(vec![who.clone()])).await;
        ensure!(again == Ok(Answer::Committed), "excluding {who} again: {again:?}");
        let address = if *who == by_address { &addresses[3] } else { &addresses[2] };
        session
            .until_told("the process is excluded, has no role and is not in progress", &|seen| {
                let process = process_at(seen, address);
                let no_role = process["roles"].as_array().is_some_and(Vec::is_empty);
                excluded(seen) == [who.clone()] && process["excluded"] == true && no_role && seen.in_progress == Some(Ok(vec![]))
            })
            .await?;
        let back = session.manage(Management::Include(vec![who.clone()])).await;
        ensure!(back == Ok(Answer::Committed), "including {who}: {back:?}");
        session.until("nothing is excluded", &|seen| available(seen) && excluded(seen).is_empty()).await?;
    }
    let nobody = session.manage(Management::Include(vec!["10.99.0.1".to_owned()])).await;
    ensure!(nobody == Ok(Answer::Committed), "including who was not excluded is no error: {nobody:?}");
    Ok(())
}

pub(crate) async fn a_stale_fence_excludes_nobody(session: &mut Session<'_>) -> Result<(), String> {
    let addresses = session.database(4).await?;
    let fence = session.commit(Commit { writes: vec![set("fence", "2")], ..Commit::default() }).await;
    ensure!(fence == Ok(Answer::Committed), "somebody else's fence: {fence:?}");
    for change in [
        Management::Exclude(vec![bare(&addresses[3])]),
        Management::Exclude(vec!["locality_instance_id:unset-4".to_owned()]),
        Management::Maintain { zone: "zone-unset-4".to_owned(), seconds: 60 },
    ] {
        let stale =
            Commit { expect: vec![has("fence", Some("1"))], manage: Some(change.clone()), writes: vec![set("claim", "stale")] };
        let stale = session.commit(stale).await;
        ensure!(stale == Err(Failure::Changed { key: own("fence") }), "{change:?}: {stale:?}");
    }
    let seen = session.until("the status is complete", &|seen| process_at(seen, &addresses[3])["excluded"] == false).await?;
    ensure!(excluded(&seen).is_empty(), "excluded are {:?}", excluded(&seen));
    ensure!(status(&seen, "/cluster/maintenance_zone").is_null(), "a zone is under maintenance");
    Ok(())
}

pub(crate) async fn excluding_everybody_is_refused_in_the_databases_own_words(session: &mut Session<'_>) -> Result<(), String> {
    let addresses = session.database(3).await?;
    session.until("data is healthy", &|seen| status(seen, "/cluster/data/state/healthy") == true).await?;
    let refused = session.manage(Management::Exclude(addresses.iter().map(|address| bare(address)).collect())).await;
    match &refused {
        Err(Failure::Refused { command, message, .. }) => {
            ensure!(command == "exclude" && !message.is_empty(), "{refused:?}");
        }
        other => return Err(format!("excluding everybody: {other:?}")),
    }
    let seen = session.until("the status is complete", &|seen| available(seen)).await?;
    ensure!(excluded(&seen).is_empty(), "excluded are {:?}", excluded(&seen));
    Ok(())
}

/// Two replicas of the logs want two zones; with two of three excluded there is one, and the database stops.
pub(crate) async fn a_database_without_logs_is_included_blindly(session: &mut Session<'_>) -> Result<(), String> {
    session.database(3).await?;
    session.until("data is healthy", &|seen| status(seen, "/cluster/data/state/healthy") == true).await?;
    let two = vec!["locality_instance_id:unset-2".to_owned(), "locality_instance_id:unset-3".to_owned()];
    // The database accepts it and then stops, sometimes before it can say that it has accepted.
    let exclude = Commit { manage: Some(Management::Exclude(two.clone())), writes: vec![set("claim", "x")], ..Commit::default() };
    let accepted = session.call(Call::Commit(exclude), Duration::from_secs(10)).await;
    ensure!(
        matches!(accepted, Ok(Answer::Committed) | Err(Failure::Timeout { .. })),
        "excluding too much is accepted: {accepted:?}"
    );
    session.until("the database is down", &|seen| !available(seen)).await?;
    let include = Commit { manage: Some(Management::Include(two.clone())), writes: vec![set("claim", "y")], ..Commit::default() };
    let hangs = session.call(Call::Commit(include), Duration::from_secs(5)).await;
    ensure!(matches!(hangs, Err(Failure::Timeout { .. })), "the usual include hangs: {hangs:?}");
    let blind = session.manage(Management::IncludeBlindly(two)).await;
    ensure!(blind == Ok(Answer::Committed), "the blind one works: {blind:?}");
    session.until("the database is back", &|seen| available(seen) && excluded(seen).is_empty()).await?;
    Ok(())
}
