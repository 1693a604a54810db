//! Leaders, generations and recoveries: when the database accepts commits.
//!
//! A generation ends when a process that carries one of its roles is gone, is excluded, or when a better place for a role appears. The
//! next one begins when a leader exists, the logs of the last generation can be read, and the log policy can be met; until then
//! nothing is committed.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Database;
use super::fitness::{Fitness, Role};
use super::logs::{Generation, LogServer};
use super::recruitment::Roles;
use super::times;

/// Where the transaction system stands.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// Nobody leads the cluster.
    Leaderless(Election),
    /// There is a leader, and no database was ever created, as far as the coordinators know.
    NeverCreated,
    /// A generation is being recruited.
    Recovering(Recovery),
    /// Commits are accepted.
    Accepting {
        /// Since when.
        since: Timestamp,
        /// Whether the logs of earlier generations are drained and gone.
        drained: bool,
    },
}

/// How the next leader comes to be.
#[derive(Clone, Debug)]
pub(super) enum Election {
    /// There was never one.
    First,
    /// The old one died, and the coordinators hold it for alive for a while.
    AfterDeath,
    /// There is no quorum that could elect one, or was none.
    WithoutQuorum,
    /// It is decided at this moment.
    Decided(Timestamp),
}

/// A recovery under way.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    /// When the leader was elected, if it is a new one.
    pub elected: Option<Timestamp>,
    /// When commits will be accepted, unless something stands in the way.
    pub ready: Option<Timestamp>,
    /// What stands in the way.
    pub stuck: Option<Stuck>,
    /// Processes with a role that are gone.
    missing: BTreeSet<String>,
}

/// Why a recovery does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stuck {
    /// Too few processes for the policies.
    Recruiting,
    /// Too few logs of the last generation answer to know what was committed.
    LockingLogs,
}

impl Database {
    /// Whether commits are accepted.
    pub fn available(&self) -> bool {
        matches!(self.phase, Phase::Accepting { .. })
    }

    /// When the recovery goes on by itself.
    pub(super) fn recovery_events(&self) -> impl Iterator<Item = Timestamp> {
        let own = match &self.phase {
            Phase::Leaderless(Election::Decided(at)) => Some(*at),
            Phase::Recovering(recovery) => recovery.ready,
            Phase::Accepting { since, drained: false } => Some(*since + times::DRAINS_LOGS),
            _ => None,
        };
        let newest = self.joined().map(|process| process.started + times::STORAGE_RECRUITED).max();
        own.into_iter().chain(newest)
    }

    /// Takes every step that is due.
    pub(super) fn drive_recovery(&mut self) {
        self.role_died |= self.roles.holders().any(|address| !self.processes.contains_key(address));
        while self.step() {}
    }

    fn step(&mut self) -> bool {
        let led = self.has_quorum() && self.members.contains(&self.controller);
        match self.phase.clone() {
            Phase::Leaderless(election) => self.elect(&election),
            _ if !led => {
                let election = if self.has_quorum() { Election::AfterDeath } else { Election::WithoutQuorum };
                self.lose_leader(election);
                true
            }
            Phase::NeverCreated => false,
            Phase::Recovering(recovery) => self.recover(recovery),
            Phase::Accepting { .. } => self.watch(),
        }
    }

    fn lose_leader(&mut self, election: Election) {
        self.versions.stop(self.now);
        self.controller.clear();
        self.phase = Phase::Leaderless(election);
    }

