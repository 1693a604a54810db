//! A transaction. What it is given is copied at once; what it returns is a future that holds the transaction's database open.

use std::ffi::c_int;

use crate::database::Database;
use crate::error::Error;
use crate::future::Pending;
use crate::options::TransactionOption;
use crate::symbols::{CFuture, CTransaction};

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// The key.
    pub key: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
}

/// A transaction. Dropped, it is cancelled.
pub struct Transaction {
    transaction: *mut CTransaction,
    database: Database,
}

// SAFETY: the C library's functions on transactions may be called from any thread.
unsafe impl Send for Transaction {}
// SAFETY: as above.
unsafe impl Sync for Transaction {}

impl Drop for Transaction {
    fn drop(&mut self) {
        // SAFETY: the pointer came from the library and is given back once, here, while the database is still held.
        unsafe { (self.database.symbols().fdb_transaction_destroy)(self.transaction) }
    }
}

const KEY_TOO_LARGE: i32 = 2102;
const TRANSACTION_TOO_LARGE: i32 = 2101;
const WANT_ALL: c_int = -2;

impl Transaction {
    pub(crate) fn new(database: Database, transaction: *mut CTransaction) -> Self {
        Self { transaction, database }
    }

    fn check(&self, code: c_int) -> Result<(), Error> {
        Error::check(self.database.symbols(), code)
    }

    fn error(&self, code: c_int) -> Error {
        Error::new(self.database.symbols(), code)
    }

    fn length(&self, bytes: &[u8]) -> Result<c_int, Error> {
        c_int::try_from(bytes.len()).map_err(|_| self.error(KEY_TOO_LARGE))
    }

    fn pending(&self, future: *mut CFuture) -> Pending {
        Pending::new(self.database.symbols(), future)
    }

    /// Sets an option. All of them are set before the first read or write.
    pub fn set_option(&self, option: TransactionOption) -> Result<(), Error> {
        let value = option.value();
        let (bytes, length) = value.as_ref().map_or((std::ptr::null(), 0), |value| (value.as_ptr(), 8));
        // SAFETY: the transaction is alive; the value is readable for the length that is given.
        self.check(unsafe {
            (self.database.symbols().fdb_transaction_set_option)(self.transaction, option.code(), bytes, length)
        })
    }

    /// The version at which it reads.
    pub async fn read_version(&self) -> Result<i64, Error> {
        // SAFETY: the transaction is alive.
        self.pending(unsafe { (self.database.symbols().fdb_transaction_get_read_version)(self.transaction) }).int64().await
    }

    /// Waits for the network thread and for nothing else, least of all a server.
    pub async fn touch_network(&self) -> Result<(), Error> {
        // SAFETY: the transaction is alive.
        let size = unsafe { (self.database.symbols().fdb_transaction_get_approximate_size)(self.transaction) };
        self.pending(size).int64().await.map(|_| ())
    }

    /// A key's value. A snapshot read does not conflict with others' writes.
    pub async fn get(&self, key: &[u8], snapshot: bool) -> Result<Option<Vec<u8>>, Error> {
        let length = self.length(key)?;
        let pending = {
            // SAFETY: the transaction is alive; the key is readable for its length, and the library copies it.
            let future = unsafe {
                (self.database.symbols().fdb_transaction_get)(self.transaction, key.as_ptr(), length, c_int::from(snapshot))
            };
            self.pending(future)
        };
        pending.value().await
    }

    /// All rows from `begin` up to `end`, at most `limit` bytes of them: more is an error (2101).
    pub async fn range(&self, begin: &[u8], end: &[u8], snapshot: bool, limit: usize) -> Result<Vec<KeyValue>, Error> {
        let mut rows: Vec<KeyValue> = Vec::new();
        let mut begin = begin.to_vec();
        let mut bytes = 0;
        for page in 1.. {
            let (next, more) = self.page(&begin, end, snapshot, page).await?;
            bytes += next.iter().map(|row| row.key.len() + row.value.len()).sum::<usize>();
            rows.extend(next);
            if bytes > limit {
                return Err(self.error(TRANSACTION_TOO_LARGE));
            }
            let Some(last) = rows.last().filter(|_| more) else { break };
            begin = [&last.key, &b"\0"[..]].concat();
        }
        Ok(rows)
    }

    async fn page(&self, begin: &[u8], end: &[u8], snapshot: bool, page: c_int) -> Result<(Vec<KeyValue>, bool), Error> {
        let (begin_length, end_length) = (self.length(begin)?, self.length(end)?);
        let pending = {
            // SAFETY: the transaction is alive; both keys are readable for their lengths, and the library copies them. Both selectors
            // are "first key at or after".
            let future = unsafe {
                (self.database.symbols().fdb_transaction_get_range)(
                    self.transaction,
                    begin.as_ptr(),
                    begin_length,
                    0,
                    1,
                    end.as_ptr(),
                    end_length,
                    0,
                    1,
                    0,
                    0,
                    WANT_ALL,
                    page,
                    c_int::from(snapshot),
                    0,
                )
            };
            self.pending(future)
        };
        pending.rows().await
    }

    /// Sets a key.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let (key_length, value_length) = (self.length(key)?, self.length(value)?);
        // SAFETY: the transaction is alive; both are readable for their lengths, and the library copies them.
        unsafe {
            (self.database.symbols().fdb_transaction_set)(
                self.transaction,
                key.as_ptr(),
                key_length,
                value.as_ptr(),
                value_length,
            );
        }
        Ok(())
    }

    /// Clears a key.
    pub fn clear(&self, key: &[u8]) -> Result<(), Error> {
        let length = self.length(key)?;
        // SAFETY: as in `set`.
        unsafe { (self.database.symbols().fdb_transaction_clear)(self.transaction, key.as_ptr(), length) }
        Ok(())
    }

    /// Clears the keys from `begin` up to `end`.
    pub fn clear_range(&self, begin: &[u8], end: &[u8]) -> Result<(), Error> {
        let (begin_length, end_length) = (self.length(begin)?, self.length(end)?);
        // SAFETY: as in `set`.
        unsafe {
            (self.database.symbols().fdb_transaction_clear_range)(
                self.transaction,
                begin.as_ptr(),
                begin_length,
                end.as_ptr(),
                end_length,
            );
        }
        Ok(())
    }

    /// Fails the commit if somebody else writes this key meanwhile, as if it had been read.
    pub fn conflict_with_writes_of(&self, key: &[u8]) -> Result<(), Error> {
        const READ: c_int = 0;
        let end = [key, b"\0"].concat();
        let (begin_length, end_length) = (self.length(key)?, self.length(&end)?);
        // SAFETY: as in `set`.
        self.check(unsafe {
            (self.database.symbols().fdb_transaction_add_conflict_range)(
                self.transaction,
                key.as_ptr(),
                begin_length,
                end.as_ptr(),
                end_length,
                READ,
            )
        })
    }

    /// Commits.
    pub async fn commit(&self) -> Result<(), Error> {
        // SAFETY: the transaction is alive.
        self.pending(unsafe { (self.database.symbols().fdb_transaction_commit)(self.transaction) }).ready().await
    }

    /// Waits as long as the database wants after a retryable error, and makes the transaction new; any other error comes back.
    pub async fn on_error(&self, error: &Error) -> Result<(), Error> {
        // SAFETY: the transaction is alive, and the function takes any number.
        self.pending(unsafe { (self.database.symbols().fdb_transaction_on_error)(self.transaction, error.code) }).ready().await
    }
}
