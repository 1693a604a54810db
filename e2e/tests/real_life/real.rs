//! A stage whose pods are real processes, with a stopwatch and a count of recoveries.

use std::time::{Duration, Instant};

use quorate_e2e::life::{Ground, Process, Stage};
use quorate_world::processes::{RealPods, RealPodsSettings};

use serde_json::{Value, json};

use crate::programs;

/// How long a real kubelet takes to bring a changed ConfigMap to a pod that nobody touches.
const FILES_AFTER: Duration = Duration::from_mins(1);
/// What is written at the beginning: so many keys of so many bytes.
const KEYS: usize = 60;
const BYTES: usize = 50_000;

/// A stage whose pods are real processes, and when the story began.
pub struct Real<'a> {
    pub stage: Stage<'a>,
    pub pods: RealPods,
    began: Instant,
    /// The database's generation at the last rest; two make a recovery.
    generation: u64,
}

impl<'a> Real<'a> {
    pub async fn begin(ground: &'a Ground, name: &str) -> Self {
        Self::begin_on(ground, name, 4).await
    }

    pub async fn begin_on(ground: &'a Ground, name: &str, nodes: usize) -> Self {
        let stage = ground.stage(name, nodes).await.unwrap();
        let executable = programs().unwrap().join("fdbserver");
        let settings = RealPodsSettings { namespace: stage.case.namespace.clone(), executable, files_after: FILES_AFTER };
        let pods = RealPods::start(stage.case.client.clone(), settings).unwrap();
        Self { stage, pods, began: Instant::now(), generation: 0 }
    }

    /// Makes the cluster, with a zone for each pod.
    pub async fn create(&self, spec: &Value) {
        let mut spec = spec.clone();
        spec["faultDomain"] = json!({"key": "foundationdb.org/none"});
        self.stage.create(&spec).await;
    }

    pub async fn is_available(&self) {
        let available = async || self.stage.cluster().await["status"]["health"]["available"] == true;
        self.stage.until("the database", available).await;
        self.say("the database is available");
    }

    pub fn say(&self, what: &str) {
        println!("  {:6.1} s  {}: {what}", self.began.elapsed().as_secs_f32(), self.stage.case.namespace);
    }

    /// Waits until all that is asked for is carried out, nobody is missing and everything written is there; gives the number of recoveries
    /// since the last rest.
    pub async fn rests(&mut self, pods: usize, what: &str) -> u64 {
        let at_rest = async || {
            let processes = self.stage.database().await.processes().await;
            processes.len() == pods && self.stage.list("pod").await.len() == pods
        };
        self.stage.until(&format!("{pods} processes to be there: {what}"), at_rest).await;
        self.stage.settled().await;
        self.read_everything().await;
        let generation = self.generation().await;
        let recoveries = (generation - self.generation).div_ceil(2);
        self.generation = generation;
        self.say(&format!("{what}; {recoveries} recoveries"));
        recoveries
    }

    pub async fn write_everything(&self) {
        let database = self.stage.database().await;
        for number in 0..KEYS {
            database.write(&key(number), &value(number)).await;
        }
    }

    async fn read_everything(&self) {
        let database = self.stage.database().await;
        for number in 0..KEYS {
            assert!(database.read(&key(number)).await == Some(value(number)), "{} is not what was written", key(number));
        }
    }

    /// Waits until all servers that have storage hold two copies of what was written between them.
    pub async fn has_every_copy(&self) {
        let stored = async || {
            let status = self.stage.database().await.status().await.unwrap_or_default();
            let processes = status["cluster"]["processes"].as_object().cloned().unwrap_or_default();
            let roles = processes.values().flat_map(|process| process["roles"].as_array().cloned().unwrap_or_default());
            roles.filter_map(|role| role["stored_bytes"].as_u64()).sum::<u64>()
        };
        let copies = u64::try_from(2 * KEYS * BYTES).unwrap();
        self.stage.until("two copies of everything", async || stored().await >= copies).await;
        self.say(&format!("{} bytes are stored", stored().await));
    }

    /// The pod of a storage server that is no coordinator.
    pub async fn plain_storage_pod(&self) -> String {
        let (connection, processes) = (self.connection().await, self.stage.database().await.processes().await);
        let is_plain =
            |(group, process): &(&String, &Process)| group.starts_with("storage") && !connection.contains(&process.address);
        processes.iter().find(is_plain).map(|(group, _)| format!("sample-{group}")).unwrap()
    }

    pub async fn connection(&self) -> String {
        self.stage.cluster().await["status"]["connectionString"].as_str().unwrap_or_default().to_owned()
    }

    async fn generation(&self) -> u64 {
        self.stage.database().await.status().await.unwrap()["cluster"]["generation"].as_u64().unwrap()
    }

    pub async fn end(self) {
        self.pods.end().await;
    }
}

fn key(number: usize) -> String {
    format!("key-{number}")
}

fn value(number: usize) -> String {
    format!("{number:02}-kept-").repeat(BYTES / 8)
}
