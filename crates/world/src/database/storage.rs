//! The data itself: shards, and the storage servers that hold copies of them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::policy::Localities;
use super::process::{Process, Volume};

/// A storage server, known to the database until its data is elsewhere, whether its process runs or not.
#[derive(Clone, Debug)]
pub(super) struct StorageServer {
    pub volume: String,
    /// Where its process was last.
    pub address: String,
    pub localities: Localities,
    pub created: Timestamp,
    /// The engine of its store.
    pub engine: i64,
    /// Since when its process does not run.
    pub dead_since: Option<Timestamp>,
    /// The address that the database knows it by until its process, which came back at another one, has opened its disk.
    pub known_as: Option<(String, Timestamp)>,
}

impl StorageServer {
    /// The address it had before, if it has not said yet where it is now.
    pub(super) fn still_known_as(&self, now: Timestamp) -> Option<&str> {
        self.known_as.as_ref().filter(|(_, until)| *until > now).map(|(address, _)| address.as_str())
    }
}

/// A part of the key space.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    pub bytes: u64,
    /// The servers that hold it.
    pub copies: BTreeSet<u64>,
    pub relocation: Option<Relocation>,
}

/// A shard on its way to another team.
#[derive(Clone, Debug)]
pub(super) struct Relocation {
    pub to: BTreeSet<u64>,
    pub priority: u32,
    /// Whether the data is there already and only the queue does not know it.
    pub copied: bool,
    /// When it is copied, or, once it is, when the queue knows.
    pub until: Timestamp,
}

/// All data of a database.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    pub servers: BTreeMap<u64, StorageServer>,
    pub shards: Vec<Shard>,
    /// Bytes moved since data distribution began.
    pub moved: u64,
}

impl Data {
    /// How many shards a server holds or is about to hold.
    pub(super) fn load(&self, server: u64) -> usize {
        self.shards
            .iter()
            .filter(|shard| {
                shard.copies.contains(&server)
                    || shard.relocation.as_ref().is_some_and(|relocation| relocation.to.contains(&server))
            })
            .count()
    }

    /// All bytes, once.
    pub(super) fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.bytes).sum()
    }

    /// The bytes a server holds.
    pub(super) fn stored(&self, server: u64) -> u64 {
        self.shards.iter().filter(|shard| shard.copies.contains(&server)).map(|shard| shard.bytes).sum()
    }

    /// The copies of a shard that are still on a volume, whether anyone serves them or not.
    pub(super) fn kept<'a>(&'a self, shard: &'a Shard, volumes: &'a BTreeMap<String, Volume>) -> impl Iterator<Item = u64> {
        shard.copies.iter().copied().filter(|id| self.servers.get(id).is_some_and(|server| keeps(*id, server, volumes)))
    }

    /// The servers whose stores are still on their volumes.
    pub(super) fn keepers<'a>(&'a self, volumes: &'a BTreeMap<String, Volume>) -> impl Iterator<Item = u64> {
        self.servers.iter().filter(|(id, server)| keeps(**id, server, volumes)).map(|(id, _)| *id)
    }

    /// The copies of a shard that can be read now.
    pub(super) fn served<'a>(
        &'a self,
        shard: &'a Shard,
        volumes: &'a BTreeMap<String, Volume>,
        processes: &'a BTreeMap<String, Process>,
    ) -> impl Iterator<Item = u64> {
        self.kept(shard, volumes).filter(|id| self.is_served(*id, processes))
    }

    /// Whether a process serves what a server keeps.
    pub(super) fn is_served(&self, id: u64, processes: &BTreeMap<String, Process>) -> bool {
        let process = self.servers.get(&id).and_then(|server| Some((server, processes.get(&server.address)?)));
        process.is_some_and(|(server, process)| process.spec.volume == server.volume)
    }
}

fn keeps(id: u64, server: &StorageServer, volumes: &BTreeMap<String, Volume>) -> bool {
    volumes.get(&server.volume).is_some_and(|volume| volume.store == Some(id))
}
