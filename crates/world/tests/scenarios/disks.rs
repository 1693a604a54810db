//! Volumes that are bound to the disks of their nodes.

use serde_json::json;

use super::stage::Stage;

#[tokio::test(start_paused = true)]
async fn a_node_that_is_lost_with_its_disks_is_made_up_for() {
    let stage = Stage::born_on_local_disks().await;
    let lost = stage.view().live("storage").remove(0);
    let node = stage.node(&lost);
    let here: Vec<String> = stage.view().groups().into_keys().filter(|id| stage.node(id) == node).collect();
    let kept: Vec<String> = here.into_iter().filter(|id| !id.starts_with("stateless")).collect();
    assert!(kept.contains(&lost));
    stage.kubernetes().delete::<k8s_openapi::api::core::v1::Node>("", &node, None).unwrap();
    stage.until("its disks are given up", |view| kept.iter().all(|id| !view.has(id))).await;
    stage.rest().await;
    assert_eq!((stage.view().live("storage").len(), stage.view().live("log").len()), (4, 4));
    assert_eq!(stage.truth(|database| database.data_lost().map(|lost| lost.to_string())), None);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_are_all_new_are_moved_to_with_all_data() {
    let stage = Stage::born_on_local_disks().await;
    let before = stage.view().live("storage");
    let ask = json!({"processes": {"storage": {"podTemplate": {"spec": {"containers": [], "nodeSelector": {"disk": "new"}}}}}});
    for name in ["node-d1", "node-d2", "node-d3", "node-d4"] {
        stage.add_node(name, ("disk", "new"));
    }
    stage.apply(ask);
    stage.until("they are gone", |view| before.iter().all(|id| !view.has(id))).await;
    stage.rest().await;
    let now = stage.view().live("storage");
    assert_eq!(now.len(), 4);
    assert!(now.iter().all(|id| stage.node(id).starts_with("node-d")));
    assert!(!stage.view().held("PodPending"), "nobody was made again where its volume is not");
    assert_eq!(stage.truth(|database| database.data_lost().map(|lost| lost.to_string())), None);
}

#[tokio::test(start_paused = true)]
async fn who_may_no_longer_be_on_its_node_moves_with_its_data() {
    let stage = Stage::born_on_local_disks().await;
    let first = stage.view().live("storage").remove(0);
    let left = stage.node(&first);
    stage.change_nodes(|node| {
        let disk = if node.metadata.name.as_ref() == Some(&left) { "slow" } else { "fast" };
        node.metadata.labels.get_or_insert_default().insert("disk".to_owned(), disk.to_owned());
    });
    let there =
        |class: &str| -> Vec<String> { stage.view().live(class).into_iter().filter(|id| stage.node(id) == left).collect() };
    let (storage, before) = (there("storage"), stage.view().live("storage"));
    stage.apply(
        json!({"processes": {"storage": {"podTemplate": {"spec": {"containers": [], "nodeSelector": {"disk": "fast"}}}}}}),
    );
    stage.until("they are gone", |view| storage.iter().all(|id| !view.has(id))).await;
    stage.rest().await;
    assert!(there("storage").is_empty());
    let stayed = before.iter().filter(|id| !storage.contains(id)).all(|id| stage.view().has(id));
    assert!(stayed, "the others are made again where their volumes are");
    assert_eq!(stage.truth(|database| database.data_lost().map(|lost| lost.to_string())), None);
}
