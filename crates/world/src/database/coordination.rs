//! Coordinators: the quorum without which nothing works, what they keep on disk, and how they pass on to their successors.

use rand_chacha::rand_core::Rng;

use super::Database;
use super::connection::Connection;
use super::process::{Process, protocol};

/// What a connection string leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// To the database.
    Here,
    /// Too few of its coordinators answer.
    NoQuorum(Connection),
    /// They answer, and know nothing of this database.
    Unknown(Connection),
}

impl Database {
    /// The process at an address, or of a name and port.
    pub(super) fn at(&self, address: &str) -> Option<&Process> {
        let named = |process: &&Process| process.spec.name.as_deref() == Some(address);
        self.processes.get(address).or_else(|| self.processes.values().find(named))
    }

    /// The coordinators of a connection string that answer, with their processes.
    pub(super) fn answering<'a>(&'a self, connection: &'a Connection) -> impl Iterator<Item = &'a Process> {
        connection.addresses().filter_map(|address| self.at(address))
    }

    /// Whether a majority of the coordinators runs, in one protocol.
    pub(super) fn has_quorum(&self) -> bool {
        self.spoken().is_some()
    }

    /// The protocol that a majority of the coordinators speaks. Processes that speak another are no part of the cluster.
    pub(super) fn spoken(&self) -> Option<&str> {
        let protocols: Vec<&str> = self.answering(&self.connection).map(|process| protocol(&process.spec.version)).collect();
        let speak = |one: &&str| protocols.iter().filter(|other| *other == one).count();
        protocols.iter().find(|one| speak(one) >= self.connection.majority()).copied()
    }

    /// Where a connection string leads: to the coordinators themselves, or through their predecessors, one of whom must still know where
    /// they went.
    pub(super) fn route(&self, text: &str) -> Option<Route> {
        let mut connection = Connection::parse(text)?;
        for _ in 0..100 {
            if connection.name() == self.connection.name() {
                return Some(if self.has_quorum() { Route::Here } else { Route::NoQuorum(self.connection.clone()) });
            }
            let name = connection.name();
            let forward = |process: &Process| self.volumes.get(&process.spec.volume)?.coordinates.get(&name)?.as_ref();
            let Some(forward) = self.answering(&connection).find_map(forward) else {
                let quorum = self.answering(&connection).count() >= connection.majority();
                return Some(if quorum { Route::Unknown(connection) } else { Route::NoQuorum(connection) });
            };
            connection = Connection::parse(forward)?;
        }
        None
    }

    /// Whether a connection string means this database: it has, or had, the same name, or its coordinators are processes of it.
    pub fn is_meant_by(&self, text: &str) -> bool {
        let Some(connection) = Connection::parse(text) else { return false };
        let name = connection.name();
        name == self.connection.name()
            || self.volumes.values().any(|volume| volume.coordinates.contains_key(&name))
            || self.answering(&connection).next().is_some()
    }

    /// Whether the coordinators may have forgotten the database: a majority could answer that never heard of it.
    pub(super) fn forgotten_by_coordinators(&self) -> bool {
        let name = self.connection.name();
        let ignorant = self
            .answering(&self.connection)
            .filter(|process| self.volumes.get(&process.spec.volume).is_none_or(|volume| !volume.coordinates.contains_key(&name)))
            .count();
        ignorant >= self.connection.majority()
    }

    /// Whether a majority of the coordinators has lost what it kept, whether they run or not.
    pub(super) fn forgotten_on_disk(&self) -> bool {
        let name = self.connection.name();
        // New coordinators learn of the database at the end of the recovery that made them.
        if self.coordinated != name {
            return false;
        }
        let remembers = |address: &str| {
            let volume = self.coordinating.get(address).and_then(|volume| self.volumes.get(volume));
            volume.is_some_and(|volume| volume.coordinates.contains_key(&name))
        };
        let forgot = self.connection.addresses().filter(|address| !remembers(address)).count();
        self.configuration.is_some() && forgot >= self.connection.majority()
    }

    /// Every coordinator that runs keeps the state of the database; so it does at every recovery.
    pub(super) fn write_coordinated_state(&mut self) {
        let name = self.connection.name();
        let places: Vec<(String, String)> = self
            .connection
            .addresses()
            .filter_map(|address| Some((address.to_owned(), self.at(address)?.spec.volume.clone())))
            .collect();
        self.coordinating.retain(|address, _| self.connection.addresses().any(|it| it == address));
        for (address, volume) in places {
            self.volumes.entry(volume.clone()).or_default().coordinates.entry(name.clone()).or_insert(None);
            self.coordinating.insert(address, volume);
        }
        self.coordinated = name;
        let here = self.connection.to_string();
        let members: Vec<String> = self.joined().map(|process| process.spec.volume.clone()).collect();
        for volume in members {
            self.volumes.entry(volume).or_default().connection = Some(here.clone());
        }
    }

    /// Others coordinate from now on, under a new id; the old ones keep in mind where they went.
    pub(super) fn move_coordinators(&mut self, coordinators: Vec<String>) {
        let old = self.connection.clone();
        self.connection = Connection { description: old.description.clone(), id: self.random_id(), coordinators };
        let forward = self.connection.to_string();
        let volumes: Vec<String> = self.answering(&old).map(|process| process.spec.volume.clone()).collect();
        for volume in volumes {
            self.volumes.entry(volume).or_default().coordinates.insert(old.name(), Some(forward.clone()));
        }
    }

    fn random_id(&mut self) -> String {
        const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        (0..32).map(|_| char::from(LETTERS[self.chance.next_u32() as usize % LETTERS.len()])).collect()
    }
}
