//! What invariants ask of a database besides what is lost: who runs where, what lives on a volume, and what could go without harm.

use jiff::{SignedDuration, Timestamp};

use super::Database;
use super::configuration::engine;
use super::exclusion::Exclusion;
use super::process::Process;
use super::recovery::Phase;

/// A server that runs, as it really is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its address, without `:tls`.
    pub address: String,
    /// The name and port under which it can be reached as well.
    pub name: Option<String>,
    /// The process group it says it belongs to.
    pub group: String,
    /// The class on its command line.
    pub class: String,
    /// Its zone.
    pub zone: String,
    /// Where it really is: the zone, or where that is a logical one what it says besides.
    pub physical_zone: String,
    /// The volume its data directory is on.
    pub volume: String,
    /// The arguments it was started with.
    pub command_line: String,
    /// Since when it runs.
    pub started: Timestamp,
    /// Whether the configuration excludes it.
    pub excluded: bool,
    /// Whether it is one of the coordinators.
    pub coordinates: bool,
}

impl Server {
    /// Whether an exclusion, a coordinator's address or a kill means this server.
    pub fn is_meant_by(&self, place: &str) -> bool {
        let place = super::exclusion::bare(place);
        place == self.address
            || place == super::exclusion::host(&self.address)
            || self.name.as_deref() == Some(place)
            || place.strip_prefix("locality_instance_id:") == Some(self.group.as_str())
    }
}

/// A server that runs, for whoever looks at all of them after every step and knows most of them already.
#[derive(Clone, Copy)]
pub(crate) struct Running<'a> {
    database: &'a Database,
    process: &'a Process,
}

impl<'a> Running<'a> {
    pub(crate) fn address(self) -> &'a str {
        self.process.address()
    }

    pub(crate) fn group(self) -> &'a str {
        self.process.spec.localities.get("instance_id").map_or("", String::as_str)
    }

    pub(crate) fn is_excluded(self) -> bool {
        self.database.excludes(self.address(), self.process.localities())
    }

    pub(crate) fn coordinates(self) -> bool {
        let name = self.process.spec.name.as_deref();
        self.database.connection.addresses().any(|coordinator| coordinator == self.address() || name == Some(coordinator))
    }

    /// Whether it is this one, which has not been started again since.
    pub(crate) fn is(self, known: &Server) -> bool {
        let Process { spec, started, .. } = self.process;
        let at_its_place = known.address == self.address() && known.volume == spec.volume && known.group == self.group();
        at_its_place && known.started == *started && known.command_line == spec.command_line
    }

    pub(crate) fn server(self) -> Server {
        let Process { spec, started, .. } = self.process;
        let zone = self.process.zone();
        Server {
            address: self.address().to_owned(),
            name: spec.name.clone(),
            group: self.group().to_owned(),
            class: spec.class.clone(),
            zone: zone.to_owned(),
            physical_zone: spec.localities.get("physical_zone").map_or(zone, String::as_str).to_owned(),
            volume: spec.volume.clone(),
            command_line: spec.command_line.clone(),
            started: *started,
            excluded: self.is_excluded(),
            coordinates: self.coordinates(),
        }
    }
}

/// The coordinators, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quorum {
    /// How many there are.
    pub all: usize,
    /// How many run.
    pub answering: usize,
    /// How many decide.
    pub majority: usize,
}

impl Database {
    /// Every server that runs and has found the cluster: one that has not serves nobody.
    pub fn servers(&self) -> impl Iterator<Item = Server> {
        self.running().map(Running::server)
    }

