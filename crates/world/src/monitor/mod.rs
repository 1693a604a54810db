//! What fdb-kubernetes-monitor does in a pod: it reads the files that the pod's ConfigMap became, starts fdbserver as they say, starts it
//! again when it ends, and writes on its pod what it goes by.
//!
//! Everything here is pure: who calls it hands over the pod, its ConfigMap, its node and the time, and carries out the [`Order`]s.
//! The file names are the table of contents: `environment`, `files` and `options` are what the monitor is given, `binary` which
//! fdbserver it takes, `configuration` what it makes of all that, `server` what a command line asks of fdbserver, `launcher` how it goes on
//! over time.
//!
//! # Choices
//!
//! - **The version of a container** is the tag of its image. A sidecar offers the fdbserver of its own version.
//! - **A new configuration restarts nothing**, but one that says not to run servers ends them, and so does the isolation of the pod.
//! - **A kill ends with exit code 0**, for which the monitor does not back off; only a crash is punished.
//! - **What a container's environment says of its pod** is as it was when the container started; labels of the node are read with every
//!   configuration.
//! - **An empty cluster file** means that nothing runs, where a real fdbserver would start and end again and again.
//! - **A poke that is no number** is refused, and the files come when the kubelet comes by. A real kubelet would bring them, but a real
//!   monitor complains of such a poke in its log with every change of its pod.
//! - **The delay of a shutdown** (`foundationdb.org/delay-shutdown`) keeps a container, not its servers, and so is none of the monitor's.

mod binary;
mod configuration;
mod environment;
mod files;
mod launcher;
mod options;
mod server;

pub use binary::Binary;
pub use configuration::{LoadError, Loaded};
pub use environment::{environment, node_environment};
pub use files::{Files, config_map_of};
pub use launcher::{End, Launcher, MonitorSettings, Order, Surroundings};
pub use server::{NoAddress, Server};

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod};

/// The container the monitor runs in.
const MAIN_CONTAINER: &str = "foundationdb";
/// The container that offers other versions of fdbserver.
const SIDECAR: &str = "foundationdb-kubernetes-sidecar";

/// The configuration that the monitor goes by, as it read it.
pub const CURRENT_CONFIGURATION: &str = "foundationdb.org/launcher-current-configuration";
/// The environment variables that it filled in.
pub const ENVIRONMENT: &str = "foundationdb.org/launcher-environment";
/// Set to `true` by a person: the pod's servers are to stand still.
pub const ISOLATE: &str = "foundationdb.org/isolate-process-group";

/// Set to the time, in seconds since 1970, so that the pod's files are brought and read at once.
const POKE: &str = "foundationdb.org/outdated-config-map-seen";

/// Whether others have written something on a pod for which its files are brought and read at once.
pub(crate) fn is_poked(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> bool {
    before != after && after.get(POKE).is_none_or(|time| time.parse::<i64>().is_ok())
}

/// The container that a pod's monitor runs in, if it has one.
pub fn main_container(pod: &Pod) -> Option<&Container> {
    container(pod, MAIN_CONTAINER)
}

fn container<'a>(pod: &'a Pod, name: &str) -> Option<&'a Container> {
    pod.spec.as_ref()?.containers.iter().find(|container| container.name == name)
}
