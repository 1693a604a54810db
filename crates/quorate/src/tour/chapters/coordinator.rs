//! A coordinator is lost, and another takes its place while a majority is there.

use anyhow::Result;
use quorate_fdb_client::{Call, Commit, Management};

use crate::tour::cast::Cast;
use crate::tour::narrated::times;
use crate::tour::telling::{A_WHILE, Telling};

pub(crate) const ABOUT: &str = "Coordinators are what a database is found by: without a majority of them nothing works. One of three is \
    lost for good. It is given time to come back; then another takes its place, in one change, while the other two are there.";

pub(crate) async fn play(telling: &mut Telling) -> Result<()> {
    telling.begin_with("").await?;
    let begun = telling.stage().ledger.position();
    let lost = telling.cast().a_coordinator();
    let before = telling.cast().status().connection_string.unwrap_or_default();
    telling.happens(format!("{lost}, a coordinator, fails, and crashes whenever it is started"));
    telling.cast().fail(&lost);
    let mut fewest = usize::MAX;
    let whole_again = |cast: Cast<'_>| {
        let (all, running) = cast.database(|database| database.coordinators()).unwrap_or_default();
        fewest = fewest.min(running);
        running == all && cast.status().connection_string.is_some_and(|connection| connection != before)
    };
    let why = "Not at once: a pod that is merely restarted is back in seconds, and a change costs a recovery.";
    telling.await_that("three coordinators are there again", A_WHILE, whole_again, why).await;
    let why = "Two of three are a majority, and no other coordinator goes while one of them is lost.";
    telling.expect("a majority was always there", format!("never fewer than {fewest} of 3"), fewest >= 2, why);
    let why = "The process group itself has failed as well, and is replaced once it has failed for long enough.";
    let replaced = |cast: Cast<'_>| !cast.groups().contains_key(&lost) && cast.is_at_rest();
    telling.await_that(&format!("{lost} is replaced, and all is well"), 2 * A_WHILE, replaced, why).await;
    let changes = times(&telling.stage().ledger.since(begun), |call| {
        matches!(call, Call::Commit(Commit { manage: Some(Management::Coordinators(_)), .. }))
    });
    let why = "Each change costs a recovery, so good coordinators stay, and everything that is wrong is put right at once.";
    telling.expect("the coordinators were changed once", format!("{changes} times"), changes == 1, why);
    Ok(())
}
