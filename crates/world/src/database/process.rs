//! Processes, and the volumes that outlive them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::exclusion::bare;
use super::policy::Localities;

/// A process to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSpec {
    /// Its public address, `ip:port`, with `:tls` where it speaks TLS.
    pub address: String,
    /// The name and port under which it can be reached as well; coordinators may be written that way.
    pub name: Option<String>,
    /// Its class on the command line.
    pub class: String,
    /// Its localities without their prefix: `zoneid`, `machineid`, `instance_id`, `dcid`, …
    pub localities: BTreeMap<String, String>,
    /// The command line, as the status prints it.
    pub command_line: String,
    /// The version of its program.
    pub version: String,
    /// The volume its data directory is on. What the volume holds, the process id too, outlives the process.
    pub volume: String,
    /// The connection string in its cluster file, unless its volume has one already.
    pub connection: String,
}

/// A process that runs.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub spec: ProcessSpec,
    /// Kept in the data directory.
    pub id: String,
    pub started: Timestamp,
}

impl Process {
    /// Its address without `:tls`.
    pub(super) fn address(&self) -> &str {
        bare(&self.spec.address)
    }

    /// Where it says it is.
    pub(super) fn localities(&self) -> &Localities {
        &self.spec.localities
    }

    /// The datacenter it says it is in.
    pub(super) fn datacenter(&self) -> &str {
        self.spec.localities.get("dcid").map_or("", String::as_str)
    }

    /// Its zone.
    pub(super) fn zone(&self) -> &str {
        self.spec.localities.get("zoneid").map_or("", String::as_str)
    }
}

/// What a data directory holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Volume {
    /// The process id.
    pub process_id: String,
    /// The storage server whose data is here.
    pub store: Option<u64>,
    /// A storage server was here, and its data was moved away or dropped.
    pub emptied: bool,
    /// The generations of the log that are here.
    pub logs: BTreeSet<u64>,
    /// What it knows as a coordinator, by `description:id`: nothing, or where the coordinators have gone.
    pub coordinates: BTreeMap<String, Option<String>>,
    /// The connection string that its process followed last.
    pub connection: Option<String>,
    /// Its disk answers with errors now and then; everything on it can still be read.
    pub errs: bool,
}

/// A process that ended by a kill; whoever supervises it starts it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The address.
    pub address: String,
    /// The volume, by which its owner knows it.
    pub volume: String,
    /// When.
    pub at: Timestamp,
}

/// The protocol of a version: its first two numbers. Only the same protocol is understood.
pub(super) fn protocol(version: &str) -> &str {
    version.match_indices('.').nth(1).map_or(version, |(end, _)| &version[..end])
}
