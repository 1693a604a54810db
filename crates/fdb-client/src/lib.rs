//! Talking to FoundationDB: one contract, whoever speaks it.

mod bytes;
mod contract;

pub use bytes::Octets;
pub use contract::{
    Answer, Call, Change, Commit, Expectation, Failure, FoundationDb, Look, Management, Range, Row, Rows, Seen, Target,
    TlsIdentity, Write,
};
