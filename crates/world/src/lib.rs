//! A world to run the operator in: a Kubernetes API, a scheduler, kubelets and models of both databases, in real or virtual time.
//!
//! [`kubernetes`] is the API; [`scheduler`] says where a pod goes, [`kubelet`] what becomes of pods, nodes and volumes as time passes.
//! The last two are pure: they read a [`ClusterView`] and answer with values.
//! [`processes`] runs pods as real processes instead of models.

mod cluster;
pub mod database;
mod databases;
mod foundationdb;
pub mod kubelet;
pub mod kubernetes;
mod mirror;
mod playground;
pub mod processes;
mod quantity;
pub mod scenery;
pub mod scheduler;
pub mod simulation;
mod view;

pub use cluster::Cluster;
pub use databases::ModelDatabases;
pub use playground::Playground;
pub use quantity::Amount;
pub use quorate_quorum::Gate;
pub use view::ClusterView;
