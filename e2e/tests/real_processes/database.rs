//! A database as its client sees it: through libfdb_c, in a child process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use quorate_fdb_client::{
    Answer, Call, Change, Children, Commit, FoundationDb, Look, Management, OWN_KEYS, Octets, Range, Seen, Settings, Target,
    Write,
};
use serde_json::Value;

/// Set, this program is the child of a supervisor.
pub const CHILD: &str = "QUORATE_REAL_CHILD";
const SOON: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(180);

/// Where fdbserver and libfdb_c.so are.
pub fn programs() -> Option<PathBuf> {
    std::env::var_os("QUORATE_FDB_BIN").map(PathBuf::from)
}

/// The version of fdbserver.
pub fn version(programs: &Path) -> String {
    let output = std::process::Command::new(programs.join("fdbserver")).arg("--version").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split("(v").nth(1).and_then(|rest| rest.split(')').next()).unwrap().to_owned()
}

/// A process in the database's report.
#[derive(Debug)]
pub struct Process {
    pub id: String,
    pub address: String,
    pub command_line: String,
}

/// The processes in the database's report, by instance.
pub type Report = BTreeMap<String, Process>;

/// A client of one database.
pub struct Database {
    children: Children,
    target: Target,
}

impl Database {
    pub fn new(connection: &str) -> Self {
        let programs = programs().unwrap();
        let mut settings = Settings::new(std::env::current_exe().unwrap(), programs.clone());
        settings.arguments.clear();
        settings.environment.insert(CHILD.to_owned(), "1".to_owned());
        let target = Target {
            cluster: "tests/sample".to_owned(),
            connection: connection.to_owned(),
            version: version(&programs),
            tls: None,
        };
        Self { children: Children::new(settings), target }
    }

    /// `configure new double ssd`, as soon as the servers are there; and waits until all of them are reported.
    pub async fn create(&self) {
        let keys = [
            ("log_anti_quorum", "0".into()),
            ("log_engine", "2".into()),
            ("log_replicas", "2".into()),
            ("log_replication_policy", across_zones(2)),
            ("storage_engine", "2".into()),
            ("storage_replicas", "2".into()),
            ("storage_replication_policy", across_zones(2)),
        ];
        let keys: BTreeMap<String, Octets> = keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let new = Some("00000000000000000000000000000001".to_owned());
        let create = Commit { manage: Some(Management::Configure(Change { new, keys })), ..Commit::default() };
        self.commit(create).await;
        self.report_when("all servers to be there", |report| report.len() == 5).await;
    }

    pub async fn write(&self, key: &str, value: &str) {
        self.commit(Commit { writes: vec![Write::Set(own(key), value.into())], ..Commit::default() }).await;
    }

    pub async fn read(&self, key: &str) -> Option<String> {
        let mut end = own(key);
        end.0.push(0);
        let look = Look { ranges: vec![Range { begin: own(key), end }], ..Look::default() };
        let start = Instant::now();
        loop {
            let seen = self.look(look.clone()).await;
            match seen.and_then(|seen| seen.ranges).and_then(Result::ok) {
                Some(rows) => return rows.ranges[0].first().map(|row| String::from_utf8(row.value.0.clone()).unwrap()),
                None => assert!(start.elapsed() < PATIENCE, "nothing could be read"),
            }
        }
    }

    pub async fn report(&self) -> Report {
        self.report_when("a report", |report| !report.is_empty()).await
    }

    pub async fn report_when(&self, what: &str, holds: impl Fn(&Report) -> bool) -> Report {
        let start = Instant::now();
        loop {
            let report = self.look(Look::default()).await.map(|seen| report(&seen)).unwrap_or_default();
            if holds(&report) {
                return report;
            }
            assert!(start.elapsed() < PATIENCE, "waited in vain for {what}: {report:#?}");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    pub async fn close(self) {
        self.children.close().await;
    }

    async fn look(&self, look: Look) -> Option<Seen> {
        match self.children.call(&self.target, Call::Look(look), SOON).await {
            Ok(Answer::Seen(seen)) => Some(seen),
            _ => None,
        }
    }

    /// Every commit of these tests may be made twice.
    async fn commit(&self, commit: Commit) {
        let start = Instant::now();
        loop {
            match self.children.call(&self.target, Call::Commit(commit.clone()), SOON).await {
                Ok(Answer::Committed) => return,
                other => assert!(start.elapsed() < PATIENCE, "{other:?}"),
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

fn own(key: &str) -> Octets {
    Octets([OWN_KEYS, key.as_bytes()].concat())
}

/// A replication policy as FoundationDB stores it: across so many zones.
fn across_zones(count: i32) -> Octets {
    let word = |word: &str| [&u32::try_from(word.len()).unwrap().to_le_bytes()[..], word.as_bytes()].concat();
    let prefix = [0x01, 0x00, 0x01, 0x62, 0xb0, 0x00, 0xdb, 0x0f];
    Octets([&prefix[..], &word("Across"), &word("zoneid"), &count.to_le_bytes(), &word("One")].concat())
}

fn report(seen: &Seen) -> Report {
    let report: Value = serde_json::from_slice(&seen.status.0).unwrap_or_default();
    let processes = report["cluster"]["processes"].as_object().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let named = processes.into_iter().filter_map(|(id, process)| {
        let instance = process["locality"]["instance_id"].as_str()?.to_owned();
        Some((instance, Process { id, address: text(&process["address"]), command_line: text(&process["command_line"]) }))
    });
    named.collect()
}
