//! The model speaks the same contract as a real FoundationDB: every case of the suite, in paused time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use quorate_fdb_client::suite::{ALL_CALLS, Bench, CASES, Process, Session, poll_until};
use quorate_fdb_client::{FoundationDb, Look, Seen, Target};
use quorate_world::database::{Database, Databases, ProcessSpec};
use tokio::time::Instant;

const CLUSTER: &str = "ns/suite";
/// How long a supervisor takes to start a process again.
const RESTARTS_AFTER: Duration = Duration::from_millis(300);

/// The model, and somebody who starts what was killed.
struct ModelBench {
    databases: Databases,
    connection: String,
    specs: Arc<Mutex<BTreeMap<String, ProcessSpec>>>,
    supervisor: tokio::task::JoinHandle<()>,
}

impl ModelBench {
    fn new() -> Self {
        let (beginning, started) = (Timestamp::from_second(1_767_225_600).unwrap(), Instant::now());
        let databases = Databases::new(move || beginning + SignedDuration::try_from(started.elapsed()).unwrap());
        let specs: Arc<Mutex<BTreeMap<String, ProcessSpec>>> = Arc::default();
        let supervisor = tokio::spawn(supervise(databases.clone(), specs.clone()));
        Self { databases, connection: String::new(), specs, supervisor }
    }
}

async fn supervise(databases: Databases, specs: Arc<Mutex<BTreeMap<String, ProcessSpec>>>) {
    loop {
        tokio::time::sleep(RESTARTS_AFTER).await;
        for exit in databases.advance() {
            let spec = specs.lock().unwrap().values().find(|spec| spec.volume == exit.volume).cloned();
            databases.with(CLUSTER, |database| spec.map(|spec| database.start_process(spec)));
        }
    }
}

impl Drop for ModelBench {
    fn drop(&mut self) {
        self.supervisor.abort();
    }
}

impl Bench for ModelBench {
    fn client(&self) -> Arc<dyn FoundationDb> {
        Arc::new(self.databases.clone())
    }

    fn second_client(&self) -> Arc<dyn FoundationDb> {
        self.client()
    }

    fn target(&self) -> Target {
        Target { cluster: CLUSTER.into(), connection: self.connection.clone(), version: "7.3.80".into(), tls: None }
    }

    fn start<'a>(&'a mut self, process: &'a Process) -> BoxFuture<'a, Result<String, String>> {
        async move {
            let mut specs = self.specs.lock().unwrap();
            let address = format!("10.0.0.{}:4501", specs.len() + 1);
            if self.connection.is_empty() {
                self.connection = format!("suite:model@{address}");
                self.databases.host(CLUSTER, Database::new(&self.connection, 1, Timestamp::from_second(1_767_225_600).unwrap())?);
            }
            let localities = [("instance_id", &process.name), ("zoneid", &process.zone), ("machineid", &process.zone)]
                .map(|(key, value)| (key.to_owned(), value.clone()));
            let spec = specs.entry(process.name.clone()).or_insert_with(|| ProcessSpec {
                address,
                name: None,
                class: process.class.clone(),
                localities: localities.into(),
                command_line: format!("fdbserver --class {}", process.class),
                version: "7.3.80".into(),
                volume: process.name.clone(),
                connection: self.connection.clone(),
            });
            let spec = spec.clone();
            self.databases.with(CLUSTER, |database| database.start_process(spec.clone()));
            Ok(spec.address)
        }
        .boxed()
    }

    fn stop<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let address = self.specs.lock().unwrap().get(name).ok_or("no such process")?.address.clone();
            self.databases.with(CLUSTER, |database| database.stop_process(&address));
            Ok(())
        }
        .boxed()
    }

    fn wait(&mut self, duration: Duration) -> BoxFuture<'_, ()> {
        tokio::time::sleep(duration).boxed()
    }

    fn until<'a>(
        &'a mut self,
        look: Look,
        what: &'a str,
        holds: &'a (dyn Fn(&Seen) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<Seen, String>> {
        poll_until(self, look, what, holds)
    }
}

#[tokio::test(start_paused = true)]
async fn every_case_of_the_contract_holds_in_the_model() {
    let mut failed = Vec::new();
    let mut calls = BTreeSet::new();
    for case in CASES {
        let mut bench = ModelBench::new();
        let mut session = Session::new(&mut bench);
        if let Err(problem) = (case.run)(&mut session).await {
            failed.push(format!("{}: {problem}", case.name));
        }
        calls.extend(session.coverage.calls);
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(calls.into_iter().collect::<Vec<_>>(), ALL_CALLS, "every call was made");
}
