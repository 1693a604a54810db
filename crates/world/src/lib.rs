//! A world to run the operator in: an embedded Kubernetes, and models of what runs in it.
//!
//! The same world serves tests, the deterministic simulation (one thread, virtual time) and the playground (real time, kubectl).

pub mod kubernetes;
