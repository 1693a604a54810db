//! The harness itself: control planes come up, several at once, and leave nothing behind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use quorate_e2e::ControlPlane;

#[tokio::test]
async fn three_control_planes_run_at_once_and_end_with_their_owner() {
    let started: Vec<_> = std::thread::scope(|scope| {
        let starting: Vec<_> =
            (0..3).map(|number| scope.spawn(move || ControlPlane::start(&format!("three-{number}")).unwrap())).collect();
        starting.into_iter().map(|control_plane| control_plane.join().unwrap()).collect()
    });
    for control_plane in &started {
        let client = control_plane.client().await.unwrap();
        assert_eq!(client.apiserver_version().await.unwrap().git_version, control_plane.version());
        // A namespace made on one is not seen on the others.
        control_plane.case("alone").await.unwrap();
        let names: Vec<_> = Api::<Namespace>::all(client).list(&kube::api::ListParams::default()).await.unwrap().items;
        assert_eq!(names.iter().filter(|namespace| namespace.metadata.name.as_deref() == Some("alone-0")).count(), 1);
    }
    let pids: Vec<_> = started.iter().flat_map(ControlPlane::pids).collect();
    let folders: Vec<_> = started.iter().map(|control_plane| control_plane.kubeconfig().parent().unwrap().to_owned()).collect();
    assert_eq!(pids.len(), 12);
    drop(started);
    for pid in pids {
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "process {pid} is still there");
    }
    for folder in folders {
        assert!(!folder.exists(), "{} is still there", folder.display());
    }
}

#[test]
fn a_control_plane_ends_when_its_test_panics_and_its_logs_are_kept() {
    let (send, receive) = std::sync::mpsc::channel();
    let panicked = std::thread::spawn(move || {
        let control_plane = ControlPlane::start("panics").unwrap();
        send.send((control_plane.pids(), control_plane.kept_logs().to_owned())).unwrap();
        panic!("on purpose");
    });
    assert!(panicked.join().is_err());
    let (pids, logs) = receive.recv().unwrap();
    for pid in pids {
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "process {pid} is still there");
    }
    assert!(logs.join("kube-apiserver.log").exists(), "no log in {}", logs.display());
    std::fs::remove_dir_all(logs).unwrap();
}
