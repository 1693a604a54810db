//! Other pods, other volumes, other names, another configuration.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::stage::{NAMESPACE, Stage};
use super::view::View;

fn is_set(object: &Value, path: &str, to: &Value) -> bool {
    object.pointer(path) == Some(to)
}

#[tokio::test(start_paused = true)]
async fn a15_another_prefix() {
    let stage = Stage::born().await;
    stage.apply(json!({"processGroupIDPrefix": "dc1"}));
    stage.rest().await;
    assert!(stage.view().groups().keys().all(|id| id.starts_with("dc1-")), "{:?}", stage.view().groups().keys());
    assert_eq!(stage.view().pods().len(), 11);
}

#[tokio::test(start_paused = true)]
async fn a_prefix_that_begins_like_another_is_another() {
    let stage = Stage::born_as(json!({"processGroupIDPrefix": "dc10"})).await;
    stage.apply(json!({"processGroupIDPrefix": "dc1"}));
    stage.rest().await;
    assert!(stage.view().groups().keys().all(|id| id.starts_with("dc1-")));
}

#[tokio::test(start_paused = true)]
async fn a29_another_security_context_replaces_the_transaction_system() {
    let stage = Stage::born().await;
    let (logs, storage) = (stage.view().live("log"), stage.view().live("storage"));
    let before = stage.recoveries();
    stage.apply(
        json!({"processes": {"general": {"podTemplate": {"spec": {"containers": [], "securityContext": {"fsGroup": 4059}}}}}}),
    );
    stage.rest().await;
    let view = stage.view();
    assert!(logs.iter().all(|id| !view.has(id)), "logs are replaced, all in one recovery");
    assert_eq!(view.live("storage"), storage, "storage pods are made again, with their volumes");
    assert!(view.pods().values().all(|pod| is_set(pod, "/spec/securityContext/fsGroup", &json!(4059))));
    assert!(stage.recoveries() - before <= 4, "{}", stage.recoveries() - before);
}

#[tokio::test(start_paused = true)]
async fn a33_proxies_of_one_kind_and_of_two() {
    let stage = Stage::born_as(json!({"databaseConfiguration": {"grv_proxies": 2, "commit_proxies": 3}})).await;
    assert_eq!(stage.view().configuration()["commit_proxies"], 3);
    stage.apply(json!({"databaseConfiguration": {"grv_proxies": 1, "commit_proxies": 2}}));
    stage.until("it is configured", |view| view.configuration()["grv_proxies"] == 1).await;
    stage.rest().await;
    assert_eq!(stage.view().configuration()["commit_proxies"], 2);
    stage.apply(json!({"databaseConfiguration": {"grv_proxies": null, "commit_proxies": null, "proxies": 5}}));
    stage.until("it is configured", |view| view.configuration()["proxies"] == 5).await;
    stage.rest().await;
    let configuration = stage.view().configuration();
    assert_eq!((&configuration["commit_proxies"], &configuration["grv_proxies"]), (&json!(4), &json!(1)));
    let changes = stage.writes("database: configure").len();
    stage.pass(300).await;
    assert_eq!(stage.writes("database: configure").len(), changes, "it was told again and again");
}

