//! One transaction: what must still be so is read and compared in it, the management change and the writes go into it, and its result is
//! found out even when the database does not tell.

use std::cell::Cell;
use std::time::Duration;

use quorate_fdb_library::{Error, Transaction, TransactionOption as Tx};

use super::create;
use super::databases::Opened;
use super::doubt::{Doubt, Next, Outcome, judge};
use super::effects::{Effect, effects, observe};
use super::errors::{SPECIAL_KEYS_API_FAILURE, failure, refusal};
use super::keys;
use crate::bytes::Octets;
use crate::contract::{Answer, Change, Commit, Expectation, Failure, Management, Write};

/// No expectation is larger.
const EXPECTED_LIMIT: usize = 16 << 20;

/// Commits. Whoever calls has a timer.
pub(crate) async fn commit(opened: &Opened, commit: &Commit, deadline: Duration, begun: &Cell<bool>) -> Result<Answer, Failure> {
    if let Some(Management::Configure(Change { new: Some(id), keys })) = &commit.manage {
        return create::create(opened, id, keys, deadline, begun).await;
    }
    let typed = |error: Error| failure(&error, deadline);
    let (effects, complete) = effects(commit);
    let blind = matches!(commit.manage, Some(Management::IncludeBlindly(_)));
    let mut before = None;
    let mut doubt = Doubt::default();
    loop {
        let transaction = opened.database.transaction().map_err(typed)?;
        let outcome = match attempt(&transaction, commit, &effects, blind, &mut before, begun).await {
            Ok(()) => Outcome::Committed,
            Err(Stop::Changed(key)) => Outcome::Failed(Failure::Changed { key }),
            Err(Stop::Error(error)) => ended(&transaction, error, deadline).await,
        };
        let mut next = doubt.attempted(outcome);
        if next == Next::Read {
            // Whatever keeps us from reading, the doubt is still there.
            let Ok(now) = read(opened, &effects).await else { return Err(Failure::UnknownResult) };
            next = doubt.read(judge(before.as_deref(), &now, complete));
        }
        match next {
            Next::Answer(answer) => return answer,
            Next::Try | Next::Read => {}
        }
    }
}

/// Why an attempt was not committed.
enum Stop {
    Changed(Octets),
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

async fn attempt(
    transaction: &Transaction,
    commit: &Commit,
    effects: &[Effect],
    blind: bool,
    before: &mut Option<Vec<bool>>,
    begun: &Cell<bool>,
) -> Result<(), Stop> {
    for option in options(commit.manage.as_ref()) {
        transaction.set_option(*option)?;
    }
    if blind {
        // The one read that works on a database that is down.
        transaction.read_version().await?;
    } else {
        for expectation in &commit.expect {
            expect(transaction, expectation).await?;
        }
        let seen = observe(transaction, effects).await?;
        before.get_or_insert(seen);
    }
    if let Some(change) = &commit.manage {
        manage(transaction, change)?;
    }
    for write in &commit.writes {
        match write {
            Write::Set(key, value) => transaction.set(&key.0, &value.0)?,
            Write::Clear(key) => transaction.clear(&key.0)?,
            Write::ClearRange(range) => transaction.clear_range(&range.begin.0, &range.end.0)?,
        }
    }
    begun.set(true);
    Ok(transaction.commit().await?)
}

fn options(change: Option<&Management>) -> &'static [Tx] {
    match change {
        None => &[Tx::AccessSystemKeys, Tx::LockAware],
        Some(Management::Configure(_)) => {
            &[Tx::AccessSystemKeys, Tx::PrioritySystemImmediate, Tx::LockAware, Tx::UseProvisionalProxies, Tx::CausalWriteRisky]
        }
        Some(Management::IncludeBlindly(_)) => &[
            Tx::AccessSystemKeys,
            Tx::LockAware,
            Tx::PrioritySystemImmediate,
            Tx::UseProvisionalProxies,
            Tx::CausalReadRisky,
            Tx::CausalWriteRisky,
        ],
        Some(_) => &[Tx::AccessSystemKeys, Tx::LockAware, Tx::SpecialKeySpaceEnableWrites],
    }
}

