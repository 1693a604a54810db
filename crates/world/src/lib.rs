//! A Kubernetes cluster to run the operator in, in tests, in simulation and in the playground.
//!
//! [`scheduler`] says where a pod goes, [`kubelet`] what becomes of pods, nodes and volumes as time passes. Both are pure: they read
//! a [`ClusterView`] and answer with values, so the same code serves real and virtual time.

pub mod kubelet;
mod quantity;
pub mod scheduler;
mod view;

pub use quantity::Amount;
pub use view::ClusterView;
