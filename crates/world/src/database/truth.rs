//! What is really so, whatever the status says: for invariants.

use std::collections::BTreeSet;
use std::fmt;

use super::Database;
use super::logs::LogServer;

/// Data that no volume holds any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// No copy of these shards is on any volume.
    Shards(Vec<usize>),
    /// Something that was committed in this generation is on no log's volume, and no storage server is known to have read it.
    Logs {
        /// The generation.
        epoch: u64,
    },
    /// A majority of the coordinators forgot that there is a database.
    Coordinators,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shards(shards) => write!(f, "no copy is left of shards {shards:?}"),
            Self::Logs { epoch } => write!(f, "commits of generation {epoch} are on no log any more"),
            Self::Coordinators => f.write_str("a majority of the coordinators forgot the database"),
        }
    }
}

/// How many copies there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// As many as every shard should have.
    pub wanted: usize,
    /// As many as the worst shard has on volumes.
    pub kept: usize,
    /// As many as the worst shard has that can be read now.
    pub served: usize,
}

impl Database {
    /// What is lost for good, if anything is.
    pub fn data_lost(&self) -> Option<Lost> {
        if self.forgotten || self.forgotten_on_disk() {
            return Some(Lost::Coordinators);
        }
        let lost: Vec<usize> = (0..self.data.shards.len())
            .filter(|position| self.data.kept(&self.data.shards[*position], &self.volumes).next().is_none())
            .collect();
        if !lost.is_empty() {
            return Some(Lost::Shards(lost));
        }
        let unreadable = self.logs.iter().find(|generation| {
            let gone: Vec<&LogServer> =
                generation.servers.iter().filter(|server| !generation.kept(server, &self.volumes)).collect();
            generation.can_not_do_without(&gone)
        });
        unreadable.map(|generation| Lost::Logs { epoch: generation.epoch })
    }

    /// How many copies there are of the shard that has the fewest; `None` before the database was created.
    pub fn copies(&self) -> Option<Copies> {
        let configuration = self.configuration.as_ref()?;
        // Each server has copies of many shards, so who keeps its own is found out first.
        let kept: BTreeSet<u64> = self.data.keepers(&self.volumes).collect();
        let served: BTreeSet<u64> = kept.iter().copied().filter(|id| self.data.is_served(*id, &self.processes)).collect();
        let fewest = |among: &BTreeSet<u64>| {
            let shards = self.data.shards.iter();
            shards.map(|shard| shard.copies.iter().filter(|id| among.contains(id)).count()).min()
        };
        Some(Copies { wanted: configuration.storage_replicas, kept: fewest(&kept)?, served: fewest(&served)? })
    }

    /// How many recoveries there were; each adds two to the generation.
    pub fn recoveries(&self) -> u64 {
        self.generation / 2
    }

    /// The command lines of all that runs, by address.
    pub fn command_lines(&self) -> impl Iterator<Item = (&str, &str)> {
        self.processes.iter().map(|(address, process)| (address.as_str(), process.spec.command_line.as_str()))
    }

    /// How many coordinators there are, and how many of them run.
    pub fn coordinators(&self) -> (usize, usize) {
        (self.connection.coordinators.len(), self.answering(&self.connection).count())
    }

    /// What would be lost for good if these volumes went now.
    pub fn lost_without(&self, volumes: &[&str]) -> Option<Lost> {
        let mut without = self.clone();
        for volume in volumes {
            without.volumes.remove(*volume);
        }
        without.data_lost()
    }

    /// Whether the shard that the keys of administration are in can be read.
    pub(super) fn keys_are_served(&self) -> bool {
        self.data.shards.first().is_none_or(|shard| self.data.served(shard, &self.volumes, &self.processes).next().is_some())
    }

    /// Addresses whose exclusion is not finished, sorted. Stateless processes are never among them; a log of an old generation whose
    /// process is gone has no address any more, and stands there as `0.0.0.0:0` whether anything is excluded or not.
    pub fn exclusions_in_progress(&self) -> Vec<String> {
        let storage = self
            .data
            .servers
            .values()
            .filter(|server| self.excludes(&server.address, &server.localities))
            .map(|server| server.still_known_as(self.now).unwrap_or(&server.address).to_owned());
        let logs = self.logs.iter().enumerate().flat_map(|(age, generation)| {
            generation.servers.iter().filter_map(move |server| {
                let process = self.process_on(&server.volume);
                if age > 0 && process.is_none() {
                    return Some("0.0.0.0:0".to_owned());
                }
                let address = process.map_or(server.address.as_str(), super::process::Process::address);
                self.excludes(address, &server.localities).then(|| address.to_owned())
            })
        });
        let mut all: Vec<String> = storage.chain(logs).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
