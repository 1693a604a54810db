//! Create, replace, and what is refused.

use serde_json::json;

use crate::ground::{Ground, config_map, logset, pod, version};

pub async fn an_object_is_created_read_and_deleted(ground: Ground) {
    let maps = ground.path("configmaps");
    let created = ground.post(&maps, config_map("one", json!({"a": "1"}))).await;
    assert_eq!(created.code, 201);
    let created = created.ok();
    assert_eq!((&created["kind"], &created["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
    assert_eq!(created["metadata"]["namespace"], ground.namespace.as_str());
    assert_eq!(created["metadata"]["uid"].as_str().unwrap().len(), 36);
    assert!(created["metadata"]["creationTimestamp"].as_str().unwrap().ends_with('Z'));
    assert!(created["metadata"].get("generation").is_none());
    let path = format!("{maps}/one");
    let read = ground.get(&path).await.ok();
    assert_eq!(read["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    assert_eq!(read["data"], json!({"a": "1"}));
    let deleted = ground.delete(&path, json!({})).await.ok();
    assert_eq!((&deleted["kind"], &deleted["status"]), (&json!("Status"), &json!("Success")));
    assert_eq!(deleted["details"], json!({"name": "one", "kind": "configmaps", "uid": created["metadata"]["uid"]}));
    assert_eq!(ground.get(&path).await.code, 404);
}

pub async fn a_name_is_taken_once(ground: Ground) {
    let maps = ground.path("configmaps");
    ground.post(&maps, config_map("one", json!({}))).await.ok();
    let refused = ground.post(&maps, config_map("one", json!({}))).await;
    assert_eq!(refused.refusal(), (409, "AlreadyExists", "configmaps \"one\" already exists"));
    assert_eq!(refused.body["details"], json!({"name": "one", "kind": "configmaps"}));
    let sets = ground.logset_path("logsets");
    ground.post(&sets, logset("one")).await.ok();
    let refused = ground.post(&sets, logset("one")).await;
    assert_eq!(refused.refusal(), (409, "AlreadyExists", "logsets.core.matrixorigin.io \"one\" already exists"));
    assert_eq!(refused.body["details"], json!({"name": "one", "group": "core.matrixorigin.io", "kind": "logsets"}));
}

pub async fn what_is_not_there_is_not_found(ground: Ground) {
    let refused = ground.get(&ground.path("pods/none")).await;
    assert_eq!(refused.refusal(), (404, "NotFound", "pods \"none\" not found"));
    assert_eq!(refused.body["details"], json!({"name": "none", "kind": "pods"}));
    let refused = ground.get(&ground.logset_path("logsets/none")).await;
    assert_eq!(refused.refusal(), (404, "NotFound", "logsets.core.matrixorigin.io \"none\" not found"));
    for (method_answer, what) in [
        (ground.put(&ground.path("configmaps/none"), config_map("none", json!({}))).await, "replace"),
        (ground.merge(&ground.path("configmaps/none"), json!({"data": {}})).await, "patch"),
        (ground.delete(&ground.path("configmaps/none"), json!({})).await, "delete"),
    ] {
        assert_eq!(method_answer.refusal(), (404, "NotFound", "configmaps \"none\" not found"), "{what}");
    }
    assert_eq!(ground.get("/apis/nobody.example.test/v1/things").await.code, 404);
    assert_eq!(ground.get(&ground.path("nothings")).await.code, 404);
}

pub async fn an_old_version_is_refused(ground: Ground) {
    let maps = ground.path("configmaps");
    let old = ground.post(&maps, config_map("one", json!({"a": "1"}))).await.ok();
    let path = format!("{maps}/one");
    let mut new = old.clone();
    new["data"]["a"] = json!("2");
    ground.put(&path, new.clone()).await.ok();
    let refused = ground.put(&path, new).await;
    let message = "Operation cannot be fulfilled on configmaps \"one\": the object has been modified; please apply your changes to the latest version and try again";
    assert_eq!(refused.refusal(), (409, "Conflict", message));
    assert_eq!(refused.body["details"], json!({"name": "one", "kind": "configmaps"}));
    let change = json!({"metadata": {"resourceVersion": version(&old)}, "data": {"a": "3"}});
    assert_eq!(ground.merge(&path, change).await.refusal(), (409, "Conflict", message));
    let mut other = old;
    other["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000");
    other["metadata"]["resourceVersion"] = json!("");
    let refused = ground.put(&path, other).await;
    let (code, reason, message) = refused.refusal();
    assert_eq!((code, reason), (409, "Conflict"));
    let why = "Precondition failed: UID in precondition: 00000000-0000-4000-8000-000000000000, UID in object meta: ";
    assert!(
        message.starts_with("Operation cannot be fulfilled on configmaps \"one\": StorageError: invalid object")
            && message.contains(why),
        "{message}"
    );
}

pub async fn a_replace_without_a_version(ground: Ground) {
    ground.post(&ground.path("configmaps"), config_map("one", json!({"a": "1"}))).await.ok();
    let replaced = ground.put(&ground.path("configmaps/one"), config_map("one", json!({"b": "2"}))).await.ok();
    assert_eq!(replaced["data"], json!({"b": "2"}));
    ground.post(&ground.logset_path("logsets"), logset("one")).await.ok();
    let refused = ground.put(&ground.logset_path("logsets/one"), logset("one")).await;
    let message = "logsets.core.matrixorigin.io \"one\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update";
    assert_eq!(refused.refusal(), (422, "Invalid", message));
    let refused = ground.put(&ground.path("configmaps/one"), config_map("two", json!({}))).await;
    assert_eq!(refused.refusal(), (400, "BadRequest", "the name of the object (two) does not match the name on the URL (one)"));
}

pub async fn a_write_that_changes_nothing_is_no_write(ground: Ground) {
    let created = ground.post(&ground.path("configmaps"), config_map("one", json!({"a": "1"}))).await.ok();
    let path = ground.path("configmaps/one");
    assert_eq!(version(&ground.put(&path, created.clone()).await.ok()), version(&created));
    assert_eq!(version(&ground.merge(&path, json!({"data": {"a": "1"}})).await.ok()), version(&created));
    assert_ne!(version(&ground.merge(&path, json!({"data": {"a": "2"}})).await.ok()), version(&created));
}

pub async fn names_are_checked(ground: Ground) {
    let refused = ground.post(&ground.path("configmaps"), config_map("Bad_Name", json!({}))).await;
    let (code, reason, message) = refused.refusal();
    assert_eq!((code, reason), (422, "Invalid"));
    assert!(message.starts_with("ConfigMap \"Bad_Name\" is invalid: metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of"), "{message}");
    assert_eq!(refused.body["details"]["kind"], "ConfigMap");
    let nameless = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
    let refused = ground.post(&ground.path("configmaps"), nameless).await;
    assert_eq!(
        refused.refusal(),
        (422, "Invalid", "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required")
    );
    let elsewhere = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "elsewhere"}});
    let refused = ground.post(&ground.path("configmaps"), elsewhere).await;
    assert_eq!(
        refused.refusal(),
        (400, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request")
    );
    let versioned = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "resourceVersion": "1"}});
    let refused = ground.post(&ground.path("configmaps"), versioned).await;
    assert_eq!(refused.refusal(), (500, "", "resourceVersion should not be set on objects to be created"));
}

