//! The operator, a real control plane and a real FoundationDB: pods are fdbserver processes in network namespaces of their own, and the
//! operator speaks to the database through libfdb_c.
//!
//! `QUORATE_FDB_BIN` names the folder with fdbserver and libfdb_c.so. Without it, or where namespaces can't be made, the story says that it
//! was not run.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../crates/fdb-client/tests/stories/real_child.rs"]
mod real_child;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use quorate_e2e::life::{Ground, Process, Stage, Story, tell};
use quorate_e2e::{ControlPlane, Kubelets, stories_on};
use quorate_fdb_client::{Children, Settings};
use quorate_world::processes::{RealPods, RealPodsSettings};
use serde_json::json;

/// Set, this program is the child of a supervisor.
const CHILD: &str = "QUORATE_REAL_CHILD";

const STORIES: &[Story] = stories_on![a_real_database_lives_through_everything];

fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_some() {
        return quorate_fdb_client::child_main(&real_child::Child::parse().arguments);
    }
    let no_programs = programs().is_none().then_some("QUORATE_FDB_BIN is not set");
    if let Some(reason) = no_programs.or_else(quorate_world::processes::missing) {
        for (name, _) in STORIES {
            println!("test {name} ... not run: {reason}");
        }
        println!("0 passed, 0 failed, {} not run", STORIES.len());
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(tell(STORIES, 1, ground))
}

fn programs() -> Option<PathBuf> {
    std::env::var_os("QUORATE_FDB_BIN").map(PathBuf::from)
}

async fn ground() -> Ground {
    let control_plane = ControlPlane::shared();
    let kubelets = Kubelets::start(control_plane.client().await.unwrap());
    let mut settings = Settings::new(std::env::current_exe().unwrap(), programs().unwrap());
    settings.arguments.clear();
    settings.environment.insert(CHILD.to_owned(), "1".to_owned());
    Ground::new(control_plane, kubelets, Arc::new(Children::new(settings))).await.unwrap()
}

/// A stage whose pods are real processes, and when the story began.
struct Real<'a> {
    stage: Stage<'a>,
    pods: RealPods,
    began: Instant,
}

impl Real<'_> {
    fn say(&self, what: &str) {
        println!("  {:6.1} s  {what}", self.began.elapsed().as_secs_f32());
    }

    /// Waits until all that is asked for is carried out, nobody is missing and everything written is there.
    async fn rests(&self, pods: usize, what: &str) {
        let at_rest = async || {
            let processes = self.stage.database().await.processes().await;
            processes.len() == pods && self.stage.list("pod").await.len() == pods
        };
        self.stage.until(&format!("{pods} processes to be there: {what}"), at_rest).await;
        self.stage.settled().await;
        for number in 0..20 {
            let kept = self.stage.database().await.read(&format!("key-{number}")).await;
            assert_eq!(kept.as_deref(), Some("kept"), "key-{number}");
        }
        self.say(what);
    }

    async fn connection(&self) -> String {
        self.stage.cluster().await["status"]["connectionString"].as_str().unwrap_or_default().to_owned()
    }
}

async fn a_real_database_lives_through_everything(ground: Arc<Ground>) {
    let stage = ground.stage("real-life", 4).await.unwrap();
    let settings =
        RealPodsSettings { namespace: stage.case.namespace.clone(), executable: programs().unwrap().join("fdbserver") };
    let pods = RealPods::start(stage.case.client.clone(), settings).unwrap();
    let real = Real { stage, pods, began: Instant::now() };
    it_is_born(&real).await;
    a_knob_is_set(&real).await;
    a_storage_process_is_cut_off(&real).await;
    a_coordinator_is_cut_off(&real).await;
    it_shrinks(&real).await;
    real.pods.end().await;
}

async fn it_is_born(real: &Real<'_>) {
    // The operator is outside of the pods' hosts files, so coordinators have addresses.
    real.stage
        .create(&json!({
            "routing": {"useDNSInClusterFile": false},
            "faultDomain": {"key": "foundationdb.org/none"},
            "processCounts": {"storage": 4, "log": 3, "stateless": 2, "cluster_controller": -1},
        }))
        .await;
    real.stage.until("the coordinators", async || !real.connection().await.is_empty()).await;
    real.say("the coordinators are chosen");
    real.stage.until("the database", async || real.stage.cluster().await["status"]["health"]["available"] == true).await;
    real.say("the database is available");
    for number in 0..20 {
        real.stage.database().await.write(&format!("key-{number}"), "kept").await;
    }
    real.rests(9, "born").await;
}

async fn a_knob_is_set(real: &Real<'_>) {
    let knob = "knob_max_trace_lines=1000001";
    real.stage.change(&json!({"processes": {"general": {"customParameters": [knob]}}})).await;
    let is_set = async || {
        let processes = real.stage.database().await.processes().await;
        processes.len() == 9 && processes.values().all(|process| process.command_line.contains(knob))
    };
    real.stage.until("the knob in every command line", is_set).await;
    real.say("every server has the knob");
    real.rests(9, "the knob is set").await;
}

async fn a_storage_process_is_cut_off(real: &Real<'_>) {
    let (connection, processes) = (real.connection().await, real.stage.database().await.processes().await);
    let is_plain =
        |(group, process): &(&String, &Process)| group.starts_with("storage") && !connection.contains(&process.address);
    let pod = processes.iter().find(is_plain).map(|(group, _)| format!("sample-{group}")).unwrap();
    real.pods.network().await.cut(&pod).unwrap();
    real.say(&format!("{pod} is cut off"));
    real.stage.until("a successor", async || real.stage.list("pod").await.len() == 10).await;
    real.say("a successor is made");
    real.stage.until("the one that was cut off to go", async || real.stage.get("pod", &pod).await.is_none()).await;
    real.rests(9, "it is replaced").await;
}

async fn a_coordinator_is_cut_off(real: &Real<'_>) {
    let before = real.connection().await;
    let processes = real.stage.database().await.processes().await;
    let (group, process) = processes.iter().find(|(_, process)| before.contains(&process.address)).unwrap();
    let address = &process.address;
    real.pods.network().await.cut(&format!("sample-{group}")).unwrap();
    real.say(&format!("{group}, a coordinator, is cut off"));
    let changed = async || {
        let now = real.connection().await;
        now != before && !now.contains(address) && now.split(',').count() == 3
    };
    real.stage.until("other coordinators", changed).await;
    real.say("the coordinators have changed");
    real.rests(9, "it is replaced").await;
}

async fn it_shrinks(real: &Real<'_>) {
    real.stage.change(&json!({"processCounts": {"storage": 3}})).await;
    real.rests(8, "one storage pod fewer").await;
    assert_eq!(real.stage.list("pvc").await.len(), 6);
}
