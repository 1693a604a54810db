//! How the operator talks to databases: one contract per kind, spoken by real clients and by models.

use futures::future::BoxFuture;
use thiserror::Error;

use crate::ClusterKey;

/// FoundationDB, as the operator needs it.
pub trait FoundationDb: Send + Sync + 'static {
    /// The database's own report, as `status json` gives it.
    fn status<'a>(&'a self, cluster: &'a ClusterKey) -> BoxFuture<'a, Result<Vec<u8>, DatabaseError>>;
}

/// Why a database did not do what it was asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DatabaseError {
    /// It did not answer in time.
    #[error("no answer within {seconds} s")]
    Timeout {
        /// How long it was waited for.
        seconds: u64,
    },
    /// It can't be reached.
    #[error("{0}")]
    Unreachable(String),
}
