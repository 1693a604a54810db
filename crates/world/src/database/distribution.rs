//! Data distribution: which storage servers there are, and which shards move where.
//!
//! It starts anew when its process does, and then moves nothing for half a minute. It learns of a dead server a minute late. Where no team
//! can satisfy the policy it moves nothing and reports nothing: its state is that of its queue, not of the copies.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::Database;
use super::configuration::Configuration;
use super::fitness::{Fitness, Role};
use super::policy::Localities;
use super::recovery::Phase;
use super::storage::{Relocation, Shard, StorageServer};
use super::times;

/// How many shards a database has.
const SHARDS: usize = 16;

/// Priorities of relocations, as FoundationDB numbers them.
pub(super) mod priority {
    /// A server that is not wanted there.
    pub const UNDESIRED: u32 = 150;
    /// A team that is not as it should be.
    pub const UNHEALTHY: u32 = 700;
    /// Two copies are left.
    pub const TWO_LEFT: u32 = 709;
    /// One copy is left.
    pub const ONE_LEFT: u32 = 800;
    /// No copy is left.
    pub const NONE_LEFT: u32 = 809;
}

/// The data distributor.
#[derive(Clone, Debug)]
pub(super) struct Distributor {
    /// The process it is on.
    pub on: String,
    pub recruited: Timestamp,
    /// When it begins to move data.
    pub ready: Timestamp,
    /// When it makes room for the next one.
    leaves: Option<Timestamp>,
    /// The storage server that gets a second one with another engine beside it on its process, and when that has everything.
    beside: Option<(u64, Timestamp)>,
    /// When it looks again, because there is a place or a server that there was not when it looked.
    again: Option<Timestamp>,
}

/// What makes a storage server one that nothing is to be on, besides being excluded or dead.
struct Standards {
    without_makeshift: bool,
    /// The volume of the one that gets another engine now.
    another_engine: Option<String>,
}

impl Database {
    /// The distributor, if it is ready to move data.
    pub(super) fn ready_distributor(&self) -> Option<&Distributor> {
        self.distributor.as_ref().filter(|distributor| distributor.ready <= self.now)
    }

    /// When data distribution goes on by itself.
    pub(super) fn distribution_events(&self) -> impl Iterator<Item = Timestamp> {
        let distributor =
            self.distributor.iter().flat_map(|it| [Some(it.ready), it.leaves, it.again, it.beside.map(|(_, until)| until)]);
        let failures = self.data.servers.values().map(|server| self.fails_at(server));
        let moves = self.data.shards.iter().map(|shard| shard.relocation.as_ref().map(|relocation| relocation.until));
        distributor.chain(failures).chain(moves).chain(std::iter::once(self.next_distributor)).flatten()
    }

    /// A new distributor takes over.
    pub(super) fn replace_distributor(&mut self) {
        if let Some(distributor) = &mut self.distributor {
            distributor.leaves = Some(self.now + SignedDuration::from_millis(400));
        }
        self.next_distributor = Some(self.now + times::DISTRIBUTOR_RECRUITED);
    }

    /// Does what is due.
    pub(super) fn distribute(&mut self) {
        let now = self.now;
        let gone = |distributor: &Distributor, members: &BTreeSet<String>| {
            !members.contains(&distributor.on) || distributor.leaves.is_some_and(|leaves| leaves <= now)
        };
        if self.distributor.as_ref().is_some_and(|distributor| gone(distributor, &self.members)) {
            self.distributor = None;
            for shard in &mut self.data.shards {
                shard.relocation = None;
            }
        }
        if !matches!(self.phase, Phase::Accepting { .. }) {
            return;
        }
        if self.distributor.is_none() && self.next_distributor.is_none() {
            self.next_distributor = Some(now + times::DISTRIBUTOR_RECRUITED);
        }
        if self.next_distributor.is_some_and(|next| next <= now) {
            self.next_distributor = None;
            let ready = now + times::DISTRIBUTOR_READY - times::DISTRIBUTOR_RECRUITED;
            let on = self.roles.master.clone();
            self.distributor = Some(Distributor { on, recruited: now, ready, leaves: None, beside: None, again: None });
        }
        if let Some(distributor) = &mut self.distributor {
            distributor.again = distributor.again.filter(|again| *again > now);
        }
        if self.ready_distributor().is_some() {
            self.finish_moves();
            self.migrate_beside();
            self.recruit_storage();
            self.relocate();
            self.retire_servers();
        }
    }

