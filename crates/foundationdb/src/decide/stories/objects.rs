//! Pods, volumes, services, the ConfigMap and the disruption budget.

use jiff::SignedDuration;

use super::cluster::{Cluster, OUR_UID, codes, told};
use crate::ProcessClass::Storage;
use crate::{ClassTemplate, PodPhase};

#[test]
fn a_deleted_pod_is_made_again_with_its_volume() {
    let mut cluster = Cluster::usual();
    cluster.kube.pods.remove("sample-storage-8");
    cluster.kill("storage-8");
    assert_eq!(told(&cluster.decided()), ["create pod sample-storage-8", "keep 11 pods"]);
}

#[test]
fn an_object_is_found_by_its_labels_whatever_others_are_asked_for() {
    let mut cluster = Cluster::usual();
    let identity =
        ["foundationdb.org/fdb-cluster-name", "foundationdb.org/fdb-process-group-id", "foundationdb.org/fdb-process-class"];
    cluster.desired.labels = crate::Labels {
        matching: [("app".to_owned(), "mine".to_owned())].into(),
        resource: identity.map(|key| (key.to_owned(), "somebody else".to_owned())).into(),
        group: vec!["group".to_owned()],
        class: vec!["class".to_owned()],
    };
    let (id, group) = cluster.kube.recorded.groups.iter().find(|(id, _)| id.0 == "storage-8").unwrap();
    let pod = crate::objects::pod(&cluster.desired, id, group, None);
    let claim = crate::objects::claim(&cluster.desired, id, group);
    for labels in [pod.metadata.labels.unwrap(), claim.metadata.labels.unwrap()] {
        assert_eq!(identity.map(|key| labels[key].as_str()), ["sample", "storage-8", "storage"]);
        assert_eq!(["app", "group", "class"].map(|key| labels[key].as_str()), ["mine", "storage-8", "storage"]);
    }
    let service = crate::objects::headless_service(&cluster.desired);
    let map = crate::objects::config_map(&cluster.desired, None, []);
    let budget = crate::objects::disruption_budget(&cluster.desired, 1);
    for metadata in [service.metadata, map.metadata, budget.metadata] {
        assert_eq!(metadata.labels.unwrap()[identity[0]], "sample");
    }
}

#[test]
fn pods_are_selected_alike_before_and_after_other_labels_are_asked_for() {
    let mut cluster = Cluster::usual();
    let (id, group) = cluster.kube.recorded.groups.iter().find(|(id, _)| id.0 == "storage-8").unwrap();
    let (id, group) = (id.clone(), group.clone());
    let selects = |desired: &crate::Desired| {
        let service = crate::objects::headless_service(desired).spec.unwrap().selector;
        let of_pod = crate::objects::pod_service(desired, Storage, &id).spec.unwrap().selector;
        let budget = crate::objects::disruption_budget(desired, 1).spec.unwrap().selector;
        let affinity = crate::objects::pod(desired, &id, &group, None).spec.unwrap().affinity;
        (service, of_pod, budget, affinity)
    };
    let before = selects(&cluster.desired);
    cluster.desired.labels = crate::Labels {
        matching: [("app".to_owned(), "mine".to_owned())].into(),
        resource: [("app".to_owned(), "mine".to_owned())].into(),
        group: vec!["group".to_owned()],
        class: vec!["class".to_owned()],
    };
    assert_eq!(selects(&cluster.desired), before);
}

#[test]
fn an_empty_process_group_that_stays_is_not_evicted_for() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.desired.automation.removal = crate::AtOnce::Nothing;
    cluster.until(|decision| decision.status.groups.values().any(|group| group.exclusion.is_some()));
    cluster.rounds(60);
    let pods = cluster.kube.pods.len();
    assert_eq!(pods, 12, "one more than was asked for");
    let kept = cluster.kube.disruption_budget.as_ref().unwrap().min_available.unwrap();
    assert_eq!(kept, 11, "one of those that are there may be evicted, whoever it is");
}

#[test]
fn a_pod_that_ended_is_cleared_away_by_its_uid_and_written_down_first() {
    let mut cluster = Cluster::usual();
    cluster.pod("storage-8").phase = PodPhase::Failed;
    let decision = cluster.round(5);
    assert!(told(&decision).contains(&"delete pod sample-storage-8".to_owned()));
    assert!(decision.status.journal.0.contains_key("sample-storage-8"));
    assert!(cluster.round(5).status.journal.0.is_empty(), "once it is gone the entry is too");
}

