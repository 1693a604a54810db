//! The model of FoundationDB, held to recordings of a real one and to the stories told of it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chance;
mod comparison;
mod contract;
mod losses;
mod recordings;
mod recoveries;
mod sequences;
mod service;
mod stories;
mod story;