    /// When a dead server will count as failed; `None` if it lives, or is under maintenance.
    fn fails_at(&self, server: &StorageServer) -> Option<Timestamp> {
        let dead = server.dead_since?;
        let recruited = self.distributor.as_ref()?.recruited;
        let zone = server.localities.get("zoneid");
        if self.maintenance.as_ref().is_some_and(|maintenance| Some(&maintenance.zone) == zone) {
            return None;
        }
        let maintained = self.maintained.as_ref().filter(|maintained| Some(&maintained.zone) == zone);
        let noticed = (dead + times::DEATH_IS_NOTICED).max(recruited + SignedDuration::from_secs(1));
        let noticed = maintained.map_or(noticed, |maintained| noticed.max(maintained.until + times::AFTER_MAINTENANCE));
        Some(noticed + times::FAILURE_REACTION)
    }

    /// Whether data distribution knows that a server is dead.
    pub(super) fn failed(&self, server: &StorageServer) -> bool {
        self.fails_at(server).is_some_and(|at| at <= self.now)
    }

    fn server_is_excluded(&self, server: &StorageServer) -> bool {
        self.excludes(&server.address, &server.localities)
    }

    /// Whether a server is on a process of the wrong class.
    fn is_makeshift(&self, server: &StorageServer) -> bool {
        self.processes.get(&server.address).is_some_and(|process| self.fit(process, Role::Storage) == Fitness::Worst)
    }

    /// Whether nothing is to be on a server: it is excluded, it failed, there are better ones, or it is its turn to get another engine.
    fn is_unwanted(&self, server: &StorageServer, standards: &Standards) -> bool {
        self.server_is_excluded(server)
            || self.failed(server)
            || (standards.without_makeshift && self.is_makeshift(server))
            || standards.another_engine.as_ref() == Some(&server.volume)
    }

    fn standards(&self) -> Standards {
        Standards { without_makeshift: self.a_team_exists(false, None), another_engine: self.next_to_migrate() }
    }

    /// The volume of the storage server that is made again with the engine that is configured: one after the other, while the others can
    /// hold everything.
    fn next_to_migrate(&self) -> Option<String> {
        let configuration = self.configuration.as_ref().filter(|configuration| configuration.migrates())?;
        let mut others = self.data.servers.values().filter(|server| server.engine != configuration.storage_engine);
        let next = others.find(|server| server.dead_since.is_none() && !self.server_is_excluded(server))?;
        self.a_team_exists(true, Some(&next.volume)).then(|| next.volume.clone())
    }

    /// Where the others can't hold everything, a process gets a second storage server with the right engine, and the first one goes when that has
    /// a copy of everything. Whoever migrates by the wiggle alone has to have room elsewhere.
    fn migrate_beside(&mut self) {
        let Some(configuration) = self.configuration.as_ref().filter(|it| it.migration() == "aggressive") else { return };
        let engine = configuration.storage_engine;
        let stays = |server: &StorageServer| server.dead_since.is_none() && !self.server_is_excluded(server);
        let next = self.data.servers.iter().find(|(_, server)| server.engine != engine && stays(server));
        let next = next.filter(|(_, server)| !self.a_team_exists(true, Some(&server.volume))).map(|(id, _)| *id);
        let bytes = next.map_or(0, |id| self.data.stored(id));
        let copied = self.now + times::MOVES + copying(bytes);
        let now = self.now;
        let Some(distributor) = &mut self.distributor else { return };
        let begun = distributor.beside.filter(|(id, _)| Some(*id) == next).or(next.map(|id| (id, copied)));
        distributor.beside = begun;
        if let Some((id, _)) = begun.filter(|(_, until)| *until <= now) {
            distributor.beside = None;
            distributor.again = Some(now + times::STORAGE_RECRUITED);
            if let Some(server) = self.data.servers.get_mut(&id) {
                server.engine = engine;
            }
        }
    }

    /// Whether the members could hold all data, log-class processes included.
    pub(super) fn storage_is_possible(&self, configuration: &Configuration) -> bool {
        let able: Vec<&Localities> = self
            .joined()
            .filter(|process| self.fit(process, Role::Storage) <= Fitness::Worst)
            .map(super::process::Process::localities)
            .collect();
        configuration.storage_policy.holds(&able)
    }

