//! Between the API objects and FoundationDB's rules: reading objects into facts, and writing a decision into the status.

mod facts;
mod status;
mod wish;

pub use status::{recorded_journal, recorded_status};
pub use wish::checked_wish;

pub(crate) use facts::{claim_facts, pod_facts};
pub(crate) use status::shown_status;
