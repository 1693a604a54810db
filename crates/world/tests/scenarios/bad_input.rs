//! What can't be: it is refused or held with a reason, nothing is lost by it, and once it is put right all is as it was.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::stage::Stage;

/// An API server whose CRD is older than the operator and lets anything through.
async fn with_an_old_crd() -> Stage {
    let stage = Stage::born().await;
    let api = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let mut crd = stage.kubernetes().get_value(api.0, api.1, "", "foundationdbclusters.apps.foundationdb.org").unwrap();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    stage.kubernetes().update_value(crd).unwrap();
    stage
}

fn uids(stage: &Stage) -> BTreeMap<String, String> {
    let of = |objects: BTreeMap<String, Value>| {
        objects.into_iter().map(|(id, object)| (id, object["metadata"]["uid"].as_str().unwrap().to_owned()))
    };
    of(stage.view().pods()).chain(of(stage.view().claims()).map(|(id, uid)| (format!("{id}-data"), uid))).collect()
}

/// The wish is held, in these words, and nothing else happens; with the old wish all is as it was.
async fn is_held(bad: Value, good: Value, words: &[&str]) {
    let stage = with_an_old_crd().await;
    let before = uids(&stage);
    stage.apply(bad);
    stage.until("it is held", |view| view.held("InvalidSpec")).await;
    let sentences = stage.view().sentences().join("\n");
    for word in words {
        assert!(sentences.contains(word), "{word} is not in {sentences}");
    }
    assert_eq!(stage.view().condition("Held").unwrap().0, "True");
    stage.pass(600).await;
    assert_eq!(uids(&stage), before, "nothing is changed meanwhile");
    stage.apply(good);
    stage.rest().await;
    assert_eq!(uids(&stage), before);
}

/// The API itself says what is wrong.
async fn is_refused(bad: Value, words: &[&str]) {
    let stage = Stage::born().await;
    let refused = format!("{:?}", stage.try_apply(bad).unwrap_err());
    for word in words {
        assert!(refused.contains(word), "{word} is not in {refused}");
    }
    assert!(stage.view().is_at_rest());
}

fn parameters(parameter: &str) -> Value {
    json!({"processes": {"storage": {"customParameters": [parameter]}}})
}

