//! Deletion: finalizers, grace, preconditions, dependents.

use serde_json::{Value, json};

use crate::ground::{Ground, config_map, logset, pod, version};

pub async fn a_finalizer_holds_an_object(ground: Ground) {
    let mut set = logset("one");
    set["metadata"]["finalizers"] = json!(["example.test/hold"]);
    ground.post(&ground.logset_path("logsets"), set).await.ok();
    let path = ground.logset_path("logsets/one");
    let marked = ground.delete(&path, json!({})).await.ok();
    assert_eq!((&marked["kind"], &marked["metadata"]["generation"]), (&json!("LogSet"), &json!(2)));
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    let refused = ground.merge(&path, json!({"metadata": {"finalizers": ["example.test/hold", "example.test/more"]}})).await;
    let message = "LogSet.core.matrixorigin.io \"one\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"example.test/more\"}";
    assert_eq!(refused.refusal(), (422, "Invalid", message));
    ground.merge(&path, json!({"metadata": {"finalizers": null}})).await.ok();
    assert_eq!(ground.get(&path).await.code, 404);
}

pub async fn a_delete_can_be_conditional(ground: Ground) {
    let map = ground.post(&ground.path("configmaps"), config_map("a", json!({}))).await.ok();
    let path = ground.path("configmaps/a");
    let refused = ground.delete(&path, json!({"preconditions": {"uid": "another"}})).await;
    let uid = map["metadata"]["uid"].as_str().unwrap();
    let message = format!(
        "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (another) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
    );
    assert_eq!(refused.refusal(), (409, "Conflict", message.as_str()));
    let refused = ground.delete(&path, json!({"preconditions": {"resourceVersion": "1"}})).await;
    let message = format!(
        "Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record ({}). The object might have been modified",
        version(&map)
    );
    assert_eq!(refused.refusal(), (409, "Conflict", message.as_str()));
    assert_eq!(ground.delete(&path, json!({"propagationPolicy": "Sideways"})).await.refusal().0, 422);
    ground.delete(&path, json!({"preconditions": {"uid": uid, "resourceVersion": version(&map)}})).await.ok();
}

pub async fn a_pod_that_runs_nowhere_goes_at_once(ground: Ground) {
    ground.post(&ground.path("pods"), pod("p")).await.ok();
    let deleted = ground.delete(&ground.path("pods/p"), json!({})).await.ok();
    assert_eq!(deleted["kind"], "Pod");
    assert_eq!(ground.get(&ground.path("pods/p")).await.code, 404);
}

/// On the real server no node of that name exists, so nobody but this test ends the pod.
pub async fn a_pod_on_a_node_has_time_to_end(ground: Ground) {
    ground.post(&ground.path("pods"), pod("p")).await.ok();
    let binding =
        json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}});
    let bound = ground.post(&ground.path("pods/p/binding"), binding.clone()).await;
    assert_eq!((bound.code, &bound.body["status"]), (201, &json!("Success")));
    let read = ground.get(&ground.path("pods/p")).await.ok();
    assert_eq!((&read["spec"]["nodeName"], &read["metadata"]["generation"]), (&json!("n1"), &json!(1)));
    assert_eq!(
        (&read["status"]["conditions"][0]["type"], &read["status"]["conditions"][0]["status"]),
        (&json!("PodScheduled"), &json!("True"))
    );
    let refused = ground.post(&ground.path("pods/p/binding"), binding).await;
    let message = "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"n1\"";
    assert_eq!(refused.refusal(), (409, "Conflict", message));
    let marked = ground.delete(&ground.path("pods/p"), json!({})).await.ok();
    assert_eq!((&marked["metadata"]["deletionGracePeriodSeconds"], &marked["metadata"]["generation"]), (&json!(30), &json!(2)));
    let sooner = ground.delete(&ground.path("pods/p"), json!({"gracePeriodSeconds": 5})).await.ok();
    assert_eq!((&sooner["metadata"]["deletionGracePeriodSeconds"], &sooner["metadata"]["generation"]), (&json!(5), &json!(2)));
    ground.delete(&ground.path("pods/p"), json!({"gracePeriodSeconds": 0})).await.ok();
    assert_eq!(ground.get(&ground.path("pods/p")).await.code, 404);
}

fn owned(name: &str, owner: &Value, blocks: bool) -> Value {
    let mut map = config_map(name, json!({}));
    map["metadata"]["ownerReferences"] = json!([{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks,
    }]);
    map
}

pub async fn dependents_follow_their_owner(ground: Ground) {
    let owner = ground.post(&ground.logset_path("logsets"), logset("one")).await.ok();
    let path = ground.path("configmaps/dependent");
    ground.post(&ground.path("configmaps"), owned("dependent", &owner, false)).await.ok();
    ground.delete(&ground.logset_path("logsets/one"), json!({"propagationPolicy": "Background"})).await.ok();
    ground.until("the dependent is gone", || async { ground.get(&path).await.code == 404 }).await;
    // Whoever names an owner that is not there has none.
    ground.post(&ground.path("configmaps"), owned("dependent", &owner, false)).await.ok();
    ground.until("the orphan is gone", || async { ground.get(&path).await.code == 404 }).await;
}

