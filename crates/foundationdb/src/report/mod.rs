//! What the database says of itself: the parts of `status json` that decisions need, and what follows from them at once.
//!
//! A part that is missing is not known; it is never taken for "fine".

mod parse;

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use crate::lock::LockReport;
use crate::{ProcessClass, ProcessGroupId, RedundancyMode};

pub use parse::ReportError;

/// The database's report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatabaseReport {
    /// Whether it can be read and written.
    pub available: bool,
    /// Whether it calls itself healthy.
    pub healthy: bool,
    /// Whether it calls its data fully replicated; `None` if it does not say.
    pub full_replication: Option<bool>,
    /// Its generation; it grows with every recovery.
    pub generation: Option<u64>,
    /// How far the last recovery is.
    pub recovery: Option<Recovery>,
    /// How its data is.
    pub data: Option<DataState>,
    /// How many zones may fail, as the database counts them.
    pub tolerance: Option<Tolerance>,
    /// The fewest further logs that may fail in any generation, and how many copies that generation has.
    pub logs: Option<LogState>,
    /// How it is configured.
    pub configuration: Option<ConfigurationReport>,
    /// The names of everything it complains of.
    pub messages: BTreeSet<String>,
    /// The coordinators.
    pub coordinators: Vec<CoordinatorReport>,
    /// The connection string as the cluster has it.
    pub connection: Option<String>,
    /// Whether all processes can be restarted together.
    pub can_clean_bounce: Option<bool>,
    /// The zone that is under maintenance.
    pub maintenance_zone: Option<String>,
    /// How far servers are behind.
    pub backlog: Backlog,
    /// Its processes, by their address.
    pub processes: BTreeMap<String, ProcessReport>,
    /// Addresses whose exclusion is not finished; `None` if that is not known. Not part of the document, but read with it.
    pub exclusions_in_progress: Option<BTreeSet<String>>,
    /// The lock that operators share; `None` if it was not read. Not part of the document, but read with it.
    pub lock: Option<LockReport>,
}

/// How far the last recovery is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recovery {
    /// Its state, such as `fully_recovered`.
    pub name: String,
    /// Generations of the log that are still needed.
    pub active_generations: Option<u64>,
    /// How long ago it came to its end; below zero while it has not.
    pub seconds_since: Option<f64>,
}

/// The furthest that any server is behind; 0 where the database says nothing of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backlog {
    /// Seconds that a storage server is behind in reading.
    pub data_lag: f64,
    /// Seconds that a storage server is behind in writing to disk.
    pub durability_lag: f64,
    /// Bytes that a log has in its queue.
    pub log_queue: f64,
    /// Bytes that a storage server has in its queue.
    pub storage_queue: f64,
}

/// How the data is, by the queue of what is being moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataState {
    /// Its name, such as `healthy` or `healing`.
    pub name: String,
    /// Whether the database calls it healthy.
    pub healthy: Option<bool>,
    /// The fewest copies of any piece.
    pub min_replicas_remaining: Option<u32>,
    /// The most urgent movement.
    pub highest_priority: Option<i64>,
}

/// How many zones may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// Without losing data.
    pub data: i64,
    /// Without losing availability.
    pub availability: i64,
}

/// The generation of the log that is worst off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogState {
    /// How many further copies may be lost.
    pub fault_tolerance: i64,
    /// How many copies there are meant to be.
    pub replication_factor: i64,
}

/// How the database is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigurationReport {
    /// The redundancy mode, also one that can't be asked for.
    pub redundancy_mode: Option<String>,
    /// The storage engine.
    pub storage_engine: Option<String>,
    /// Everything in it that is a number.
    pub settings: BTreeMap<String, i64>,
    /// Everything else in it that is a word.
    pub words: BTreeMap<String, String>,
    /// What is excluded: addresses, and localities as `locality_instance_id:storage-1`.
    pub excluded: BTreeSet<String>,
}

/// A coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoordinatorReport {
    /// Its address, as the connection string has it: an address or a name, with its port.
    pub address: String,
    /// Whether it answers.
    pub reachable: bool,
}