    /// Whether a team can be made of servers that are neither excluded nor failed, with or without those on makeshift processes, and without
    /// the one on a volume.
    fn a_team_exists(&self, makeshift: bool, without: Option<&String>) -> bool {
        let Some(configuration) = &self.configuration else { return false };
        let usable: Vec<&Localities> = self
            .data
            .servers
            .values()
            .filter(|server| !self.server_is_excluded(server) && !self.failed(server))
            .filter(|server| (makeshift || !self.is_makeshift(server)) && without != Some(&server.volume))
            .map(|server| &server.localities)
            .collect();
        configuration.storage_policy.holds(&usable)
    }

    /// The first storage servers and shards of a new database.
    pub(super) fn create_data(&mut self) {
        self.recruit_on(|fitness, _| fitness <= Fitness::Unset, SignedDuration::ZERO);
        if !self.a_team_exists(true, None) {
            self.recruit_on(|fitness, _| fitness <= Fitness::Worst, SignedDuration::ZERO);
        }
        let Some(configuration) = self.configuration.clone() else { return };
        for _ in 0..SHARDS {
            let team = self.team(&configuration, &BTreeSet::new(), |_| true).unwrap_or_default();
            let bytes = self.size / SHARDS as u64;
            self.data.shards.push(Shard { bytes, copies: team, relocation: None });
        }
    }

    fn recruit_storage(&mut self) {
        self.recruit_on(|fitness, emptied| fitness <= Fitness::Unset && !emptied, times::STORAGE_RECRUITED);
        // A process whose data was re-replicated in its absence, and one of another class, only when nothing else will do.
        if !self.a_team_exists(true, None) {
            self.recruit_on(|fitness, _| fitness <= Fitness::Unset, times::STORAGE_RECRUITED);
        }
        if !self.a_team_exists(true, None) {
            self.recruit_on(|fitness, _| fitness <= Fitness::Worst, times::STORAGE_RECRUITED);
        }
    }

    fn recruit_on(&mut self, wanted: impl Fn(Fitness, bool) -> bool, age: SignedDuration) {
        let places: Vec<(String, String, Localities)> = self
            .joined()
            .filter(|process| process.started + age <= self.now)
            .filter(|process| {
                let volume = self.volumes.get(&process.spec.volume);
                volume.is_some_and(|volume| volume.store.is_none() && wanted(self.fit(process, Role::Storage), volume.emptied))
            })
            .map(|process| (process.address().to_owned(), process.spec.volume.clone(), process.localities().clone()))
            .collect();
        for (address, volume, localities) in places {
            let id = self.new_id();
            if let Some(held) = self.volumes.get_mut(&volume) {
                held.store = Some(id);
                held.emptied = false;
            }
            let engine = self.configuration.as_ref().map_or(2, |configuration| configuration.storage_engine);
            let created = self.now;
            let server = StorageServer { volume, address, localities, created, engine, dead_since: None, known_as: None };
            self.data.servers.insert(id, server);
        }
    }

    /// The best team of live servers that may be used: those that have the data first, then those with the least to do.
    fn team(
        &self,
        configuration: &Configuration,
        have: &BTreeSet<u64>,
        may: impl Fn(&StorageServer) -> bool,
    ) -> Option<BTreeSet<u64>> {
        let mut candidates: Vec<(bool, usize, u64)> = self
            .data
            .servers
            .iter()
            .filter(|(_, server)| server.dead_since.is_none() && may(server))
            .map(|(id, _)| (!have.contains(id), self.data.load(*id), *id))
            .collect();
        candidates.sort_unstable();
        let localities: Vec<&Localities> =
            candidates.iter().filter_map(|(_, _, id)| Some(&self.data.servers.get(id)?.localities)).collect();
        let chosen = configuration.storage_policy.select(&localities)?;
        Some(chosen.into_iter().map(|position| candidates[position].2).collect())
    }

    fn relocate(&mut self) {
        let Some(configuration) = self.configuration.clone() else { return };
        let standards = self.standards();
        let usable = |server: &StorageServer| !self.is_unwanted(server, &standards);
        let mut planned: Vec<(usize, BTreeSet<u64>, u32)> = Vec::new();
        for (position, shard) in self.data.shards.iter().enumerate() {
            if shard.relocation.is_some() || self.is_well(shard, &configuration, usable) {
                continue;
            }
            if let Some(team) = self.team(&configuration, &shard.copies, usable).filter(|team| *team != shard.copies) {
                planned.push((position, team, self.urgency(shard, &standards)));
            }
        }
        let bytes: u64 = planned
            .iter()
            .map(|(position, team, _)| {
                let shard = &self.data.shards[*position];
                shard.bytes * team.difference(&shard.copies).count() as u64
            })
            .sum();
        let copying = copying(bytes);
        for (position, to, priority) in planned {
            let copies = &self.data.shards[position].copies;
            let dead = |id: &u64| self.data.servers.get(id).is_some_and(|server| server.dead_since.is_some());
            let least = if copies.iter().any(dead) { times::REPLICATES } else { times::MOVES };
            let until = self.now + least + copying;
            self.data.shards[position].relocation = Some(Relocation { to, priority, copied: false, until });
        }
    }

