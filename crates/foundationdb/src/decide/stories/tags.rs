//! Labels and annotations of a user reach objects where they are.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PodTemplateSpec};
use serde_json::{Value, json};

use super::cluster::{Cluster, told};
use crate::ProcessClass::{self, Log, Stateless, Storage};
use crate::objects::{Tags, annotations};
use crate::{AtOnce, ClassTemplate, GroupCondition, labels};

fn give(cluster: &mut Cluster, class: ProcessClass, metadata: &Value) {
    let pod: PodTemplateSpec = serde_json::from_value(json!({"metadata": metadata})).unwrap();
    let claim: PersistentVolumeClaim = serde_json::from_value(json!({"metadata": metadata})).unwrap();
    cluster.desired.templates.insert(class, ClassTemplate { pod, claim: Some(claim), ..ClassTemplate::default() });
}

fn values<const N: usize>(values: [(&str, &str); N]) -> std::collections::BTreeMap<String, Option<String>> {
    values.map(|(key, value)| (key.to_owned(), Some(value.to_owned()))).into()
}

#[test]
fn a_label_comes_changes_and_goes_and_nobody_is_made_again() {
    let mut cluster = Cluster::usual();
    let pods = cluster.kube.pods.values().map(|pod| pod.uid.clone()).collect::<Vec<_>>();
    for metadata in [
        json!({"labels": {"team": "green"}, "annotations": {"example.org/note": "a"}}),
        json!({"labels": {"team": "blue", "tier": "1"}, "annotations": {"example.org/note": "a"}}),
        json!({"labels": {"tier": "1"}}),
        json!({}),
    ] {
        give(&mut cluster, Log, &metadata);
        let decision = cluster.round(5);
        let expected: Vec<String> = (1..5)
            .flat_map(|number| [format!("tag claim sample-log-{number}-data"), format!("tag pod sample-log-{number}")])
            .collect();
        assert_eq!(told(&decision), expected, "{metadata}");
        let wrong = |id: &str| {
            decision
                .status
                .groups
                .iter()
                .any(|(group, of)| group.0 == id && of.conditions.contains_key(&GroupCondition::IncorrectPodMetadata))
        };
        assert!(wrong("log-1") && !wrong("storage-8"));
        let given = |which: &str| -> std::collections::BTreeMap<String, Option<String>> {
            serde_json::from_value(metadata.get(which).cloned().unwrap_or(json!({}))).unwrap()
        };
        let has = Tags { labels: given("labels"), annotations: given("annotations") };
        assert_eq!((&cluster.kube.pods["sample-log-1"].given, &cluster.kube.claims["sample-log-1-data"].given), (&has, &has));
        let decision = cluster.round(5);
        assert!(told(&decision).is_empty() && decision.holds.is_empty(), "{:?}", told(&decision));
        assert!(decision.status.groups.values().all(|group| group.conditions.is_empty()));
    }
    cluster.rounds(20);
    assert!(pods.iter().eq(cluster.kube.pods.values().map(|pod| &pod.uid)) && cluster.marked().is_empty());
}

#[test]
fn labels_for_all_resources_reach_every_object() {
    let mut cluster = Cluster::usual();
    cluster.desired.labels.resource = [("team".to_owned(), "green".to_owned())].into();
    let decision = cluster.round(5);
    let tagged = told(&decision).into_iter().filter(|step| step.starts_with("tag "));
    let (objects, of_cluster): (Vec<_>, Vec<_>) = tagged.partition(|step| step.contains("sample-"));
    assert_eq!(
        (objects.len(), of_cluster),
        (11 + 8, vec!["tag service sample".to_owned(), "tag the disruption budget".to_owned()])
    );
    let team = |color: &str| values([("team", color)]);
    let given = |cluster: &Cluster, color: &str| {
        cluster.kube.pods.values().all(|pod| pod.given.labels == team(color))
            && cluster.kube.services["sample"].given.labels == team(color)
            && cluster.kube.disruption_budget.as_ref().unwrap().given.labels == team(color)
    };
    assert!(given(&cluster, "green") && cluster.rounds(5).is_empty());
    cluster.desired.labels.resource = [("team".to_owned(), "blue".to_owned())].into();
    cluster.round(5);
    assert!(given(&cluster, "blue") && cluster.rounds(5).is_empty());
    // Somebody else's service of the same name is not written on.
    cluster.kube.services.get_mut("sample").unwrap().owner = Some("somebody else".to_owned());
    cluster.desired.labels.resource = [("team".to_owned(), "red".to_owned())].into();
    assert!(!told(&cluster.round(5)).contains(&"tag service sample".to_owned()));
}

