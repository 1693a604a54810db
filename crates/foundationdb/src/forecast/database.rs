//! A database that behaves as a real one was seen to: a process that starts says nothing of itself for five seconds, a dead one is listed
//! for seven more, a lost copy is noticed after more than a minute, and data comes to rest 36 s after a recovery.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::configuration::{ConfigurationKeys, Migration, engine_keys, redundancy_keys};
use crate::lock::LockReport;
use crate::report::{
    Backlog, ConfigurationReport, CoordinatorReport, DataState, DatabaseReport, LogState, Recovery, Tolerance, host, is_one_pod,
    port,
};
use crate::tolerance::Copies;
use crate::{ProcessClass, ProcessGroupId, ProcessReport, RedundancyMode};

/// Whatever is not storage is empty soon after a recovery.
const A_LOG_DRAINS_IN: SignedDuration = SignedDuration::from_secs(10);

/// A server that runs, or did.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub address: String,
    pub dns_name: String,
    pub class: ProcessClass,
    pub zone: String,
    pub host: String,
    pub arguments: String,
    pub version: String,
    pub started: Timestamp,
}

/// A database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Database {
    pub servers: BTreeMap<ProcessGroupId, Server>,
    pub coordinators: Vec<String>,
    pub connection: String,
    pub keys: ConfigurationKeys,
    /// What is excluded, and since when.
    pub excluded: BTreeMap<String, Timestamp>,
    /// How long it takes to move everything away from a process.
    pub drains_in: SignedDuration,
    pub generation: u64,
    pub lock: LockReport,
    pub recovered: Timestamp,
    /// Servers that died, and when.
    died: Vec<(Timestamp, ProcessGroupId, Server)>,
}

/// Storage engines, each by the name it has in the status.
const ENGINES: [&str; 8] =
    ["ssd-2", "ssd-1", "memory-2", "memory-1", "ssd-redwood-1", "memory-radixtree-beta", "ssd-rocksdb-v1", "ssd-sharded-rocksdb"];
const SAYS_NOTHING_FOR: SignedDuration = SignedDuration::from_secs(5);
const DEAD_ARE_LISTED_FOR: SignedDuration = SignedDuration::from_secs(7);
const LOSS_IS_SEEN_AFTER: SignedDuration = SignedDuration::from_secs(71);
const LOSS_IS_HEALED_AFTER: SignedDuration = SignedDuration::from_secs(81);

impl Database {
    pub fn start(&mut self, group: ProcessGroupId, server: Server) {
        self.servers.entry(group).or_insert(server);
    }

    pub fn stop(&mut self, group: &ProcessGroupId, now: Timestamp) {
        if let Some(server) = self.servers.remove(group) {
            self.died.push((now, group.clone(), server));
        }
    }

    /// The first connection string that servers are given.
    pub fn begin_with(&mut self, connection: &str) {
        if let Some((_, addresses)) = connection.split_once('@').filter(|_| self.coordinators.is_empty()) {
            connection.clone_into(&mut self.connection);
            self.coordinators = addresses.split(',').map(str::to_owned).collect();
        }
    }

    pub fn configure(&mut self, keys: &ConfigurationKeys, now: Timestamp) {
        self.keys.extend(keys.clone());
        self.recover(now);
    }

    pub fn exclude(&mut self, places: &[String], now: Timestamp) {
        for place in places {
            self.excluded.entry(place.clone()).or_insert(now);
        }
        let concerned = |(id, server): (&ProcessGroupId, &Server)| {
            server.class != ProcessClass::Storage && self.excluded_since(id, server) == Some(now)
        };
        if self.servers.iter().any(concerned) {
            self.recover(now);
        }
    }

    pub fn include(&mut self, places: &[String]) {
        self.excluded.retain(|place, _| !places.contains(place));
    }

