//! An open database.

use std::sync::Arc;

use crate::error::Error;
use crate::future::Pending;
use crate::library::Network;
use crate::symbols::{CDatabase, CTransaction, Symbols};
use crate::transaction::Transaction;

/// A database. It stays open as long as a clone or a transaction of it lives.
#[derive(Clone)]
pub struct Database(Arc<Open>);

struct Open {
    database: *mut CDatabase,
    network: Network,
}

// SAFETY: the C library's functions on databases may be called from any thread.
unsafe impl Send for Open {}
// SAFETY: as above.
unsafe impl Sync for Open {}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: the pointer came from the library and is given back once, here, while the network is still held.
        unsafe { (self.network.0.symbols.fdb_database_destroy)(self.database) }
    }
}

impl Database {
    pub(crate) fn new(network: Network, database: *mut CDatabase) -> Self {
        Self(Arc::new(Open { database, network }))
    }

    pub(crate) fn symbols(&self) -> &'static Symbols {
        self.0.network.0.symbols
    }

    /// A new transaction.
    pub fn transaction(&self) -> Result<Transaction, Error> {
        let mut transaction: *mut CTransaction = std::ptr::null_mut();
        // SAFETY: the database is open, and the pointer is to a variable of ours.
        let code = unsafe { (self.symbols().fdb_database_create_transaction)(self.0.database, &raw mut transaction) };
        Error::check(self.symbols(), code)?;
        Ok(Transaction::new(self.clone(), transaction))
    }

    /// Restarts the processes at these addresses (`ip:port`, comma separated): all, or none and `false`.
    /// Has no timeout of its own. Answers `false` as well while the connection is not up yet: read a version first.
    pub fn restart(&self, addresses: &str) -> impl Future<Output = Result<bool, Error>> + Send + 'static {
        let length = i32::try_from(addresses.len()).unwrap_or(i32::MAX);
        // SAFETY: the database is open; the text is readable for the length that is given, and the library copies it.
        let future = unsafe { (self.symbols().fdb_database_reboot_worker)(self.0.database, addresses.as_ptr(), length, 0, 0) };
        let (pending, database) = (Pending::new(self.symbols(), future), self.clone());
        async move {
            let sent = pending.int64().await;
            drop(database);
            Ok(sent? != 0)
        }
    }

    /// The protocol that the coordinators speak, as soon as it is known to be other than `expected`.
    pub fn server_protocol(&self, expected: u64) -> impl Future<Output = Result<u64, Error>> + Send + 'static {
        // SAFETY: the database is open.
        let future = unsafe { (self.symbols().fdb_database_get_server_protocol)(self.0.database, expected) };
        let (pending, database) = (Pending::new(self.symbols(), future), self.clone());
        async move {
            let protocol = pending.uint64().await;
            drop(database);
            protocol
        }
    }
}
