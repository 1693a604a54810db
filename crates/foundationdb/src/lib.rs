//! FoundationDB's rules: what its words mean and what follows from them.
//!
//! Everything here is pure: no clock, no chance, no I/O. Who looks for a rule opens the file named after it.

mod class;
mod redundancy;
mod version;

pub use class::{ProcessClass, UnknownClass};
pub use redundancy::{RedundancyMode, UnknownRedundancyMode};
pub use version::{Version, VersionError};