    /// Other coordinators mean another connection string.
    pub fn change_coordinators(&mut self, addresses: &[String], now: Timestamp) {
        self.coordinators = addresses.to_vec();
        self.recover(now);
        let name = self.connection.split(':').next().unwrap_or_default();
        self.connection = format!("{name}:generation{}@{}", self.generation, addresses.join(","));
    }

    /// Servers end; their monitors start them again.
    pub fn restart(&mut self, addresses: &[String], now: Timestamp) {
        self.servers.retain(|_, server| !addresses.contains(&server.address));
        self.recover(now);
    }

    pub fn recover(&mut self, now: Timestamp) {
        self.generation += 2;
        self.recovered = now;
    }

    fn excluded_since(&self, id: &ProcessGroupId, server: &Server) -> Option<Timestamp> {
        let places = [id.locality(), host(&server.address).to_owned()];
        places.iter().find_map(|place| self.excluded.get(place)).copied()
    }

    fn is_coordinator(&self, server: &Server) -> bool {
        let named = format!("{}:{}", server.dns_name, port(&server.address));
        self.coordinators.contains(&server.address) || self.coordinators.contains(&named)
    }

    fn mode(&self) -> Option<RedundancyMode> {
        let has = |mode: &RedundancyMode| redundancy_keys(*mode).iter().all(|(key, value)| self.keys.get(key) == Some(value));
        RedundancyMode::ALL.into_iter().find(has)
    }

    /// What it says of itself.
    pub fn report(&self, now: Timestamp) -> DatabaseReport {
        let reachable = |address: &String| {
            let is = |server: &Server| *address == server.address || is_one_pod(host(address), &server.dns_name);
            self.servers.values().any(is)
        };
        let coordinator = |address: &String| CoordinatorReport { address: address.clone(), reachable: reachable(address) };
        let coordinators: Vec<_> = self.coordinators.iter().map(coordinator).collect();
        let report = DatabaseReport { coordinators, ..DatabaseReport::default() };
        if report.coordinators.iter().filter(|one| one.reachable).count() <= report.coordinators.len() / 2 {
            let messages = BTreeSet::from(["quorum_not_reachable".to_owned()]);
            return DatabaseReport { messages, ..report };
        }
        let lately = self.died.iter().filter(|(died, ..)| now.duration_since(*died) < DEAD_ARE_LISTED_FOR);
        let listed = lately.map(|(_, id, server)| (id, server)).chain(&self.servers);
        let processes = listed.map(|(id, server)| (server.address.clone(), self.process(id, server, now))).collect();
        let report = DatabaseReport { processes, generation: Some(self.generation), ..report };
        match self.mode() {
            None => {
                let recovery = Recovery { name: "configuration_never_created".to_owned(), ..Recovery::default() };
                DatabaseReport { recovery: Some(recovery), ..report }
            }
            Some(mode) => self.of_a_running_one(report, mode, now),
        }
    }

