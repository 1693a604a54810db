//! A Kubernetes cluster to run the operator in, in tests, in simulation and in the playground.
//!
//! [`scheduler`] says where a pod goes. It is pure: it reads a
//! [`ClusterView`] and answers with values, so the same code serves real and virtual time.

mod quantity;
pub mod scheduler;
mod view;

pub use quantity::Amount;
pub use view::ClusterView;
