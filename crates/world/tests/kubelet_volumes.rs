//! Stories about volumes: how they are made, grow, and go.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each file of stories needs another part of the cluster")]

mod cluster;

use std::collections::BTreeMap;

use cluster::{Cluster, at, object};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use quorate_world::kubelet::{Fault, Reach, Window};
use serde_json::json;

/// Two zones, and a class for each reach that waits for its consumer.
fn cluster() -> Cluster {
    let mut cluster = Cluster::default();
    cluster.add_node("a1", "a");
    cluster.add_node("b1", "b");
    for (name, reach) in [("local", Reach::Host), ("zonal", Reach::Zone), ("network", Reach::Anywhere)] {
        let provisioner = format!("example.com/{name}");
        cluster.settings.provisioners.insert(provisioner.clone(), reach);
        cluster.add_class(name, json!({"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}));
    }
    cluster
}

/// Where the only volume can be reached from.
fn reach(cluster: &Cluster) -> Option<(String, String)> {
    let volume = cluster.volumes.values().next().unwrap().spec.as_ref().unwrap();
    let terms = volume.node_affinity.as_ref()?.required.as_ref()?.node_selector_terms.clone();
    let expression = terms[0].match_expressions.as_ref()?[0].clone();
    Some((expression.key.rsplit('/').next()?.to_owned(), expression.values?[0].clone()))
}

fn set_size(cluster: &mut Cluster, claim: &str, size: &str) {
    let spec = cluster.claims.get_mut(claim).unwrap().spec.as_mut().unwrap();
    let requests = BTreeMap::from([("storage".to_owned(), Quantity(size.to_owned()))]);
    spec.resources.as_mut().unwrap().requests = Some(requests);
}

fn size(cluster: &Cluster, claim: &str) -> String {
    cluster.claims[claim].status.as_ref().unwrap().capacity.as_ref().unwrap()["storage"].0.clone()
}

#[test]
fn a_claim_that_waits_gets_a_volume_where_its_pod_will_be() {
    for (class, expected) in [("local", Some(("hostname", "b1"))), ("zonal", Some(("zone", "b"))), ("network", None)] {
        let mut cluster = cluster();
        cluster.add_claim("data", class, None);
        cluster.run_until(10);
        assert!(cluster.volumes.is_empty(), "{class}");
        cluster.add_claim("data", class, Some("b1"));
        cluster.run_until(20);
        assert_eq!(cluster.claim_phase("data"), Some("Bound"), "{class}");
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(reach(&cluster), expected, "{class}");
    }
}

#[test]
fn a_claim_that_does_not_wait_gets_its_volume_at_once_where_fewest_are() {
    let mut cluster = cluster();
    cluster.add_class("at-once", json!({"provisioner": "example.com/zonal", "volumeBindingMode": "Immediate"}));
    cluster.add_claim("first", "at-once", None);
    cluster.run_until(1);
    assert_eq!(reach(&cluster), Some(("zone".to_owned(), "a".to_owned())));
    cluster.volumes.clear();
    cluster.claims.clear();
    let allowed = json!([{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["b"]}]}]);
    cluster.add_class(
        "only-b",
        json!({"provisioner": "example.com/zonal", "volumeBindingMode": "Immediate", "allowedTopologies": allowed}),
    );
    cluster.add_claim("second", "only-b", None);
    cluster.run_until(2);
    assert_eq!(reach(&cluster), Some(("zone".to_owned(), "b".to_owned())));
}

#[test]
fn a_pod_does_not_start_before_its_claim_is_bound() {
    let mut cluster = cluster();
    let during = Window { from: at(0), until: Some(at(60)) };
    cluster.settings.faults = vec![Fault::ProvisioningStuck { class: "zonal".to_owned(), during }];
    cluster.add_claim("data", "zonal", Some("a1"));
    cluster.add_pod("store", "a1", &["data"]);
    cluster.run_until(59);
    assert_eq!(cluster.container("store"), ("ContainerCreating".to_owned(), 0));
    cluster.run_until(61);
    assert_eq!(cluster.container("store"), ("running since 60".to_owned(), 0));
}

#[test]
fn a_volume_made_by_hand_serves_the_claim_it_suits() {
    let mut cluster = cluster();
    cluster.add_class("by-hand", json!({"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "Immediate"}));
    for (name, size) in [("large", "10Gi"), ("medium", "2Gi"), ("small", "1Mi")] {
        let spec = json!({"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "by-hand"});
        cluster.volumes.insert(name.to_owned(), object(json!({"metadata": {"name": name}, "spec": spec})));
    }
    cluster.add_claim("one", "by-hand", None);
    cluster.add_claim("two", "by-hand", None);
    cluster.add_claim("three", "by-hand", None);
    cluster.run_until(10);
    let volume = |claim: &str| cluster.claims[claim].spec.as_ref().unwrap().volume_name.clone();
    assert_eq!(volume("one").as_deref(), Some("medium"));
    assert_eq!(volume("three").as_deref(), Some("large"));
    assert_eq!(volume("two"), None);
    assert_eq!(size(&cluster, "one"), "2Gi");
}

#[test]
fn a_volume_grows_only_where_its_class_allows_it() {
    let mut cluster = cluster();
    cluster.add_class(
        "growing",
        json!({"provisioner": "example.com/zonal", "volumeBindingMode": "Immediate", "allowVolumeExpansion": true}),
    );
    cluster.add_claim("grows", "growing", None);
    cluster.add_claim("stays", "zonal", Some("a1"));
    cluster.run_until(10);
    set_size(&mut cluster, "grows", "5Gi");
    set_size(&mut cluster, "stays", "5Gi");
    cluster.run_until(20);
    assert_eq!(size(&cluster, "grows"), "5Gi");
    assert_eq!(size(&cluster, "stays"), "1Gi");
}

#[test]
fn a_claim_in_use_stays_until_its_pod_is_gone() {
    let mut cluster = cluster();
    cluster.add_claim("data", "zonal", Some("a1"));
    cluster.add_pod("store", "a1", &["data"]);
    cluster.run_until(10);
    cluster.delete_claim("data");
    cluster.run_until(1000);
    assert!(cluster.claims.contains_key("data"));
    assert_eq!(cluster.volumes.len(), 1);
    cluster.delete_pod("store", 30);
    cluster.run_until(1010);
    assert!(cluster.claims.is_empty());
    assert!(cluster.volumes.is_empty());
}

#[test]
fn a_volume_that_is_retained_outlives_its_claim_and_serves_no_other() {
    let mut cluster = cluster();
    cluster.add_class(
        "kept",
        json!({"provisioner": "example.com/zonal", "volumeBindingMode": "Immediate", "reclaimPolicy": "Retain"}),
    );
    cluster.add_claim("data", "kept", None);
    cluster.run_until(10);
    cluster.delete_claim("data");
    cluster.run_until(20);
    assert!(cluster.claims.is_empty());
    let (name, volume) = cluster.volumes.iter().next().unwrap();
    let name = name.clone();
    assert_eq!(volume.status.as_ref().unwrap().phase.as_deref(), Some("Released"));
    // A namesake is somebody else.
    cluster.add_claim("data", "kept", None);
    cluster.run_until(30);
    assert_eq!(cluster.volumes.len(), 2);
    assert_ne!(cluster.claims["data"].spec.as_ref().unwrap().volume_name, Some(name));
}

#[test]
fn a_claim_whose_volume_disappears_is_lost() {
    let mut cluster = cluster();
    cluster.add_claim("data", "zonal", Some("a1"));
    cluster.run_until(10);
    cluster.volumes.clear();
    cluster.run_until(20);
    assert_eq!(cluster.claim_phase("data"), Some("Lost"));
}
