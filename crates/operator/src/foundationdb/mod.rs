//! Between the API objects and FoundationDB's rules: reading objects into facts, and writing a decision into the status.

mod configuration;
mod facts;
mod status;
pub(crate) mod target;
mod wish;

pub use status::{recorded_journal, recorded_status};
pub use wish::checked_wish;

pub(crate) use facts::{budget_facts, claim_facts, config_map_facts, node_facts, pod_facts, service_facts};
pub(crate) use status::shown_status;
pub(crate) use wish::is_one_wish;
