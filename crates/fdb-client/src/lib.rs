//! Talking to FoundationDB: one contract, whoever speaks it; and the one that speaks to real clusters, through child processes.

mod bytes;
mod child;
mod children;
mod connection;
mod contract;
mod libraries;
pub mod protocol;
#[cfg(feature = "suite")]
pub mod suite;
mod tls;
mod validate;

pub use bytes::Octets;
pub use child::{ChildArguments, child_main, healthy_zone, refusal};
pub use children::{Children, Limits, Pulse, Settings};
pub use connection::{ConnectionString, Coordinator, Host};
pub use contract::{
    Answer, Call, Change, Commit, Expectation, Failure, FoundationDb, Look, Management, Range, Row, Rows, Seen, Target,
    TlsIdentity, Write,
};
pub use tls::{TlsFile, TlsProblem};
pub use validate::{OWN_KEYS, validate};
