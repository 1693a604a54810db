//! Plain writes and what is expected of keys.

use super::ensure;
use super::session::{Session, between, has, own, set};
use crate::contract::{Answer, Call, Commit, Expectation, Failure, Look, Management, Row, Write};

fn row(name: &str, value: &str) -> Row {
    Row { key: own(name), value: value.into() }
}

pub(crate) async fn what_is_expected_is_compared_in_the_transaction(session: &mut Session<'_>) -> Result<(), String> {
    session.database(1).await?;
    let take = Commit { expect: vec![has("lock", None)], writes: vec![set("lock", "me")], manage: None };
    let taken = session.commit(take.clone()).await;
    ensure!(taken == Ok(Answer::Committed), "a free lock: {taken:?}");
    let taken = session.commit(take).await;
    ensure!(taken == Err(Failure::Changed { key: own("lock") }), "a taken lock: {taken:?}");

    let members = |rows: Vec<Row>| Expectation::Range(between("members/", "members0"), rows);
    let join = |expected: Vec<Row>, name: &str| Commit {
        expect: vec![members(expected)],
        writes: vec![set(&format!("members/{name}"), "here")],
        manage: None,
    };
    let joined = session.commit(join(vec![], "a")).await;
    ensure!(joined == Ok(Answer::Committed), "the first member: {joined:?}");
    let joined = session.commit(join(vec![], "b")).await;
    ensure!(joined == Err(Failure::Changed { key: own("members/") }), "a member that saw no other: {joined:?}");
    let joined = session.commit(join(vec![row("members/a", "here")], "b")).await;
    ensure!(joined == Ok(Answer::Committed), "the second member: {joined:?}");
    let other = session.commit(join(vec![row("members/a", "gone"), row("members/b", "here")], "c")).await;
    ensure!(other == Err(Failure::Changed { key: own("members/") }), "other values: {other:?}");

    let leave = Commit {
        expect: vec![members(vec![row("members/a", "here"), row("members/b", "here")]), has("lock", Some("me"))],
        writes: vec![Write::Clear(own("lock")), Write::ClearRange(between("members/", "members0"))],
        manage: None,
    };
    let left = session.commit(leave).await;
    ensure!(left == Ok(Answer::Committed), "leaving: {left:?}");
    let nothing = Commit { expect: vec![has("lock", None), members(vec![])], ..Commit::default() };
    let empty = session.commit(nothing).await;
    ensure!(empty == Ok(Answer::Committed), "a commit that only expects: {empty:?}");
    Ok(())
}

pub(crate) async fn ranges_are_read_at_one_version(session: &mut Session<'_>) -> Result<(), String> {
    session.database(1).await?;
    let writes = vec![set("a/1", "x"), set("a/2", "y"), set("b/1", ""), set("aa", "z")];
    let written = session.commit(Commit { writes, ..Commit::default() }).await;
    ensure!(written == Ok(Answer::Committed), "writing: {written:?}");
    let ranges = vec![between("b/", "b0"), between("a/", "a0"), between("c/", "c0")];
    let seen = session.look(Look { exclusions: true, ranges }).await?;
    let Some(Ok(rows)) = seen.ranges else { return Err(format!("ranges: {:?}", seen.ranges)) };
    ensure!(rows.version > 0, "the version is {}", rows.version);
    let expected = vec![vec![row("b/1", "")], vec![row("a/1", "x"), row("a/2", "y")], vec![]];
    ensure!(rows.ranges == expected, "in the order of the question, and dc1 does not see dc10: {:?}", rows.ranges);
    ensure!(seen.in_progress == Some(Ok(vec![])), "exclusions: {:?}", seen.in_progress);
    let address = session.bench.target().connection;
    ensure!(seen.connection == Some(Ok(address)), "the connection string: {:?}", seen.connection);
    let plain = session.look(Look::default()).await?;
    ensure!(plain.in_progress.is_none() && plain.connection.is_none() && plain.ranges.is_none(), "nothing else was asked");
    Ok(())
}

/// A hundred races: each has one winner. Who comes second learns it by comparing, or by a conflict, as chance has it; with so many races
/// both are seen.
pub(crate) async fn of_two_who_race_one_wins(session: &mut Session<'_>) -> Result<(), String> {
    session.database(1).await?;
    let mut value: Option<String> = None;
    for round in 0..100 {
        let take = |who: &str| {
            let expect = vec![has("lock", value.as_deref())];
            Call::Commit(Commit { expect, writes: vec![set("lock", &format!("{who} {round}"))], manage: None })
        };
        let [first, second] = session.race(take("first"), take("second")).await;
        let lost = |result: &Result<Answer, Failure>| {
            matches!(result, Err(Failure::Conflict)) || *result == Err(Failure::Changed { key: own("lock") })
        };
        let winner = match (&first, &second) {
            (Ok(Answer::Committed), other) if lost(other) => "first",
            (other, Ok(Answer::Committed)) if lost(other) => "second",
            both => return Err(format!("race {round}: {both:?}")),
        };
        value = Some(format!("{winner} {round}"));
        if session.coverage.failures.contains("conflict") {
            return Ok(());
        }
    }
    Err("a hundred races without a conflict".to_owned())
}

pub(crate) async fn what_cant_be_right_is_not_sent(session: &mut Session<'_>) -> Result<(), String> {
    session.database(1).await?;
    let manage = |change| Call::Commit(Commit { manage: Some(change), ..Commit::default() });
    let write = |key: &[u8]| Call::Commit(Commit { writes: vec![Write::Set(key.into(), "".into())], ..Commit::default() });
    for (call, wrong) in [
        (manage(Management::Exclude(vec!["10.0.0.1:4501:tls".to_owned()])), "exclude"),
        (manage(Management::Coordinators(vec!["10.0.0.1:1".to_owned(), "10.0.0.2:1".to_owned()])), "coordinators"),
        (manage(Management::Maintain { zone: String::new(), seconds: 60 }), "zone"),
        (manage(Management::ProcessClass { address: "10.0.0.1:1".to_owned(), class: "king".to_owned() }), "class"),
        (write(b"\xff/conf/logs"), "writes"),
        (write(b"somebody's data"), "writes"),
        (Call::Kill(vec![]), "addresses"),
    ] {
        match session.call(call.clone(), std::time::Duration::from_secs(60)).await {
            Err(Failure::Invalid { field, .. }) if field == wrong => {}
            other => return Err(format!("{call:?} was answered with {other:?}")),
        }
    }
    Ok(())
}
