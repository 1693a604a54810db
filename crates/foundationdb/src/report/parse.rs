//! Reading `status json`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;

use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use thiserror::Error;

use super::{
    Backlog, ConfigurationReport, CoordinatorReport, DataState, DatabaseReport, LogState, ProcessReport, Recovery, Tolerance,
};
use crate::ProcessGroupId;

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
        Ok(document.into_report())
    }
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
#[serde(default)]
struct Status {
    client: Client,
    cluster: Cluster,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Client {
    database_status: DatabaseStatus,
    coordinators: Coordinators,
    messages: Vec<Message>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DatabaseStatus {
    available: Option<bool>,
    healthy: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Coordinators {
    coordinators: Vec<Coordinator>,
}

#[derive(Deserialize)]
struct Coordinator {
    address: String,
    reachable: Option<bool>,
}

#[derive(Deserialize)]
struct Message {
    name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cluster {
    generation: Option<u64>,
    full_replication: Option<bool>,
    recovery_state: Option<RecoveryState>,
    data: Option<Data>,
    fault_tolerance: Option<FaultTolerance>,
    logs: Vec<Log>,
    configuration: Option<Configuration>,
    messages: Vec<Message>,
    connection_string: Option<String>,
    bounce_impact: Option<BounceImpact>,
    maintenance_zone: Option<String>,
    qos: Option<Qos>,
    processes: Processes,
}

#[derive(Deserialize)]
struct RecoveryState {
    name: Option<String>,
    active_generations: Option<u64>,
    seconds_since_last_recovered: Option<f64>,
}

#[derive(Deserialize)]
struct Data {
    state: Option<State>,
    moving_data: Option<MovingData>,
}

#[derive(Deserialize)]
struct State {
    name: Option<String>,
    healthy: Option<bool>,
    min_replicas_remaining: Option<u32>,
}

#[derive(Deserialize)]
struct MovingData {
    highest_priority: Option<i64>,
}

#[derive(Deserialize)]
struct FaultTolerance {
    max_zone_failures_without_losing_data: Option<i64>,
    max_zone_failures_without_losing_availability: Option<i64>,
}

#[derive(Deserialize)]
struct Log {
    log_fault_tolerance: Option<i64>,
    log_replication_factor: Option<i64>,
}

#[derive(Deserialize)]
struct BounceImpact {
    can_clean_bounce: Option<bool>,
}

#[derive(Deserialize)]
struct Qos {
    #[serde(rename = "worst_data_lag_storage_server")]
    data_lag: Option<Lag>,
    #[serde(rename = "worst_durability_lag_storage_server")]
    durability_lag: Option<Lag>,
    #[serde(rename = "worst_queue_bytes_log_server")]
    log_queue: Option<f64>,
    #[serde(rename = "worst_queue_bytes_storage_server")]
    storage_queue: Option<f64>,
}

#[derive(Deserialize)]
struct Lag {
    seconds: Option<f64>,
}

#[derive(Deserialize)]
struct Configuration {
    redundancy_mode: Option<String>,
    storage_engine: Option<String>,
    #[serde(default)]
    excluded_servers: Vec<ExcludedServer>,
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct ExcludedServer {
    address: Option<String>,
    locality: Option<String>,
}

/// Processes by their address, put there one by one: the document's own order and names are never kept.
#[derive(Default)]
struct Processes(BTreeMap<String, ProcessReport>);

#[derive(Deserialize)]
struct Process {
    address: Option<Address>,
    version: Option<String>,
    excluded: Option<bool>,
    class_type: Option<String>,
    command_line: Option<String>,
    uptime_seconds: Option<f64>,
    under_maintenance: Option<bool>,
    locality: Option<Locality>,
    #[serde(default)]
    roles: Vec<Role>,
    #[serde(default)]
    messages: Vec<Message>,
}

#[derive(Default, Deserialize)]
struct Locality {
    instance_id: Option<String>,
    zoneid: Option<String>,
    physical_zone: Option<String>,
    data_hall: Option<String>,
    dcid: Option<String>,
    dns_name: Option<String>,
}

#[derive(Deserialize)]
struct Role {
    #[serde(rename = "role")]
    name: Option<String>,
    stored_bytes: Option<f64>,
    tss: Option<bool>,
    storage_metadata: Option<StorageMetadata>,
}

#[derive(Deserialize)]
struct StorageMetadata {
    storage_engine: Option<String>,
}

impl Status {
    fn into_report(self) -> DatabaseReport {
        let Self { client, cluster } = self;
        let messages = client.messages.into_iter().chain(cluster.messages).filter_map(|message| message.name).collect();
        let logs = cluster.logs.iter().filter_map(|log| {
            Some(LogState { fault_tolerance: log.log_fault_tolerance?, replication_factor: log.log_replication_factor? })
        });
        DatabaseReport {
            available: client.database_status.available.unwrap_or(false),
            healthy: client.database_status.healthy.unwrap_or(false),
            full_replication: cluster.full_replication,
            generation: cluster.generation,
            recovery: cluster.recovery_state.map(RecoveryState::into_report),
            data: cluster.data.and_then(Data::into_report),
            tolerance: cluster.fault_tolerance.and_then(FaultTolerance::into_report),
            logs: logs.min_by_key(|log| log.fault_tolerance),
            configuration: cluster.configuration.map(Configuration::into_report),
            messages,
            coordinators: client.coordinators.coordinators.into_iter().map(Coordinator::into_report).collect(),
            connection: cluster.connection_string,
            can_clean_bounce: cluster.bounce_impact.and_then(|impact| impact.can_clean_bounce),
            maintenance_zone: cluster.maintenance_zone.filter(|zone| !zone.is_empty()),
            backlog: cluster.qos.map(Qos::into_report).unwrap_or_default(),
            processes: cluster.processes.0,
            exclusions_in_progress: None,
            lock: None,
        }
    }
}

impl Coordinator {
    fn into_report(self) -> CoordinatorReport {
        CoordinatorReport { address: self.address, reachable: self.reachable.unwrap_or(false) }
    }
}

impl RecoveryState {
    fn into_report(self) -> Recovery {
        Recovery {
            name: self.name.unwrap_or_default(),
            active_generations: self.active_generations,
            seconds_since: self.seconds_since_last_recovered,
        }
    }
}

impl Data {
    fn into_report(self) -> Option<DataState> {
        let highest_priority = self.moving_data.and_then(|moving| moving.highest_priority);
        let State { name, healthy, min_replicas_remaining } = self.state?;
        Some(DataState { name: name.unwrap_or_default(), healthy, min_replicas_remaining, highest_priority })
    }
}

impl FaultTolerance {
    fn into_report(self) -> Option<Tolerance> {
        let data = self.max_zone_failures_without_losing_data?;
        Some(Tolerance { data, availability: self.max_zone_failures_without_losing_availability? })
    }
}

impl Qos {
    fn into_report(self) -> Backlog {
        let seconds = |lag: Option<Lag>| lag.and_then(|lag| lag.seconds).unwrap_or_default();
        Backlog {
            data_lag: seconds(self.data_lag),
            durability_lag: seconds(self.durability_lag),
            log_queue: self.log_queue.unwrap_or_default(),
            storage_queue: self.storage_queue.unwrap_or_default(),
        }
    }
}

impl Configuration {
    fn into_report(self) -> ConfigurationReport {
        let (mut settings, mut words) = (BTreeMap::new(), BTreeMap::new());
        for (name, value) in self.others {
            match value {
                serde_json::Value::String(word) => drop(words.insert(name, word)),
                other => settings.extend(other.as_i64().map(|number| (name, number))),
            }
        }
        ConfigurationReport {
            redundancy_mode: self.redundancy_mode,
            storage_engine: self.storage_engine,
            settings,
            words,
            excluded: self.excluded_servers.into_iter().filter_map(|server| server.locality.or(server.address)).collect(),
        }
    }
}

impl Process {
    fn into_report(self) -> Option<(String, ProcessReport)> {
        let Address(address) = self.address?;
        let Locality { instance_id, zoneid, physical_zone, data_hall, dcid, dns_name } = self.locality.unwrap_or_default();
        let (mut roles, mut engine, mut stored) = (BTreeSet::new(), None, 0);
        for role in self.roles {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the nearest that there is")]
            let bytes = role.stored_bytes.unwrap_or(0.0) as u64;
            stored = bytes.saturating_add(stored);
            // A testing server beside another one has an engine of its own.
            let metadata = role.storage_metadata.filter(|_| role.tss != Some(true));
            engine = engine.or(metadata.and_then(|storage| storage.storage_engine));
            roles.extend(role.name);
        }
        let report = ProcessReport {
            group: instance_id.map(ProcessGroupId),
            zone: zoneid,
            physical_zone,
            hall: data_hall,
            datacenter: dcid,
            dns_name,
            class: self.class_type.and_then(|class| class.parse().ok()),
            version: self.version,
            excluded: self.excluded,
            roles,
            engine,
            stored,
            command_line: self.command_line,
            uptime: self.uptime_seconds,
            under_maintenance: self.under_maintenance.unwrap_or(false),
            messages: self.messages.into_iter().filter_map(|message| message.name).collect(),
        };
        Some((address, report))
    }
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
            let process: Process = map.next_value()?;
            count += 1;
            if count > MOST_PROCESSES {
                return Err(de::Error::custom(format_args!("more than {MOST_PROCESSES} processes")));
            }
            processes.extend(process.into_report());
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
    use super::super::host;
    use super::*;

    #[test]
    fn a_report_says_how_far_servers_are_behind() {
        let status = br#"{"client": {"database_status": {"available": true, "healthy": true}}, "cluster": {"qos": {
            "worst_data_lag_storage_server": {"seconds": 1.5, "versions": 1500000}, "worst_durability_lag_storage_server": {"seconds": 7},
            "worst_queue_bytes_log_server": 300000000, "worst_queue_bytes_storage_server": 12}}}"#;
        let backlog = DatabaseReport::parse(status).unwrap().backlog;
        assert_eq!(backlog, Backlog { data_lag: 1.5, durability_lag: 7.0, log_queue: 3e8, storage_queue: 12.0 });
    }

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
