//! Management changes: what is checked, what is refused, what follows.

use jiff::SignedDuration;
use quorate_fdb_client::{Change, Failure, Management};

use super::super::Database;
use super::super::coordination::Route;
use super::super::database::Maintenance;
use super::super::exclusion::{Exclusion, bare};
use super::super::fitness::{Fitness, Role};
use super::super::keyspace::{CONFIGURATION, COORDINATORS, INIT_ID, MOVE_KEYS_LOCK};
use super::super::times;
use super::commit::refused;

/// The classes that can be set.
const CLASSES: [&str; 19] = [
    "unset",
    "storage",
    "transaction",
    "resolution",
    "proxy",
    "commit_proxy",
    "grv_proxy",
    "master",
    "test",
    "stateless",
    "log",
    "router",
    "cluster_controller",
    "fast_restore",
    "data_distributor",
    "coordinator",
    "ratekeeper",
    "storage_cache",
    "backup",
];

/// What a look at the cluster says before the transaction commits.
pub(super) enum Prepared {
    /// It is committed after so long.
    After(SignedDuration),
    /// It is refused after so long.
    Refused(Failure, SignedDuration),
}

/// What a change brings with it.
pub(super) enum Consequence {
    /// Nothing: it is answered at once.
    None,
    /// The answer is read afterwards.
    Confirmed,
    /// A recovery that takes so long, and data distribution starts anew.
    Recovery(SignedDuration),
    /// The same, and every other write of the transaction is lost.
    LosesWrites(SignedDuration),
}

impl Database {
    pub(super) fn routes_here(&self, connection: &str) -> bool {
        self.route(connection) == Some(Route::Here)
    }

    pub(super) fn prepare(&self, manage: &Management, connection: &str) -> Prepared {
        match manage {
            Management::Exclude(targets) => self.prepare_exclusion(targets, connection),
            Management::Coordinators(addresses) => self.prepare_coordinators(addresses),
            Management::ProcessClass { class, .. } if class != "default" && !CLASSES.contains(&class.as_str()) => {
                let message = format!("ERROR: '{class}' is not a valid process class\n");
                Prepared::Refused(refused("setclass", &message, false), times::QUICK)
            }
            _ => Prepared::After(times::QUICK),
        }
    }

    /// The client itself reads the status before it excludes, as slow as that is, and looks at free space only.
    fn prepare_exclusion(&self, targets: &[String], connection: &str) -> Prepared {
        let takes = self.status_takes(connection);
        let mut exclusions = Vec::new();
        for target in targets {
            let Some(exclusion) = Exclusion::parse(target) else {
                let message = format!("ERROR: '{target}' is not a valid network endpoint address\n");
                return Prepared::Refused(refused("exclude", &message, false), times::QUICK);
            };
            exclusions.push(exclusion);
        }
        let left = self.data.servers.values().filter(|server| {
            server.dead_since.is_none()
                && !self.excludes(&server.address, &server.localities)
                && !exclusions.iter().any(|exclusion| exclusion.covers(&server.address, &server.localities))
        });
        if left.count() == 0 {
            let message = "ERROR: This exclude may cause the total available space in the cluster to drop below 10%.\n";
            return Prepared::Refused(refused("exclude", message, false), takes);
        }
        Prepared::After(takes)
    }