/// One process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessReport {
    /// The process group it says it belongs to; missing for some seconds after its start.
    pub group: Option<ProcessGroupId>,
    /// The zone it says it is in.
    pub zone: Option<String>,
    /// The physical zone, where that is another.
    pub physical_zone: Option<String>,
    /// The hall it says it is in.
    pub hall: Option<String>,
    /// The datacenter it says it is in.
    pub datacenter: Option<String>,
    /// The name it says it can be reached by.
    pub dns_name: Option<String>,
    /// Its class.
    pub class: Option<ProcessClass>,
    /// The version it runs.
    pub version: Option<String>,
    /// Whether it is excluded; `None` if the database can't say.
    pub excluded: Option<bool>,
    /// What it does.
    pub roles: BTreeSet<String>,
    /// The engine of the data it has.
    pub engine: Option<String>,
    /// How much data it has, in bytes.
    pub stored: u64,
    /// How it was started; missing for a moment after its start.
    pub command_line: Option<String>,
    /// For how many seconds it has been running.
    pub uptime: Option<f64>,
    /// Whether its zone is under maintenance.
    pub under_maintenance: bool,
    /// The names of everything it complains of.
    pub messages: BTreeSet<String>,
}

/// Complaints that make a report say less than it seems to: somebody who holds data or logs could not be asked.
const UNREADABLE: [&str; 5] = [
    "unreadable_configuration",
    "full_replication_timeout",
    "storage_servers_error",
    "log_servers_error",
    "status_incomplete_timeout",
];
/// In the list of unfinished exclusions this stands for a log of an old generation whose address nobody knows.
pub const UNKNOWN_LOG: &str = "0.0.0.0:0";
/// The cluster's domain is behind this in the name of a pod.
const DOMAIN: &str = ".svc.";
/// So long after its start a server has usually opened its disk, and said what is on it.
pub const OPEN_AFTER: SignedDuration = SignedDuration::from_secs(60);
/// More old generations of the log than this mean recoveries that follow each other; nothing may add to them.
pub const MOST_GENERATIONS: u64 = 10;

impl DatabaseReport {
    /// The processes of a group: by what they say, and by their address, for a process that just started says nothing yet.
    pub fn of_group<'a>(
        &'a self,
        group: &'a ProcessGroupId,
        addresses: &'a [String],
    ) -> impl Iterator<Item = (&'a String, &'a ProcessReport)> {
        self.processes.iter().filter(move |(address, process)| match &process.group {
            Some(named) => named == group,
            None => addresses.iter().any(|known| host(address) == known),
        })
    }

    /// Whether the report is whole enough to take something away by it: nobody who holds data or logs was left out.
    pub fn is_whole(&self) -> bool {
        self.available && !self.processes.is_empty() && !UNREADABLE.iter().any(|message| self.messages.contains(*message))
    }

    /// Generations of the log that are still needed.
    pub fn active_generations(&self) -> Option<u64> {
        self.recovery.as_ref()?.active_generations
    }

    /// How many seconds ago the last recovery ended; `None` while one is under way or if nobody says.
    pub fn seconds_since_recovery(&self) -> Option<f64> {
        self.recovery.as_ref()?.seconds_since.filter(|seconds| *seconds >= 0.0)
    }

    /// How many zones there are of some processes: as the database counts them, or really, whichever are fewer.
    pub fn zones(&self, counts: impl Fn(&ProcessReport) -> bool) -> usize {
        let counted = || self.processes.values().filter(|process| counts(process));
        let logical: BTreeSet<&str> = counted().filter_map(|process| process.zone.as_deref()).collect();
        let physical: BTreeSet<&str> = counted().filter_map(ProcessReport::physical).collect();
        logical.len().min(physical.len())
    }

    /// Whether something is excluded by this entry.
    pub fn excludes(&self, entry: &str) -> bool {
        self.configuration.as_ref().is_some_and(|configuration| configuration.excluded.contains(entry))
    }

    /// Whether a process is a coordinator now, by address or by name.
    pub fn is_coordinator(&self, address: &str, process: &ProcessReport) -> bool {
        self.coordinators.iter().any(|coordinator| coordinator.is(address, process))
    }

    /// Whether a process is a coordinator that does not answer.
    pub fn is_mute_coordinator(&self, address: &str, process: &ProcessReport) -> bool {
        self.coordinators.iter().any(|coordinator| !coordinator.reachable && coordinator.is(address, process))
    }
}

