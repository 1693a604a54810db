//! What outlives a server, a pod, and all pods.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use quorate_fdb_client::{Call, Look};
use quorate_world::database::Lost;

use crate::world::{NAMESPACE, PODS, World};

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_made_again_with_its_volume_is_the_same_process_with_the_same_data() {
    let world = World::with_database().await;
    let (before, address) =
        (world.process(&world.address("sample-storage-1")).await.unwrap().0, world.address("sample-storage-1"));
    world.remove_pod("sample-storage-1").await;
    assert_eq!(world.truth(|database| database.copies().unwrap().kept), 2);
    world.add_pod("sample", "storage", 1);
    world.pass(15.0).await;
    assert_ne!(world.address("sample-storage-1"), address);
    assert_eq!(world.process(&world.address("sample-storage-1")).await.unwrap().0, before);
    assert_eq!(world.truth(|database| database.copies().unwrap().served), 2);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_keeps_its_data_in_itself_begins_anew() {
    let world = World::with_database().await;
    let before = world.process(&world.address("sample-stateless-1")).await.unwrap().0;
    world.remove_pod("sample-stateless-1").await;
    world.add_pod("sample", "stateless", 1);
    world.pass(15.0).await;
    assert_ne!(world.process(&world.address("sample-stateless-1")).await.unwrap().0, before);
    assert!(world.is_available().await);
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_is_lost_takes_its_data_with_it() {
    let world = World::with_database().await;
    world.lose_volume("sample-storage-1");
    world.pass(5.0).await;
    assert!(!world.runs("sample-storage-1"));
    assert_eq!(world.truth(|database| database.data_lost()), None);
    world.lose_volume("sample-storage-2");
    world.lose_volume("sample-storage-3");
    world.pass(5.0).await;
    assert!(matches!(world.truth(|database| database.data_lost()), Some(Lost::Shards(_))));
}

#[tokio::test(start_paused = true)]
async fn a_volume_without_its_claim_is_kept() {
    let world = World::with_database().await;
    for number in 1..=3 {
        let pod = format!("sample-storage-{number}");
        world.remove_pod(&pod).await;
        let claim = format!("{pod}-data");
        world.kubernetes().delete::<PersistentVolumeClaim>(NAMESPACE, &claim, None).unwrap();
    }
    world.pass(5.0).await;
    assert_eq!(world.truth(|database| database.data_lost()), None);
}

#[tokio::test(start_paused = true)]
async fn coordinators_with_names_survive_new_addresses_of_all_pods() {
    let world = World::with_database().await;
    let before: Vec<String> = (1..=3).map(|number| world.address(&format!("sample-log-{number}"))).collect();
    for (class, count) in PODS {
        for number in 1..=count {
            world.remove_pod(&format!("sample-{class}-{number}")).await;
        }
    }
    assert!(!world.is_available().await);
    world.add_all_pods("sample");
    world.pass(60.0).await;
    let after: Vec<String> = (1..=3).map(|number| world.address(&format!("sample-log-{number}"))).collect();
    assert!(before.iter().all(|address| !after.contains(address)));
    assert!(world.is_available().await);
    assert_eq!(world.truth(|database| database.data_lost()), None);
}

#[tokio::test(start_paused = true)]
async fn what_went_while_history_was_forgotten_is_noticed() {
    let world = World::with_database().await;
    let address = world.address("sample-storage-1");
    world.kubernetes().delete::<Pod>(NAMESPACE, "sample-storage-1", Some(0)).unwrap();
    world.lose_volume("sample-storage-2");
    world.kubernetes().compact(world.kubernetes().revision());
    world.pass(1.0).await;
    assert!(!world.truth(|database| database.runs(&address)));
    assert!(!world.runs("sample-storage-2"));
    assert!(world.runs("sample-storage-3"));
    assert!(world.call("sample", Call::Look(Look::default())).await.is_ok());
}
