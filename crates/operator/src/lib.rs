//! Observe, decide, act: the operator itself.
//!
//! It takes a `kube::Client`, a [`Clock`] and a connector per database, so the same code runs in production, on a test control plane, in
//! the playground and in simulation.
//!
//! kube's own `Controller` is not used: its order depends on hash seeds, tasks and jitter, so a run could not be replayed, and it knows
//! one requeue time, not the earliest of many.

mod backoff;
mod bystander;
mod clock;
mod decided;
mod events;
mod foundationdb;
mod health;
mod index;
mod lease;
mod metrics;
mod operator;
mod queue;
mod readable;
mod round;
mod watches;

pub use bystander::{Bystander, Watched};
pub use clock::{Clock, SystemClock};
pub use foundationdb::{checked_wish, recorded_journal, recorded_status};
pub use health::router;
pub use index::ClusterKey;
pub use lease::{Leadership, LeaseSettings};
pub use operator::{Operator, Settings, Shown};