    fn elect(&mut self, election: &Election) -> bool {
        let candidate = if self.has_quorum() { self.next_controller() } else { None };
        let Some((address, fitness)) = candidate else {
            if !matches!(election, Election::First | Election::WithoutQuorum) {
                self.phase = Phase::Leaderless(Election::WithoutQuorum);
            }
            return false;
        };
        let delay = match election {
            Election::Decided(at) => {
                if *at <= self.now {
                    self.lead(address);
                    return true;
                }
                return false;
            }
            Election::First => times::FIRST_ELECTION,
            Election::AfterDeath if fitness >= Fitness::Worst => times::ELECTION_OF_THE_UNFIT,
            Election::AfterDeath => times::ELECTION_AFTER_DEATH,
            Election::WithoutQuorum => times::ELECTION_AFTER_QUORUM,
        };
        self.phase = Phase::Leaderless(Election::Decided(self.now + delay));
        false
    }

    fn lead(&mut self, controller: String) {
        self.controller = controller;
        if self.configuration.is_some() && self.forgotten_by_coordinators() {
            self.configuration = None;
            if self.coordinated.is_empty() {
                // Its creation was never finished, so there is nothing that could be lost.
                self.keys = super::keyspace::KeySpace::default();
            } else {
                self.forgotten = true;
            }
        }
        if self.configuration.is_none() {
            self.phase = Phase::NeverCreated;
            return;
        }
        self.begin_recovery(times::RECRUITS, Some(self.now));
        // A new leader knows only those who registered with it.
        self.departed.clear();
    }

    /// Ends the generation; the next one accepts commits after so long.
    pub(super) fn begin_recovery(&mut self, takes: jiff::SignedDuration, elected: Option<Timestamp>) {
        self.versions.stop(self.now);
        self.generation += 2;
        let missing = self.missing_holders();
        // Recruiting fails on the dead until they are known to be dead.
        let known = missing
            .iter()
            .filter_map(|address| self.departed.get(address))
            .map(|(_, at)| *at + times::RECOVERS_WITHOUT)
            .max()
            .unwrap_or(self.now);
        let ready = Some(known.max(self.now + takes));
        self.phase = Phase::Recovering(Recovery { elected, ready, stuck: None, missing });
    }

    fn missing_holders(&self) -> BTreeSet<String> {
        self.roles.holders().filter(|address| !self.members.contains(*address)).cloned().collect()
    }

    fn recover(&mut self, mut recovery: Recovery) -> bool {
        let missing = self.missing_holders();
        if missing.difference(&recovery.missing).next().is_some() {
            recovery.ready = recovery.ready.map(|ready| ready.max(self.now + times::RECOVERS_WITHOUT));
        } else if missing.is_empty() && !recovery.missing.is_empty() {
            recovery.ready = recovery.ready.map(|ready| ready.min(self.now + times::RECRUITS));
        }
        recovery.missing = missing;
        let outlook = self.outlook();
        recovery.stuck = match (&outlook, recovery.stuck, recovery.ready) {
            // It is found out when it is tried, and over as soon as it could succeed.
            (Err(stuck), Some(_), _) => Some(*stuck),
            (Err(stuck), None, Some(ready)) if ready <= self.now => Some(*stuck),
            _ => None,
        };
        match (outlook, recovery.stuck) {
            (_, Some(_)) => recovery.ready = None,
            (Ok(_), None) if recovery.ready.is_none() => recovery.ready = Some(self.now + times::RECRUITS),
            (Ok(roles), None) if recovery.ready.is_some_and(|ready| ready <= self.now) => {
                self.accept(&recovery, roles);
                return true;
            }
            _ => {}
        }
        self.phase = Phase::Recovering(recovery);
        false
    }

    /// What a recovery would come to now.
    fn outlook(&self) -> Result<Roles, Stuck> {
        let unreadable = self.logs.iter().any(|generation| {
            let missing: Vec<&LogServer> = generation.missing(&self.processes, &self.volumes).collect();
            generation.can_not_do_without(&missing)
        });
        if unreadable {
            return Err(Stuck::LockingLogs);
        }
        let configuration = self.configuration.as_ref().ok_or(Stuck::Recruiting)?;
        if self.data.shards.is_empty() && !self.storage_is_possible(configuration) {
            return Err(Stuck::Recruiting);
        }
        self.recruit(configuration).ok_or(Stuck::Recruiting)
    }

