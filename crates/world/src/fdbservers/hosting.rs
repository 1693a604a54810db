//! Which database a connection string means.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::database::{Database, Databases, Exit};

/// The databases, each by the name it was first known by: `description:id`.
pub(super) struct Hosting {
    pub(super) databases: Databases,
    seed: u64,
    known: Vec<String>,
    /// Which cluster objects have been seen in which database.
    joined: BTreeSet<(String, String)>,
}

impl Hosting {
    pub(super) fn new(databases: Databases, seed: u64) -> Self {
        Self { databases, seed, known: Vec::new(), joined: BTreeSet::new() }
    }

    /// The servers that were killed.
    pub(super) fn exits(&self, now: Timestamp) -> Vec<Exit> {
        if self.databases.next_exit().is_some_and(|next| next <= now) { self.databases.advance() } else { Vec::new() }
    }

    /// The database that a connection string means, made if nobody knows it. None if the text is no connection string.
    pub(super) fn find_or_host(&mut self, cluster: &str, connection: &str, now: Timestamp) -> Option<String> {
        let name = connection.split_once('@')?.0;
        let means = |known: &&String| {
            *known == name || self.databases.with(known, |database| database.is_meant_by(connection)) == Some(true)
        };
        if let Some(found) = self.known.iter().find(means).cloned() {
            return Some(self.join(cluster, found));
        }
        let seed = self.known.iter().fold(self.seed, |seed, _| seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        self.databases.host(name, Database::new(connection, seed, now).ok()?);
        self.known.push(name.to_owned());
        Some(self.join(cluster, name.to_owned()))
    }

    /// A cluster object has a process in a database. Calls for the object go to the database it came to last.
    pub(super) fn join(&mut self, cluster: &str, database: String) -> String {
        if self.joined.insert((cluster.to_owned(), database.clone())) {
            self.databases.share(cluster, &database);
        }
        database
    }
}
