//! The operator, a real control plane and a real FoundationDB: pods are fdbserver processes in network namespaces of their own, and the
//! operator speaks to the database through libfdb_c.
//!
//! `QUORATE_FDB_BIN` names the folder with fdbserver and libfdb_c.so. Without it, or where namespaces can't be made, the story says that it
//! was not run.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../crates/fdb-client/tests/real/certificates.rs"]
mod certificates;
mod domains;
mod names;
mod real;
#[path = "../../../crates/fdb-client/tests/stories/real_child.rs"]
mod real_child;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use clap::Parser;
use names::Names;
use quorate_e2e::life::{Ground, Story, tell};
use quorate_e2e::{ControlPlane, Kubelets, stories_on};
use quorate_fdb_client::{Children, Settings, TlsIdentity};
use real::Real;
use serde_json::json;

/// Set, this program is the child of a supervisor.
const CHILD: &str = "QUORATE_REAL_CHILD";

/// What a restart of all servers at once may cost: two recoveries were seen, and a third where one was given up and begun again.
const RECOVERIES_OF_A_RESTART: u64 = 3;

const STORIES: &[Story] = stories_on![
    a_real_database_lives_through_everything,
    domains::a_real_database_is_packed_into_three_then_four_then_two_domains,
    a_real_database_is_known_by_its_names,
    a_real_database_speaks_tls,
];

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
    let told = runtime.block_on(tell(STORIES, 2, ground));
    // Whatever still runs ends before its files go.
    drop(runtime);
    std::fs::remove_dir_all(&*FILES).unwrap();
    told
}

/// Where the files are that operator and servers share.
static FILES: LazyLock<PathBuf> =
    LazyLock::new(|| tempfile::Builder::new().prefix("quorate-real-life-").tempdir().unwrap().keep());

fn programs() -> Option<PathBuf> {
    std::env::var_os("QUORATE_FDB_BIN").map(PathBuf::from)
}

async fn ground() -> Ground {
    let control_plane = ControlPlane::shared();
    let kubelets = Kubelets::start(control_plane.client().await.unwrap());
    let mut settings = Settings::new("unshare".into(), programs().unwrap());
    settings.arguments = names::with_hosts(&names::HOSTS, &std::env::current_exe().unwrap());
    settings.environment.insert(CHILD.to_owned(), "1".to_owned());
    let databases = Arc::new(Children::new(settings));
    Ground::with_identity(control_plane, kubelets, databases, Some(IDENTITY.clone())).await.unwrap()
}

/// What servers and operator show to each other, in files of this machine.
static IDENTITY: LazyLock<TlsIdentity> = LazyLock::new(|| certificates::identity(&FILES));

async fn a_real_database_lives_through_everything(ground: Arc<Ground>) {
    let mut real = Real::begin(&ground, "real-life").await;
    it_is_born(&mut real).await;
    a_knob_is_set(&mut real).await;
    a_storage_server_is_killed_and_comes_back(&mut real).await;
    a_storage_server_is_killed_for_good(&mut real).await;
    a_coordinator_is_cut_off(&mut real).await;
    it_shrinks(&mut real).await;
    real.end().await;
}

async fn it_is_born(real: &mut Real<'_>) {
    let counts = json!({"storage": 4, "log": 3, "stateless": 2, "cluster_controller": -1});
    real.create(&json!({"routing": {"useDNSInClusterFile": false}, "processCounts": counts})).await;
    real.stage.until("the coordinators", async || !real.connection().await.is_empty()).await;
    real.say("the coordinators are chosen");
    real.is_available().await;
    real.write_everything().await;
    real.rests(9, "born").await;
}

async fn set_a_knob(real: &mut Real<'_>, servers: usize) {
    let knob = "knob_max_trace_lines=1000001";
    real.stage.change(&json!({"processes": {"general": {"customParameters": [knob]}}})).await;
    let is_set = async || {
        let processes = real.stage.database().await.processes().await;
        processes.len() == servers && processes.values().all(|process| process.command_line.contains(knob))
    };
    real.stage.until("the knob in every command line", is_set).await;
    real.say("every server has the knob");
}

async fn a_knob_is_set(real: &mut Real<'_>) {
    set_a_knob(real, 9).await;
    let recoveries = real.rests(9, "the knob is set").await;
    assert!((1..=RECOVERIES_OF_A_RESTART).contains(&recoveries), "one restart for all: {recoveries} recoveries");
}

/// Who dies and is back a moment later with its data is replaced by nobody, and the database does not even recover.
async fn a_storage_server_is_killed_and_comes_back(real: &mut Real<'_>) {
    let pod = real.plain_storage_pod().await;
    let before = real.pods.process(&pod, 1).await;
    real.pods.signal(&pod, 1, quorate_world::processes::Signal::KILL).await.unwrap();
    let back = async || real.pods.process(&pod, 1).await.is_some_and(|process| Some(process) != before);
    real.stage.until("the server to be back", back).await;
    let recoveries = real.rests(9, &format!("the server of {pod} was killed and is back")).await;
    assert_eq!(recoveries, 0);
    // Longer than the operator waits before it replaces somebody.
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert!(real.stage.get("pod", &pod).await.is_some(), "{pod} is not replaced");
}

