//! Which database a connection string means.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::database::{Database, Databases, Exit};

/// The databases, each by the name it was first known by: `description:id`.
pub(super) struct Hosting {
    pub(super) databases: Databases,
    seed: u64,
    hosted: Vec<String>,
    /// Under which of those names a database is hosted that has, or had, this name.
    names: BTreeMap<String, String>,
    /// Which cluster objects have been seen in which database.
    joined: BTreeSet<(String, String)>,
}

impl Hosting {
    pub(super) fn new(databases: Databases, seed: u64) -> Self {
        Self { databases, seed, hosted: Vec::new(), names: BTreeMap::new(), joined: BTreeSet::new() }
    }

    /// The servers that were killed.
    pub(super) fn exits(&self, now: Timestamp) -> Vec<Exit> {
        if self.databases.next_exit().is_some_and(|next| next <= now) { self.databases.advance() } else { Vec::new() }
    }

    /// The database that a connection string means, made if nobody knows it. None if the text is no connection string.
    pub(super) fn find_or_host(&mut self, cluster: &str, connection: &str, now: Timestamp) -> Option<String> {
        let name = connection.split_once('@')?.0;
        let found = match self.names.get(name) {
            Some(found) => found.clone(),
            None => self.meant_by(connection).or_else(|| self.host(name, connection, now))?,
        };
        self.names.insert(name.to_owned(), found.clone());
        Some(self.join(cluster, found))
    }

    fn meant_by(&self, connection: &str) -> Option<String> {
        let means = |hosted: &&String| self.databases.with(hosted, |database| database.is_meant_by(connection)) == Some(true);
        self.hosted.iter().find(means).cloned()
    }

    fn host(&mut self, name: &str, connection: &str, now: Timestamp) -> Option<String> {
        // Every database has a chance of its own, whichever comes first.
        let seed = name.bytes().fold(self.seed, |seed, byte| (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        self.databases.host(name, Database::new(connection, seed, now).ok()?);
        self.hosted.push(name.to_owned());
        Some(name.to_owned())
    }

    /// A cluster object has a process in a database. Calls for the object go to the database it came to last.
    pub(super) fn join(&mut self, cluster: &str, database: String) -> String {
        if self.joined.insert((cluster.to_owned(), database.clone())) {
            self.databases.share(cluster, &database);
        }
        database
    }
}