    fn of_a_running_one(&self, report: DatabaseReport, mode: RedundancyMode, now: Timestamp) -> DatabaseReport {
        let since = now.duration_since(self.recovered);
        let recovery = Recovery {
            name: "fully_recovered".to_owned(),
            active_generations: Some(if since.as_secs() < 10 { 2 } else { 1 }),
            seconds_since: Some(since.as_secs_f64()),
        };
        let copies = Copies::of(mode);
        let healing = self.died.iter().any(|(died, id, server)| {
            let ago = now.duration_since(*died);
            let undrained = self.excluded_since(id, server).is_none() && server.class == ProcessClass::Storage;
            undrained && !self.servers.contains_key(id) && (LOSS_IS_SEEN_AFTER..LOSS_IS_HEALED_AFTER).contains(&ago)
        });
        let (name, healthy, left) = match () {
            () if since.as_secs() < 36 => ("initializing", None, None),
            () if healing => ("healing", Some(false), Some(copies.storage - 1)),
            () => ("healthy", Some(true), Some(copies.storage)),
        };
        let data = DataState { name: name.to_owned(), healthy, min_replicas_remaining: left, highest_priority: Some(0) };
        let keeps = |name: &&&str| {
            engine_keys(name).is_some_and(|keys| keys.iter().all(|(key, value)| self.keys.get(key) == Some(value)))
        };
        let engine = ENGINES.iter().find(keeps).copied().unwrap_or("ssd-2");
        let number = |(key, value): (&String, &Vec<u8>)| {
            let value = std::str::from_utf8(value).ok()?.parse().ok()?;
            (!key.ends_with("_engine") && key != Migration::SETTING).then(|| (key.clone(), value))
        };
        let configuration = ConfigurationReport {
            redundancy_mode: Some(mode.name().to_owned()),
            storage_engine: Some(engine.to_owned()),
            settings: self.keys.iter().filter_map(number).collect(),
            words: [(Migration::SETTING.to_owned(), self.migration().name().to_owned())].into(),
            excluded: self.excluded.keys().cloned().collect(),
        };
        let tolerance = i64::from(mode.fault_tolerance());
        DatabaseReport {
            available: true,
            healthy: true,
            full_replication: Some(!healing),
            recovery: Some(recovery),
            data: Some(data),
            tolerance: Some(Tolerance { data: tolerance, availability: tolerance }),
            logs: Some(LogState { fault_tolerance: i64::from(copies.log) - 1, replication_factor: i64::from(copies.log) }),
            configuration: Some(configuration),
            connection: Some(self.connection.clone()),
            can_clean_bounce: Some(true),
            backlog: Backlog { data_lag: 0.1, durability_lag: 1.0, ..Backlog::default() },
            exclusions_in_progress: Some(self.exclusions_in_progress(now)),
            lock: Some(self.lock.clone()),
            ..report
        }
    }

    fn migration(&self) -> Migration {
        let is_written = |migration: &Migration| migration.keys().iter().all(|(key, value)| self.keys.get(key) == Some(value));
        [Migration::Aggressive, Migration::Gradual].into_iter().find(is_written).unwrap_or(Migration::Disabled)
    }

    /// How long data moves away from one of a class: what a log has, others have after a recovery.
    fn drains(&self, class: ProcessClass) -> SignedDuration {
        if class == ProcessClass::Storage { self.drains_in } else { self.drains_in.min(A_LOG_DRAINS_IN) }
    }

    fn exclusions_in_progress(&self, now: Timestamp) -> BTreeSet<String> {
        let full = |(id, server): &(&ProcessGroupId, &Server)| {
            let holds = crate::tolerance::holds_copies(server.class);
            holds && self.excluded_since(id, server).is_some_and(|since| now.duration_since(since) < self.drains(server.class))
        };
        self.servers.iter().filter(full).map(|(_, server)| server.address.clone()).collect()
    }

    fn process(&self, id: &ProcessGroupId, server: &Server, now: Timestamp) -> ProcessReport {
        let excluded = self.excluded_since(id, server);
        let runs = now.duration_since(server.started);
        let role = match server.class {
            ProcessClass::Storage => "storage",
            ProcessClass::Log | ProcessClass::Transaction => "log",
            _ => "commit_proxy",
        };
        let mut roles = BTreeSet::new();
        if excluded.is_none_or(|since| now.duration_since(since) < self.drains(server.class)) {
            roles.insert(role.to_owned());
        }
        if self.is_coordinator(server) {
            roles.insert("coordinator".to_owned());
        }
        let begins = ProcessReport {
            class: Some(server.class),
            excluded: Some(excluded.is_some()),
            roles,
            command_line: Some(format!("/usr/bin/fdbserver {}", server.arguments)),
            version: Some(server.version.clone()),
            ..ProcessReport::default()
        };
        if runs < SAYS_NOTHING_FOR {
            return begins;
        }
        ProcessReport {
            group: Some(id.clone()),
            zone: Some(server.zone.clone()),
            physical_zone: (server.zone != server.host).then(|| server.host.clone()),
            dns_name: Some(server.dns_name.clone()),
            uptime: Some(runs.as_secs_f64()),
            ..begins
        }
    }
}
