//! Pods of a FoundationDB cluster, written by hand, and what becomes of them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod birth;
mod configuration;
mod disks;
mod failures;
mod world;
