//! Pods as real processes: each in a network namespace of its own, with an address, a hosts file and the folders its pod mounts.
//!
//! A kubelet (the model's, driven by [`crate::Cluster`] on the embedded API or by the end-to-end harness on a real one) says which pods
//! run and with which address. [`RealPods`] follows: it gives each such pod a home in a [`Network`] and runs the programs that the
//! container would, with the command line exactly as the pod's configuration says. For FoundationDB that is what
//! fdb-kubernetes-monitor does with fdbserver.
//!
//! It needs root and `ip` (iproute2); [`missing`] says what is missing. Whatever is made on the machine is written down with a process
//! that removes it when its owner ends, however the owner ends.

mod delivery;
mod folders;
mod janitor;
mod monitor;
mod names;
mod network;
mod pods;
mod process;
mod seen;
mod servers;

use std::net::Ipv4Addr;
use std::sync::OnceLock;

pub use network::{Home, Network};
pub use pods::{RealPods, RealPodsSettings};
pub use process::{Bind, Process, Program};
pub use rustix::process::Signal;
pub use servers::{Launch, Server, servers};

/// Why pods can't be real processes on this machine, or nothing if they can. Tried once, by making a namespace.
pub fn missing() -> Option<&'static str> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let tried = || {
        let mut network = Network::new()?;
        network.join("probe", Ipv4Addr::new(198, 18, 255, 255)).map(drop)
    };
    let problem = MISSING.get_or_init(|| tried().err().map(|error| format!("no network namespaces: {error:#}")));
    problem.as_deref()
}
