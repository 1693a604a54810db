//! The contract: everything the operator ever asks of a FoundationDB, as data. The real client, recordings of a real server and the
//! model in the simulated world all speak it, and one suite holds all three to it.
//!
//! There are three calls. [`Call::Look`] reads everything a round needs in one round trip. [`Call::Commit`] is one transaction: what must
//! still be so, at most one management change, and plain writes; all of it happens, or nothing. [`Call::Kill`] restarts processes, which
//! FoundationDB offers outside transactions only.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Octets;

/// Whoever can speak to FoundationDB.
pub trait FoundationDb: Send + Sync + 'static {
    /// Makes a call, and gives up at the deadline by a timer of its own: several of FoundationDB's calls ignore the one they are given.
    fn call<'a>(&'a self, target: &'a Target, call: Call, deadline: Duration) -> BoxFuture<'a, Result<Answer, Failure>>;

    /// A cluster is gone: whatever was kept open for it may be closed.
    fn forget(&self, _cluster: &str) {}
}

/// Which database.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The cluster it belongs to, as `namespace/name`. Stays the same when the connection string changes.
    pub cluster: String,
    /// `description:id@coordinator,coordinator`, as in a cluster file.
    pub connection: String,
    /// The version that runs, which decides the client library.
    pub version: String,
    /// The identity to show, where the cluster uses TLS.
    pub tls: Option<TlsIdentity>,
}

/// Paths of the files of a TLS identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TlsIdentity {
    /// The certificate chain.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    /// Whom we trust.
    pub ca: String,
    /// What a peer's certificate must say, in FoundationDB's own notation; empty for no more than a trusted chain.
    pub verify_peers: String,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Call {
    /// Reads.
    Look(Look),
    /// Changes something, in one transaction.
    Commit(Commit),
    /// Restarts processes by address (`ip:port`, no `:tls`): all of them, or none if one of them is unknown.
    Kill(Vec<String>),
}

/// What is to be read. The report always is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Look {
    /// Also which exclusions are not finished, and the connection string as the database itself has it.
    pub exclusions: bool,
    /// Also these ranges, all at one version.
    pub ranges: Vec<Range>,
}

/// Keys from `begin` on, up to `end` and without it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Range {
    /// The first key.
    pub begin: Octets,
    /// The key after the last.
    pub end: Octets,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Row {
    /// The key.
    pub key: Octets,
    /// Its value.
    pub value: Octets,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// To a look.
    Seen(Seen),
    /// The transaction is committed, or was found to be: its result was unknown, and reading showed that it had happened.
    Committed,
    /// To a kill: whether it was sent. Not sent means that nothing was.
    Killed(bool),
}

/// What was read. A database in trouble still reports, so parts fail one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seen {
    /// `status json`.
    pub status: Octets,
    /// Addresses (`ip:port`) whose exclusion is not finished, sorted. `0.0.0.0:0` stands for a log of unknown address.
    pub in_progress: Option<Result<Vec<String>, Failure>>,
    /// The connection string as the database itself has it.
    pub connection: Option<Result<String, Failure>>,
    /// The ranges that were asked for.
    pub ranges: Option<Result<Rows, Failure>>,
}

/// Ranges, all read at one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// The version.
    pub version: i64,
    /// The rows of each range, in the order in which the ranges were asked for.
    pub ranges: Vec<Vec<Row>>,
}

/// One transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Commit {
    /// What must still be so: the fence, the sets that were compared. Read in the transaction, so a change in between makes it fail.
    pub expect: Vec<Expectation>,
    /// The management change, if there is one.
    pub manage: Option<Management>,
    /// Plain writes. A management change wants one besides it (a claim): a transaction that turns out to write nothing is not checked
    /// for conflicts. The exception is a change of coordinators, which loses every other write.
    pub writes: Vec<Write>,
}

/// Something that must still be as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Expectation {
    /// A key has this value, or none.
    Key(Octets, Option<Octets>),
    /// A range has exactly these rows.
    Range(Range, Vec<Row>),
}

/// A plain write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Write {
    /// Sets a key.
    Set(Octets, Octets),
    /// Clears a key.
    Clear(Octets),
    /// Clears a range.
    ClearRange(Range),
}

/// A change that the database itself carries out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Management {
    /// Nothing may live there any more: `ip`, `ip:port`, or `locality_instance_id:storage-1`.
    Exclude(Vec<String>),
    /// They may be used again. What was not excluded is no error.
    Include(Vec<String>),
    /// The same for a database that is down because too much was excluded: blind, by system keys, with its result read afterwards.
    IncludeBlindly(Vec<String>),
    /// These addresses are the coordinators from now on (`ip:port`, with `:tls`, or a host name and port).
    Coordinators(Vec<String>),
    /// Keys below `\xff/conf/`.
    Configure(Change),
    /// Failures in this zone cause no data movement for so many seconds.
    Maintain {
        /// The zone.
        zone: String,
        /// For how long.
        seconds: u32,
    },
    /// Maintenance ends.
    EndMaintenance,
    /// A process's class, by address; `default` gives it back to its command line.
    ProcessClass {
        /// `ip:port`.
        address: String,
        /// The class.
        class: String,
    },
}

/// A change of the configuration, key by key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The database is to be created, under this id of 16 bytes in hex; it tells our own creation from somebody else's.
    pub new: Option<String>,
    /// What to set, without the prefix.
    pub keys: BTreeMap<String, Octets>,
}

/// Why a call failed.
#[derive(Clone, Debug, Error, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Failure {
    /// No answer before the deadline. What was asked may still happen.
    #[error("no answer within {milliseconds} ms")]
    Timeout {
        /// The deadline.
        milliseconds: u64,
    },
    /// What was expected is no longer so; nothing was done.
    #[error("{key} is not as it was read")]
    Changed {
        /// The first key or range that differs.
        key: Octets,
    },
    /// Somebody else's transaction came first; nothing was done.
    #[error("another transaction came first")]
    Conflict,
    /// Whether it happened is unknown, and reading could not tell.
    #[error("whether it was committed is unknown")]
    UnknownResult,
    /// A database already exists; it was not created anew.
    #[error("a database already exists")]
    AlreadyCreated,
    /// The server speaks another protocol than the client library.
    #[error("the server speaks another protocol than client library {library}")]
    Incompatible {
        /// The library's version.
        library: String,
    },
    /// The database refused a management change, in its own words.
    #[error("{command}: {message}")]
    Refused {
        /// What was refused.
        command: String,
        /// Why.
        message: String,
        /// Whether the same may succeed later.
        retriable: bool,
    },
    /// The database is locked by somebody else.
    #[error("the database is locked")]
    Locked,
    /// What was asked can't be right, whatever the database is like; it was not sent.
    #[error("{field}: {problem}")]
    Invalid {
        /// What was wrong.
        field: String,
        /// In which way.
        problem: String,
    },
    /// No client library for this version.
    #[error("no client library for {version}; looked for {looked_for}")]
    NoLibrary {
        /// The version that was wanted.
        version: String,
        /// The file that would do.
        looked_for: String,
    },
    /// The client itself is not there: it is being started, it died, or too much is waiting for it.
    #[error("the client is not available: {0}")]
    Unavailable(String),
    /// Any other error of FoundationDB.
    #[error("FoundationDB error {code}: {message}")]
    Database {
        /// Its number.
        code: i32,
        /// What it says.
        message: String,
    },
}
