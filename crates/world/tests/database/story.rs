//! A cluster like a recorded one, in the model.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use quorate_fdb_client::{Answer, Call, Change, Commit, Failure, Look, Management, Octets, Seen, Target};
use quorate_world::database::{Database, ProcessSpec, Progress, mode_keys};
use serde_json::Value;

/// A recorded document.
pub fn recording(name: &str) -> Value {
    serde_json::from_str(&recorded_text(&format!("{name}.json"))).unwrap()
}

/// A recorded file.
pub fn recorded_text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/fdb-status").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The address of a port.
pub fn address(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

/// A cluster in a story.
pub struct Story {
    pub database: Database,
    specs: BTreeMap<String, ProcessSpec>,
    connection: String,
}

impl Story {
    /// The processes of a recorded cluster, all just started, and no database.
    pub fn of(recording: &Value) -> Self {
        let connection = recording["cluster"]["connection_string"].as_str().unwrap().to_owned();
        let mut database = Database::new(&connection, 7, Timestamp::from_second(1_767_225_600).unwrap()).unwrap();
        database.hold(40_000_000);
        let mut specs = BTreeMap::new();
        for process in recording["cluster"]["processes"].as_object().unwrap().values() {
            let text = |key: &str| process[key].as_str().unwrap_or_default().to_owned();
            let localities = process["locality"].as_object().into_iter().flatten();
            let spec = ProcessSpec {
                address: text("address"),
                name: None,
                class: text("class_type"),
                localities: localities
                    .filter(|(key, _)| *key != "processid")
                    .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
                    .collect(),
                command_line: text("command_line"),
                version: text("version"),
                volume: format!("volume of {}", text("address")),
                connection: connection.clone(),
            };
            specs.insert(text("address"), spec.clone());
            database.start_process(spec);
        }
        Self { database, specs, connection }
    }

    /// A recorded cluster, with a database of the recorded mode, a minute old.
    pub fn created(recording: &Value) -> Self {
        let mut story = Self::of(recording);
        story.pass(2.0);
        let mode = recording["cluster"]["configuration"]["redundancy_mode"].as_str().unwrap();
        story.create(mode).unwrap();
        story.pass(70.0);
        story
    }

    /// Creates the database.
    pub fn create(&mut self, mode: &str) -> Result<Answer, Failure> {
        let keys = mode_keys(mode).unwrap().into_iter().map(|(key, value)| (key, Octets(value))).collect();
        self.commit(Management::Configure(Change { new: Some("0123456789abcdef".to_owned()), keys }))
    }

    /// Lets time pass.
    pub fn pass(&mut self, seconds: f64) {
        self.database.advance(self.database.now() + SignedDuration::from_secs_f64(seconds));
    }

    /// Seconds since an earlier moment.
    pub fn since(&self, earlier: Timestamp) -> f64 {
        self.database.now().duration_since(earlier).as_secs_f64()
    }

    /// These processes die.
    pub fn stop(&mut self, ports: &[u16]) {
        for port in ports {
            self.database.stop_process(&address(*port));
        }
    }

    /// These processes start again on their volumes.
    pub fn start(&mut self, ports: &[u16]) {
        for port in ports {
            self.database.start_process(self.specs[&address(*port)].clone());
        }
    }

    /// The leader goes elsewhere: its place is down for a while.
    pub fn lead_from_elsewhere(&mut self, ports: &[u16]) {
        self.stop(ports);
        self.pass(40.0);
        self.start(ports);
        self.pass(70.0);
        assert!(!ports.contains(&self.with_role("cluster_controller")[0]));
    }

    /// How a process is started.
    pub fn spec(&self, port: u16) -> ProcessSpec {
        self.specs[&address(port)].clone()
    }

    /// All ports.
    pub fn ports(&self) -> Vec<u16> {
        self.specs.keys().map(|address| address.rsplit(':').next().unwrap().parse().unwrap()).collect()
    }

    /// The port of the process with a role, by what the status says.
    pub fn with_role(&self, role: &str) -> Vec<u16> {
        let status = self.status();
        let processes = status["cluster"]["processes"].as_object().cloned().unwrap_or_default();
        let mut ports: Vec<u16> = processes
            .values()
            .filter(|process| {
                process["roles"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|it| it["role"] == role && (role != "log" || it.as_object().unwrap().len() > 2))
            })
            .map(|process| process["address"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap())
            .collect();
        ports.sort_unstable();
        ports
    }

    /// The status as it is now, without waiting for it.
    pub fn status(&self) -> Value {
        self.database.status(&self.connection)
    }

    /// A management change alone.
    pub fn commit(&mut self, manage: Management) -> Result<Answer, Failure> {
        self.call(Call::Commit(Commit { manage: Some(manage), ..Commit::default() }))
    }

    /// Excludes by `instance_id`.
    pub fn exclude(&mut self, instances: &[&str]) -> Result<Answer, Failure> {
        self.commit(Management::Exclude(instances.iter().map(|id| format!("locality_instance_id:{id}")).collect()))
    }

    /// Looks at everything.
    pub fn look(&mut self) -> Seen {
        match self.call(Call::Look(Look { exclusions: true, ranges: vec![] })) {
            Ok(Answer::Seen(seen)) => seen,
            other => panic!("{other:?}"),
        }
    }

    /// Makes a call and waits for its answer, at most half a minute.
    pub fn call(&mut self, call: Call) -> Result<Answer, Failure> {
        let deadline = self.database.now() + SignedDuration::from_secs(30);
        let target =
            Target { cluster: "ns/sample".into(), connection: self.connection.clone(), version: "7.3.80".into(), tls: None };
        let mut ticket = self.database.begin(&target, call, deadline);
        loop {
            let now = self.database.now();
            match self.database.proceed(&mut ticket) {
                Progress::Done(result) => return result,
                Progress::Waits(_) if now >= deadline => return Err(Failure::Timeout { milliseconds: 30_000 }),
                Progress::Waits(until) => {
                    let next = until.into_iter().chain(self.database.next_event()).chain([deadline]).filter(|at| *at > now).min();
                    self.database.advance(next.unwrap());
                }
            }
        }
    }
}