    fn is_well(&self, shard: &Shard, configuration: &Configuration, usable: impl Fn(&StorageServer) -> bool) -> bool {
        let servers: Option<Vec<&StorageServer>> = shard.copies.iter().map(|id| self.data.servers.get(id)).collect();
        servers.is_some_and(|servers| {
            let members: Vec<&Localities> = servers.iter().map(|server| &server.localities).collect();
            servers.iter().all(|server| usable(server))
                && configuration.storage_policy.select(&members).is_some_and(|chosen| chosen.len() == members.len())
        })
    }

    fn urgency(&self, shard: &Shard, standards: &Standards) -> u32 {
        let known = |id: &u64| self.data.servers.get(id);
        let left = shard.copies.iter().filter_map(known).filter(|server| !self.failed(server)).count();
        if left < shard.copies.len() {
            return match left {
                0 => priority::NONE_LEFT,
                1 => priority::ONE_LEFT,
                2 => priority::TWO_LEFT,
                _ => priority::UNHEALTHY,
            };
        }
        let excluded = shard.copies.iter().filter_map(known).any(|server| self.server_is_excluded(server));
        let migrates = |server: &StorageServer| standards.another_engine.as_ref() == Some(&server.volume);
        let undesired = shard.copies.iter().filter_map(known).any(|server| self.is_makeshift(server) || migrates(server));
        if undesired && !excluded { priority::UNDESIRED } else { priority::UNHEALTHY }
    }

    fn is_readable(&self, shard: &Shard) -> bool {
        self.data.served(shard, &self.volumes, &self.processes).next().is_some()
    }

    fn finish_moves(&mut self) {
        let now = self.now;
        let readable: Vec<bool> = self.data.shards.iter().map(|shard| self.is_readable(shard)).collect();
        let servers = &self.data.servers;
        for (shard, readable) in self.data.shards.iter_mut().zip(readable) {
            let Some(relocation) = &mut shard.relocation else { continue };
            let alive = |id: &u64| servers.get(id).is_some_and(|server| server.dead_since.is_none());
            if !relocation.copied && !relocation.to.iter().all(alive) {
                shard.relocation = None;
                continue;
            }
            if relocation.until > now {
                continue;
            }
            if relocation.copied {
                shard.relocation = None;
            } else if !readable {
                // There is nobody to copy from: it is begun again, as urgent as it has become.
                shard.relocation = None;
            } else {
                relocation.copied = true;
                relocation.until = now + times::SETTLES;
                self.data.moved += shard.bytes;
                shard.copies.clone_from(&relocation.to);
            }
        }
    }

    /// Servers that hold nothing and are not wanted disappear, with their role.
    fn retire_servers(&mut self) {
        let standards = self.standards();
        let retired: Vec<u64> = self
            .data
            .servers
            .iter()
            .filter(|(id, server)| self.is_unwanted(server, &standards) && self.data.load(**id) == 0)
            .map(|(id, _)| *id)
            .collect();
        // Whose server is gone gets a new one.
        if let Some(distributor) = self.distributor.as_mut().filter(|_| !retired.is_empty()) {
            distributor.again = Some(self.now + times::STORAGE_RECRUITED);
        }
        for id in retired {
            let Some(server) = self.data.servers.remove(&id) else { continue };
            let runs = self.processes.values().any(|process| process.spec.volume == server.volume);
            if let Some(volume) = self.volumes.get_mut(&server.volume).filter(|volume| runs && volume.store == Some(id)) {
                volume.store = None;
            }
        }
    }
}

/// How long it takes to copy so many bytes.
fn copying(bytes: u64) -> SignedDuration {
    SignedDuration::from_millis(i64::try_from(bytes * 1000 / times::BYTES_PER_SECOND).unwrap_or(i64::MAX))
}
