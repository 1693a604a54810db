//! A case at work: its bench, the words it needs often, and what it has covered.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::bench::{Bench, Process};
use super::coverage::Coverage;
use crate::bytes::Octets;
use crate::contract::{Answer, Call, Change, Commit, Expectation, Failure, Look, Management, Range, Row, Seen, Write};
use crate::validate::OWN_KEYS;

/// Long enough for everything that ends at all, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The id under which cases create their database.
pub(crate) const CREATION: &str = "00112233445566778899aabbccddeeff";

/// A case's view of its bench.
pub struct Session<'b> {
    /// Where it is played.
    pub bench: &'b mut dyn Bench,
    /// What it has covered.
    pub coverage: Coverage,
}

impl<'b> Session<'b> {
    /// Begins.
    pub fn new(bench: &'b mut dyn Bench) -> Self {
        Self { bench, coverage: Coverage::default() }
    }

    /// Makes a call.
    pub(crate) async fn call(&mut self, call: Call, deadline: Duration) -> Result<Answer, Failure> {
        let (client, target) = (self.bench.client(), self.bench.target());
        let result = client.call(&target, call.clone(), deadline).await;
        self.coverage.note(&call, &result);
        result
    }

    /// Two calls at once, by two clients.
    pub(crate) async fn race(&mut self, one: Call, other: Call) -> [Result<Answer, Failure>; 2] {
        let (first, second, target) = (self.bench.client(), self.bench.second_client(), self.bench.target());
        let calls =
            futures::future::join(first.call(&target, one.clone(), PATIENCE), second.call(&target, other.clone(), PATIENCE));
        let (first, second) = calls.await;
        self.coverage.note(&one, &first);
        self.coverage.note(&other, &second);
        [first, second]
    }

    /// Commits.
    pub(crate) async fn commit(&mut self, commit: Commit) -> Result<Answer, Failure> {
        self.call(Call::Commit(commit), PATIENCE).await
    }

    /// A management change with a claim beside it, as every caller makes it.
    pub(crate) async fn manage(&mut self, change: Management) -> Result<Answer, Failure> {
        let alone = matches!(change, Management::Coordinators(_) | Management::IncludeBlindly(_))
            || matches!(&change, Management::Configure(change) if change.new.is_some());
        let writes = if alone { vec![] } else { vec![set("claim", &format!("{change:?}"))] };
        self.commit(Commit { manage: Some(change), writes, ..Commit::default() }).await
    }

    /// Looks, which never fails as a whole while a child is there.
    pub(crate) async fn look(&mut self, look: Look) -> Result<Seen, String> {
        match self.call(Call::Look(look), PATIENCE).await {
            Ok(Answer::Seen(seen)) => Ok(seen),
            other => Err(format!("a look was answered with {other:?}")),
        }
    }

    /// The rows of some ranges.
    pub(crate) async fn rows(&mut self, ranges: Vec<Range>) -> Result<Vec<Vec<Row>>, String> {
        match self.look(Look { ranges, ..Look::default() }).await?.ranges {
            Some(Ok(rows)) => Ok(rows.ranges),
            other => Err(format!("ranges were answered with {other:?}")),
        }
    }

    /// Looks until the status says something.
    pub(crate) async fn until(&mut self, what: &str, holds: &(dyn Fn(&Seen) -> bool + Send + Sync)) -> Result<Seen, String> {
        self.look_until(Look::default(), what, holds).await
    }

    /// Looks until something is so of the exclusions or the connection string, which a database that is down does not tell.
    pub(crate) async fn until_told(&mut self, what: &str, holds: &(dyn Fn(&Seen) -> bool + Send + Sync)) -> Result<Seen, String> {
        self.look_until(Look { exclusions: true, ranges: vec![] }, what, holds).await
    }

    async fn look_until(
        &mut self,
        look: Look,
        what: &str,
        holds: &(dyn Fn(&Seen) -> bool + Send + Sync),
    ) -> Result<Seen, String> {
        let seen = self.bench.until(look.clone(), what, holds).await?;
        self.coverage.note(&Call::Look(look), &Ok(Answer::Seen(seen.clone())));
        Ok(seen)
    }

