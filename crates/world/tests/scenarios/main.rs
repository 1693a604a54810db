//! What clusters must live through, one story each. `docs/scenarios.md` says which story answers which scenario.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod buggify;
mod coordinators;
mod counts;
mod disks;
mod distribution;
mod failures;
mod knobs;
mod locks;
mod losses;
mod replacement;
mod stage;
mod table;
mod templates;
mod view;
mod waits;
mod wire;
