//! Scheduling cases, and the two schedulers that have to agree on them.

pub mod case;
pub mod model;
pub mod real;
