//! What the database says of itself: the parts of `status json` that decisions need.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
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
    #[error("the database's status could not be read: {field}: {problem}")]
    NotAStatus {
        /// Where, such as `cluster.processes.a.address`; `.` for the document itself.
        field: String,
        /// What is wrong there.
        problem: serde_json::Error,
    },
}

/// More processes than this are no cluster, but a document that went wrong; reading it must cost bounded memory. FoundationDB is
/// tested with 500.
const MOST_PROCESSES: usize = 50_000;

impl DatabaseReport {
    /// Reads `status json`. Unknown fields are passed over. One field that can't be read makes it no report at all: a report that only
    /// left it out would say that something is gone.
    pub fn parse(status: &[u8]) -> Result<Self, ReportError> {
        let document: Status = serde_json::from_slice(status).map_err(|problem| named(status, problem))?;
        let database = document.client.and_then(|client| client.database_status).unwrap_or_default();
        let cluster = document.cluster.unwrap_or_default();
        Ok(Self {
            available: database.available.unwrap_or(false),
            healthy: database.healthy.unwrap_or(false),
            full_replication: cluster.full_replication,
            generation: cluster.generation,
            processes: cluster.processes.0,
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

/// The problem with its field, found by reading once more: keeping track of the field would slow every good document down.
fn named(status: &[u8], problem: serde_json::Error) -> ReportError {
    let mut reader = serde_json::Deserializer::from_slice(status);
    match serde_path_to_error::deserialize::<_, Status>(&mut reader) {
        Err(error) => ReportError::NotAStatus { field: error.path().to_string(), problem: error.into_inner() },
        // Something comes after the document's end.
        Ok(_) => ReportError::NotAStatus { field: ".".to_owned(), problem },
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
    processes: Processes,
}

/// Processes by their address, put there one by one: the document's own order and names are never kept.
#[derive(Default)]
struct Processes(BTreeMap<String, ProcessReport>);

#[derive(Deserialize)]
struct Process {
    address: Option<Address>,
    version: Option<String>,
    excluded: Option<bool>,
    locality: Option<Locality>,
}

#[derive(Default, Deserialize)]
struct Locality {
    instance_id: Option<String>,
    zoneid: Option<String>,
}

/// `ip:port`, `[v6]:port`, with `:tls` where it is spoken.
struct Address(String);

impl<'de> Deserialize<'de> for Processes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OneByOne)
    }
}

struct OneByOne;

impl<'de> Visitor<'de> for OneByOne {
    type Value = Processes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("processes by their id")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Processes, A::Error> {
        let mut processes = BTreeMap::new();
        let mut count = 0_usize;
        while map.next_key::<IgnoredAny>()?.is_some() {
            let Process { address, version, excluded, locality } = map.next_value()?;
            count += 1;
            if count > MOST_PROCESSES {
                return Err(de::Error::custom(format_args!("more than {MOST_PROCESSES} processes")));
            }
            let Some(Address(address)) = address else { continue };
            let Locality { instance_id, zoneid } = locality.unwrap_or_default();
            let (group, excluded) = (instance_id.map(ProcessGroupId), excluded.unwrap_or(false));
            processes.insert(address, ProcessReport { group, zone: zoneid, version, excluded });
        }
        Ok(Processes(processes))
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // An address that was found by a name has that said behind it.
        let bare = text.strip_suffix("(fromHostname)").unwrap_or(&text);
        match bare.strip_suffix(":tls").unwrap_or(bare).parse::<SocketAddr>() {
            Ok(_) => Ok(Self(text)),
            Err(_) => Err(de::Error::custom(format_args!("`{text}` is no address and port"))),
        }
    }
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