pub async fn labels_are_checked(ground: Ground) {
    let mut labelled = config_map("one", json!({}));
    labelled["metadata"]["labels"] = json!({"a": "not good"});
    let refused = ground.post(&ground.path("configmaps"), labelled.clone()).await;
    let (code, _, message) = refused.refusal();
    assert_eq!(code, 422);
    assert!(message.starts_with("ConfigMap \"one\" is invalid: metadata.labels: Invalid value: \"not good\": a valid label must be an empty string or consist of"), "{message}");
    labelled["metadata"]["labels"] = json!({"/x": "y"});
    assert_eq!(ground.post(&ground.path("configmaps"), labelled).await.code, 422);
    let mut set = logset("one");
    set["metadata"]["finalizers"] = json!(["Bad one"]);
    assert_eq!(ground.post(&ground.logset_path("logsets"), set).await.code, 422);
}

pub async fn a_name_can_be_generated(ground: Ground) {
    let generated = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "story-"}});
    let one = ground.post(&ground.path("configmaps"), generated.clone()).await.ok();
    let two = ground.post(&ground.path("configmaps"), generated).await.ok();
    let name = one["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("story-") && name.len() == "story-".len() + 5, "{name}");
    assert_ne!(one["metadata"]["name"], two["metadata"]["name"]);
    assert_eq!(one["metadata"]["generateName"], "story-");
}

pub async fn a_dry_run_writes_nothing(ground: Ground) {
    let maps = ground.path("configmaps");
    let created = ground.post(&format!("{maps}?dryRun=All"), config_map("one", json!({"a": "1"}))).await;
    assert_eq!(created.code, 201);
    assert_eq!(ground.get(&format!("{maps}/one")).await.code, 404);
    let created = ground.post(&maps, config_map("one", json!({"a": "1"}))).await.ok();
    let changed = ground.merge(&format!("{maps}/one?dryRun=All"), json!({"data": {"a": "2"}})).await.ok();
    assert_eq!(changed["data"]["a"], "2");
    let replaced = ground.put(&format!("{maps}/one?dryRun=All"), config_map("one", json!({"a": "3"}))).await.ok();
    assert_eq!(replaced["data"]["a"], "3");
    ground.delete(&format!("{maps}/one"), json!({"dryRun": ["All"]})).await.ok();
    assert_eq!(version(&ground.get(&format!("{maps}/one")).await.ok()), version(&created));
}

