//! One database: everything that is so, and how time passes over it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::configuration::Configuration;
use super::connection::Connection;
use super::distribution::Distributor;
use super::exclusion::bare;
use super::keyspace::{CONFIGURATION, KeySpace};
use super::logs::Generation;
use super::process::{Exit, Process, ProcessSpec, Volume};
use super::recovery::{Election, Phase};
use super::recruitment::Roles;
use super::storage::Data;
use super::times;
use super::versions::Versions;

/// A FoundationDB: processes, coordinators, logs and data, in explicit time.
#[derive(Clone, Debug)]
pub struct Database {
    pub(super) now: Timestamp,
    pub(super) chance: ChaCha8Rng,
    /// What runs, by address without `:tls`.
    pub(super) processes: BTreeMap<String, Process>,
    /// What ran a moment ago and is still in the report.
    pub(super) departed: BTreeMap<String, (Process, Timestamp)>,
    /// Disks, by their id.
    pub(super) volumes: BTreeMap<String, Volume>,
    /// Which processes found the cluster.
    pub(super) members: BTreeSet<String>,
    pub(super) connection: Connection,
    /// The volumes on which coordinators keep their state, by their addresses.
    pub(super) coordinating: BTreeMap<String, String>,
    /// Under which name they wrote it last; empty before they ever did.
    pub(super) coordinated: String,
    pub(super) phase: Phase,
    pub(super) generation: u64,
    /// The process that leads the cluster; empty if none does.
    pub(super) controller: String,
    pub(super) roles: Roles,
    /// Whether a process with a role died since the generation began.
    pub(super) role_died: bool,
    /// Generations of the log, the current one first.
    pub(super) logs: Vec<Generation>,
    pub(super) data: Data,
    pub(super) distributor: Option<Distributor>,
    pub(super) next_distributor: Option<Timestamp>,
    pub(super) keys: KeySpace,
    pub(super) versions: Versions,
    pub(super) configuration: Option<Configuration>,
    pub(super) maintenance: Option<Maintenance>,
    /// The maintenance that ended last: failures in its zone count anew from its end on.
    pub(super) maintained: Option<Maintenance>,
    pub(super) kills: BTreeMap<String, Timestamp>,
    pub(super) exits: Vec<Exit>,
    /// A majority of coordinators forgot that there is a database.
    pub(super) forgotten: bool,
    pub(super) size: u64,
}

/// Failures in this zone cause no data movement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Maintenance {
    pub zone: String,
    pub until: Timestamp,
}

impl Database {
    /// A database that nobody created yet, for processes whose cluster file says this.
    ///
    /// # Errors
    /// If the connection string is none.
    pub fn new(connection: &str, seed: u64, now: Timestamp) -> Result<Self, String> {
        let connection = Connection::parse(connection).ok_or_else(|| format!("`{connection}` is no connection string"))?;
        Ok(Self {
            now,
            chance: ChaCha8Rng::seed_from_u64(seed),
            processes: BTreeMap::new(),
            departed: BTreeMap::new(),
            volumes: BTreeMap::new(),
            members: BTreeSet::new(),
            connection,
            coordinating: BTreeMap::new(),
            coordinated: String::new(),
            phase: Phase::Leaderless(Election::First),
            generation: 1,
            controller: String::new(),
            roles: Roles::default(),
            role_died: false,
            logs: Vec::new(),
            data: Data::default(),
            distributor: None,
            next_distributor: None,
            keys: KeySpace::default(),
            versions: Versions::new(now),
            configuration: None,
            maintenance: None,
            maintained: None,
            kills: BTreeMap::new(),
            exits: Vec::new(),
            forgotten: false,
            size: 40_000_000,
        })
    }

    /// How many bytes of data there are, from the database's creation on or from now on.
    pub fn hold(&mut self, bytes: u64) {
        self.size = bytes;
        let shards = u64::try_from(self.data.shards.len()).unwrap_or(1).max(1);
        for shard in &mut self.data.shards {
            shard.bytes = bytes / shards;
        }
    }

    /// The time of the database.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The connection string that works now.
    pub fn connection(&self) -> String {
        self.connection.to_string()
    }

    /// Starts a process on its volume. A process that ran at the address before is gone.
    pub fn start_process(&mut self, spec: ProcessSpec) {
        let address = bare(&spec.address).to_owned();
        self.departed.remove(&address);
        self.kills.remove(&address);
        let fresh = format!("{:016x}{:016x}", self.chance.next_u64(), self.chance.next_u64());
        let volume = self.volumes.entry(spec.volume.clone()).or_default();
        if volume.process_id.is_empty() {
            volume.process_id = fresh;
        }
        // A store that was re-replicated in the meantime is dropped by its own process.
        if volume.store.is_some_and(|store| !self.data.servers.contains_key(&store)) {
            volume.store = None;
            volume.emptied = true;
        }
        let store = volume.store;
        let process = Process { id: volume.process_id.clone(), started: self.now, spec };
        if let Some(server) = store.and_then(|store| self.data.servers.get_mut(&store)) {
            if server.address != address {
                server.known_as = Some((server.address.clone(), self.now + times::OPENS_ITS_DISK));
            }
            server.address.clone_from(&address);
            server.localities.clone_from(process.localities());
            server.dead_since = None;
        }
        self.processes.insert(address, process);
        self.settle();
    }

