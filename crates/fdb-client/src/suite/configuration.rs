//! Creating a database and changing its configuration.

use super::ensure;
use super::session::{CREATION, Session, available, has, keys, own, set, status};
use crate::contract::{Answer, Change, Commit, Failure, Look, Management, Range};

fn configuration() -> Range {
    Range { begin: b"\xff/conf/".as_slice().into(), end: b"\xff/conf0".as_slice().into() }
}

fn new_database(id: &str) -> Management {
    Management::Configure(Change { new: Some(id.to_owned()), keys: keys(1) })
}

pub(crate) async fn a_database_is_created_once_and_by_whom_is_known(session: &mut Session<'_>) -> Result<(), String> {
    session.start("unset", 1).await?;
    session.until("the status says that nothing is available", &|seen| !available(seen)).await?;
    let created = session.manage(new_database(CREATION)).await;
    ensure!(created == Ok(Answer::Committed), "the first creation: {created:?}");
    let again = session.manage(new_database(CREATION)).await;
    ensure!(again == Ok(Answer::Committed), "the same creation again is the same creation: {again:?}");
    let another = session.manage(new_database("ffeeddccbbaa99887766554433221100")).await;
    ensure!(another == Err(Failure::AlreadyCreated), "somebody else's creation: {another:?}");

    let rows = session.rows(vec![configuration()]).await?.concat();
    for (key, value) in keys(1) {
        let stored = rows.iter().find(|row| row.key.0 == [b"\xff/conf/", key.as_bytes()].concat());
        ensure!(stored.map(|row| &row.value) == Some(&value), "{key} is {stored:?}");
    }
    session.until("the database is available", &|seen| status(seen, "/client/database_status/available") == true).await?;
    Ok(())
}

pub(crate) async fn a_configuration_is_changed_together_with_a_claim(session: &mut Session<'_>) -> Result<(), String> {
    session.database(2).await?;
    let change =
        |count: &str| Some(Management::Configure(Change { new: None, keys: [("grv_proxies".to_owned(), count.into())].into() }));
    let first = Commit { expect: vec![has("fence", None)], manage: change("2"), writes: vec![set("fence", "1")] };
    let committed = session.commit(first).await;
    ensure!(committed == Ok(Answer::Committed), "although the database recovers meanwhile: {committed:?}");
    session.until("the status shows it", &|seen| status(seen, "/cluster/configuration/grv_proxies") == 2).await?;

    let stale = Commit { expect: vec![has("fence", None)], manage: change("3"), writes: vec![set("fence", "2")] };
    let stale = session.commit(stale).await;
    ensure!(stale == Err(Failure::Changed { key: own("fence") }), "a stale fence: {stale:?}");
    let key = Range { begin: b"\xff/conf/grv_proxies".as_slice().into(), end: b"\xff/conf/grv_proxies\0".as_slice().into() };
    let rows = session.rows(vec![key]).await?;
    ensure!(rows[0].len() == 1 && rows[0][0].value == "2".into(), "the stale change left {rows:?}");
    session.look(Look::default()).await?;
    Ok(())
}
