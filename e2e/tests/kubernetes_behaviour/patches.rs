//! The three kinds of patches, and the one that is refused.

use http::Method;
use serde_json::json;

use crate::ground::{Ground, config_map, logset, pod};

pub async fn a_json_patch_is_taken_whole_or_not_at_all(ground: Ground) {
    ground.post(&ground.path("configmaps"), config_map("one", json!({"a": "1", "b": "2"}))).await.ok();
    let path = ground.path("configmaps/one");
    let change = json!([
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/b", "value": "3"},
        {"op": "copy", "from": "/data/a", "path": "/data/d"},
        {"op": "move", "from": "/data/a", "path": "/data/e"},
        {"op": "add", "path": "/metadata/labels", "value": {"x": "y"}},
        {"op": "add", "path": "/metadata/labels/example.test~1x", "value": "z"},
    ]);
    let patched = ground.json_patch(&path, change).await.ok();
    assert_eq!(patched["data"], json!({"b": "3", "d": "1", "e": "1"}));
    assert_eq!(patched["metadata"]["labels"], json!({"x": "y", "example.test/x": "z"}));
    for wrong in [
        json!([{"op": "remove", "path": "/data/d"}, {"op": "test", "path": "/data/e", "value": "2"}]),
        json!([{"op": "remove", "path": "/data/d"}, {"op": "remove", "path": "/data/nothing"}]),
    ] {
        let refused = ground.json_patch(&path, wrong).await;
        assert_eq!(refused.refusal(), (422, "Invalid", "the server rejected our request due to an error in our request"));
    }
    assert_eq!(ground.get(&path).await.ok()["data"]["d"], "1");
    assert_eq!(ground.json_patch(&path, json!({})).await.refusal().0, 400);
}

pub async fn a_merge_patch_removes_by_null(ground: Ground) {
    ground.post(&ground.logset_path("logsets"), logset("one")).await.ok();
    let path = ground.logset_path("logsets/one");
    let patched = ground
        .merge(&path, json!({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 4, "clusterDomain": "example.test"}}))
        .await
        .ok();
    assert_eq!((&patched["spec"]["replicas"], &patched["metadata"]["generation"]), (&json!(4), &json!(2)));
    let patched = ground.merge(&path, json!({"metadata": {"labels": null}, "spec": {"clusterDomain": null}})).await.ok();
    assert!(patched["spec"].get("clusterDomain").is_none() && patched["metadata"].get("labels").is_none());
    let refused = ground.merge(&path, json!({"metadata": {"name": "two"}})).await;
    assert_eq!(refused.refusal(), (400, "BadRequest", "the name of the object (two) does not match the name on the URL (one)"));
}

pub async fn a_strategic_patch_knows_its_lists(ground: Ground) {
    let mut two = pod("one");
    two["metadata"]["finalizers"] = json!(["example.test/a", "example.test/b"]);
    two["spec"]["containers"] = json!([{"name": "a", "image": "x:1"}, {"name": "b", "image": "y:1"}]);
    ground.post(&ground.path("pods"), two).await.ok();
    let path = ground.path("pods/one");
    let change = json!({
        "metadata": {"$deleteFromPrimitiveList/finalizers": ["example.test/a"], "labels": {"app": null, "new": "yes"}},
        "spec": {"$setElementOrder/containers": [{"name": "a"}, {"name": "b"}], "containers": [{"name": "b", "image": "y:2"}]},
    });
    let patched = ground.strategic(&path, change).await.ok();
    assert_eq!(patched["metadata"]["finalizers"], json!(["example.test/b"]));
    assert_eq!(patched["metadata"]["labels"], json!({"new": "yes"}));
    let images: Vec<_> = patched["spec"]["containers"].as_array().unwrap().iter().map(|one| one["image"].clone()).collect();
    assert_eq!(images, ["x:1", "y:2"]);
    let status = ground.path("pods/one/status");
    ground
        .strategic(&status, json!({"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]}}))
        .await
        .ok();
    let patched = ground.strategic(&status, json!({"status": {"conditions": [{"type": "A", "status": "False"}]}})).await.ok();
    let conditions: Vec<_> = patched["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["type"].as_str().unwrap(), one["status"].as_str().unwrap()))
        .collect();
    assert!(conditions.contains(&("A", "False")) && conditions.contains(&("B", "True")), "{conditions:?}");
    ground.merge(&path, json!({"metadata": {"finalizers": null}})).await.ok();
}

pub async fn a_custom_object_takes_no_strategic_patch(ground: Ground) {
    ground.post(&ground.logset_path("logsets"), logset("one")).await.ok();
    let path = ground.logset_path("logsets/one");
    let refused = ground.strategic(&path, json!({})).await;
    assert_eq!((refused.refusal().0, refused.refusal().1), (415, "UnsupportedMediaType"));
    let refused = ground.send(Method::PATCH, &path, "text/plain", "application/json", Some(json!({}))).await;
    assert_eq!((refused.refusal().0, refused.refusal().1), (415, "UnsupportedMediaType"));
}
