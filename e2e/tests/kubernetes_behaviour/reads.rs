//! Lists: selectors, pages, versions, forms.

use http::Method;
use serde_json::{Value, json};

use crate::ground::{Ground, config_map, pod, version};

async fn five(ground: &Ground) -> Value {
    for number in 0..5 {
        let mut map = config_map(&format!("map-{number}"), json!({}));
        map["metadata"]["labels"] = json!({"story": "five", "parity": if number % 2 == 0 { "even" } else { "odd" }});
        ground.post(&ground.path("configmaps"), map).await.ok();
    }
    ground.get(&ground.path("configmaps?labelSelector=story%3Dfive")).await.ok()
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

pub async fn labels_and_fields_select(ground: Ground) {
    let list = five(&ground).await;
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("ConfigMapList"), &json!("v1")));
    assert!(list["items"][0].get("kind").is_none());
    for (query, expected) in [
        ("labelSelector=parity%3Deven", vec!["map-0", "map-2", "map-4"]),
        ("labelSelector=parity%20in%20(odd,none)", vec!["map-1", "map-3"]),
        ("labelSelector=story,parity%21%3Dodd", vec!["map-0", "map-2", "map-4"]),
        ("labelSelector=story,parity%20notin%20(even)", vec!["map-1", "map-3"]),
        ("labelSelector=story,%21parity", vec![]),
        ("fieldSelector=metadata.name%3Dmap-3", vec!["map-3"]),
        ("labelSelector=story&fieldSelector=metadata.name%21%3Dmap-3", vec!["map-0", "map-1", "map-2", "map-4"]),
    ] {
        assert_eq!(names(&ground.get(&ground.path(&format!("configmaps?{query}"))).await.ok()), expected, "{query}");
    }
    let refused = ground.get(&ground.path("configmaps?fieldSelector=data.x%3D1")).await;
    let message = "\"data.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
    assert_eq!(refused.refusal(), (400, "BadRequest", message));
    assert_eq!(ground.get(&ground.path("configmaps?labelSelector=a%20b")).await.refusal().0, 400);
    assert_eq!(
        ground.get(&ground.logset_path("logsets?fieldSelector=spec.image%3D1")).await.refusal(),
        (400, "BadRequest", "field label not supported: spec.image")
    );
    ground.post(&ground.path("pods"), pod("p")).await.ok();
    assert_eq!(names(&ground.get(&ground.path("pods?fieldSelector=spec.nodeName%3D,status.phase%3DPending")).await.ok()), ["p"]);
    assert!(names(&ground.get(&ground.path("pods?fieldSelector=spec.nodeName%3Dn1")).await.ok()).is_empty());
}

pub async fn a_list_comes_in_pages(ground: Ground) {
    five(&ground).await;
    let first = ground.get(&ground.path("configmaps?limit=2&fieldSelector=metadata.name%21%3Dkube-root-ca.crt")).await.ok();
    assert_eq!(names(&first), ["map-0", "map-1"]);
    assert!(first["metadata"].get("remainingItemCount").is_none());
    // What comes after the first page is not in the later ones.
    ground.post(&ground.path("configmaps"), config_map("map-30", json!({}))).await.ok();
    let mut seen = 2;
    let mut token = first["metadata"]["continue"].as_str().unwrap().to_owned();
    while !token.is_empty() {
        let query = format!("configmaps?limit=2&fieldSelector=metadata.name%21%3Dkube-root-ca.crt&continue={token}");
        let page = ground.get(&ground.path(&query)).await.ok();
        assert_eq!(version(&page), version(&first));
        seen += names(&page).len();
        page["metadata"]["continue"].as_str().unwrap_or_default().clone_into(&mut token);
    }
    assert_eq!(seen, 5);
    let first = ground.get(&ground.path("configmaps?limit=3")).await.ok();
    assert_eq!(first["metadata"]["remainingItemCount"], 4);
    assert_eq!(ground.get(&ground.path("configmaps?limit=2&continue=x")).await.refusal().0, 400);
}

pub async fn a_list_can_be_asked_at_a_version(ground: Ground) {
    let before = five(&ground).await;
    ground.delete(&ground.path("configmaps/map-0"), json!({})).await.ok();
    let exact = format!("configmaps?labelSelector=story&resourceVersion={}&resourceVersionMatch=Exact", version(&before));
    let list = ground.get(&ground.path(&exact)).await.ok();
    assert_eq!((names(&list).len(), version(&list)), (5, version(&before)));
    let newer = format!("configmaps?labelSelector=story&resourceVersion={}&resourceVersionMatch=NotOlderThan", version(&before));
    assert_eq!(names(&ground.get(&ground.path(&newer)).await.ok()).len(), 4);
    let refused = ground.get(&ground.path("configmaps?resourceVersionMatch=Exact")).await;
    let message = "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
    assert_eq!(refused.refusal(), (422, "Invalid", message));
    let refused = ground.get(&ground.path("configmaps?resourceVersion=99999999&resourceVersionMatch=Exact")).await;
    assert_eq!((refused.refusal().0, refused.refusal().1), (504, "Timeout"));
    assert_eq!(refused.body["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    // A real server forgets after minutes only; this is what it said when asked by hand.
    if let Some(kubernetes) = ground.embedded_api() {
        kubernetes.compact(kubernetes.revision());
        let refused = ground.get(&ground.path(&exact)).await;
        assert_eq!(refused.refusal(), (410, "Expired", "The resourceVersion for the provided list is too old."));
    }
}

pub async fn objects_come_as_tables_and_as_metadata(ground: Ground) {
    ground.post(&ground.path("pods"), pod("p")).await.ok();
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let table = ground.send(Method::GET, &ground.path("pods"), "", accept, None).await.ok();
    let columns: Vec<_> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(columns, ["Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates"]);
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    assert_eq!(cells[..4], [json!("p"), json!("0/1"), json!("Pending"), json!("0")]);
    assert_eq!(cells[5..], [json!("<none>"), json!("<none>"), json!("<none>"), json!("<none>")]);
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let list = ground.send(Method::GET, &ground.path("pods"), "", accept, None).await.ok();
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert!(list["items"][0].get("spec").is_none());
}

pub async fn the_server_describes_itself(ground: Ground) {
    let find =
        |list: &Value, name: &str| list["resources"].as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap();
    let core = ground.get("/api/v1").await.ok();
    let pods = find(&core, "pods");
    assert_eq!((&pods["kind"], &pods["shortNames"], &pods["namespaced"]), (&json!("Pod"), &json!(["po"]), &json!(true)));
    assert_eq!(find(&core, "pods/eviction")["kind"], "Eviction");
    let ours = ground.get("/apis/core.matrixorigin.io/v1alpha1").await.ok();
    assert_eq!(
        find(&ours, "logsets")["verbs"],
        json!(["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"])
    );
    assert_eq!(find(&ours, "logsets/scale")["group"], "autoscaling");
    assert_eq!(ground.get("/version").await.ok()["minor"], "35");
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let groups = ground.send(Method::GET, "/apis", "", accept, None).await.ok();
    let mut ours = groups["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["metadata"]["name"] == "core.matrixorigin.io")
        .cloned()
        .unwrap();
    ours["metadata"] = json!({});
    let kind = json!({"group": "core.matrixorigin.io", "version": "v1alpha1", "kind": "LogSet"});
    assert_eq!(ours["versions"][0]["resources"][0]["responseKind"], kind);
}
