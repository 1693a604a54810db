//! A real Kubernetes control plane on this machine, for tests: etcd, kube-apiserver, kube-controller-manager and kube-scheduler.
//!
//! Nodes are made of the world's own kubelets ([`Kubelets`]).
//!
//! [`programs`] builds them once, [`ControlPlane`] starts any number of them on loopback, [`ControlPlane::case`] gives a test its
//! namespace, and whatever was started is ended again, however the test ends.

mod certificates;
mod control_plane;
mod kubectl;
mod kubelet;
pub mod life;
mod ports;
pub mod programs;
mod supervised;

pub use control_plane::{Case, ControlPlane};
pub use kubectl::{Kubectl, Printed};
pub use kubelet::Kubelets;