pub async fn dependents_can_be_orphaned(ground: Ground) {
    let owner = ground.post(&ground.logset_path("logsets"), logset("one")).await.ok();
    ground.post(&ground.path("configmaps"), owned("dependent", &owner, false)).await.ok();
    let set = ground.logset_path("logsets/one");
    let marked = ground.delete(&set, json!({"propagationPolicy": "Orphan"})).await.ok();
    assert_eq!(marked["metadata"]["finalizers"], json!(["orphan"]));
    ground.until("the owner is gone", || async { ground.get(&set).await.code == 404 }).await;
    assert!(ground.get(&ground.path("configmaps/dependent")).await.ok()["metadata"].get("ownerReferences").is_none());
}

pub async fn an_owner_can_wait_for_its_dependents(ground: Ground) {
    let owner = ground.post(&ground.logset_path("logsets"), logset("one")).await.ok();
    let mut map = owned("dependent", &owner, true);
    map["metadata"]["finalizers"] = json!(["example.test/hold"]);
    ground.post(&ground.path("configmaps"), map).await.ok();
    let (set, dependent) = (ground.logset_path("logsets/one"), ground.path("configmaps/dependent"));
    let marked = ground.delete(&set, json!({"propagationPolicy": "Foreground"})).await.ok();
    assert_eq!(marked["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    ground
        .until("the dependent is asked to go", || async {
            ground.get(&dependent).await.ok()["metadata"]["deletionTimestamp"].is_string()
        })
        .await;
    assert_eq!(ground.get(&set).await.code, 200);
    ground.merge(&dependent, json!({"metadata": {"finalizers": null}})).await.ok();
    ground.until("the owner is gone", || async { ground.get(&set).await.code == 404 }).await;
}

pub async fn a_collection_is_deleted(ground: Ground) {
    for name in ["a", "b", "c"] {
        let mut map = config_map(name, json!({}));
        map["metadata"]["labels"] = json!({"go": if name == "c" { "no" } else { "yes" }});
        ground.post(&ground.path("configmaps"), map).await.ok();
    }
    ground.delete(&ground.path("configmaps?labelSelector=go%3Dyes"), json!({})).await.ok();
    assert_eq!(ground.get(&ground.path("configmaps?labelSelector=go")).await.ok()["items"].as_array().unwrap().len(), 1);
}

pub async fn a_namespace_takes_its_content_with_it(ground: Ground) {
    ground.post(&ground.path("configmaps"), config_map("a", json!({}))).await.ok();
    let path = format!("/api/v1/namespaces/{}", ground.namespace);
    let mut held = config_map("held", json!({}));
    held["metadata"]["finalizers"] = json!(["example.test/hold"]);
    ground.post(&ground.path("configmaps"), held).await.ok();
    let ending = ground.delete(&path, json!({})).await.ok();
    assert_eq!(ending["status"]["phase"], "Terminating");
    let refused = ground.post(&ground.path("configmaps"), config_map("late", json!({}))).await;
    let message = format!(
        "configmaps \"late\" is forbidden: unable to create new content in namespace {0} because it is being terminated",
        ground.namespace
    );
    assert_eq!(refused.refusal(), (403, "Forbidden", message.as_str()));
    ground.merge(&ground.path("configmaps/held"), json!({"metadata": {"finalizers": null}})).await.ok();
    ground.until("the namespace is gone", || async { ground.get(&path).await.code == 404 }).await;
}

pub async fn an_eviction_asks_the_budget(ground: Ground) {
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "story"}}}});
    ground.post(&ground.path_in("policy/v1", "poddisruptionbudgets"), budget).await.ok();
    let budget = ground.path_in("policy/v1", "poddisruptionbudgets/b");
    for name in ["p1", "p2"] {
        ground.post(&ground.path("pods"), pod(name)).await.ok();
        let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        ground.merge(&ground.path(&format!("pods/{name}/status")), ready).await.ok();
    }
    ground.until("the budget allows one", || async { ground.get(&budget).await.ok()["status"]["disruptionsAllowed"] == 1 }).await;
    let status = ground.get(&budget).await.ok()["status"].clone();
    assert_eq!(
        (&status["currentHealthy"], &status["desiredHealthy"], &status["expectedPods"]),
        (&json!(2), &json!(1), &json!(2))
    );
    let evict = |name: &str| json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
    assert_eq!(ground.post(&ground.path("pods/p1/eviction"), evict("p1")).await.code, 201);
    ground.until("the budget allows none", || async { ground.get(&budget).await.ok()["status"]["expectedPods"] == 1 }).await;
    let refused = ground.post(&ground.path("pods/p2/eviction"), evict("p2")).await;
    assert_eq!(refused.refusal(), (429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget."));
    let cause =
        json!([{"reason": "DisruptionBudget", "message": "The disruption budget b needs 1 healthy pods and has 1 currently"}]);
    assert_eq!(refused.body["details"]["causes"], cause);
}