#[tokio::test(start_paused = true)]
async fn a36_the_zone_comes_from_a_variable() {
    let rack =
        json!([{"name": "foundationdb", "env": [{"name": "RACK", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]}]);
    let template = json!({"general": {"podTemplate": {"spec": {"containers": rack}}}});
    let zone = json!({"key": "kubernetes.io/hostname", "valueFrom": "$RACK"});
    let stage = Stage::born_as(json!({"processes": template, "faultDomain": zone})).await;
    for (id, group) in stage.view().groups() {
        assert_eq!(group.zone.as_deref(), Some(stage.node(&id).as_str()), "{id}");
        assert!(stage.view().runs_with(&id, &format!("--locality_zoneid={}", stage.node(&id))));
    }
}

#[tokio::test(start_paused = true)]
async fn j86_another_environment_under_a_small_quota() {
    let stage = Stage::born().await;
    stage.wire.allow_pods(Some(13));
    let env = json!([{"name": "foundationdb", "env": [{"name": "COLOUR", "value": "green"}]}]);
    stage.apply(json!({"processes": {"log": {"podTemplate": {"spec": {"containers": env}}}}}));
    stage.rest().await;
    assert_eq!(stage.view().pods().len(), 11);
    let green = |pod: &Value| pod["spec"]["containers"][0]["env"].as_array().unwrap().iter().any(|one| one["value"] == "green");
    assert!(stage.view().live("log").iter().all(|id| green(&stage.view().pod(id).unwrap())));
}

#[tokio::test(start_paused = true)]
async fn j87_from_pod_addresses_to_services_and_back() {
    let stage = Stage::born_as(json!({"routing": {"useDNSInClusterFile": false}})).await;
    let storage = stage.view().live("storage");
    stage.apply(json!({"routing": {"publicIPSource": "service"}}));
    stage.rest().await;
    assert_eq!(stage.view().services().len(), 11);
    all_are_known_by(&stage, |view, id| view.services()[id]["spec"]["clusterIP"].clone());
    stage.apply(json!({"routing": {"publicIPSource": "pod"}}));
    stage.rest().await;
    assert_eq!(stage.view().services().len(), 0);
    all_are_known_by(&stage, |view, id| view.pods()[id]["status"]["podIP"].clone());
    assert_eq!(stage.view().live("storage"), storage, "who has data is not replaced for it");
}

/// Every server, and with it every coordinator, is known to the database by this address.
fn all_are_known_by(stage: &Stage, address: impl Fn(View<'_>, &str) -> Value) {
    let view = stage.view();
    let mut known = BTreeSet::new();
    for id in view.groups().keys() {
        let expected = address(view, id).as_str().expect("an address").to_owned();
        let servers = view.processes(id);
        assert!(!servers.is_empty(), "{id} serves");
        assert!(servers.iter().all(|server| is_set(server, "/address", &json!(format!("{expected}:4501")))), "{id}: {servers:?}");
        known.insert(format!("{expected}:4501"));
    }
    let connection = view.status()["connectionString"].as_str().expect("a connection string").to_owned();
    let (_, coordinators) = connection.split_once('@').expect("coordinators");
    assert!(coordinators.split(',').all(|one| known.contains(one)), "{connection}, and not {known:?}");
}

#[tokio::test(start_paused = true)]
async fn j88_larger_volumes_where_none_can_grow() {
    let stage = Stage::born().await;
    let before = stage.view().live("log");
    let larger = json!({"spec": {"storageClassName": "network", "resources": {"requests": {"storage": "256Gi"}}}});
    stage.apply(json!({"processes": {"log": {"volumeClaimTemplate": larger}}}));
    stage.rest().await;
    let view = stage.view();
    assert!(before.iter().all(|id| !view.has(id)), "they are replaced");
    let size = json!("256Gi");
    assert!(view.live("log").iter().all(|id| is_set(&view.claims()[id], "/spec/resources/requests/storage", &size)));
}

#[tokio::test(start_paused = true)]
async fn larger_volumes_that_can_grow_grow_in_place() {
    let stage = Stage::unborn(json!({}));
    let mut class = stage.kubernetes().get_value("storage.k8s.io/v1", "StorageClass", "", "network").unwrap();
    class["allowVolumeExpansion"] = json!(true);
    stage.kubernetes().update_value(class).unwrap();
    stage.rest().await;
    let before = stage.view().groups();
    let larger = json!({"spec": {"storageClassName": "network", "resources": {"requests": {"storage": "256Gi"}}}});
    stage.apply(json!({"processes": {"log": {"volumeClaimTemplate": larger}}}));
    stage.rest().await;
    assert!(stage.view().groups().keys().eq(before.keys()), "nobody is replaced");
    let size = json!("256Gi");
    assert!(stage.view().live("log").iter().all(|id| is_set(
        &stage.view().claims()[id],
        "/spec/resources/requests/storage",
        &size
    )));
}

#[tokio::test(start_paused = true)]
async fn j89_another_address_family() {
    for (family, begins) in [(4, "198.18."), (6, "[fd00::")] {
        let stage = Stage::unborn(json!({"routing": {"podIPFamily": family, "useDNSInClusterFile": false}}));
        stage.give_pods_two_addresses();
        stage.rest().await;
        let view = stage.view();
        assert!(view.is_available());
        let processes: Vec<Value> = view.groups().keys().flat_map(|id| view.processes(id)).collect();
        let speaks = |process: &Value| process["address"].as_str().is_some_and(|address| address.starts_with(begins));
        assert!(processes.len() == 11 && processes.iter().all(speaks), "{processes:?}");
        let coordinators = stage.truth(|database| database.connection());
        let mut coordinators = coordinators.split_once('@').unwrap().1.split(',');
        assert!(coordinators.all(|address| address.starts_with(begins)));
        // Who is replaced is excluded and included by such an address.
        let id = view.live("storage").remove(0);
        stage.apply(json!({"processGroupsToRemove": [id], "automationOptions": {"useLocalitiesForExclusion": false}}));
        stage.rest().await;
        assert!(!stage.view().has(&id));
    }
}

/// Whether every coordinator that is known by its name listens where that leads.
fn names_lead_to_coordinators(stage: &Stage) -> bool {
    let connection = stage.truth(|database| database.connection());
    let service = stage.kubernetes().get_value("v1", "Service", NAMESPACE, "sample").ok();
    let family = service.map(|service| service["spec"]["ipFamilies"][0].as_str().unwrap_or_default().to_owned());
    let listens = |name: &str| {
        let id = name.strip_prefix("sample-").and_then(|name| name.split('.').next()).unwrap_or_default();
        let processes = stage.view().processes(id);
        let mut addresses = processes.iter().filter_map(|process| process["address"].as_str());
        // One that is not there for a moment comes back as it was, or its pod does.
        addresses.all(|address| family.as_deref() == Some(if address.starts_with('[') { "IPv6" } else { "IPv4" }))
    };
    connection.split_once('@').unwrap().1.split(',').filter(|one| one.starts_with("sample-")).all(listens)
}

#[tokio::test(start_paused = true)]
async fn j89_another_address_family_in_a_living_cluster() {
    for strategy in ["ReplaceTransactionSystem", "Delete"] {
        let stage = Stage::unborn(json!({"automationOptions": {"podUpdateStrategy": strategy}}));
        stage.give_pods_two_addresses();
        stage.rest().await;
        for (family, name, begins) in
            [(6, "IPv6", "[fd00::"), (4, "IPv4", "198.18."), (6, "IPv6", "[fd00::"), (0, "IPv4", "198.18.")]
        {
            stage.apply(json!({"routing": {"podIPFamily": family}}));
            stage
                .until("it is done", |view| {
                    assert!(names_lead_to_coordinators(&stage), "{strategy}, to {family}");
                    view.is_at_rest()
                })
                .await;
            stage.rest().await;
            let view = stage.view();
            let processes: Vec<Value> = view.groups().keys().flat_map(|id| view.processes(id)).collect();
            let speaks = |process: &Value| process["address"].as_str().is_some_and(|address| address.starts_with(begins));
            assert!(processes.len() == 11 && processes.iter().all(speaks), "{processes:?}");
            let service = stage.kubernetes().get_value("v1", "Service", NAMESPACE, "sample").unwrap();
            assert_eq!(service["spec"]["ipFamilies"], json!([name]));
            let connection = stage.truth(|database| database.connection());
            assert!(connection.split_once('@').unwrap().1.split(',').all(|one| one.starts_with("sample-")), "{connection}");
            assert!(names_lead_to_coordinators(&stage));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_address_family_where_services_have_the_addresses() {
    let stage = Stage::unborn(json!({"routing": {"publicIPSource": "service"}}));
    stage.give_pods_two_addresses();
    stage.rest().await;
    let before = stage.view().groups();
    stage.apply(json!({"routing": {"podIPFamily": 6}}));
    stage.rest().await;
    assert!(stage.view().groups().keys().all(|id| !before.contains_key(id)), "all are replaced");
    let services = stage.view().services();
    assert!(services.len() == 11 && services.values().all(|service| service["spec"]["ipFamilies"] == json!(["IPv6"])));
}

#[tokio::test(start_paused = true)]
async fn j90_all_storage_is_replaced_one_by_one() {
    let one = json!({"automationOptions": {"maxConcurrentReplacements": 1, "podUpdateStrategy": "Replace"}});
    let stage = Stage::born_as(one).await;
    let before = stage.view().live("storage");
    let green = json!([{"name": "foundationdb", "env": [{"name": "COLOUR", "value": "green"}]}]);
    stage.apply(json!({"processes": {"storage": {"podTemplate": {"spec": {"containers": green}}}}}));
    stage
        .until("all are replaced", |view| {
            assert!(view.pods().len() <= 13, "one comes, one goes");
            before.iter().all(|id| !view.has(id))
        })
        .await;
    stage.rest().await;
    assert_eq!(stage.view().live("storage").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn j92_another_storage_class() {
    let stage = Stage::born().await;
    let fast = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
        "provisioner": quorate_world::scenery::PROVISIONER, "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Retain",
    });
    stage.kubernetes().create_value(fast).unwrap();
    stage.apply(json!({"processes": {"general": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}}));
    stage.rest().await;
    assert_eq!(stage.view().claims().len(), 8);
    assert!(stage.view().claims().values().all(|claim| is_set(claim, "/spec/storageClassName", &json!("fast"))));
}

#[tokio::test(start_paused = true)]
async fn j95_another_storage_engine() {
    let stage = Stage::born().await;
    stage.apply(json!({"databaseConfiguration": {"storage_engine": "ssd-rocksdb-v1"}}));
    stage.until("what is missing is said", |view| view.held("ConfigurationHeld")).await;
    stage.pass(300).await;
    assert_eq!(stage.writes("database: configure").len(), 0, "no server would come to it");
    stage.apply(json!({"databaseConfiguration": {"storage_migration_type": "aggressive"}}));
    stage.until("it is configured", |view| view.configuration()["storage_engine"] == "ssd-rocksdb-v1").await;
    stage.until("servers are made again", |view| view.held("EngineMigration")).await;
    stage.rest().await;
    assert_eq!(stage.writes("database: configure").len(), 1);
    let engines = stage.truth(|database| database.engines());
    assert_eq!(engines, vec!["ssd-rocksdb-v1"; 4]);
}

#[tokio::test(start_paused = true)]
async fn roles_that_are_asked_for_no_longer_are_as_many_as_at_first() {
    let stage = Stage::born().await;
    let at_first = stage.view().configuration();
    let roles = json!({"logs": 4, "commit_proxies": 2, "grv_proxies": 2, "resolvers": 2});
    stage.apply(json!({"databaseConfiguration": roles}));
    stage.until("it is configured", |view| view.configuration()["resolvers"] == 2).await;
    stage.rest().await;
    stage.apply(json!({"databaseConfiguration": {"logs": null, "commit_proxies": null, "grv_proxies": null, "resolvers": null}}));
    stage.until("it is configured", |view| view.configuration()["resolvers"] == 1).await;
    stage.rest().await;
    for role in ["logs", "commit_proxies", "grv_proxies", "resolvers"] {
        assert_eq!(stage.view().configuration()[role], at_first[role], "{role}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_redundancy_mode_makes_all_its_copies() {
    let stage = Stage::born().await;
    stage.apply(json!({"databaseConfiguration": {"redundancy_mode": "triple"}}));
    stage.rest().await;
    assert_eq!(stage.view().configuration()["redundancy_mode"], "triple");
    assert_eq!(stage.view().coordinators().len(), 5);
    stage.until("all data has three copies", |_| stage.truth(|database| database.copies()).unwrap().kept == 3).await;
}

#[tokio::test(start_paused = true)]
async fn labels_and_annotations_change_where_they_are() {
    let stage = Stage::born().await;
    let id = stage.view().live("log").remove(0);
    stage.annotate(&id, "example.org/note", Some("of somebody else"));
    let uids = || -> Vec<Option<String>> { stage.view().groups().keys().map(|id| stage.view().uid(id)).collect() };
    let before = uids();
    let of_pod = |path: &str| stage.view().pod(&id).unwrap()["metadata"].pointer(path).cloned();
    let of_claim = |path: &str| stage.view().claims()[&id]["metadata"].pointer(path).cloned();
    let template = |team: &Value| json!({"metadata": {"labels": {"team": team}, "annotations": {"example.org/by": team}}});
    let writes = |what: &str| stage.writes(what).len();
    let (mut pods, mut claims) = (writes("patch pods"), writes("patch persistentvolumeclaims"));
    for team in [json!("green"), json!("blue"), Value::Null] {
        let mut pod = template(&team);
        pod["spec"] = json!({"containers": []});
        stage.apply(json!({
            "processes": {"general": {"podTemplate": pod, "volumeClaimTemplate": template(&team)}},
            "labels": {"resourceLabels": {"cost": team}},
        }));
        stage.rest().await;
        let expected = (!team.is_null()).then_some(team);
        for tag in ["/labels/team", "/labels/cost", "/annotations/example.org~1by"] {
            assert_eq!((of_pod(tag), of_claim(tag)), (expected.clone(), expected.clone()), "{tag}");
        }
        pods += 11;
        claims += 8;
        assert_eq!((writes("patch pods"), writes("patch persistentvolumeclaims")), (pods, claims), "each once");
        assert!(of_pod("/labels/foundationdb.org~1fdb-process-group-id").is_some());
        assert_eq!(of_pod("/annotations/example.org~1note"), Some(json!("of somebody else")));
    }
    assert_eq!(uids(), before, "no pod is made again");
    assert_eq!(of_pod("/annotations/foundationdb.org~1current-node"), Some(json!(stage.node(&id))));
}

#[tokio::test(start_paused = true)]
async fn other_labels_to_match_by_leave_every_pod_its_name() {
    let stage = Stage::born().await;
    let service = || stage.kubernetes().get_value("v1", "Service", NAMESPACE, "sample").unwrap();
    let labels = |pod: &Value| pod["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    stage.apply(json!({"labels": {"matchLabels": {"app": "mine"}, "resourceLabels": {"cost": "mine"}}}));
    let made_again = |view: super::view::View<'_>| {
        let selector = service()["spec"]["selector"].clone();
        let pods = view.pods();
        let is_found = |pod: &Value| selector.as_object().unwrap().iter().all(|(key, value)| labels(pod).get(key) == Some(value));
        assert!(pods.values().all(is_found), "{selector} finds not all");
        pods.len() == 11 && pods.values().all(|pod| labels(pod).get("app") == Some(&json!("mine")))
    };
    stage.until("all are made again", made_again).await;
    stage.rest().await;
    assert_eq!(labels(&service()).get("cost"), Some(&json!("mine")));
}

#[tokio::test(start_paused = true)]
async fn what_somebody_adds_to_a_pod_stays() {
    let stage = Stage::born().await;
    let id = stage.view().live("log").remove(0);
    stage.annotate(&id, "example.org/note", Some("looked at"));
    stage.pass(120).await;
    assert_eq!(stage.view().pod(&id).unwrap()["metadata"]["annotations"]["example.org/note"], "looked at");
    assert!(stage.view().is_at_rest());
    assert!(stage.kubernetes().get_value("v1", "ConfigMap", NAMESPACE, "sample-config").is_ok());
}
