//! What can go wrong.

use std::ffi::{CStr, c_int};
use std::path::PathBuf;

use thiserror::Error;

use crate::symbols::Symbols;

const PREDICATE_RETRYABLE: c_int = 50000;
const PREDICATE_MAYBE_COMMITTED: c_int = 50001;

/// An error of FoundationDB's own.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("FoundationDB error {code}: {message}")]
pub struct Error {
    /// Its number.
    pub code: i32,
    /// What it says.
    pub message: String,
    /// Whether the same transaction may succeed when it is tried again.
    pub retryable: bool,
    /// Whether the transaction may have been committed nevertheless.
    pub maybe_committed: bool,
}

impl Error {
    pub(crate) fn new(symbols: &Symbols, code: c_int) -> Self {
        // SAFETY: the function takes any number and returns a text that is never freed.
        let message = unsafe { CStr::from_ptr((symbols.fdb_get_error)(code)) }.to_string_lossy().into_owned();
        // SAFETY: the function takes any two numbers.
        let holds = |predicate| unsafe { (symbols.fdb_error_predicate)(predicate, code) } != 0;
        Self { code, message, retryable: holds(PREDICATE_RETRYABLE), maybe_committed: holds(PREDICATE_MAYBE_COMMITTED) }
    }

    pub(crate) fn check(symbols: &Symbols, code: c_int) -> Result<(), Self> {
        if code == 0 { Ok(()) } else { Err(Self::new(symbols, code)) }
    }
}

/// Why the library is of no use.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It could not be loaded: not there, another architecture, or no FoundationDB client.
    #[error("{} can't be loaded: {reason}", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// It is too old for the interfaces we use.
    #[error("{} offers API version {offered}; 710 is needed", path.display())]
    TooOld {
        /// The file.
        path: PathBuf,
        /// The newest API version it has.
        offered: i32,
    },
    /// It refused to be set up.
    #[error("the client library can't be set up: {0}")]
    SetUp(#[from] Error),
    /// The network thread could not be started.
    #[error("the network thread can't be started: {0}")]
    Thread(#[from] std::io::Error),
}