    /// The same, not written out yet.
    pub(crate) fn running(&self) -> impl Iterator<Item = Running<'_>> {
        self.joined().map(|process| Running { database: self, process })
    }

    /// The process groups of all servers that have data and have been running for so long.
    pub(crate) fn groups_with_data(&self, since: SignedDuration) -> impl Iterator<Item = &str> {
        let has_data =
            |one: &Running<'_>| self.volumes.get(&one.process.spec.volume).is_some_and(|volume| volume.store.is_some());
        let runs_on = move |one: &Running<'_>| self.now.duration_since(one.process.started) >= since;
        self.running().filter(has_data).filter(runs_on).map(Running::group)
    }

    /// Why a volume can't go, if so: copies of data that too few others have, or logs that are still needed.
    pub fn needs(&self, volume: &str) -> Option<String> {
        let wanted = self.configuration.as_ref()?.storage_replicas;
        let store = self.volumes.get(volume).and_then(|volume| volume.store);
        let short =
            self.data.shards.iter().filter(|shard| store.is_some_and(|store| shard.copies.contains(&store))).find(|shard| {
                let others = self.data.kept(shard, &self.volumes).filter(|id| Some(*id) != store).count();
                others < wanted
            });
        if short.is_some() {
            return Some("it holds copies of data that too few others have".to_owned());
        }
        let log = self.logs.iter().find(|generation| {
            generation.servers.iter().any(|server| server.volume == volume && generation.kept(server, &self.volumes))
        });
        log.map(|generation| format!("it holds logs of generation {}", generation.epoch))
    }

    /// Whether a coordinator keeps its state on a volume.
    pub fn coordinates_on(&self, volume: &str) -> bool {
        self.coordinating.values().any(|place| place == volume)
    }

    /// Whether nothing at all is missing: every copy, every log, every coordinator and what it remembers.
    pub fn is_whole(&self) -> bool {
        let name = self.connection.name();
        let remembered = self.connection.addresses().all(|address| {
            let volume = self.coordinating.get(address).and_then(|volume| self.volumes.get(volume));
            volume.is_some_and(|volume| volume.coordinates.contains_key(&name))
        });
        self.looks_whole() && remembered
    }

    /// Whether nothing is missing that anybody could see.
    pub fn looks_whole(&self) -> bool {
        self.what_is_missing().is_none()
    }

    /// What is missing that anybody could see: a coordinator whose disk was lost answers like any other, and learns what it forgot at the
    /// next recovery.
    pub fn what_is_missing(&self) -> Option<String> {
        if !self.available() {
            return Some("it is not available".to_owned());
        }
        let Some(copies) = self.copies().filter(|copies| copies.kept >= copies.wanted) else {
            return Some("some data has too few copies".to_owned());
        };
        let kept =
            |generation: &super::logs::Generation| generation.servers.iter().all(|server| generation.kept(server, &self.volumes));
        if self.logs.len() != 1 || !self.logs.iter().all(kept) {
            return Some(format!("{} generations of the log are needed, with {} copies of data", self.logs.len(), copies.kept));
        }
        let quorum = self.quorum();
        (quorum.answering != quorum.all).then(|| format!("{} of {} coordinators answer", quorum.answering, quorum.all))
    }

    /// Whether nothing is missing that was anywhere else than in this zone: without the zone, no more is missing then.
    pub fn is_whole_apart_from(&self, zone: &str) -> bool {
        let there = |localities: &super::policy::Localities| localities.get("zoneid").is_some_and(|own| own == zone);
        let copies = self.data.shards.iter().all(|shard| {
            let kept: Vec<u64> = self.data.kept(shard, &self.volumes).collect();
            let mut missing = shard.copies.iter().filter(|id| !kept.contains(id));
            missing.all(|id| self.data.servers.get(id).is_some_and(|server| there(&server.localities)))
        });
        let logs = self.logs.iter().all(|generation| {
            generation.servers.iter().all(|server| generation.kept(server, &self.volumes) || there(&server.localities))
        });
        self.available() && copies && logs
    }

    /// How many coordinators there are, and how many run.
    pub fn quorum(&self) -> Quorum {
        Quorum {
            all: self.connection.coordinators.len(),
            answering: self.answering(&self.connection).count(),
            majority: self.connection.majority(),
        }
    }

    /// The engines of all storage servers.
    pub fn engines(&self) -> Vec<&'static str> {
        self.data.servers.values().map(|server| engine(server.engine)).collect()
    }

    /// What is excluded, as it was written.
    pub fn excluded(&self) -> Vec<String> {
        let exclusions = self.configuration.iter().flat_map(|configuration| &configuration.exclusions);
        exclusions
            .map(|exclusion| match exclusion {
                Exclusion::Address(target) | Exclusion::Locality { target, .. } => target.clone(),
            })
            .collect()
    }

    /// Copies of every shard and of every commit; `None` before the database was created.
    pub fn replicas(&self) -> Option<(usize, usize)> {
        self.configuration.as_ref().map(|configuration| (configuration.storage_replicas, configuration.log_replicas))
    }

    /// How many generations of the log are kept besides the current one, as the database itself counts them.
    pub fn generations(&self) -> usize {
        self.logs.len().saturating_sub(1)
    }

    /// Since when commits are accepted, if they are.
    pub fn accepting_since(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Accepting { since, .. } => Some(since),
            _ => None,
        }
    }

    /// Whether some data could not be read while these volumes are not served. Asked also of volumes that are lost.
    pub fn unreadable_without(&self, down: impl Fn(&str) -> bool) -> bool {
        self.data.shards.iter().any(|shard| {
            let kept = self.data.kept(shard, &self.volumes);
            let lost = shard
                .copies
                .iter()
                .copied()
                .filter(|id| self.data.servers.get(id).is_some_and(|it| !self.has_volume(&it.volume)));
            let mut copies = kept.chain(lost).filter_map(|id| self.data.servers.get(&id));
            !copies.any(|server| !down(&server.volume))
        })
    }

    /// Whether a volume is there.
    pub fn has_volume(&self, volume: &str) -> bool {
        self.volumes.contains_key(volume)
    }
}
