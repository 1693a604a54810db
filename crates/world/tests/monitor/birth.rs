//! From pods to a database.

use quorate_fdb_client::{Answer, Call, Failure, Look};
use serde_json::json;

use crate::world::{NAMESPACE, World, connection, node};

#[tokio::test(start_paused = true)]
async fn pods_come_up_as_a_database_that_can_be_created() {
    let world = World::with_pods().await;
    let status = world.status().await;
    assert_eq!(status["cluster"]["processes"].as_object().unwrap().len(), 8);
    assert!(!world.is_available().await);
    assert_eq!(world.create_database().await, Ok(Answer::Committed));
    world.pass(10.0).await;
    assert!(world.is_available().await);

    let address = world.address("sample-storage-2");
    let (_, process) = world.process(&address).await.unwrap();
    assert_eq!(process["class_type"], "storage");
    assert_eq!(process["version"], "7.3.69");
    assert_eq!(process["locality"]["instance_id"], "storage-2");
    assert_eq!(process["locality"]["zoneid"], node(2));
    assert_eq!(process["locality"]["dns_name"], "sample-storage-2.sample.default.svc.cluster.local");
    let ip = address.strip_suffix(":4501").unwrap();
    let expected = format!(
        "/usr/bin/fdbserver --cluster_file=/var/fdb/data/fdb.cluster --seed_cluster_file=/var/dynamic-conf/fdb.cluster \
         --public_address=[{ip}]:4501 --class=storage --datadir=/var/fdb/data/1 --locality_instance_id=storage-2 \
         --locality_machineid=node-2 --locality_zoneid=node-2 --locality_dns_name=sample-storage-2.sample.default.svc.cluster.local"
    );
    assert_eq!(process["command_line"], expected);
}

#[tokio::test(start_paused = true)]
async fn a_monitor_writes_on_its_pod_what_it_goes_by() {
    let world = World::with_pods().await;
    let current = world.annotation("sample-log-1", "foundationdb.org/launcher-current-configuration").unwrap();
    world.edit_config_map(|data| assert_eq!(data["fdbmonitor-conf-log-json"], current));
    let environment = world.annotation("sample-log-1", "foundationdb.org/launcher-environment").unwrap();
    let ip = world.address("sample-log-1").replace(":4501", "");
    let expected = json!({
        "BINARY_DIR": "/usr/bin", "FDB_DNS_NAME": "sample-log-1.sample.default.svc.cluster.local", "FDB_INSTANCE_ID": "log-1",
        "FDB_MACHINE_ID": "node-1", "FDB_PUBLIC_IP": ip, "FDB_ZONE_ID": "node-1",
    });
    assert_eq!(environment, expected.to_string());
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_before_there_is_a_connection_string() {
    let world = World::empty();
    world.add_config_map("sample", "");
    world.add_all_pods("sample");
    world.pass(120.0).await;
    let unknown = world.call("sample", Call::Look(Look::default())).await;
    assert!(matches!(unknown, Err(Failure::Unavailable(_))), "{unknown:?}");

    world.edit_config_map(|data| drop(data.insert("cluster-file".to_owned(), connection())));
    for class in ["storage", "log", "stateless"] {
        world.configure(class, |configuration| configuration.run_servers = Some(false));
    }
    world.pass(120.0).await;
    assert!(matches!(world.call("sample", Call::Look(Look::default())).await, Err(Failure::Unavailable(_))));

    for class in ["storage", "log", "stateless"] {
        world.configure(class, |configuration| configuration.run_servers = Some(true));
    }
    world.pass(70.0).await;
    assert_eq!(world.create_database().await, Ok(Answer::Committed));
}

#[tokio::test(start_paused = true)]
async fn pods_that_were_there_before_their_config_map_do_not_wait_for_another_minute() {
    let world = World::empty();
    world.add_all_pods("sample");
    world.pass(10.0).await;
    world.add_config_map("sample", &connection());
    world.pass(5.0).await;
    assert_eq!(world.create_database().await, Ok(Answer::Committed));
}

#[tokio::test(start_paused = true)]
async fn two_servers_in_a_pod_share_its_volume_and_nothing_else() {
    let world = World::empty();
    world.add_config_map("sample", &connection());
    for number in 1..=3 {
        world.add_pod("sample", "log", number);
    }
    world.add_changed_pod("sample", "storage", 1, |pod| {
        pod["spec"]["containers"][0]["args"] = json!(["--input-dir", "/var/dynamic-conf", "--process-count", "2"]);
    });
    world.pass(10.0).await;
    let first = world.address("sample-storage-1");
    let second = first.replace(":4501", ":4503");
    let (one, _) = world.process(&first).await.unwrap();
    let (other, process) = world.process(&second).await.unwrap();
    assert_ne!(one, other);
    assert!(process["command_line"].as_str().unwrap().contains("--datadir=/var/fdb/data/2"));

    world.remove_pod("sample-storage-1").await;
    world.add_pod("sample", "storage", 1);
    world.pass(10.0).await;
    assert_eq!(world.process(&world.address("sample-storage-1")).await.unwrap().0, one);
}

#[tokio::test(start_paused = true)]
async fn labels_of_the_node_are_there_for_who_asks() {
    let world = World::empty();
    world.add_config_map("sample", &connection());
    world.configure("log", |configuration| {
        let text = serde_json::to_string(&configuration).unwrap();
        let zone = "NODE_LABEL_TOPOLOGY_KUBERNETES_IO_ZONE";
        *configuration = serde_json::from_str(&text.replace("FDB_ZONE_ID", zone)).unwrap();
    });
    for number in 1..=3 {
        world.add_changed_pod("sample", "log", number, |pod| {
            let environment = pod["spec"]["containers"][0]["env"].as_array_mut().unwrap();
            environment.push(json!({"name": "ENABLE_NODE_WATCH", "value": "true"}));
        });
    }
    world.pass(15.0).await;
    let (_, process) = world.process(&world.address("sample-log-3")).await.unwrap();
    assert_eq!(process["locality"]["zoneid"], "zone-3");
}

#[tokio::test(start_paused = true)]
async fn cluster_objects_with_the_same_connection_string_share_a_database() {
    let world = World::with_pods().await;
    world.add_config_map("other", &connection());
    world.add_pod("other", "storage", 1);
    world.pass(15.0).await;
    let (seen, same) = (world.status_of("other").await, world.status().await);
    assert_eq!(seen["cluster"]["processes"].as_object().unwrap().len(), 9);
    assert_eq!(seen["cluster"]["processes"].as_object().unwrap().len(), same["cluster"]["processes"].as_object().unwrap().len());
    // One with a string of its own has a database of its own.
    world.add_config_map("third", "third:id@third-storage-1.third.default.svc.cluster.local:4501");
    world.add_pod("third", "storage", 1);
    world.pass(15.0).await;
    assert_eq!(world.status().await["cluster"]["processes"].as_object().unwrap().len(), 9);
    let connection = world.databases.with(&format!("{NAMESPACE}/third"), |database| database.connection());
    assert_eq!(connection.as_deref(), Some("third:id@third-storage-1.third.default.svc.cluster.local:4501"));
}