    /// Any number of coordinators is accepted; they only have to answer.
    fn prepare_coordinators(&self, addresses: &[String]) -> Prepared {
        let command = "coordinators";
        if let Some(bad) = addresses.iter().find(|address| !is_endpoint(address)) {
            let message = format!("ERROR: '{bad}' is not a valid network endpoint address\n");
            return Prepared::Refused(refused(command, &message, false), times::QUICK);
        }
        let mut wanted: Vec<&str> = addresses.iter().map(|address| bare(address)).collect();
        wanted.sort_unstable();
        let unreachable = || refused(command, "One of the specified coordinators is unreachable", true);
        if wanted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Prepared::Refused(unreachable(), times::QUICK);
        }
        let mut present: Vec<&str> = self.connection.addresses().collect();
        present.sort_unstable();
        if wanted == present {
            let dead = self.answering(&self.connection).count() < present.len();
            let takes = if dead { SignedDuration::from_secs(3) } else { times::STATUS };
            return Prepared::Refused(refused(command, "No change (existing configuration satisfies request)", false), takes);
        }
        if wanted.iter().any(|address| self.at(address).is_none_or(|process| !self.members.contains(process.address()))) {
            return Prepared::Refused(unreachable(), times::UNREACHABLE_COORDINATOR);
        }
        Prepared::After(times::QUICK)
    }

    /// Whether a change writes anything at all; an exclusion of what is excluded already may not.
    pub(super) fn would_write(&self, manage: &Management) -> bool {
        let written = |target: &String| {
            Exclusion::parse(target).is_some_and(|exclusion| self.keys.get(&configuration_key(&exclusion.key())).is_some())
        };
        match manage {
            Management::Exclude(targets) => !targets.iter().all(written),
            _ => true,
        }
    }

    /// Makes the change.
    pub(super) fn manage(&mut self, manage: &Management) -> Result<Consequence, Failure> {
        let version = self.versions.commit(self.now);
        match manage {
            Management::Exclude(targets) => {
                for exclusion in targets.iter().filter_map(|target| Exclusion::parse(target)) {
                    self.keys.set(&configuration_key(&exclusion.key()), b"", version);
                }
                Ok(Consequence::None)
            }
            Management::Include(targets) => {
                self.include(targets, version);
                Ok(Consequence::None)
            }
            Management::IncludeBlindly(targets) => {
                self.include(targets, version);
                Ok(Consequence::Confirmed)
            }
            Management::Coordinators(addresses) => {
                self.move_coordinators(addresses.clone());
                self.write_coordinated_state();
                let string = self.connection.to_string();
                self.keys.set(COORDINATORS, string.as_bytes(), version);
                Ok(Consequence::LosesWrites(times::CHANGES_COORDINATORS))
            }
            Management::Configure(change) => self.configure(change, version),
            Management::Maintain { zone, seconds } => {
                let until = self.now + SignedDuration::from_secs(i64::from(*seconds));
                self.maintenance = Some(Maintenance { zone: zone.clone(), until });
                Ok(Consequence::None)
            }
            Management::EndMaintenance => {
                self.maintained = self.maintenance.take().map(|maintenance| Maintenance { until: self.now, ..maintenance });
                Ok(Consequence::None)
            }
            Management::ProcessClass { address, class } => {
                let key = configuration_key(format!("process_classes/{address}").as_bytes());
                self.keys.set(&key, class.as_bytes(), version);
                Ok(Consequence::None)
            }
        }
    }

    fn include(&mut self, targets: &[String], version: i64) {
        for exclusion in targets.iter().filter_map(|target| Exclusion::parse(target)) {
            let key = configuration_key(&exclusion.key());
            self.keys.write(&[quorate_fdb_client::Write::Clear(quorate_fdb_client::Octets(key))], version);
        }
    }

    /// A database is created once; an id tells one's own creation from another's.
    fn configure(&mut self, change: &Change, version: i64) -> Result<Consequence, Failure> {
        if let Some(id) = &change.new {
            let created_by = self.keys.get(INIT_ID).filter(|_| !self.forgotten);
            if let Some(other) = created_by {
                return if other == id.as_bytes() { Ok(Consequence::Confirmed) } else { Err(Failure::AlreadyCreated) };
            }
            self.forget_everything();
            self.keys.set(INIT_ID, id.as_bytes(), version);
            self.keys.set(&configuration_key(b"initialized"), b"1", version);
        }
        let before = self.configuration.clone();
        for (key, value) in &change.keys {
            self.keys.set(&configuration_key(key.as_bytes()), &value.0, version);
        }
        self.keys.set(MOVE_KEYS_LOCK, format!("{version:016x}").as_bytes(), version);
        self.reconfigure();
        if change.new.is_some() {
            let string = self.connection.to_string();
            self.keys.set(COORDINATORS, string.as_bytes(), version);
            // The first generation is the second number.
            self.generation = 0;
            let fit = self.joined().any(|process| self.fit(process, Role::Master) < Fitness::Worst);
            return Ok(Consequence::Recovery(if fit { times::CREATES } else { times::CREATES_WITH_THE_UNFIT }));
        }
        Ok(if before == self.configuration { Consequence::None } else { Consequence::Recovery(times::CONFIGURES) })
    }

    /// A new database takes the place of one that its coordinators have forgotten: nothing of that is left.
    fn forget_everything(&mut self) {
        if self.forgotten {
            self.keys = super::super::keyspace::KeySpace::default();
            self.logs.clear();
            self.data = super::super::storage::Data::default();
            for volume in self.volumes.values_mut() {
                volume.store = None;
                volume.logs.clear();
            }
        }
    }
}

fn configuration_key(key: &[u8]) -> Vec<u8> {
    [CONFIGURATION, key].concat()
}

/// `ip:port`, or a host name and a port.
fn is_endpoint(address: &str) -> bool {
    bare(address).rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}