#[test]
fn a_pod_that_ends_as_soon_as_it_begins_is_not_made_again_without_a_pause() {
    let mut cluster = Cluster::usual();
    cluster.kube.pods.remove("sample-storage-8");
    cluster.rounds(1);
    cluster.pod("storage-8").phase = PodPhase::Failed;
    let created = cluster.pod("storage-8").created;
    let decision = cluster.decided();
    assert!(!told(&decision).contains(&"delete pod sample-storage-8".to_owned()));
    assert!(decision.wake.0.unwrap() <= created + SignedDuration::from_secs(30));
    assert!(codes(&decision).contains(&"PodNotReady"), "what is waited for is said");
}

#[test]
fn what_is_being_deleted_is_waited_for() {
    let mut cluster = Cluster::usual();
    cluster.pod("storage-8").deleted_since = Some(cluster.now);
    cluster.kube.claims.get_mut("sample-storage-9-data").unwrap().deleted_since = Some(cluster.now);
    let decision = cluster.decided();
    assert!(told(&decision).iter().all(|step| step.starts_with("keep")), "{:?}", told(&decision));
    assert!(codes(&decision).contains(&"PodTerminating") && codes(&decision).contains(&"ClaimTerminating"));
}

#[test]
fn somebody_elses_pod_and_config_map_are_not_touched() {
    let mut cluster = Cluster::usual();
    cluster.pod("storage-8").owner = Some("somebody else".to_owned());
    cluster.pod("storage-8").phase = PodPhase::Failed;
    cluster.desired.log_group = "another".to_owned();
    cluster.desired.automation.deletion = crate::AtOnce::Nothing;
    cluster.desired.automation.pod_update = crate::PodUpdate::Delete;
    cluster.kube.config_map.as_mut().unwrap().owner = None;
    let decision = cluster.decided();
    assert!(told(&decision).iter().all(|step| step.starts_with("keep")), "{:?}", told(&decision));
    assert!(codes(&decision).contains(&"PodNotOurs") && codes(&decision).contains(&"ConfigMapNotOurs"));
}

#[test]
fn what_others_added_to_the_config_map_stays() {
    let mut cluster = Cluster::usual();
    let map = cluster.kube.config_map.as_mut().unwrap();
    map.data.insert("theirs".to_owned(), "kept".to_owned());
    map.data.insert("cluster-file".to_owned(), "somebody wrote this".to_owned());
    assert_eq!(told(&cluster.round(5)), ["write the ConfigMap"]);
    let data = &cluster.kube.config_map.as_ref().unwrap().data;
    assert_eq!((data["theirs"].as_str(), &data["cluster-file"]), ("kept", &cluster.database.connection));
}

#[test]
fn labels_of_the_config_map_are_taken_back() {
    let mut cluster = Cluster::usual();
    cluster.kube.config_map.as_mut().unwrap().labels.insert("theirs".to_owned(), "kept".to_owned());
    let plain = cluster.kube.config_map.clone().unwrap();
    cluster.desired.labels.resource = [("team".to_owned(), "green".to_owned())].into();
    assert!(told(&cluster.round(5)).contains(&"write the ConfigMap".to_owned()));
    assert_eq!(cluster.kube.config_map.as_ref().unwrap().labels["team"], "green");
    cluster.desired.labels.resource.clear();
    assert!(told(&cluster.round(5)).contains(&"write the ConfigMap".to_owned()));
    assert_eq!(cluster.kube.config_map.as_ref(), Some(&plain));
    assert!(cluster.rounds(3).is_empty());
}

fn with_volumes_of(cluster: &mut Cluster, size: &str) {
    let claim = serde_json::json!({"spec": {"resources": {"requests": {"storage": size}}}});
    let claim = Some(serde_json::from_value(claim).unwrap());
    cluster.desired.templates.insert(Storage, ClassTemplate { claim, ..ClassTemplate::default() });
}

#[test]
fn volumes_grow_in_place_or_are_replaced_and_never_shrink() {
    let mut cluster = Cluster::usual();
    with_volumes_of(&mut cluster, "256G");
    let done = told(&cluster.decided());
    assert_eq!(done.iter().filter(|step| step.ends_with("to 256G")).count(), 4, "{done:?}");
    cluster.kube.claims.values_mut().for_each(|claim| claim.may_grow = None);
    assert!(codes(&cluster.decided()).contains(&"StorageClassUnknown"));
    cluster.kube.claims.values_mut().for_each(|claim| claim.may_grow = Some(false));
    cluster.round(5);
    assert_eq!(cluster.marked().len(), 4);
    let mut cluster = Cluster::usual();
    with_volumes_of(&mut cluster, "64G");
    let decision = cluster.decided();
    assert_eq!((told(&decision), codes(&decision)), (vec![], vec!["VolumeCantShrink"; 4]));
}