impl CoordinatorReport {
    fn is(&self, address: &str, process: &ProcessReport) -> bool {
        let (named, address) = (bare(&self.address), bare(address));
        named == address
            || process.dns_name.as_deref().is_some_and(|name| is_one_pod(host(named), name) && port(named) == port(address))
    }
}

impl ProcessReport {
    /// Whether it started so lately that it may not have opened its disk, and so not have said what is on it.
    pub fn has_just_started(&self) -> bool {
        self.uptime.is_none_or(|seconds| seconds < OPEN_AFTER.as_secs_f64())
    }

    /// The domain that fails as one: the physical zone where there is one, otherwise the zone.
    pub fn physical(&self) -> Option<&str> {
        self.physical_zone.as_deref().or(self.zone.as_deref())
    }

    /// The hall or the datacenter it says it is in, whichever a mode is about.
    pub fn hall_of(&self, mode: RedundancyMode) -> Option<&str> {
        match mode {
            RedundancyMode::ThreeDataHall => self.hall.as_deref(),
            _ => self.datacenter.as_deref(),
        }
    }
}

/// The host of `host:port[:tls]` or `[v6]:port`.
pub fn host(address: &str) -> &str {
    if let Some(v6) = address.strip_prefix('[') {
        return v6.split(']').next().unwrap_or(v6);
    }
    address.split(':').next().unwrap_or(address)
}

/// Whether two names are those of one pod. The cluster's domain behind `.svc.` may have changed since one of them was written down.
pub fn is_one_pod(one: &str, other: &str) -> bool {
    // An address and a name differ from their first letter on.
    one.as_bytes().first() == other.as_bytes().first() && NamedHost::of(one).is(other)
}

/// A host that many names are compared with: what they are to have in common is found once.
#[derive(Clone, Copy, Debug)]
pub struct NamedHost<'a> {
    host: &'a str,
    /// What a name says of its pod, without the cluster's domain.
    pod: Option<&'a str>,
}

impl<'a> NamedHost<'a> {
    /// An address or a name.
    pub fn of(host: &'a str) -> Self {
        Self { host, pod: host.split_once(DOMAIN).map(|(pod, _)| pod) }
    }

    /// Whether it can be a pod's name.
    pub const fn is_name(self) -> bool {
        self.pod.is_some()
    }

    /// Whether it is this one, as [`is_one_pod`] says.
    pub fn is(self, name: &str) -> bool {
        let is_the_pod = |pod| name.strip_prefix(pod).is_some_and(|rest| rest.starts_with(DOMAIN));
        self.host == name || self.pod.is_some_and(is_the_pod)
    }
}

/// An address without `:tls` and without the mark of having been found by name.
pub fn bare(address: &str) -> &str {
    let address = address.strip_suffix("(fromHostname)").unwrap_or(address);
    address.strip_suffix(":tls").unwrap_or(address)
}

/// The port of a bare address.
pub fn port(address: &str) -> &str {
    address.rsplit_once(':').map_or("", |(_, port)| port)
}

#[cfg(test)]
mod tests {
    use super::is_one_pod;

    #[test]
    fn a_pod_is_known_by_its_name_whatever_the_domain_is() {
        let pod = "c-storage-1.c.ns.svc.cluster.local";
        assert!(is_one_pod(pod, pod) && is_one_pod(pod, "c-storage-1.c.ns.svc.example.com"));
        for other in ["c-storage-12.c.ns.svc.cluster.local", "c-storage.c.ns.svc.cluster.local", "c-storage-1.c.ns", "10.0.0.1"] {
            assert!(!is_one_pod(pod, other) && !is_one_pod(other, pod), "{other}");
        }
        assert!(is_one_pod("10.0.0.1", "10.0.0.1") && !is_one_pod("10.0.0.1", "10.0.0.11"));
    }
}
