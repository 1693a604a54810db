//! The life of FoundationDB clusters on a real control plane with a real scheduler: pods run the model's servers, the operator is the
//! real one. The waits are short, so that everything happens within minutes; the stories are told side by side.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod changes;
mod domains;
mod losses;
mod sizes;

use std::process::ExitCode;
use std::sync::Arc;

use jiff::Timestamp;
use quorate_e2e::life::{Ground, Stage, Story, tell};
use quorate_e2e::{ControlPlane, Kubelets, stories_on};
use quorate_world::Fdbservers;
use quorate_world::database::Databases;
use quorate_world::monitor::MonitorSettings;
use serde_json::{Value, json};

const STORIES: &[Story] = stories_on![
    sizes::a_cluster_is_born_and_rests,
    sizes::it_grows,
    sizes::it_shrinks_and_nothing_is_left_of_who_went,
    sizes::the_object_goes_and_the_volumes_stay,
    changes::a_knob_is_set_by_a_restart,
    changes::a_new_image_reaches_the_pods_zone_by_zone,
    changes::a_process_group_is_replaced_on_request,
    domains::fault_domains_are_turned_on_and_off_as_foretold,
    domains::a_domain_is_on_one_host_or_on_several,
    domains::a_domain_without_a_host_is_waited_for_or_set_aside,
    losses::a_deleted_pod_comes_back_with_its_volume,
    losses::what_was_on_a_lost_node_is_replaced,
    losses::a_lost_coordinator_is_changed,
    losses::all_pods_are_lost_and_no_data,
];

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(tell(STORIES, STORIES.len(), ground))
}

async fn ground() -> Ground {
    let control_plane = ControlPlane::shared();
    let databases = Databases::new(Timestamp::now);
    let servers = Fdbservers::new(databases.clone(), 0, MonitorSettings::default());
    let kubelets = Kubelets::start_with_servers(control_plane.client().await.unwrap(), servers);
    Ground::new(control_plane, kubelets, Arc::new(databases)).await.unwrap()
}

/// A cluster that is up on four nodes and has something in it.
async fn born<'a>(ground: &'a Ground, name: &str, spec: &Value) -> Stage<'a> {
    born_on(ground, 4, name, spec).await
}

async fn born_on<'a>(ground: &'a Ground, nodes: usize, name: &str, spec: &Value) -> Stage<'a> {
    let stage = ground.stage(name, nodes).await.unwrap();
    bear(&stage, spec).await;
    stage
}

/// Makes the cluster, waits until it is up and puts something in it.
async fn bear(stage: &Stage<'_>, spec: &Value) {
    stage.create(spec).await;
    stage.settled().await;
    stage.database().await.write("kept", "from the beginning").await;
}

/// What was written at the beginning is there.
async fn nothing_is_lost(stage: &Stage<'_>) {
    assert_eq!(stage.database().await.read("kept").await.as_deref(), Some("from the beginning"));
}

/// The uids of everything of a kind, by name.
async fn uids(stage: &Stage<'_>, kind: &str) -> std::collections::BTreeMap<String, Value> {
    let uid = |object: Value| (quorate_e2e::life::name_of(&object), object["metadata"]["uid"].clone());
    stage.list(kind).await.into_iter().map(uid).collect()
}

fn counts(storage: u32) -> Value {
    json!({"processCounts": {"storage": storage}})
}