    fn accept(&mut self, recovery: &Recovery, roles: Roles) {
        // A new leader's first attempt fails on what died with the old one.
        if std::mem::take(&mut self.role_died) && recovery.elected.is_some() {
            self.generation += 2;
        }
        let begin = self.versions.recover(self.now);
        self.keys.forget_before(begin);
        self.open_generation(&roles, begin);
        let moved = self.distributor.as_ref().is_none_or(|distributor| distributor.on != roles.master);
        self.roles = roles;
        self.phase = Phase::Accepting { since: self.now, drained: self.logs.len() == 1 };
        self.write_coordinated_state();
        if self.data.shards.is_empty() {
            self.create_data();
        }
        if moved || recovery.elected.is_some() {
            self.replace_distributor();
        }
    }

    fn open_generation(&mut self, roles: &Roles, begin: i64) {
        let Some(configuration) = self.configuration.clone() else { return };
        let mut servers = Vec::new();
        for address in &roles.logs {
            let id = self.new_id();
            let Some(process) = self.processes.get(address) else { continue };
            let (volume, localities) = (process.spec.volume.clone(), process.localities().clone());
            self.volumes.entry(volume.clone()).or_default().logs.insert(self.generation);
            servers.push(LogServer { id, address: address.clone(), volume, localities });
        }
        if let Some(last) = self.logs.first_mut() {
            last.end = Some(begin);
        }
        let (replicas, policy) = (configuration.log_replicas, configuration.log_policy);
        self.logs.insert(0, Generation { epoch: self.generation, begin, end: None, replicas, policy, servers });
    }

    /// Whether the generation can go on as it is.
    fn watch(&mut self) -> bool {
        if !self.missing_holders().is_empty() {
            self.begin_recovery(times::RECOVERS_WITHOUT, None);
            return true;
        }
        if self.log_is_excluded() || self.a_better_place_exists() {
            self.begin_recovery(times::RECOVERS_AT_WILL, None);
            return true;
        }
        if self.a_better_leader_exists() {
            self.lose_leader(Election::WithoutQuorum);
            return true;
        }
        false
    }

    /// Logs of earlier generations go once every storage server has read them. One that is dead has not, until data distribution has given
    /// it up.
    pub(super) fn drain_logs(&mut self) {
        let Phase::Accepting { since, drained: false } = self.phase else { return };
        let all_read = self.data.servers.values().all(|server| server.dead_since.is_none());
        if since + times::DRAINS_LOGS > self.now || !all_read {
            return;
        }
        self.phase = Phase::Accepting { since, drained: true };
        self.logs.truncate(1);
        let current = self.logs.first().map(|generation| generation.epoch);
        for volume in self.volumes.values_mut() {
            volume.logs.retain(|epoch| Some(*epoch) == current);
        }
    }

    /// An excluded log ends the generation, whether the next one can be recruited or not.
    fn log_is_excluded(&self) -> bool {
        self.roles
            .logs
            .iter()
            .filter_map(|address| self.processes.get(address))
            .any(|process| self.excludes(process.address(), process.localities()))
    }

    /// Newcomers are looked at once they have been there for a moment.
    fn is_stable(&self) -> bool {
        self.joined().all(|process| process.started + times::STORAGE_RECRUITED <= self.now)
    }

    fn a_better_place_exists(&self) -> bool {
        let Some(configuration) = &self.configuration else { return false };
        self.is_stable()
            && self
                .recruit(configuration)
                .is_some_and(|roles| self.rank(&self.roles, configuration).is_some_and(|rank| roles.rank < rank))
    }

    fn a_better_leader_exists(&self) -> bool {
        let Some(leader) = self.processes.get(&self.controller) else { return false };
        self.is_stable() && self.next_controller().is_some_and(|(_, fitness)| fitness < self.fit(leader, Role::ClusterController))
    }
}
