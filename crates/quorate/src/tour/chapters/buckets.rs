//! Replacement buckets: a storage process takes hours to replace, a stateless one seconds.

use std::time::Duration;

use anyhow::Result;

use crate::tour::cast::Cast;
use crate::tour::telling::{A_WHILE, Telling};

pub(crate) const ABOUT: &str = "A storage process fails, and there is much data: its replacement takes long, for everything it had must be \
    copied from the others first. Meanwhile a stateless and a log process fail. Each kind has room of its own, so nobody waits for the \
    slow one.";

pub(crate) const ABOUT_ONE_COUNTER: &str = "With buckets off there is one counter for all, which is what the existing operator does: while \
    the slow replacement is under way, nothing else is replaced.";

/// So much that copying what one server had takes the better part of an hour.
const MUCH: u64 = 1_000_000_000_000;
/// How long a process must fail before it is replaced, and a little.
const DETECTION: Duration = Duration::from_secs(180 + 60);

/// Who failed.
struct Failed {
    storage: String,
    log: String,
    stateless: String,
}

pub(crate) async fn with_buckets(telling: &mut Telling) -> Result<()> {
    let yaml = "
spec:
  automationOptions:
    replacements:
      replacementBucket:
        enabled: true
        storage: 1
        log: 1
        stateless: 1
";
    telling.begin_with(yaml).await?;
    let Some(Failed { storage, log, stateless }) = three_fail(telling).await else { return Ok(()) };
    let what = format!("{log} and {stateless} are replaced while {storage} still is");
    let why = "The log and the stateless bucket have room, whatever the storage bucket holds.";
    let at_once = telling
        .await_that(
            &what,
            DETECTION,
            |cast| cast.is_being_replaced(&log) && cast.is_being_replaced(&stateless) && in_flight(cast, &storage),
            why,
        )
        .await;
    let seen = telling.cast().buckets_in_words();
    let why = "Room is taken from the mark until the database confirms that nothing is left there.";
    telling.expect("the buckets in the status say who holds what", seen, at_once && shown(telling, &storage), why);
    let gone = |cast: Cast<'_>| {
        let groups = cast.groups();
        !groups.contains_key(&log) && !groups.contains_key(&stateless) && groups.contains_key(&storage)
    };
    let why = "A log is drained in seconds, a stateless process has nothing to drain. Their successors serve long before the data of the \
        storage process has been copied.";
    telling.await_that(&format!("{log} and {stateless} are gone before {storage} is"), A_WHILE, gone, why).await;
    let gone = |cast: Cast<'_>| !cast.groups().contains_key(&storage) && cast.is_at_rest();
    let why = "Only when the database confirms that nothing is left on it, the old process group goes.";
    telling.await_that(&format!("in the end {storage} is gone as well"), Duration::from_secs(4 * 3600), gone, why).await;
    Ok(())
}

pub(crate) async fn with_one_counter(telling: &mut Telling) -> Result<()> {
    let yaml = "
spec:
  automationOptions:
    replacements:
      replacementBucket:
        enabled: false
";
    telling.begin_with(yaml).await?;
    let Some(Failed { storage, log, stateless }) = three_fail(telling).await else { return Ok(()) };
    telling.pass(DETECTION).await;
    let cast = telling.cast();
    let waits = !cast.is_being_replaced(&log) && !cast.is_being_replaced(&stateless) && in_flight(cast, &storage);
    let seen = format!("{}; {stateless} is held for {:?}", cast.buckets_in_words(), cast.held_for(&stateless));
    let what = format!("{log} and {stateless} are not replaced while {storage} is");
    telling.expect(&what, seen, waits, "The one counter is taken by the storage process, for as long as its data is copied.");
    let why = "Once the storage process is excluded for good, the counter is free for the next one.";
    let replaced = |cast: Cast<'_>| {
        let groups = cast.groups();
        !groups.contains_key(&log) && !groups.contains_key(&stateless) && cast.is_at_rest()
    };
    let what = "all three are replaced in the end, one after the other";
    telling.await_that(what, Duration::from_secs(4 * 3600), replaced, why).await;
    Ok(())
}

/// A storage process fails and is being replaced; then a log and a stateless process fail.
async fn three_fail(telling: &mut Telling) -> Option<Failed> {
    telling.cast().database(|database| database.hold(MUCH));
    let cast = telling.cast();
    let failed = Failed { storage: cast.last_of("storage"), log: cast.last_of("log"), stateless: cast.last_of("stateless") };
    let Failed { storage, log, stateless } = &failed;
    telling.happens(format!(
        "the database holds {} TB; {storage} fails, and crashes whenever it is started",
        MUCH / 1_000_000_000_000
    ));
    telling.cast().fail(storage);
    let why = "180 s are given to come back, as the YAML says; then a successor is made and the data begins to move.";
    let begun =
        telling.await_that(&format!("{storage} is being replaced"), DETECTION, |cast| cast.is_being_replaced(storage), why).await;
    if !begun {
        return None;
    }
    telling.happens(format!("{log} and {stateless} fail as well"));
    telling.cast().fail(log);
    telling.cast().fail(stateless);
    Some(failed)
}

/// It is marked, and the database has not confirmed yet that nothing is left on it.
fn in_flight(cast: Cast<'_>, group: &str) -> bool {
    cast.groups().get(group).is_some_and(|group| group.removal_timestamp.is_some() && group.exclusion_timestamp.is_none())
}

fn shown(telling: &Telling, storage: &str) -> bool {
    let buckets = telling.cast().buckets();
    let holds =
        |bucket: &str, who: &str| buckets.iter().any(|one| one.bucket == bucket && one.held_by.iter().any(|one| one == who));
    buckets.len() == 3 && holds("storage", storage)
}
