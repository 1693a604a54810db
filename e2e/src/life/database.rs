//! A database as its clients see it, whether it is a model or real.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quorate_fdb_client::{Answer, Call, Commit, FoundationDb, Look, OWN_KEYS, Octets, Range, Seen, Target, Write};
use serde_json::Value;

const SOON: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(120);

/// A client of one database.
pub struct Database {
    databases: Arc<dyn FoundationDb>,
    target: Target,
}

/// A process in the database's report.
#[derive(Debug)]
pub struct Process {
    /// Its address.
    pub address: String,
    /// How it was started.
    pub command_line: String,
    /// What it does.
    pub roles: Vec<String>,
}

impl Database {
    pub(super) fn new(databases: Arc<dyn FoundationDb>, target: Target) -> Self {
        Self { databases, target }
    }

    /// Writes a key.
    pub async fn write(&self, key: &str, value: &str) {
        let commit = Commit { writes: vec![Write::Set(own(key), value.into())], ..Commit::default() };
        let start = Instant::now();
        // It may be written twice.
        while !matches!(self.databases.call(&self.target, Call::Commit(commit.clone()), SOON).await, Ok(Answer::Committed)) {
            assert!(start.elapsed() < PATIENCE, "{key} could not be written");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Reads a key.
    pub async fn read(&self, key: &str) -> Option<String> {
        let mut end = own(key);
        end.0.push(0);
        let look = Look { ranges: vec![Range { begin: own(key), end }], ..Look::default() };
        let start = Instant::now();
        loop {
            match self.look(look.clone()).await.and_then(|seen| seen.ranges).and_then(Result::ok) {
                Some(rows) => return rows.ranges[0].first().map(|row| String::from_utf8_lossy(&row.value.0).into_owned()),
                None => assert!(start.elapsed() < PATIENCE, "{key} could not be read"),
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// The database's report, if it can be had now.
    pub async fn status(&self) -> Option<Value> {
        let seen = self.look(Look::default()).await?;
        serde_json::from_slice(&seen.status.0).ok()
    }

    /// The processes it reports, by process group.
    pub async fn processes(&self) -> BTreeMap<String, Process> {
        let status = self.status().await.unwrap_or_default();
        let processes = status["cluster"]["processes"].as_object().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let named = processes.into_iter().filter_map(|(_, process)| {
            let group = process["locality"]["instance_id"].as_str()?.to_owned();
            let roles = process["roles"].as_array().into_iter().flatten().map(|role| text(&role["role"])).collect();
            Some((group, Process { address: text(&process["address"]), command_line: text(&process["command_line"]), roles }))
        });
        named.collect()
    }

    async fn look(&self, look: Look) -> Option<Seen> {
        match self.databases.call(&self.target, Call::Look(look), SOON).await {
            Ok(Answer::Seen(seen)) => Some(seen),
            _ => None,
        }
    }
}

fn own(key: &str) -> Octets {
    Octets([OWN_KEYS, key.as_bytes()].concat())
}
