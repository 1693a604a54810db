//! Process groups that a user asks to go, and what may stand in their way.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use quorate_fdb_client::{Answer, Call, Commit, FoundationDb, Management, Target};
use serde_json::{Value, json};

use super::stage::{CLUSTER, NAMESPACE, Stage};

async fn a_coordinator_is_replaced(stage: &Stage, excluded_by: &str) {
    let victim = stage.view().coordinators().pop_first().unwrap();
    let before = stage.recoveries();
    stage.apply(json!({"processGroupsToRemove": [victim]}));
    stage.until("it is gone", |view| !view.has(&victim)).await;
    stage.rest().await;
    let coordinators = stage.view().coordinators();
    assert_eq!(coordinators.len(), 3);
    assert!(!coordinators.contains(&victim));
    let story = stage.wire.story();
    let place = |what: &str| story.iter().position(|line| line.contains(what));
    assert!(place("database: coordinators") < place("database: exclude"), "coordinators first: {story:?}");
    assert!(stage.writes("database: exclude").iter().all(|line| line.contains(excluded_by)), "{story:?}");
    assert!(stage.recoveries() - before <= 3, "{} recoveries", stage.recoveries() - before);
}

#[tokio::test(start_paused = true)]
async fn a03_replace_a_coordinator_with_exclusion_by_address() {
    let stage = Stage::born_as(json!({"automationOptions": {"useLocalitiesForExclusion": false}})).await;
    a_coordinator_is_replaced(&stage, "exclude 1").await;
}

#[tokio::test(start_paused = true)]
async fn a04_replace_a_coordinator_with_exclusion_by_locality() {
    let stage = Stage::born().await;
    a_coordinator_is_replaced(&stage, "exclude locality_instance_id:").await;
}

