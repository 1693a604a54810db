//! Hand-written pods that are real fdbserver processes, each in a network namespace of its own: on a real control plane, and on the
//! embedded API.
//!
//! `QUORATE_FDB_BIN` names the folder with fdbserver and libfdb_c.so. Without it, or where namespaces can't be made, every story says
//! that it was not run.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod database;
mod objects;
#[path = "../../../crates/fdb-client/tests/stories/real_child.rs"]
mod real_child;
mod stage;
#[path = "../../../crates/fdb-client/tests/stories/mod.rs"]
mod stories;

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use database::Database;
use quorate_world::processes::Signal;
use stage::Stage;
use stories::Story;

const STORIES: &[Story] = stories![
    pods_become_a_database_and_keep_their_data_over_a_deletion,
    the_same_pods_become_a_database_on_the_embedded_api,
    a_killed_server_is_started_again_with_the_configuration_of_now,
    a_cut_link_is_a_partition_until_it_is_mended,
];

fn main() -> ExitCode {
    if std::env::var_os(database::CHILD).is_some() {
        return quorate_fdb_client::child_main(&real_child::Child::parse().arguments);
    }
    let no_programs = database::programs().is_none().then_some("QUORATE_FDB_BIN is not set");
    let Some(reason) = no_programs.or_else(quorate_world::processes::missing) else { return stories::tell(STORIES) };
    for (name, _) in STORIES {
        println!("test {name} ... not run: {reason}");
    }
    println!("0 passed, 0 failed, {} not run", STORIES.len());
    ExitCode::SUCCESS
}

const STORAGE: [&str; 3] = ["storage-1", "storage-2", "storage-3"];

/// What is written is there after all storage pods were deleted and made again: it was on their volumes.
async fn keep_data_over_a_deletion(stage: &Stage) -> Database {
    let database = stage.database().await;
    database.create().await;
    database.write("kept", "on volumes").await;
    let before = database.report().await;
    for pod in STORAGE {
        stage.delete_pod(pod).await;
    }
    for pod in STORAGE {
        stage.create_pod(pod).await;
    }
    assert_eq!(database.read("kept").await.as_deref(), Some("on volumes"));
    let after = database.report_when("all are back", |report| report.len() == 5).await;
    for pod in STORAGE {
        // The id is in a file of the data folder, the address is the new pod's.
        assert_eq!(after[pod].id, before[pod].id);
        assert_ne!(after[pod].address, before[pod].address);
    }
    database
}

async fn pods_become_a_database_and_keep_their_data_over_a_deletion() {
    let stage = Stage::on_a_control_plane("real_pods").await;
    let database = keep_data_over_a_deletion(&stage).await;
    let environment = stage.annotation("storage-1", "foundationdb.org/launcher-environment").await.unwrap();
    let environment: serde_json::Value = serde_json::from_str(&environment).unwrap();
    assert_eq!(environment["FDB_INSTANCE_ID"], "storage-1");
    assert_eq!(environment["FDB_PUBLIC_IP"], stage.address("storage-1").await.unwrap());
    database.close().await;
    stage.end().await;
}

async fn the_same_pods_become_a_database_on_the_embedded_api() {
    let stage = Stage::embedded().await;
    let database = keep_data_over_a_deletion(&stage).await;
    database.close().await;
    stage.end().await;
}

async fn a_killed_server_is_started_again_with_the_configuration_of_now() {
    let stage = Stage::on_a_control_plane("real_restart").await;
    let database = stage.database().await;
    database.create().await;
    let before = stage.pods.process("storage-1", 1).await.unwrap();
    assert!(!database.report().await["storage-1"].command_line.contains("--locality_rack"));

    // A new configuration is taken in, and restarts nobody.
    stage.configure(&["--locality_rack=r1"]).await;
    stage.configuration_when("storage-1", |said| said.contains("--locality_rack=r1")).await;
    assert_eq!(stage.pods.process("storage-1", 1).await, Some(before));

    stage.pods.signal("storage-1", 1, Signal::KILL).await.unwrap();
    let changed =
        |report: &database::Report| report.get("storage-1").is_some_and(|one| one.command_line.contains("--locality_rack=r1"));
    let after = database.report_when("the server to be back with the new configuration", changed).await;
    assert_ne!(stage.pods.process("storage-1", 1).await, Some(before));
    assert!(!Path::new(&format!("/proc/{before}")).exists(), "no zombie is left");
    // Nobody else was restarted.
    assert!(!after["storage-2"].command_line.contains("--locality_rack"));
    database.close().await;
    stage.end().await;
}

async fn a_cut_link_is_a_partition_until_it_is_mended() {
    let stage = Stage::on_a_control_plane("real_partition").await;
    let database = stage.database().await;
    database.create().await;
    let process = stage.pods.process("storage-3", 1).await;
    let address: IpAddr = stage.address("storage-3").await.unwrap().parse().unwrap();
    let reached = || TcpStream::connect_timeout(&SocketAddr::new(address, 4501), Duration::from_secs(2)).is_ok();
    assert!(reached());

    stage.pods.network().await.cut("storage-3").unwrap();
    assert!(!reached());
    database.report_when("the database to miss it", |report| !report.contains_key("storage-3")).await;
    assert_eq!(stage.pods.process("storage-3", 1).await, process, "it goes on by itself");

    stage.pods.network().await.mend("storage-3").unwrap();
    database.report_when("the database to have it back", |report| report.contains_key("storage-3")).await;
    assert!(reached());
    assert_eq!(stage.pods.process("storage-3", 1).await, process);
    database.close().await;
    stage.end().await;
}
