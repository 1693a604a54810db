//! FoundationDB's C library, opened at run time: nothing needs it to build or to start, and which file it is gets decided late.
//!
//! This is the one crate in which unsafe code is allowed. What it offers outside is safe: handles free themselves, a future that is
//! dropped is cancelled, bytes are copied out before the library may take them back. The library stays loaded as long as the process
//! lives, and so may its one network thread; whoever wants to be rid of it runs it in a process of its own.

mod database;
mod error;
mod future;
mod library;
mod options;
mod symbols;
mod transaction;

pub use database::Database;
pub use error::{Error, OpenError};
pub use library::{Library, LibraryVersion, Network};
pub use options::{NetworkOption, TransactionOption};
pub use transaction::{KeyValue, Transaction};
