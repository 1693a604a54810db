//! A world to run the operator in: a Kubernetes API, a scheduler, kubelets and models of both databases, in real or virtual time.
//!
//! [`kubernetes`] is the API; [`scheduler`] says where a pod goes, [`kubelet`] what becomes of pods, nodes and volumes as time passes.
//! The last two are pure: they read a [`ClusterView`] and answer with values. [`monitor`] says, as purely, which servers run in a
//! FoundationDB pod, and [`Fdbservers`] runs them on the model in [`database`],
//! also for pods of an API server elsewhere ([`ListedServers`]).
//! [`processes`] runs pods as real processes instead.

mod cluster;
pub mod database;
mod fdbservers;
pub mod kubelet;
pub mod kubernetes;
mod listed;
mod mirror;
pub mod monitor;
mod playground;
pub mod processes;
mod quantity;
pub mod scenery;
pub mod scheduler;
pub mod simulation;
pub mod stage;
mod view;

pub use cluster::Cluster;
pub use fdbservers::Fdbservers;
pub use listed::{Listed, ListedServers};
pub use playground::{Playground, RealPrograms};
pub use quantity::Amount;
pub use quorate_quorum::Gate;
pub use stage::Stage;
pub use view::ClusterView;