pub async fn a_dry_run_of_a_subresource_writes_nothing(ground: Ground) {
    let sets = ground.logset_path("logsets");
    let set = ground.post(&sets, logset("one")).await.ok();
    let scaled = ground.merge(&format!("{sets}/one/scale?dryRun=All"), json!({"spec": {"replicas": 5}})).await.ok();
    assert_eq!(scaled["spec"]["replicas"], 5);
    ground.merge(&format!("{sets}/one/status?dryRun=All"), json!({"status": {"readyReplicas": 2}})).await.ok();
    assert_eq!(version(&ground.get(&format!("{sets}/one")).await.ok()), version(&set));
    let pods = ground.path("pods");
    let pod = ground.post(&pods, pod("one")).await.ok();
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "one"}});
    ground.post(&format!("{pods}/one/eviction?dryRun=All"), eviction).await.ok();
    assert_eq!(version(&ground.get(&format!("{pods}/one")).await.ok()), version(&pod));
}

pub async fn a_dry_run_under_a_taken_name_says_first_what_is_wrong(ground: Ground) {
    let pods = ground.path("pods");
    ground.post(&pods, pod("one")).await.ok();
    let mut bad = pod("one");
    bad["spec"]["containers"][0]["volumeMounts"] = json!([{"name": "none-such", "mountPath": "/data"}]);
    let refused = ground.post(&format!("{pods}?dryRun=All"), bad).await;
    let (code, reason, message) = refused.refusal();
    assert_eq!((code, reason), (422, "Invalid"));
    assert!(message.contains("none-such"), "{message}");
    let taken = ground.post(&format!("{pods}?dryRun=All"), pod("one")).await;
    assert_eq!(taken.refusal(), (409, "AlreadyExists", "pods \"one\" already exists"));
}

pub async fn unknown_fields_are_dropped_warned_of_or_refused(ground: Ground) {
    let mut odd = pod("odd");
    odd["spec"]["nodeColour"] = json!("blue");
    odd["spec"]["containers"][0]["imag"] = json!("x");
    let pods = ground.path("pods");
    let refused = ground.post(&format!("{pods}?fieldValidation=Strict"), odd.clone()).await;
    let (code, reason, message) = refused.refusal();
    assert_eq!((code, reason), (400, "BadRequest"));
    assert!(
        message.starts_with("Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field \"spec."),
        "{message}"
    );
    let warned = ground.post(&pods, odd.clone()).await;
    assert_eq!(warned.warnings.len(), 2, "{:?}", warned.warnings);
    assert!(
        warned.warnings.contains(&"299 - \"unknown field \\\"spec.containers[0].imag\\\"\"".to_owned()),
        "{:?}",
        warned.warnings
    );
    assert!(warned.ok()["spec"].get("nodeColour").is_none());
    odd["metadata"]["name"] = json!("odder");
    assert_eq!(ground.post(&format!("{pods}?fieldValidation=Ignore"), odd).await.warnings, Vec::<String>::new());
    let mut set = logset("odd");
    set["spec"]["colour"] = json!("blue");
    let sets = ground.logset_path("logsets");
    let refused = ground.post(&format!("{sets}?fieldValidation=Strict"), set.clone()).await;
    let message =
        "LogSet in version \"v1alpha1\" cannot be handled as a LogSet: strict decoding error: unknown field \"spec.colour\"";
    assert_eq!(refused.refusal(), (400, "BadRequest", message));
    let warned = ground.post(&sets, set).await;
    assert_eq!(warned.warnings, ["299 - \"unknown field \\\"spec.colour\\\"\""]);
    assert!(warned.ok()["spec"].get("colour").is_none());
}

pub async fn a_namespace_must_be_there(ground: Ground) {
    let refused = ground.post("/api/v1/namespaces/nowhere/configmaps", config_map("one", json!({}))).await;
    assert_eq!(refused.refusal(), (404, "NotFound", "namespaces \"nowhere\" not found"));
}

pub async fn leases_are_created_by_replace(ground: Ground) {
    let path = ground.path_in("coordination.k8s.io/v1", "leases/leader");
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}});
    assert_eq!(ground.put(&path, lease.clone()).await.code, 201);
    let refused = ground.put(&path, lease).await;
    assert_eq!(refused.refusal().0, 422);
}
