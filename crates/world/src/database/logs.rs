//! Generations of the transaction log. An old one is kept until every storage server has read what it holds.

use std::collections::BTreeMap;

use super::policy::{Localities, Policy};
use super::process::{Process, Volume};

/// One log server of a generation.
#[derive(Clone, Debug)]
pub(super) struct LogServer {
    pub id: u64,
    pub address: String,
    pub volume: String,
    pub localities: Localities,
}

/// One generation.
#[derive(Clone, Debug)]
pub(super) struct Generation {
    pub epoch: u64,
    pub begin: i64,
    pub end: Option<i64>,
    pub replicas: usize,
    pub policy: Policy,
    pub servers: Vec<LogServer>,
}

impl Generation {
    /// Those whose process does not run, or runs on a volume that does not hold this generation.
    pub(super) fn missing<'a>(
        &'a self,
        processes: &'a BTreeMap<String, Process>,
        volumes: &'a BTreeMap<String, Volume>,
    ) -> impl Iterator<Item = &'a LogServer> {
        self.servers.iter().filter(move |server| {
            let runs = processes.values().any(|process| process.spec.volume == server.volume);
            !runs || !self.kept(server, volumes)
        })
    }

    /// Whether a server's part of the generation is still on its volume.
    pub(super) fn kept(&self, server: &LogServer, volumes: &BTreeMap<String, Volume>) -> bool {
        volumes.get(&server.volume).is_some_and(|volume| volume.logs.contains(&self.epoch))
    }

    /// Whether something that was committed is on none of the others: that is so when those without could hold all its copies.
    pub(super) fn can_not_do_without(&self, without: &[&LogServer]) -> bool {
        let members: Vec<&Localities> = without.iter().map(|server| &server.localities).collect();
        self.policy.holds(&members)
    }

    /// How many more servers may fail.
    pub(super) fn fault_tolerance(&self, missing: usize) -> i64 {
        i64::try_from(self.replicas).unwrap_or(1) - 1 - i64::try_from(missing).unwrap_or(0)
    }
}