#[tokio::test(start_paused = true)]
async fn a_parameter_without_a_value_is_refused() {
    is_refused(parameters("knob_max_trace_lines"), &["knob_max_trace_lines", "name=value"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_parameter_without_a_value_is_held() {
    is_held(
        parameters("knob_max_trace_lines"),
        json!({"processes": {"storage": null}}),
        &["customParameters", "knob_max_trace_lines"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_value_may_have_an_equals_sign() {
    let stage = Stage::born().await;
    stage.apply(parameters("knob_trace_note=colour=green"));
    stage.rest().await;
    assert!(stage.view().all_run_with("storage", "--knob_trace_note=colour=green"));
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_storage_processes_are_held() {
    is_held(json!({"processCounts": {"storage": 10_000}}), json!({"processCounts": {"storage": 4}}), &["processCounts", "10000"])
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_count_below_none_is_held() {
    is_held(json!({"processCounts": {"storage": -7}}), json!({"processCounts": {"storage": 4}}), &["processCounts", "-7"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_none_is_refused() {
    is_refused(json!({"version": "latest"}), &["latest", "major.minor.patch"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_none_is_held() {
    is_held(json!({"version": "latest"}), json!({"version": "7.3.69"}), &["spec.version", "latest"]).await;
}

/// Data stays whole and readable all the time.
fn serves(stage: &Stage) -> bool {
    stage.truth(|database| database.data_lost().is_none() && database.copies().is_some_and(|copies| copies.kept == copies.wanted))
}

#[tokio::test(start_paused = true)]
async fn no_storage_at_all_takes_no_data() {
    let stage = Stage::born().await;
    stage.apply(json!({"processCounts": {"storage": -1}}));
    stage.until("it is refused", |view| view.held("InvalidSpec")).await;
    stage
        .stays("nobody is to go, and all data has its copies", 1200, |view| serves(&stage) && view.live("storage").len() == 4)
        .await;
    assert!(stage.view().is_available());
    stage.apply(json!({"processCounts": {"storage": 4}}));
    stage.rest().await;
    assert_eq!(stage.view().live("storage").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_storage_class_that_does_not_exist() {
    let stage = Stage::born().await;
    let before = uids(&stage);
    stage.apply(json!({"processes": {"general": {"volumeClaimTemplate": {"spec": {"storageClassName": "none-such"}}}}}));
    stage.until("it is told", |view| view.held("StorageClassUnknown")).await;
    assert!(stage.view().sentences().join("\n").contains("none-such"), "{:?}", stage.view().sentences());
    stage.stays("everybody stays", 1200, |_| uids(&stage) == before && serves(&stage)).await;
    stage.apply(json!({"processes": {"general": {"volumeClaimTemplate": {"spec": {"storageClassName": "network"}}}}}));
    stage.rest().await;
    assert_eq!(uids(&stage), before, "put right, nobody has gone for it");
}

fn is_available(stage: &Stage) -> bool {
    stage.truth(|database| database.available())
}

/// All data has its copies, and nobody is to go.
fn is_unharmed(stage: &Stage) -> bool {
    serves(stage) && stage.view().groups().values().all(|group| !group.going)
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_only_the_api_refuses() {
    let stage = Stage::born().await;
    let before = uids(&stage);
    let mount = json!({"name": "sidecar", "image": "sidecar:1", "volumeMounts": [{"name": "none-such", "mountPath": "/x"}]});
    stage.apply(json!({
        "automationOptions": {"podUpdateStrategy": "Delete"},
        "processes": {"general": {"podTemplate": {"spec": {"containers": [mount]}}}},
    }));
    stage.until("it is told", |view| view.sentences().join("\n").contains("none-such")).await;
    stage.stays("nobody goes for it", 1200, |_| uids(&stage) == before && serves(&stage)).await;
    stage.apply(json!({"processes": {"general": {"podTemplate": null}}}));
    stage.rest().await;
    assert_eq!(uids(&stage), before);
}

/// A pod template for nodes that there are not, with a typing error in it.
fn for_no_node() -> Value {
    json!({"spec": {"containers": [], "nodeSelector": {"disk": "fsat"}}})
}

/// The nodes that had a pod which is gone, or another one by now.
fn nodes_touched(stage: &Stage, before: &BTreeMap<String, Value>) -> BTreeSet<String> {
    let now = stage.view().pods();
    let uid = |pod: &Value| pod["metadata"]["uid"].clone();
    let touched = before.iter().filter(|(id, pod)| now.get(*id).map(uid) != Some(uid(pod)));
    touched.map(|(_, pod)| pod["spec"]["nodeName"].as_str().unwrap().to_owned()).collect()
}

/// The pods of one node wait for another one, all others stay, and once it is put right everybody is back.
async fn one_node_waits(stage: &Stage, class: &str) {
    let (groups, pods) = (stage.view().groups(), stage.view().pods());
    let is_well = || is_unharmed(stage) && nodes_touched(stage, &pods).len() <= 1;
    stage.apply(json!({"processes": {class: {"podTemplate": for_no_node()}}}));
    stage.until("it is told", |view| view.held("PodPending")).await;
    stage.stays("nobody is to go for it", 120, |_| is_well()).await;
    stage.stays("the database can be used", 900, |_| is_well() && is_available(stage)).await;
    stage.apply(json!({"processes": {class: {"podTemplate": null}}}));
    stage.rest().await;
    assert!(is_well() && stage.view().groups().keys().eq(groups.keys()));
    assert!(stage.writes("delete persistentvolumeclaims").is_empty());
}

/// As long as nobody says otherwise, what fails is replaced only after two hours, and with it a pod that finds no node.
fn after_two_hours() -> Value {
    json!({"automationOptions": {"replacements": {"failureDetectionTimeSeconds": 7200}}})
}

#[tokio::test(start_paused = true)]
async fn a_node_selector_that_no_node_has_marks_nobody() {
    let stage = Stage::born_as(after_two_hours()).await;
    let before = stage.recoveries();
    one_node_waits(&stage, "storage").await;
    assert_eq!(stage.recoveries(), before, "it could be used all the time");
}

#[tokio::test(start_paused = true)]
async fn pods_that_fit_no_node_are_tried_on_one_node_only() {
    // A log that goes costs a recovery, and a coordinator another, within the first two minutes.
    let mut wish = after_two_hours();
    wish["automationOptions"]["podUpdateStrategy"] = json!("Delete");
    one_node_waits(&Stage::born_as(wish).await, "general").await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_fits_no_node() {
    let stage = Stage::born().await;
    let storage = stage.view().live("storage");
    stage.apply(json!({"processes": {"general": {"podTemplate": for_no_node()}}}));
    stage.until("it is told", |view| view.held("PodPending")).await;
    // Logs and stateless processes are to be replaced, which is never taken back; but they go only once their successors serve.
    stage.stays("no data goes for it", 900, |view| serves(&stage) && view.live("storage") == storage).await;
    assert!(stage.view().is_available());
    assert!(stage.writes("database: exclude").is_empty() && stage.writes("delete persistentvolumeclaims").is_empty());
    stage.apply(json!({"processes": {"general": {"podTemplate": null}}}));
    stage.rest().await;
    assert_eq!((stage.view().pods().len(), stage.view().claims().len()), (11, 8));
    assert_eq!(stage.view().live("storage"), storage);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_no_api_takes() {
    let stage = Stage::born().await;
    let before = uids(&stage);
    let twice = json!({"spec": {"containers": [], "volumes": [{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]}});
    stage.apply(json!({"processes": {"general": {"podTemplate": twice}}}));
    stage.until("it is told", |view| view.held("InvalidSpec")).await;
    stage.stays("nothing is touched", 900, |_| uids(&stage) == before && is_unharmed(&stage) && is_available(&stage)).await;
    stage.apply(json!({"processes": {"general": {"podTemplate": null}}}));
    stage.rest().await;
    assert_eq!(uids(&stage), before);
}