async fn a_storage_server_is_killed_for_good(real: &mut Real<'_>) {
    let pod = real.plain_storage_pod().await;
    real.pods.kill_for_good(&pod, 1).await.unwrap();
    real.say(&format!("the server of {pod} is killed for good"));
    real.stage.until("a successor", async || real.stage.list("pod").await.len() == 10).await;
    real.say("a successor is made");
    real.stage.until("the dead one to go", async || real.stage.get("pod", &pod).await.is_none()).await;
    let recoveries = real.rests(9, "it is replaced").await;
    assert_eq!(recoveries, 0, "storage is excluded by itself");
    real.has_every_copy().await;
}

async fn a_coordinator_is_cut_off(real: &mut Real<'_>) {
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
    real.has_every_copy().await;
}

async fn it_shrinks(real: &mut Real<'_>) {
    real.stage.change(&json!({"processCounts": {"storage": 3}})).await;
    let recoveries = real.rests(8, "one storage pod fewer").await;
    assert_eq!(recoveries, 0);
    assert_eq!(real.stage.list("pvc").await.len(), 6);
    real.has_every_copy().await;
}

/// Coordinators have names, and pods are found again by them wherever they are.
async fn a_real_database_is_known_by_its_names(ground: Arc<Ground>) {
    let mut real = Real::begin(&ground, "real-names").await;
    real.create(&json!({"routing": {"useDNSInClusterFile": true}})).await;
    real.stage.until("the coordinators", async || !real.connection().await.is_empty()).await;
    let connection = real.connection().await;
    assert_eq!(connection.matches(".svc.cluster.local:4501").count(), 3, "{connection}");
    // The operator's name service is late.
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_ne!(real.stage.cluster().await["status"]["health"]["available"], true);
    real.say("nobody has told the operator the names yet");
    let names = Names::publish(real.stage.case.client.clone(), &real.stage.case.namespace);
    real.is_available().await;
    real.write_everything().await;
    real.rests(8, "born").await;

    // All pods go and come back with other addresses.
    let before: Vec<String> = real.stage.names("pod").await;
    for pod in &before {
        real.stage.delete("pod", pod).await;
    }
    real.say("all pods are deleted");
    real.rests(8, "all pods are back").await;
    assert_eq!(real.stage.names("pod").await, before);
    assert_eq!(real.connection().await, connection, "nobody had to tell anybody where they are now");

    let coordinator = connection.split_once('@').unwrap().1.split('.').next().unwrap().to_owned();
    real.pods.network().await.cut(&coordinator).unwrap();
    real.say(&format!("{coordinator}, a coordinator, is cut off"));
    let changed = async || {
        let now = real.connection().await;
        !now.contains(&coordinator) && now.matches(".svc.cluster.local:4501").count() == 3
    };
    real.stage.until("other coordinators", changed).await;
    real.rests(8, "it is replaced").await;
    drop(names);
    real.end().await;
}

/// Servers show certificates to each other and to the operator; a restart names them without TLS, as it must.
async fn a_real_database_speaks_tls(ground: Arc<Ground>) {
    let mut real = Real::begin(&ground, "real-tls").await;
    let TlsIdentity { certificate, key, ca, verify_peers: _ } = &*IDENTITY;
    let files = [("CERTIFICATE", certificate), ("KEY", key), ("CA", ca)];
    let environment = files.map(|(name, file)| json!({"name": format!("FDB_TLS_{name}_FILE"), "value": file}));
    real.create(&json!({
        "routing": {"useDNSInClusterFile": false},
        "mainContainer": {"enableTls": true},
        "processes": {"general": {"podTemplate": {"spec": {"containers": [{"name": "foundationdb", "env": environment}]}}}},
    }))
    .await;
    real.is_available().await;
    real.write_everything().await;
    real.rests(8, "born").await;
    assert_eq!(real.connection().await.matches(":4500:tls").count(), 3);
    let processes = real.stage.database().await.processes().await;
    assert!(processes.values().all(|process| process.address.ends_with(":4500:tls")), "{processes:?}");
    set_a_knob(&mut real, 8).await;
    let recoveries = real.rests(8, "the knob is set").await;
    assert!((1..=RECOVERIES_OF_A_RESTART).contains(&recoveries), "one restart for all: {recoveries} recoveries");
    real.stage.change(&json!({"processCounts": {"storage": 4}})).await;
    real.rests(9, "one storage pod more").await;
    real.stage.change(&json!({"processCounts": {"storage": 3}})).await;
    real.rests(8, "one storage pod fewer").await;
    real.end().await;
}
