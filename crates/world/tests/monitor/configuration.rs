//! How a changed configuration reaches the servers.

use quorate_foundationdb::monitor::Argument;

use crate::world::{World, key};

const POD: &str = "sample-storage-1";
const CURRENT: &str = "foundationdb.org/launcher-current-configuration";
const POKE: &str = "foundationdb.org/outdated-config-map-seen";

fn add_knob(world: &World) {
    world.configure("storage", |configuration| configuration.arguments.push(Argument::literal("--knob_x=1")));
}

#[tokio::test(start_paused = true)]
async fn a_change_waits_for_the_kubelet_and_then_for_a_restart() {
    let world = World::with_database().await;
    add_knob(&world);
    world.pass(30.0).await;
    assert!(!world.annotation(POD, CURRENT).unwrap().contains("knob_x"));
    world.pass(31.0).await;
    assert!(world.annotation(POD, CURRENT).unwrap().contains("knob_x"));
    assert!(!world.command_line(POD).await.contains("knob_x"));

    world.kill(&[POD]).await;
    world.pass(0.2).await;
    assert!(!world.runs(POD));
    world.pass(10.0).await;
    assert!(world.command_line(POD).await.ends_with("--knob_x=1"));
    assert!(!world.command_line("sample-storage-2").await.contains("knob_x"));
    assert!(world.is_available().await);
}

#[tokio::test(start_paused = true)]
async fn a_poke_brings_the_files_at_once() {
    let world = World::with_database().await;
    add_knob(&world);
    world.annotate(POD, POKE, Some("1767225700"));
    world.pass(0.1).await;
    assert!(world.annotation(POD, CURRENT).unwrap().contains("knob_x"));
    assert!(!world.annotation("sample-storage-2", CURRENT).unwrap().contains("knob_x"));
}

#[tokio::test(start_paused = true)]
async fn a_poke_that_is_no_number_brings_nothing() {
    let world = World::with_database().await;
    add_knob(&world);
    world.annotate(POD, POKE, Some("4c0a1b"));
    world.pass(30.0).await;
    assert!(!world.annotation(POD, CURRENT).unwrap().contains("knob_x"));
    world.pass(31.0).await;
    assert!(world.annotation(POD, CURRENT).unwrap().contains("knob_x"));
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_carried_out_changes_nothing() {
    let world = World::with_database().await;
    let before = world.command_line(POD).await;
    let broken = [
        "no JSON".to_owned(),
        r#"{"version":"7.3.69","arguments":[{"type":"Environment","source":"FDB_NOWHERE"}]}"#.to_owned(),
        r#"{"version":"7.4.1","arguments":[{"value":"--public_address=198.18.0.1:4501"}]}"#.to_owned(),
    ];
    for text in broken {
        world.edit_config_map(|data| drop(data.insert(key("storage"), text.clone())));
        world.pass(70.0).await;
        assert!(world.annotation(POD, CURRENT).unwrap().contains("--class=storage"), "{text}");
        world.kill(&[POD]).await;
        world.pass(10.0).await;
        assert_eq!(world.command_line(POD).await, before);
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_of_another_protocol_needs_the_sidecar() {
    let world = World::with_database().await;
    world.configure("storage", |configuration| configuration.version = "7.4.1".to_owned());
    world.pass(70.0).await;
    assert!(world.annotation(POD, CURRENT).unwrap().contains("7.3.69"));
    // Within the protocol, the program of the container is taken.
    world.configure("storage", |configuration| configuration.version = "7.3.80".to_owned());
    world.pass(70.0).await;
    assert!(world.annotation(POD, CURRENT).unwrap().contains("7.3.80"));
    world.kill(&[POD]).await;
    world.pass(10.0).await;
    assert_eq!(world.process(&world.address(POD)).await.unwrap().1["version"], "7.3.69");
}
