//! Nodes, containers and servers that fail, and servers that are told to stand still.

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use quorate_world::kubelet::Fault;

use crate::world::{NAMESPACE, World};

const POD: &str = "sample-storage-1";

#[tokio::test(start_paused = true)]
async fn a_node_without_power_has_no_servers_and_they_come_back_with_it() {
    let world = World::with_database().await;
    world.lose_node(1, false);
    world.pass(1.0).await;
    assert!(!world.runs(POD) && !world.runs("sample-log-1") && world.runs("sample-storage-2"));
    world.pass(20.0).await;
    assert_eq!(world.process(&world.address(POD)).await, None);
    assert!(world.is_available().await);
    world.find_nodes();
    world.pass(15.0).await;
    assert!(world.runs(POD) && world.runs("sample-log-1"));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_only_cut_off_keeps_its_servers_and_hears_of_nothing() {
    let world = World::with_database().await;
    world.lose_node(1, true);
    world.pass(1.0).await;
    world.configure("storage", |configuration| configuration.run_servers = Some(false));
    world.kubernetes().delete::<Pod>(NAMESPACE, "sample-log-1", None).unwrap();
    world.pass(100.0).await;
    assert!(world.runs(POD) && world.runs("sample-log-1"));
    assert!(!world.runs("sample-storage-2"));
    world.find_nodes();
    world.pass(5.0).await;
    assert!(!world.runs(POD));
    assert!(world.kubernetes().get::<Pod>(NAMESPACE, "sample-log-1").is_err());
}

#[tokio::test(start_paused = true)]
async fn a_container_that_crashes_takes_its_servers_with_it() {
    let world = World::with_database().await;
    let crash = |after: i64| {
        let at = world.now() + SignedDuration::from_secs(after);
        let (namespace, container) = (NAMESPACE.to_owned(), "foundationdb".to_owned());
        let crash = Fault::ContainerCrashes { namespace, pod: POD.to_owned(), container, at, exit_code: 1 };
        world.cluster.change_settings(|settings| settings.faults.push(crash));
    };
    let before = world.process(&world.address(POD)).await.unwrap().0;
    crash(1);
    crash(2);
    world.pass(5.0).await;
    assert!(!world.runs(POD));
    world.pass(15.0).await;
    assert_eq!(world.process(&world.address(POD)).await.unwrap().0, before);
}

#[tokio::test(start_paused = true)]
async fn servers_that_crash_again_and_again_wait_longer_and_longer_but_killed_ones_do_not() {
    let world = World::with_database().await;
    let crash = || world.cluster.servers(|servers| servers.crash(NAMESPACE, POD, 1, world.now())).unwrap();
    for (down, up) in [(0.2, 0.2), (0.9, 0.2), (3.9, 0.2), (8.9, 0.2)] {
        crash();
        world.pass(down).await;
        assert!(!world.runs(POD), "{down}");
        world.pass(up).await;
        assert!(world.runs(POD), "{down}");
    }
    for _ in 0..10 {
        world.pass(10.0).await;
        world.kill(&[POD]).await;
        world.pass(0.5).await;
        assert!(world.runs(POD));
    }
}

#[tokio::test(start_paused = true)]
async fn an_isolated_pod_has_no_servers() {
    let world = World::with_database().await;
    world.annotate(POD, "foundationdb.org/isolate-process-group", Some("true"));
    world.pass(0.1).await;
    assert!(!world.runs(POD));
    world.pass(100.0).await;
    assert!(!world.runs(POD));
    world.annotate(POD, "foundationdb.org/isolate-process-group", None);
    world.pass(0.1).await;
    assert!(world.runs(POD));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_deleted_stops_its_servers_before_it_is_gone() {
    let world = World::with_database().await;
    world.kubernetes().delete::<Pod>(NAMESPACE, POD, None).unwrap();
    world.pass(0.1).await;
    assert!(!world.runs(POD));
}
