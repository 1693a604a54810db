//! A model of FoundationDB: a pure, deterministic state machine in explicit time.
//!
//! What it does was taken from a real 7.3 server: recorded documents and second-by-second sequences are in `recordings/fdb-status`,
//! and the tests hold the model to them. Where model and recording disagree, the model is wrong. What no recording determines is listed
//! in `uncertain.rs`, always assumed in the way that is worse for an operator that trusts too early.
//!
//! The file names are the table of contents: `coordination` (quorum, connection strings), `recovery` (leaders, generations),
//! `recruitment` (who gets which role), `logs` and `storage` (what is where), `distribution` (how data moves), `truth` (what invariants
//! ask), `calls` (what the operator asks), `status` (what the database says of itself), `service` (all of it on tokio's clock).
//! Nothing in it assumes that all processes belong to one Kubernetes cluster.

mod calls;
mod configuration;
mod connection;
mod coordination;
#[expect(clippy::module_inception, reason = "the database is what this model is about")]
mod database;
mod distribution;
mod exclusion;
mod fitness;
mod inspect;
mod keyspace;
mod logs;
mod policy;
mod process;
mod recovery;
mod recruitment;
mod service;
mod status;
mod storage;
mod times;
mod truth;
mod uncertain;
mod versions;

pub use calls::{Progress, Ticket};
pub use configuration::mode_keys;
pub use database::Database;
pub(crate) use inspect::Running;
pub use inspect::{Quorum, Server};
pub use policy::Policy;
pub use process::{Exit, ProcessSpec};
pub use service::{Databases, Fault};
pub use truth::{Copies, Lost};
pub use uncertain::{UNCERTAIN, Uncertain};