#[test]
fn nobody_is_replaced_for_a_storage_class_that_does_not_exist() {
    let mut cluster = Cluster::usual();
    cluster.kube.storage_classes = Some(["standard".to_owned()].into());
    let claim = |class: &str| Some(serde_json::from_value(serde_json::json!({"spec": {"storageClassName": class}})).unwrap());
    cluster.desired.templates.insert(Storage, ClassTemplate { claim: claim("standrad"), ..ClassTemplate::default() });
    cluster.rounds(100);
    assert_eq!(cluster.marked(), [""; 0]);
    let decision = cluster.decided();
    let hold = decision.holds.iter().find(|hold| hold.reason.0 == "StorageClassUnknown").unwrap();
    assert_eq!((hold.about.as_str(), hold.measured.as_str(), hold.threshold.as_str()), ("storage", "standard", "standrad"));
    // Where nobody looked, nothing is said; and what exists is what they are replaced for.
    cluster.kube.storage_classes = None;
    assert!(!codes(&cluster.decided()).contains(&"StorageClassUnknown"));
    cluster.kube.storage_classes = Some(["standard", "standrad"].map(str::to_owned).into());
    cluster.round(5);
    assert_eq!(cluster.marked().len(), 4);
}

#[test]
fn volumes_outlive_the_object_unless_somebody_said_otherwise() {
    let mut cluster = Cluster::usual();
    let owners =
        |cluster: &Cluster| -> Vec<Vec<String>> { cluster.kube.claims.values().map(|claim| claim.owners.clone()).collect() };
    assert_eq!(owners(&cluster), vec![Vec::<String>::new(); 8]);
    cluster.desired.delete_volumes = true;
    cluster.round(5);
    assert_eq!(owners(&cluster), vec![vec![OUR_UID.to_owned()]; 8]);
    cluster.desired.delete_volumes = false;
    cluster.round(5);
    assert_eq!(owners(&cluster), vec![Vec::<String>::new(); 8]);
}

#[test]
fn who_else_owns_a_claim_is_not_for_us_to_say() {
    let mut cluster = Cluster::usual();
    for claim in cluster.kube.claims.values_mut() {
        claim.owners.push("somebody".to_owned());
    }
    assert!(told(&cluster.round(5)).is_empty(), "its volume outlives us as it is");
    cluster.desired.delete_volumes = true;
    cluster.round(5);
    let both = ["somebody".to_owned(), OUR_UID.to_owned()];
    assert!(cluster.kube.claims.values().all(|claim| claim.owners == both), "and with us it goes, if that is asked for");
}

#[test]
fn a_pod_waits_for_the_address_of_its_service() {
    let mut cluster = Cluster::new(&[(Storage, 3)]);
    cluster.desired.routing.service_per_pod = true;
    let decision = cluster.round(5);
    assert!(!told(&decision).iter().any(|step| step.starts_with("create pod")));
    assert!(codes(&decision).contains(&"ServiceWithoutAddress"));
    let done = told(&cluster.round(5));
    assert!(done.contains(&"create pod sample-storage-1".to_owned()), "{done:?}");
}

#[test]
fn a_service_that_was_deleted_comes_back_with_the_address_that_its_servers_announce() {
    let mut cluster = Cluster::new(&[(Storage, 4), (crate::ProcessClass::Log, 4), (crate::ProcessClass::Stateless, 3)]);
    cluster.desired.routing.service_per_pod = true;
    let mut cluster = cluster.settled();
    let before = cluster.kube.services["sample-storage-8"].address.clone();
    let others = cluster.kube.services["sample-storage-9"].address.clone();
    assert!(before.is_some() && before != others);
    cluster.kube.services.remove("sample-storage-8");
    assert_eq!(told(&cluster.round(5)), ["create service sample-storage-8"]);
    assert_eq!(cluster.kube.services["sample-storage-8"].address, before);
    // Where pods are only to get addresses from services, those of pods are nobody else's.
    let mut cluster = Cluster::usual();
    cluster.desired.routing.service_per_pod = true;
    cluster.pod("storage-8").addresses = vec!["10.9.9.9".to_owned()];
    cluster.round(5);
    let announced = cluster.pod("storage-8").environment["FDB_PUBLIC_IP"].clone();
    assert_ne!(cluster.kube.services["sample-storage-8"].address, Some(announced));
}

#[test]
fn others_may_evict_as_many_pods_as_the_database_can_do_without() {
    let mut cluster = Cluster::usual();
    let kept = |cluster: &Cluster| cluster.kube.disruption_budget.as_ref().unwrap().min_available;
    assert_eq!(kept(&cluster), Some(10));
    cluster.kill("storage-8");
    cluster.pass(10);
    cluster.rounds(2);
    assert_eq!(kept(&cluster), Some(11));
    cluster.dead.clear();
    cluster.rounds(30);
    assert_eq!(kept(&cluster), Some(10));
}