async fn expect(transaction: &Transaction, expectation: &Expectation) -> Result<(), Stop> {
    match expectation {
        Expectation::Key(key, value) => {
            let found = transaction.get(&key.0, false).await?;
            if found.as_deref() != value.as_ref().map(|value| value.0.as_slice()) {
                return Err(Stop::Changed(key.clone()));
            }
        }
        Expectation::Range(range, rows) => {
            let found = transaction.range(&range.begin.0, &range.end.0, false, EXPECTED_LIMIT).await?;
            let same = found.len() == rows.len()
                && found.iter().zip(rows).all(|(found, row)| found.key == row.key.0 && found.value == row.value.0);
            if !same {
                return Err(Stop::Changed(range.begin.clone()));
            }
        }
    }
    Ok(())
}

fn manage(transaction: &Transaction, change: &Management) -> Result<(), Error> {
    match change {
        Management::Exclude(who) => who.iter().try_for_each(|one| transaction.set(&keys::exclusion(one), b"")),
        Management::Include(who) => who.iter().try_for_each(|one| transaction.clear(&keys::exclusion(one))),
        Management::IncludeBlindly(who) => include_blindly(transaction, who),
        Management::Coordinators(addresses) => transaction.set(keys::NEW_COORDINATORS, addresses.join(",").as_bytes()),
        Management::Configure(Change { keys, .. }) => {
            if let Some((first, _)) = keys.first_key_value() {
                transaction.conflict_with_writes_of(&keys::configuration(first))?;
            }
            for (key, value) in keys {
                transaction.set(&keys::configuration(key), &value.0)?;
            }
            create::stop_data_movement(transaction)
        }
        Management::Maintain { zone, seconds } => transaction.set(&keys::maintenance(zone), seconds.to_string().as_bytes()),
        Management::EndMaintenance => transaction.clear_range(keys::MAINTENANCE, keys::MAINTENANCE_END),
        Management::ProcessClass { address, class } => transaction.set(&keys::class(address), class.as_bytes()),
    }
}

/// By the keys themselves: the management interface would first read, and a database that is down can't be read.
fn include_blindly(transaction: &Transaction, who: &[String]) -> Result<(), Error> {
    for one in who {
        let version = if keys::is_locality(one) { keys::EXCLUDED_LOCALITY_VERSION } else { keys::EXCLUDED_VERSION };
        transaction.conflict_with_writes_of(version)?;
        transaction.set(version, create::hex(&create::fresh_id()).as_bytes())?;
        transaction.clear(&keys::stored_exclusion(one))?;
    }
    Ok(())
}

/// What the end of an attempt means; waits where the database asks to.
async fn ended(transaction: &Transaction, error: Error, deadline: Duration) -> Outcome {
    if error.code == SPECIAL_KEYS_API_FAILURE {
        // Only here, in the same transaction, before anything resets it.
        return match transaction.get(keys::ERROR_MESSAGE, true).await {
            Ok(message) => refused(refusal(&message.unwrap_or_default())),
            Err(error) => Outcome::Failed(failure(&error, deadline)),
        };
    }
    if error.maybe_committed {
        return Outcome::Unknown;
    }
    let failed = failure(&error, deadline);
    if !error.retryable || matches!(failed, Failure::Conflict | Failure::Locked) {
        return Outcome::Failed(failed);
    }
    match transaction.on_error(&error).await {
        Ok(()) => Outcome::Retry,
        Err(error) => Outcome::Failed(failure(&error, deadline)),
    }
}

/// A change of coordinators to those there are is refused; after an attempt of our own that is the success we did not hear of.
fn refused(failure: Failure) -> Outcome {
    match &failure {
        Failure::Refused { command, message, .. } if command == "coordinators" && message.starts_with("No change") => {
            Outcome::NothingToDo(failure)
        }
        _ => Outcome::Failed(failure),
    }
}

/// Reads the effects, as often as it takes.
async fn read(opened: &Opened, effects: &[Effect]) -> Result<Vec<bool>, Error> {
    let transaction = opened.database.transaction()?;
    loop {
        transaction.set_option(Tx::ReadSystemKeys)?;
        transaction.set_option(Tx::ReadLockAware)?;
        match observe(&transaction, effects).await {
            Err(error) if error.retryable => transaction.on_error(&error).await?,
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_change_is_told_from_other_refusals() {
        let refusal = |command: &str, message: &str| {
            refused(Failure::Refused { command: command.into(), message: message.into(), retriable: false })
        };
        assert!(matches!(
            refusal("coordinators", "No change (existing configuration satisfies request)"),
            Outcome::NothingToDo(_)
        ));
        assert!(matches!(refusal("coordinators", "One of the specified coordinators is unreachable"), Outcome::Failed(_)));
        assert!(matches!(refusal("exclude", "No change"), Outcome::Failed(_)));
    }
}