#[tokio::test(start_paused = true)]
async fn a07_a_pod_that_finds_no_node_is_removed_on_request() {
    let stage = Stage::born().await;
    let id = stage.view().live("storage").remove(0);
    stage.apply(json!({"buggify": {"noSchedule": [id]}}));
    stage.until("its pod is pending", |view| view.conditions(&id).contains("PodPending")).await;
    stage.apply(json!({"processGroupsToRemove": [id]}));
    stage.until("it is gone", |view| !view.has(&id)).await;
    stage.rest().await;
    assert_eq!(stage.view().live("storage").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a07_a_pod_that_never_had_an_address_is_removed_on_request() {
    let stage = Stage::born_as(json!({"automationOptions": {"useLocalitiesForExclusion": false}})).await;
    let before = stage.view().groups();
    stage.cordon(true);
    stage.apply(json!({"processCounts": {"storage": 5}}));
    stage.until("a fifth waits for a node", |view| view.live("storage").len() == 5 && view.held("PodPending")).await;
    let id = stage.view().live("storage").into_iter().find(|id| !before.contains_key(id)).unwrap();
    stage.apply(json!({"processGroupsToRemove": [id]}));
    stage.until("it is gone", |view| !view.has(&id)).await;
    stage.cordon(false);
    stage.rest().await;
    assert_eq!(stage.view().live("storage").len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a08_one_finds_no_node_and_another_is_replaced_once_enough_serve() {
    let stage = Stage::born().await;
    let [stuck, other]: [String; 2] = stage.view().live("storage")[..2].to_vec().try_into().unwrap();
    stage.apply(json!({"buggify": {"noSchedule": [stuck]}}));
    stage.until("its pod is pending", |view| view.conditions(&stuck).contains("PodPending")).await;
    stage.pass(20).await;
    stage.apply(json!({"processGroupsToRemove": [other]}));
    stage.until("what is missing is said", |view| view.held("NoHeadroom")).await;
    stage.pass(30).await;
    assert_eq!(stage.writes("database: exclude"), Vec::<String>::new(), "with the one that is stuck, too few would serve");
    stage.apply(json!({"buggify": null}));
    stage.until("the other is gone", |view| !view.has(&other)).await;
    stage.rest().await;
    assert!(stage.view().has(&stuck), "nobody asked for it to go");
}

#[tokio::test(start_paused = true)]
async fn a16_replace_several() {
    let stage = Stage::born().await;
    let view = stage.view();
    let victims: Vec<String> = ["storage", "log", "stateless"].iter().flat_map(|class| view.live(class)[..2].to_vec()).collect();
    stage.apply(json!({"processGroupsToRemove": victims}));
    stage.until("they are gone", |view| victims.iter().all(|id| !view.has(id))).await;
    stage.rest().await;
    assert_eq!(stage.view().pods().len(), 11);
    let exclusions = stage.writes("database: exclude");
    let logs = exclusions.iter().filter(|line| line.contains("id:log") || line.contains("id:stateless")).count();
    assert_eq!(logs, 1, "the transaction system goes in one transaction: {exclusions:?}");
}

#[tokio::test(start_paused = true)]
async fn a17_replace_a_pod_that_does_not_end() {
    let stage = Stage::born().await;
    let id = stage.view().live("storage").remove(0);
    stage.stick(&id);
    stage.apply(json!({"processGroupsToRemove": [id]}));
    stage
        .until("its data is elsewhere", |view| {
            let groups = view.status()["processGroups"].take();
            groups
                .as_array()
                .unwrap()
                .iter()
                .any(|group| group["processGroupID"] == id.as_str() && group["exclusionTimestamp"].is_string())
        })
        .await;
    stage.until("four others serve", |view| view.live("storage").iter().all(|id| !view.processes(id).is_empty())).await;
    assert!(stage.view().has(&id), "as long as its pod is there, it is not forgotten");
    stage.unstick(&id);
    stage.rest().await;
    assert!(!stage.view().has(&id));
}

#[tokio::test(start_paused = true)]
async fn a24_a_volume_claim_that_does_not_go() {
    let stage = Stage::born().await;
    let id = stage.view().live("storage").remove(0);
    let name = stage.view().claims()[&id]["metadata"]["name"].as_str().unwrap().to_owned();
    let mut claim: PersistentVolumeClaim = stage.kubernetes().get(NAMESPACE, &name).unwrap();
    claim.metadata.finalizers.get_or_insert_default().push("example.org/stuck".to_owned());
    stage.kubernetes().update(&claim).unwrap();
    stage.apply(json!({"processGroupsToRemove": [id]}));
    stage.until("its pod is gone", |view| view.pod(&id).is_none()).await;
    stage.stays("its group waits for the claim", 300, |view| view.has(&id)).await;
    assert_eq!(stage.view().live("storage").len(), 4, "and nobody else does");
    let mut claim: PersistentVolumeClaim = stage.kubernetes().get(NAMESPACE, &name).unwrap();
    claim.metadata.finalizers.as_mut().unwrap().retain(|one| one != "example.org/stuck");
    stage.kubernetes().update(&claim).unwrap();
    stage.rest().await;
    assert!(!stage.view().has(&id));
}

async fn by_hand(stage: &Stage, manage: Management) {
    let connection = stage.truth(|database| database.connection());
    let target = Target { cluster: format!("{NAMESPACE}/{CLUSTER}"), connection, version: "7.3.69".to_owned(), tls: None };
    let call = Call::Commit(Commit { manage: Some(manage), ..Commit::default() });
    let answer = stage.databases().call(&target, call, std::time::Duration::from_secs(30)).await;
    assert_eq!(answer, Ok(Answer::Committed));
}

#[tokio::test(start_paused = true)]
async fn a31_a_process_excluded_by_hand_is_replaced() {
    let stage = Stage::born().await;
    let id = stage.view().live("storage").remove(0);
    by_hand(&stage, Management::Exclude(vec![format!("locality_instance_id:{id}")])).await;
    stage.until("it is gone", |view| !view.has(&id)).await;
    stage.rest().await;
    assert_eq!(stage.view().live("storage").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a32_a_process_under_maintenance_is_not_replaced() {
    let stage = Stage::born().await;
    let id = stage.view().live("storage").remove(0);
    by_hand(&stage, Management::Maintain { zone: stage.node(&id), seconds: 3600 }).await;
    stage.part(&id);
    stage.until("it is missed", |view| view.conditions(&id).contains("MissingProcesses")).await;
    // Anywhere else it would be replaced after two minutes.
    stage.stays("nobody is to go", 900, |view| view.groups().values().all(|group| !group.going)).await;
    by_hand(&stage, Management::EndMaintenance).await;
    stage.until("it is gone", |view| !view.has(&id)).await;
    stage.rest().await;
    assert_eq!(stage.view().live("storage").len(), 4);
}

fn is_excluded(configuration: &Value, id: &str) -> bool {
    let excluded = configuration["excluded_servers"].as_array().into_iter().flatten();
    excluded.into_iter().any(|place| place["locality"] == format!("locality_instance_id:{id}"))
}

#[tokio::test(start_paused = true)]
async fn a41_a_group_included_by_hand_is_excluded_again() {
    let stage = Stage::born_as(json!({"automationOptions": {"removalMode": "None"}})).await;
    let id = stage.view().live("storage").remove(0);
    stage.apply(json!({"processGroupsToRemove": [id]}));
    stage.until("it is empty and stays", |view| view.held("RemovalHeld")).await;
    by_hand(&stage, Management::Include(vec![format!("locality_instance_id:{id}")])).await;
    assert!(!is_excluded(&stage.view().configuration(), &id));
    stage.until("it is excluded again", |view| is_excluded(&view.configuration(), &id)).await;
    stage.apply(json!({"automationOptions": {"removalMode": "All"}}));
    stage.rest().await;
    assert!(!stage.view().has(&id));
}

#[tokio::test(start_paused = true)]
async fn l100_one_replacement_after_the_other() {
    let stage = Stage::born().await;
    for turn in 0..6 {
        let class = ["storage", "log", "stateless"][turn % 3];
        let id = stage.view().live(class).remove(0);
        stage.apply(json!({"processGroupsToRemove": [id]}));
        stage.until("it is gone", |view| !view.has(&id)).await;
        stage.rest().await;
    }
    assert_eq!(stage.view().pods().len(), 11);
    assert_eq!(stage.view().claims().len(), 8, "no volume is left behind");
}

#[tokio::test(start_paused = true)]
async fn a_group_is_removed_without_exclusion_when_a_user_insists() {
    let stage = Stage::born().await;
    let id = stage.view().live("storage").remove(0);
    stage.apply(json!({"processGroupsToRemoveWithoutExclusion": [id]}));
    stage.until("it is gone", |view| !view.has(&id)).await;
    assert!(stage.writes("database: exclude").is_empty());
    stage.rest().await;
    assert_eq!(stage.view().live("storage").len(), 4);
}
