//! What nobody plans: operators that die or meet, clocks that are wrong, everything lost at once, objects deleted.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use quorate_api::foundationdb::FoundationDBCluster;
use serde_json::json;

use super::stage::{CLUSTER, NAMESPACE, Stage};

#[tokio::test(start_paused = true)]
async fn an_operator_that_dies_after_every_few_writes_still_gives_birth() {
    let stage = Stage::unborn(json!({}));
    for writes in [1, 2, 3, 5, 8] {
        stage.wire.die_after_writes(writes);
        stage.pass(60).await;
    }
    stage.rest().await;
    assert_eq!((stage.view().pods().len(), stage.view().claims().len()), (11, 8));
    assert_eq!(stage.writes("database: create").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_dies_amid_a_replacement_is_taken_over_from() {
    let stage = Stage::born().await;
    let id = stage.view().live("log").remove(0);
    stage.apply(json!({"processGroupsToRemove": [id]}));
    for writes in 1..=4 {
        stage.wire.die_after_writes(writes);
        stage.pass(60).await;
    }
    stage.rest().await;
    assert!(!stage.view().has(&id));
    assert_eq!((stage.view().pods().len(), stage.view().claims().len()), (11, 8));
}

#[tokio::test(start_paused = true)]
async fn two_operators_on_one_object_make_nothing_twice() {
    let stage = Stage::unborn(json!({}));
    stage.start_operator();
    stage.rest().await;
    assert_eq!((stage.view().groups().len(), stage.view().pods().len(), stage.view().claims().len()), (11, 11, 8));
    assert_eq!(stage.writes("create pods").len(), 11);
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_sees_the_past_makes_nothing_twice() {
    let stage = Stage::born().await;
    let made = |what: &str| stage.writes(what).iter().filter(|line| line.ends_with("-> 201")).count();
    stage.stop_the_news(&["pods", "persistentvolumeclaims"]);
    stage.apply(json!({"processCounts": {"storage": 5}}));
    // Longer than the operator waits for what it made to be shown, and shorter than until one that is not seen counts as failed.
    stage.pass(60).await;
    let refused = stage.writes("create pods").iter().any(|line| line.ends_with("-> 409"));
    assert!(refused, "it sees no pod and makes it again, but a name can't be given twice");
    stage.bring_the_news();
    stage.rest().await;
    assert_eq!((stage.view().groups().len(), stage.view().pods().len(), stage.view().claims().len()), (12, 12, 9));
    assert_eq!((made("create pods"), made("create persistentvolumeclaims")), (12, 9));
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_sees_the_past_deletes_nothing_that_has_changed() {
    let stage = Stage::born().await;
    let storage = stage.view().live("storage");
    let uids = || -> Vec<Option<String>> { storage.iter().map(|id| stage.view().uid(id)).collect() };
    let before = uids();
    stage.stop_the_news(&["pods"]);
    for id in &storage {
        stage.annotate(id, "example.org/note", Some("of somebody else"));
    }
    let green = json!([{"name": "foundationdb", "env": [{"name": "COLOUR", "value": "green"}]}]);
    stage.apply(json!({"processes": {"storage": {"podTemplate": {"spec": {"containers": green}}}}}));
    stage.until("it tries to delete what it saw", |_| !stage.writes("delete pods").is_empty()).await;
    stage.pass(60).await;
    let deletions = stage.writes("delete pods");
    assert!(deletions.iter().all(|line| line.ends_with("-> 409")), "each names the pod as it was: {deletions:?}");
    assert_eq!(uids(), before);
    stage.bring_the_news();
    stage.rest().await;
    assert!(uids().iter().zip(&before).all(|(now, before)| now != before), "now they are made again");
    assert_eq!(stage.view().live("storage"), storage);
    assert_eq!(stage.view().pods().len(), 11);
}

#[tokio::test(start_paused = true)]
async fn an_operator_whose_clock_is_wrong_replaces_nobody() {
    let stage = Stage::born().await;
    let before = stage.view().groups();
    for off in [7200, -7200, 0] {
        stage.set_clock_off(off);
        let id = stage.view().live("storage").remove(0);
        let uid = stage.view().uid(&id);
        stage.kill(&id);
        stage.until("it has a new pod", |view| view.uid(&id).is_some() && view.uid(&id) != uid).await;
        stage.rest().await;
    }
    assert!(stage.view().groups().keys().eq(before.keys()));
}

#[tokio::test(start_paused = true)]
async fn all_pods_are_lost_and_their_volumes_kept() {
    let stage = Stage::born().await;
    let before = stage.view().groups();
    for id in before.keys() {
        stage.kill(id);
    }
    stage.until("it is down", |view| !view.is_available()).await;
    stage.until("it is back", |view: super::view::View<'_>| view.is_available()).await;
    stage.rest().await;
    assert!(stage.view().groups().keys().eq(before.keys()));
    assert_eq!(stage.writes("database: create").len(), 1, "the one from its birth");
}

#[tokio::test(start_paused = true)]
async fn all_pods_are_lost_and_with_them_every_address() {
    let stage = Stage::born_as(json!({"routing": {"useDNSInClusterFile": false}})).await;
    let before = stage.view().groups();
    for id in before.keys() {
        stage.kill(id);
    }
    stage.until("it is told", |view| view.held("CoordinatorsLost")).await;
    stage.pass(1800).await;
    assert_eq!((stage.view().pods().len(), stage.view().claims().len()), (11, 8), "for whoever writes the cluster files anew");
    assert!(stage.writes("delete").is_empty());
    assert_eq!(stage.writes("database: create").len(), 1, "the one from its birth");
    assert_eq!(stage.truth(|database| database.data_lost().map(|lost| lost.to_string())), None);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_leaves_its_volumes() {
    let stage = Stage::born().await;
    stage.kubernetes().delete::<FoundationDBCluster>(NAMESPACE, CLUSTER, None).unwrap();
    stage.pass(120).await;
    assert!(stage.kubernetes().list::<Pod>(NAMESPACE).unwrap().is_empty());
    assert_eq!(stage.kubernetes().list::<PersistentVolumeClaim>(NAMESPACE).unwrap().len(), 8);
    assert_eq!(stage.truth(|database| database.data_lost().map(|lost| lost.to_string())), None);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_that_is_made_again_has_its_data_if_it_names_its_database() {
    let stage = Stage::born().await;
    let (mut object, before) = (stage.view().object(), stage.view().groups());
    stage.kubernetes().delete::<FoundationDBCluster>(NAMESPACE, CLUSTER, None).unwrap();
    stage.pass(120).await;
    object["metadata"] = json!({"name": CLUSTER, "namespace": NAMESPACE});
    let status = object["status"].take();
    // Without a word about the database that its volumes are of, nothing begins.
    stage.kubernetes().create_value(object).unwrap();
    stage.pass(600).await;
    assert!(stage.view().held("VolumesOfAnEarlierLife"), "{:?}", stage.view().object()["status"]);
    assert!(stage.view().pods().is_empty());
    stage.apply(json!({"seedConnectionString": status["connectionString"]}));
    stage.rest().await;
    assert!(stage.view().groups().keys().filter(|id| !id.contains("stateless")).all(|id| before.contains_key(id)));
    assert_eq!((stage.view().pods().len(), stage.view().claims().len()), (11, 8));
    assert_eq!(stage.writes("database: create").len(), 1, "the one from its birth");
    assert_eq!(stage.truth(|database| database.data_lost().map(|lost| lost.to_string())), None);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_takes_its_volumes_if_it_said_so() {
    let stage = Stage::born_as(json!({"volumeRetentionPolicy": "Delete"})).await;
    stage.kubernetes().delete::<FoundationDBCluster>(NAMESPACE, CLUSTER, None).unwrap();
    stage.pass(120).await;
    assert!(stage.kubernetes().list::<Pod>(NAMESPACE).unwrap().is_empty());
    assert!(stage.kubernetes().list::<PersistentVolumeClaim>(NAMESPACE).unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn l99_clusters_come_and_go() {
    let stage = Stage::born_as(json!({"volumeRetentionPolicy": "Delete"})).await;
    for _ in 0..3 {
        let mut object = stage.view().object();
        stage.kubernetes().delete::<FoundationDBCluster>(NAMESPACE, CLUSTER, None).unwrap();
        stage.pass(120).await;
        object["metadata"] = json!({"name": CLUSTER, "namespace": NAMESPACE});
        object["status"].take();
        stage.kubernetes().create_value(object).unwrap();
        stage.rest().await;
    }
    assert_eq!((stage.view().pods().len(), stage.view().claims().len()), (11, 8));
}