    /// A process ends, without a word. What its volume holds stays.
    pub fn stop_process(&mut self, address: &str) {
        self.end_process(address);
        self.settle();
    }

    /// The same, before anybody has noticed.
    fn end_process(&mut self, address: &str) {
        let Some(process) = self.processes.remove(bare(address)) else { return };
        self.kills.remove(bare(address));
        let volume = self.volumes.get(&process.spec.volume);
        if let Some(server) = volume.and_then(|volume| volume.store).and_then(|store| self.data.servers.get_mut(&store)) {
            server.dead_since.get_or_insert(self.now);
        }
        self.departed.insert(bare(address).to_owned(), (process, self.now));
    }

    /// A volume is lost with everything on it. Its process, if it runs, has ended.
    pub fn lose_volume(&mut self, volume: &str) {
        let running: Vec<String> = self
            .processes
            .iter()
            .filter(|(_, process)| process.spec.volume == volume)
            .map(|(address, _)| address.clone())
            .collect();
        for address in running {
            self.stop_process(&address);
        }
        self.volumes.remove(volume);
        self.settle();
    }

    /// The disk of a volume begins to fail: whoever runs on it complains from now on, and serves as before.
    pub fn wear_out(&mut self, volume: &str) {
        if let Some(volume) = self.volumes.get_mut(volume) {
            volume.errs = true;
        }
    }

    /// Whether a process runs at this address.
    pub fn runs(&self, address: &str) -> bool {
        self.processes.contains_key(bare(address))
    }

    /// When a process ends because it was killed: in the past, if nobody has asked for it in [`Database::exits`] yet.
    pub fn next_exit(&self) -> Option<Timestamp> {
        self.exits.iter().map(|exit| exit.at).chain(self.kills.values().copied()).min()
    }

    /// Processes that ended because they were killed, since this was last asked.
    pub fn exits(&mut self) -> Vec<Exit> {
        std::mem::take(&mut self.exits)
    }

    /// Locks the database, or unlocks it.
    pub fn lock(&mut self, uid: Option<&str>) {
        let version = self.versions.commit(self.now);
        self.keys.set(super::keyspace::LOCKED, uid.unwrap_or("").as_bytes(), version);
    }

    /// The process that runs on a volume, wherever it is now.
    pub(super) fn process_on(&self, volume: &str) -> Option<&Process> {
        self.processes.values().find(|process| process.spec.volume == volume)
    }

    /// The processes that are part of the cluster.
    pub(super) fn joined(&self) -> impl Iterator<Item = &Process> {
        self.members.iter().filter_map(|address| self.processes.get(address))
    }

    /// The id of a new role.
    pub(super) fn new_id(&mut self) -> u64 {
        self.chance.next_u64()
    }

    /// Reads the configuration anew after its keys changed.
    pub(super) fn reconfigure(&mut self) {
        self.configuration = Configuration::read(self.keys.below(CONFIGURATION));
    }

    /// Lets time pass, event by event.
    pub fn advance(&mut self, to: Timestamp) {
        // What was due by now has happened.
        if to == self.now {
            return;
        }
        while let Some(event) = self.next_event().filter(|event| *event <= to) {
            self.now = self.now.max(event);
            self.happen();
        }
        self.now = self.now.max(to);
    }

    /// When something happens next by itself.
    pub fn next_event(&self) -> Option<Timestamp> {
        let departures = self.departed.values().map(|(_, at)| *at + times::LINGERS);
        let maintenance = self.maintenance.iter().map(|maintenance| maintenance.until);
        departures
            .chain(maintenance)
            .chain(self.kills.values().copied())
            .chain(self.recovery_events())
            .chain(self.distribution_events())
            .filter(|event| *event > self.now)
            .min()
    }

    /// Everything that is due.
    fn happen(&mut self) {
        let now = self.now;
        self.departed.retain(|_, (_, at)| *at + times::LINGERS > now);
        if self.maintenance.as_ref().is_some_and(|maintenance| maintenance.until <= now) {
            self.maintained = self.maintenance.take();
        }
        let killed: Vec<String> = self.kills.iter().filter(|(_, at)| **at <= now).map(|(address, _)| address.clone()).collect();
        for address in killed {
            if let Some(process) = self.processes.get(&address) {
                self.exits.push(Exit { address: address.clone(), volume: process.spec.volume.clone(), at: now });
            }
            self.kills.remove(&address);
            // Who is killed together ends together: nobody recovers from the first death while the others are still to die.
            self.end_process(&address);
        }
        self.settle();
    }

    /// Draws the consequences of whatever changed.
    pub(super) fn settle(&mut self) {
        self.find_members();
        self.drive_recovery();
        self.distribute();
        self.drain_logs();
    }

    fn find_members(&mut self) {
        let spoken = self.spoken().map(str::to_owned);
        let members = self
            .processes
            .iter()
            .filter(|(_, process)| Some(super::process::protocol(&process.spec.version)) == spoken.as_deref())
            .filter(|(address, process)| {
                let known = self.volumes.get(&process.spec.volume).and_then(|volume| volume.connection.as_ref());
                self.members.contains(*address) || {
                    let text = known.unwrap_or(&process.spec.connection);
                    self.route(text) == Some(super::coordination::Route::Here)
                }
            })
            .map(|(address, _)| address.clone())
            .collect();
        self.members = members;
    }
}
