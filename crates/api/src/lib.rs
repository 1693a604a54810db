//! The two API objects: `FoundationDBCluster` and `LogSet`. Types, defaults and validation rules; nothing else.
//!
//! The types take what users of the existing operators have written. What is optional stays optional, so that an object is written
//! back as it was read; the defaults are in `defaults.rs`, in one place.

pub mod conditions;
mod crd;
mod duration;
mod embedded;
pub mod fields;
pub mod foundationdb;
pub mod logset;
mod rule;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crd::{crds, foundationdb_crd, logset_crd, to_yaml};
pub use duration::DurationText;
pub use rule::Rule;

/// What happens to volumes when their owner is deleted. Only an explicit `Delete` deletes data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VolumeRetentionPolicy {
    /// They are kept.
    #[default]
    Retain,
    /// They are deleted, and their data with them.
    Delete,
}