    /// Starts so many processes of a class, each in a zone of its own, and gives their addresses.
    pub(crate) async fn start(&mut self, class: &str, count: usize) -> Result<Vec<String>, String> {
        let mut addresses = Vec::new();
        for number in 1..=count {
            addresses.push(self.bench.start(&process(class, number)).await?);
        }
        Ok(addresses)
    }

    /// A database on so many processes of no class, with two replicas of everything, or one where there are fewer than three processes.
    pub(crate) async fn database(&mut self, count: usize) -> Result<Vec<String>, String> {
        let addresses = self.start("unset", count).await?;
        let replicas = if count < 3 { 1 } else { 2 };
        let created = self.manage(Management::Configure(Change { new: Some(CREATION.to_owned()), keys: keys(replicas) })).await;
        super::ensure!(created == Ok(Answer::Committed), "creating a database was answered with {created:?}");
        self.until("the database is available", &|seen| available(seen)).await?;
        Ok(addresses)
    }
}

/// The n-th process of a class.
pub(crate) fn process(class: &str, number: usize) -> Process {
    Process { name: format!("{class}-{number}"), class: class.to_owned(), zone: format!("zone-{class}-{number}") }
}

/// A configuration with one or two replicas of everything, in memory, as fdbcli writes it.
pub(crate) fn keys(replicas: u8) -> BTreeMap<String, Octets> {
    let number = replicas.to_string();
    let policy = policy(replicas);
    [
        ("log_anti_quorum", "0".into()),
        ("log_engine", "2".into()),
        ("log_replicas", number.as_str().into()),
        ("log_replication_policy", policy.clone()),
        ("storage_engine", "1".into()),
        ("storage_replicas", number.as_str().into()),
        ("storage_replication_policy", policy),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

/// One place, or so many zones.
fn policy(replicas: u8) -> Octets {
    const PREFIX: &[u8] = b"\x01\x00\x01\x62\xb0\x00\xdb\x0f";
    const ONE: &[u8] = b"\x03\0\0\0One";
    const ACROSS: &[u8] = b"\x06\0\0\0Across\x06\0\0\0zoneid";
    let count = i32::from(replicas).to_le_bytes();
    Octets(if replicas == 1 { [PREFIX, ONE].concat() } else { [PREFIX, ACROSS, &count, ONE].concat() })
}

/// A key of ours.
pub(crate) fn own(name: &str) -> Octets {
    Octets([OWN_KEYS, name.as_bytes()].concat())
}

pub(crate) fn set(name: &str, value: &str) -> Write {
    Write::Set(own(name), value.into())
}

pub(crate) fn has(name: &str, value: Option<&str>) -> Expectation {
    Expectation::Key(own(name), value.map(Into::into))
}

/// The keys of ours from one name up to another.
pub(crate) fn between(begin: &str, end: &str) -> Range {
    Range { begin: own(begin), end: own(end) }
}

/// Part of a status document.
pub(crate) fn status(seen: &Seen, path: &str) -> Value {
    let document: Value = serde_json::from_slice(&seen.status.0).unwrap_or_default();
    document.pointer(path).cloned().unwrap_or_default()
}

pub(crate) fn available(seen: &Seen) -> bool {
    status(seen, "/client/database_status/available") == Value::Bool(true)
}

/// An address as exclusions, kills and classes want it, which say nothing of TLS.
pub(crate) fn bare(address: &str) -> String {
    address.strip_suffix(":tls").unwrap_or(address).to_owned()
}

/// The process at an address, as the status has it.
pub(crate) fn process_at(seen: &Seen, address: &str) -> Value {
    let processes = status(seen, "/cluster/processes");
    let at = |process: &&Value| process["address"] == address;
    processes.as_object().and_then(|all| all.values().find(at)).cloned().unwrap_or_default()
}
