//! Reading. The parts are read side by side and fail one by one: a database in trouble still reports, and its other parts hang.

use std::time::Duration;

use quorate_fdb_library::{Database, Error, Transaction, TransactionOption};

use super::databases::Opened;
use super::errors::failure;
use super::keys;
use crate::bytes::Octets;
use crate::contract::{Failure, Look, Row, Rows, Seen};

/// What all ranges of a look may have together; a reply is at most four times that.
const ROWS_LIMIT: usize = 16 << 20;

/// Reads what a look asks for. Parts that hang get nine tenths of the time, so that what did come is still of use.
pub(crate) async fn look(opened: &Opened, look: &Look, deadline: Duration) -> Result<Seen, Failure> {
    let database = &opened.database;
    let patience = deadline.saturating_mul(9) / 10;
    let status = part(patience, status(database));
    let in_progress = wanted(look.exclusions, part(patience, in_progress(database)));
    let connection = wanted(look.exclusions, part(patience, connection(database)));
    let ranges = wanted(!look.ranges.is_empty(), part(patience, ranges(database, look)));
    let (status, in_progress, connection, ranges) = tokio::join!(status, in_progress, connection, ranges);
    Ok(Seen { status: status?, in_progress, connection, ranges })
}

async fn wanted<T>(wanted: bool, part: impl Future<Output = T>) -> Option<T> {
    if wanted { Some(part.await) } else { None }
}

async fn part<T>(patience: Duration, reading: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
    match tokio::time::timeout(patience, reading).await {
        Ok(result) => result.map_err(|error| failure(&error, patience)),
        Err(_) => Err(Failure::Timeout { milliseconds: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX) }),
    }
}

/// Reads again as long as the database says that this may help. Whoever calls has a timer.
async fn reading<T>(
    database: &Database,
    options: &[TransactionOption],
    read: impl AsyncFn(&Transaction) -> Result<T, Error>,
) -> Result<T, Error> {
    let transaction = database.transaction()?;
    loop {
        for option in options {
            transaction.set_option(*option)?;
        }
        match read(&transaction).await {
            Err(error) if error.retryable => transaction.on_error(&error).await?,
            result => return result,
        }
    }
}

const SYSTEM: [TransactionOption; 2] = [TransactionOption::ReadSystemKeys, TransactionOption::ReadLockAware];

async fn status(database: &Database) -> Result<Octets, Error> {
    reading(database, &[], async |transaction| Ok(Octets(transaction.get(keys::STATUS, true).await?.unwrap_or_default()))).await
}

async fn in_progress(database: &Database) -> Result<Vec<String>, Error> {
    reading(database, &SYSTEM, async |transaction| {
        let rows = transaction.range(keys::IN_PROGRESS, keys::IN_PROGRESS_END, true, ROWS_LIMIT).await?;
        let address = |key: &[u8]| String::from_utf8_lossy(key.strip_prefix(keys::IN_PROGRESS).unwrap_or(key)).into_owned();
        let mut addresses: Vec<String> = rows.iter().map(|row| address(&row.key)).collect();
        addresses.sort();
        Ok(addresses)
    })
    .await
}

async fn connection(database: &Database) -> Result<String, Error> {
    reading(database, &SYSTEM, async |transaction| {
        let value = transaction.get(keys::COORDINATORS, true).await?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&value).into_owned())
    })
    .await
}

async fn ranges(database: &Database, look: &Look) -> Result<Rows, Error> {
    reading(database, &SYSTEM, async |transaction| {
        let version = transaction.read_version().await?;
        let mut ranges = Vec::new();
        let mut room = ROWS_LIMIT;
        for range in &look.ranges {
            let rows = transaction.range(&range.begin.0, &range.end.0, true, room).await?;
            room = room.saturating_sub(rows.iter().map(|row| row.key.len() + row.value.len()).sum());
            ranges.push(rows.into_iter().map(|row| Row { key: Octets(row.key), value: Octets(row.value) }).collect());
        }
        Ok(Rows { version, ranges })
    })
    .await
}
