//! Creating a database. The commit usually ends in "unknown", sometimes twice, before a conflict tells that the database exists; whose it
//! is, the id in it says.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use quorate_fdb_library::{Error, Transaction, TransactionOption as Tx};

use super::databases::Opened;
use super::errors::{NOT_COMMITTED, TRANSACTION_TOO_OLD, failure};
use super::keys;
use crate::bytes::Octets;
use crate::contract::{Answer, Failure};

const OPTIONS: [Tx; 4] = [Tx::AccessSystemKeys, Tx::PrioritySystemImmediate, Tx::LockAware, Tx::UseProvisionalProxies];

/// Creates a database under an id of ours. Safe on one that exists: its creation conflicts.
pub(crate) async fn create(
    opened: &Opened,
    id: &str,
    keys: &BTreeMap<String, Octets>,
    deadline: Duration,
    begun: &Cell<bool>,
) -> Result<Answer, Failure> {
    let typed = |error: Error| failure(&error, deadline);
    let transaction = opened.database.transaction().map_err(typed)?;
    loop {
        match attempt(&transaction, id, keys, begun).await {
            Ok(()) => return Ok(Answer::Committed),
            Err(error) if matches!(error.code, NOT_COMMITTED | TRANSACTION_TOO_OLD) => break,
            Err(error) => transaction.on_error(&error).await.map_err(typed)?,
        }
    }
    if created_as(opened).await.map_err(typed)?.as_deref() == Some(id.as_bytes()) {
        Ok(Answer::Committed)
    } else {
        Err(Failure::AlreadyCreated)
    }
}

async fn attempt(transaction: &Transaction, id: &str, keys: &BTreeMap<String, Octets>, begun: &Cell<bool>) -> Result<(), Error> {
    for option in OPTIONS {
        transaction.set_option(option)?;
    }
    transaction.set_option(Tx::InitializeNewDatabase)?;
    transaction.conflict_with_writes_of(keys::INIT_ID)?;
    transaction.set(keys::INIT_ID, id.as_bytes())?;
    transaction.set(&keys::configuration("initialized"), b"1")?;
    for (key, value) in keys {
        transaction.set(&keys::configuration(key), &value.0)?;
    }
    stop_data_movement(transaction)?;
    begun.set(true);
    transaction.commit().await
}

async fn created_as(opened: &Opened) -> Result<Option<Vec<u8>>, Error> {
    let transaction = opened.database.transaction()?;
    loop {
        for option in OPTIONS {
            transaction.set_option(option)?;
        }
        match transaction.get(keys::INIT_ID, true).await {
            Err(error) => transaction.on_error(&error).await?,
            found => return found,
        }
    }
}

/// Whoever moves data holds a lock; a new owner makes it stop and look at the new configuration.
pub(crate) fn stop_data_movement(transaction: &Transaction) -> Result<(), Error> {
    transaction.conflict_with_writes_of(keys::MOVE_KEYS_OWNER)?;
    transaction.set(keys::MOVE_KEYS_OWNER, &fresh_id())
}

/// Sixteen bytes that nobody else has. Without a source of chance they are zeros, which is as good as any other owner but the same twice.
pub(crate) fn fresh_id() -> [u8; 16] {
    let mut id = [0; 16];
    // Up to 256 bytes come at once or not at all.
    let _ = rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty());
    id
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
