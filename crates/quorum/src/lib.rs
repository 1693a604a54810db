//! The words of the trade, shared by both databases.
//!
//! A [`Snapshot`] is everything that may influence a decision, and nothing else. A [`Decision`] is everything that follows from it:
//! [`Step`]s to take, the status to show, [`Notice`]s to send, [`Hold`]s that say why nothing more is done, and when to look again.
//! A step that takes something away needs a [`Permit`], which only [`budget`] can make.
//!
//! Everything here is pure: no clock, no chance, no I/O.

pub mod buckets;
pub mod budget;
mod decision;
mod gate;
mod hold;
mod journal;
pub mod placement;
mod shared;
mod snapshot;
pub mod spread;
mod step;

pub use budget::Permit;
pub use decision::{Decision, Notice, Severity, Wake};
pub use gate::Gate;
pub use hold::{Explained, Hold, Reason};
pub use journal::{Journal, JournalEntry};
pub use shared::Shared;
pub use snapshot::{Epoch, Sighting, Snapshot};
pub use step::{Effect, Fence, Guard, ObjectGuard, Step};
