//! What the database says of itself: the parts of `status json` that decisions need.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use crate::ProcessGroupId;

/// The database's report. A part that is missing is not known; it is never taken for "fine".
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
    /// Its processes, by their address.
    pub processes: BTreeMap<String, ProcessReport>,
}

/// One process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessReport {
    /// The process group it says it belongs to; missing for some seconds after its start.
    pub group: Option<ProcessGroupId>,
    /// The zone it says it is in.
    pub zone: Option<String>,
    /// The version it runs.
    pub version: Option<String>,
    /// Whether it is excluded.
    pub excluded: bool,
}

/// Why a text is no report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// It is not what `status json` looks like.
    #[error("the database's status could not be read: {0}")]
    NotAStatus(#[from] serde_json::Error),
}

impl DatabaseReport {
    /// Reads `status json`. Unknown fields are passed over.
    pub fn parse(status: &[u8]) -> Result<Self, ReportError> {
        let status: Status = serde_json::from_slice(status)?;
        let database = status.client.and_then(|client| client.database_status).unwrap_or_default();
        let cluster = status.cluster.unwrap_or_default();
        let processes =
            cluster.processes.into_values().filter_map(|process| Some((process.address.clone()?, process.into()))).collect();
        Ok(Self {
            available: database.available.unwrap_or(false),
            healthy: database.healthy.unwrap_or(false),
            full_replication: cluster.full_replication,
            generation: cluster.generation,
            processes,
        })
    }

    /// The processes of a group: by what they say, and by their address, for a process that just started says nothing yet.
    pub fn of_group<'a>(&'a self, group: &'a ProcessGroupId, addresses: &'a [String]) -> impl Iterator<Item = &'a ProcessReport> {
        self.processes
            .iter()
            .filter(move |(address, process)| match &process.group {
                Some(named) => named == group,
                None => addresses.iter().any(|known| host(address) == known),
            })
            .map(|(_, process)| process)
    }
}

/// The host of `host:port[:tls]` or `[v6]:port`.
fn host(address: &str) -> &str {
    if let Some(v6) = address.strip_prefix('[') {
        return v6.split(']').next().unwrap_or(v6);
    }
    address.split(':').next().unwrap_or(address)
}

impl From<Process> for ProcessReport {
    fn from(process: Process) -> Self {
        let locality = process.locality.unwrap_or_default();
        Self {
            group: locality.get("instance_id").cloned().map(ProcessGroupId),
            zone: locality.get("zoneid").cloned(),
            version: process.version,
            excluded: process.excluded.unwrap_or(false),
        }
    }
}

#[derive(Default, Deserialize)]
struct Status {
    client: Option<Client>,
    cluster: Option<Cluster>,
}

#[derive(Default, Deserialize)]
struct Client {
    database_status: Option<DatabaseStatus>,
}

#[derive(Default, Deserialize)]
struct DatabaseStatus {
    available: Option<bool>,
    healthy: Option<bool>,
}

#[derive(Default, Deserialize)]
struct Cluster {
    generation: Option<u64>,
    full_replication: Option<bool>,
    #[serde(default)]
    processes: BTreeMap<String, Process>,
}

#[derive(Default, Deserialize)]
struct Process {
    address: Option<String>,
    version: Option<String>,
    excluded: Option<bool>,
    locality: Option<BTreeMap<String, String>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_who_is_there() {
        let status = br#"{"client": {"database_status": {"available": true, "healthy": true}},
            "cluster": {"generation": 4, "full_replication": true, "something": "new", "processes": {
                "a": {"address": "198.18.0.1:4501", "version": "7.3.69", "locality": {"instance_id": "storage-1", "zoneid": "n1"}},
                "b": {"address": "198.18.0.2:4501"}}}}"#;
        let report = DatabaseReport::parse(status).unwrap();
        assert!(report.available && report.healthy);
        assert_eq!(report.generation, Some(4));
        let named = ProcessGroupId("storage-1".into());
        assert_eq!(report.of_group(&named, &[]).count(), 1);
        // A process that just started has no locality yet; its address tells.
        let silent = ProcessGroupId("log-2".into());
        assert_eq!(report.of_group(&silent, &[]).count(), 0);
        assert_eq!(report.of_group(&silent, &["198.18.0.2".to_owned()]).count(), 1);
    }

    #[test]
    fn an_empty_report_promises_nothing() {
        let report = DatabaseReport::parse(b"{}").unwrap();
        assert!(!report.available && !report.healthy);
        assert_eq!(report.full_replication, None);
    }

    #[test]
    fn half_a_report_is_an_error() {
        assert!(DatabaseReport::parse(br#"{"client": {"database_st"#).is_err());
    }

    #[test]
    fn hosts_are_found_in_every_form_of_address() {
        assert_eq!(host("198.18.0.1:4501:tls"), "198.18.0.1");
        assert_eq!(host("[fd00::1]:4501"), "fd00::1");
        assert_eq!(host("name:4501"), "name");
    }
}
