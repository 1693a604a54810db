//! Custom objects: schema, defaults, rules, subresources.

use serde_json::json;

use crate::ground::{Ground, logset, version};

pub async fn a_schema_refuses_with_causes(ground: Ground) {
    let sets = ground.logset_path("logsets");
    let wrong = json!({"apiVersion": "core.matrixorigin.io/v1alpha1", "kind": "LogSet", "metadata": {"name": "q"}, "spec": {"replicas": "x"}});
    let refused = ground.post(&sets, wrong).await;
    assert_eq!((refused.refusal().0, refused.refusal().1), (422, "Invalid"));
    assert_eq!(refused.body["details"]["kind"], "LogSet");
    assert_eq!(refused.body["details"]["group"], "core.matrixorigin.io");
    let expected = [
        ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64",
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
        "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"",
        "spec.sharedStorage: Required value",
        "spec.volume: Required value",
    ];
    assert_eq!(refused.causes(), expected);
}

pub async fn rules_refuse_with_their_sentence(ground: Ground) {
    let sets = ground.logset_path("logsets");
    let mut bad = logset("q");
    bad["spec"]["replicas"] = json!(-1);
    let refused = ground.post(&sets, bad).await;
    let expected = [
        ".spec.replicas: Invalid value: -1: should be a non-negative integer",
        "spec.replicas: Invalid value: -1: spec.replicas is -1; use the number of log stores, 3 for most sets",
    ];
    assert_eq!(refused.causes(), expected);
    let mut bad = logset("q");
    bad["spec"]["volume"]["size"] = json!("0");
    bad["spec"]["sharedStorage"] = json!({});
    let expected = [
        "spec.sharedStorage: Invalid value: spec.sharedStorage must name exactly one of s3 and fileSystem, with a path",
        "spec.volume.size: Invalid value: spec.volume.size is \"0\"; it must be a size above 0, for example 100Gi",
    ];
    assert_eq!(ground.post(&sets, bad).await.causes(), expected);
}

pub async fn a_rule_about_a_change_sees_the_old_object(ground: Ground) {
    ground.post(&ground.logset_path("logsets"), logset("one")).await.ok();
    let path = ground.logset_path("logsets/one");
    let refused = ground.merge(&path, json!({"spec": {"volume": {"size": "1Gi"}}})).await;
    let message = "LogSet.core.matrixorigin.io \"one\" is invalid: spec.volume.size: Invalid value: spec.volume.size is 10Gi and can only grow, not become 1Gi; keep it, or use a larger one";
    assert_eq!(refused.refusal(), (422, "Invalid", message));
    ground.merge(&path, json!({"spec": {"volume": {"size": "20Gi"}}})).await.ok();
}

pub async fn status_and_spec_are_written_apart(ground: Ground) {
    let mut set = logset("one");
    set["status"] = json!({"observedGeneration": 7});
    let created = ground.post(&ground.logset_path("logsets"), set).await.ok();
    assert!(created.get("status").is_none());
    assert_eq!(created["metadata"]["generation"], 1);
    let path = ground.logset_path("logsets/one");
    let status = json!({"status": {"observedGeneration": 1}, "metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 9}});
    let patched = ground.merge(&format!("{path}/status"), status).await.ok();
    assert_eq!((&patched["status"]["observedGeneration"], &patched["spec"]["replicas"]), (&json!(1), &json!(3)));
    assert!(patched["metadata"].get("labels").is_none());
    assert_eq!(patched["metadata"]["generation"], 1);
    let patched =
        ground.merge(&path, json!({"status": {"observedGeneration": 5}, "metadata": {"labels": {"a": "b"}}})).await.ok();
    assert_eq!((&patched["status"]["observedGeneration"], &patched["metadata"]["generation"]), (&json!(1), &json!(1)));
    let mut replaced = patched;
    replaced["spec"]["replicas"] = json!(5);
    replaced["status"] = json!({});
    let replaced = ground.put(&path, replaced).await.ok();
    assert_eq!((&replaced["status"]["observedGeneration"], &replaced["metadata"]["generation"]), (&json!(1), &json!(2)));
}

pub async fn a_set_is_scaled(ground: Ground) {
    let created = ground.post(&ground.logset_path("logsets"), logset("one")).await.ok();
    let path = ground.logset_path("logsets/one/scale");
    let mut scale = ground.get(&path).await.ok();
    assert_eq!((&scale["kind"], &scale["apiVersion"]), (&json!("Scale"), &json!("autoscaling/v1")));
    assert_eq!((&scale["spec"]["replicas"], version(&scale)), (&json!(3), version(&created)));
    scale["spec"]["replicas"] = json!(5);
    let scaled = ground.put(&path, scale.clone()).await.ok();
    assert_eq!(scaled["spec"]["replicas"], 5);
    assert_eq!(ground.put(&path, scale).await.refusal().0, 409);
    let set = ground.get(&ground.logset_path("logsets/one")).await.ok();
    assert_eq!((&set["spec"]["replicas"], &set["metadata"]["generation"]), (&json!(5), &json!(2)));
    assert_eq!(ground.merge(&path, json!({"spec": {"replicas": -1}})).await.refusal().0, 422);
}

/// A small CRD with what ours do not have: defaults, unique lists, kept unknown fields.
pub async fn a_definition_is_served_and_taken_back(ground: Ground) {
    let group = format!("{}.example.test", ground.namespace);
    let name = format!("things.{group}");
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "colour": {"type": "string", "default": "blue", "enum": ["blue", "red"]},
        "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "size": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1}}}},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "maxItems": 3, "items": {"type": "string", "pattern": "^[a-z]+$"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "port": {"x-kubernetes-int-or-string": true},
    }}}});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]},
    });
    ground.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await.ok();
    let definition = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
    ground
        .until("it is established", || async {
            ground.get(&definition).await.ok()["status"]["conditions"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|one| one["type"] == "Established" && one["status"] == "True")
        })
        .await;
    let things = ground.path_in(&format!("{group}/v1"), "things");
    ground.until("it is served", || async { ground.get(&things).await.code == 200 }).await;
    let thing = |spec: serde_json::Value| json!({"apiVersion": format!("{group}/v1"), "kind": "Thing", "metadata": {"name": "one"}, "spec": spec});
    let bad = thing(
        json!({"colour": "green", "parts": [{"name": "a"}, {"name": "a", "size": 10}], "tags": ["x", "x", "Y"], "port": 1.5}),
    );
    let refused = ground.post(&things, bad).await;
    let causes = refused.causes();
    for expected in [
        "spec.colour: Unsupported value: \"green\": supported values: \"blue\", \"red\"",
        "spec.parts[1].size: Invalid value: 10: spec.parts[1].size in body should be less than or equal to 9",
        "spec.parts[1]: Duplicate value: {\"name\":\"a\"}",
        "spec.tags[1]: Duplicate value: \"x\"",
        "spec.tags[2]: Invalid value: \"Y\": spec.tags[2] in body should match '^[a-z]+$'",
    ] {
        assert!(causes.iter().any(|cause| cause == expected), "{expected}\nis not in {causes:#?}");
    }
    let good = ground
        .post(&things, thing(json!({"parts": [{"name": "a"}], "free": {"any": {"thing": 1}}, "port": "http", "unknown": 1})))
        .await
        .ok();
    assert_eq!(
        good["spec"],
        json!({"colour": "blue", "parts": [{"name": "a", "size": 1}], "free": {"any": {"thing": 1}}, "port": "http"})
    );
    ground.delete(&definition, json!({})).await.ok();
    ground.until("it is no longer served", || async { ground.get(&things).await.code == 404 }).await;
}