#[test]
fn what_is_taken_back_is_named_and_what_is_ours_never_is() {
    let mut cluster = Cluster::usual();
    give(&mut cluster, Stateless, &json!({"labels": {"team": "green"}}));
    cluster.round(5);
    // Whatever a template says of these, they are not its to say.
    let ours = json!({
        "labels": {(labels::CLUSTER): "x", (labels::GROUP): "x", (labels::CLASS): "x"},
        "annotations": {(annotations::ASKED_FOR): "x", (annotations::PUBLIC_IP): "x", "foundationdb.org/launcher-environment": "x"},
    });
    give(&mut cluster, Stateless, &ours);
    let decision = cluster.decided();
    let changes: Vec<Value> = decision.steps.iter().map(|step| json!(step.effect)).collect();
    let expected = json!({"labels": {"team": null}, "annotations": {
        (annotations::GIVEN): null, (annotations::CURRENT_NODE): cluster.pod("stateless-5").node,
    }});
    assert_eq!(changes[0]["adds"]["podTags"]["tags"], expected, "{changes:?}");
    cluster.round(5);
    assert!(cluster.rounds(3).is_empty());
}

#[test]
fn what_somebody_changed_by_hand_is_put_right() {
    let mut cluster = Cluster::usual();
    give(&mut cluster, Log, &json!({"labels": {"team": "green"}}));
    cluster.round(5);
    cluster.pod("log-1").given.labels = values([("team", "red")]);
    cluster.pod("log-2").given.labels.insert("team".to_owned(), None);
    assert_eq!(told(&cluster.round(5)), ["tag pod sample-log-1", "tag pod sample-log-2"]);
    assert!(cluster.rounds(3).is_empty());
}

#[test]
fn a_pod_is_written_on_once_for_all_there_is_to_write() {
    let mut cluster = Cluster::usual();
    cluster.out_of_date = cluster.kube.pods.keys().cloned().collect();
    let parameters = vec![("knob_max_trace_lines".to_owned(), "1".to_owned())];
    cluster.desired.templates.insert(Stateless, ClassTemplate { parameters: parameters.clone(), ..ClassTemplate::default() });
    cluster.round(5);
    give(&mut cluster, Stateless, &json!({"labels": {"team": "green"}}));
    cluster.desired.templates.get_mut(&Stateless).unwrap().parameters = parameters;
    let of_one = |step: &String| step.ends_with("sample-stateless-5");
    assert_eq!(told(&cluster.round(5)).into_iter().filter(of_one).collect::<Vec<_>>(), ["poke pod sample-stateless-5"]);
    assert_eq!(cluster.pod("stateless-5").given.labels, values([("team", "green")]));
}

#[test]
fn who_is_to_be_made_again_or_to_go_gets_no_write_for_it() {
    let tagged = |change: fn(&mut Cluster)| {
        let mut cluster = Cluster::usual();
        give(&mut cluster, Storage, &json!({"labels": {"team": "green"}}));
        cluster.desired.templates.get_mut(&Storage).unwrap().claim = None;
        change(&mut cluster);
        told(&cluster.round(5)).iter().filter(|step| step.starts_with("tag pod")).count()
    };
    assert_eq!(tagged(|_| {}), 4);
    assert_eq!(tagged(|cluster| cluster.desired.image = "fdb:another".to_owned()), 0);
    assert_eq!(tagged(|cluster| cluster.desired.remove.extend(["storage-8".to_owned()])), 3);
    assert_eq!(tagged(|cluster| cluster.pod("storage-8").deleted_since = Some(cluster.now)), 3);
    assert_eq!(tagged(|cluster| cluster.pod("storage-8").owner = Some("somebody else".to_owned())), 3);
    // A user who lets nothing be made again still gets labels.
    let held: fn(&mut Cluster) = |cluster| {
        cluster.desired.image = "fdb:another".to_owned();
        cluster.desired.automation.deletion = AtOnce::Nothing;
    };
    assert_eq!(tagged(held), 4);
}

#[test]
fn a_claim_grows_first() {
    let mut cluster = Cluster::usual();
    give(&mut cluster, Log, &json!({"labels": {"team": "green"}}));
    let claim = json!({"metadata": {"labels": {"team": "green"}}, "spec": {"resources": {"requests": {"storage": "256G"}}}});
    cluster.desired.templates.get_mut(&Log).unwrap().claim = serde_json::from_value(claim).unwrap();
    let of_one = |step: &String| step.contains("sample-log-1-data");
    assert_eq!(told(&cluster.round(5)).into_iter().filter(of_one).collect::<Vec<_>>(), ["grow sample-log-1-data to 256G"]);
    assert_eq!(told(&cluster.round(5)).into_iter().filter(of_one).collect::<Vec<_>>(), ["tag claim sample-log-1-data"]);
}
