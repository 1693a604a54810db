//! Labels and annotations that a user gives to objects: by their templates, and by the labels for all resources. They say nothing about
//! what runs, so they are changed where they are. An annotation of ours lists their keys, so that they can be taken back; what is ours,
//! and what others put on an object besides, is left alone.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::{annotations, labels};
use crate::{Desired, ProcessClass};

/// How annotations begin that are ours alone.
const OURS: &str = "quorate.io/";
/// Annotations that others read, and that are written by us, by monitors or by the existing operator, whatever a template says.
const NOT_THEIRS: [&str; 11] = [
    annotations::PUBLIC_IP_SOURCE,
    annotations::PUBLIC_IP,
    annotations::IMAGE_TYPE,
    annotations::IP_FAMILY,
    annotations::OUTDATED_SEEN,
    annotations::CURRENT_NODE,
    "foundationdb.org/launcher-current-configuration",
    "foundationdb.org/launcher-environment",
    "foundationdb.org/cluster-file-change",
    "foundationdb.org/last-applied-spec",
    "foundationdb.org/last-applied-config-map",
];

/// Labels and annotations, by their keys. A key without a value is one that is missing, or that is to go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tags {
    /// The labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Option<String>>,
    /// The annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, Option<String>>,
}

/// The keys of what was given to an object, as the annotation lists them.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Listed {
    annotations: Vec<String>,
    labels: Vec<String>,
}

impl Tags {
    /// What a user gives to an object with this template.
    pub(super) fn given(desired: &Desired, template: Option<&ObjectMeta>) -> Self {
        let theirs = |map: Option<&BTreeMap<String, String>>| map.into_iter().flatten().map(pair).collect::<BTreeMap<_, _>>();
        let mut labels = theirs(template.and_then(|template| template.labels.as_ref()));
        labels.extend(desired.labels.resource.iter().map(pair));
        labels.retain(|key, _| !is_our_label(desired, key));
        let mut annotations = theirs(template.and_then(|template| template.annotations.as_ref()));
        annotations.retain(|key, _| !is_our_annotation(key));
        Self { labels, annotations }
    }

    /// What an object has of what it was given.
    pub fn found(on: &ObjectMeta) -> Self {
        Self::found_among(on.labels.as_ref(), on.annotations.as_ref())
    }

    /// The same, of the labels and annotations of an object.
    pub(crate) fn found_among(labels: Option<&BTreeMap<String, String>>, annotations: Option<&BTreeMap<String, String>>) -> Self {
        let listed = annotations.and_then(|all| all.get(annotations::GIVEN));
        let listed: Listed = listed.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let values = |keys: Vec<String>, map: Option<&BTreeMap<String, String>>| {
            let with_value = |key: String| {
                let value = map.and_then(|map| map.get(&key).cloned());
                (key, value)
            };
            keys.into_iter().map(with_value).collect()
        };
        Self { labels: values(listed.labels, labels), annotations: values(listed.annotations, annotations) }
    }

    /// How an object that has this of what it was given gets what it is to have.
    pub(crate) fn change_to(&self, wanted: &Self) -> Self {
        let mut change =
            Self { labels: changes(&self.labels, &wanted.labels), annotations: changes(&self.annotations, &wanted.annotations) };
        if self.listed() != wanted.listed() {
            change.annotations.insert(annotations::GIVEN.to_owned(), wanted.listed());
        }
        change
    }

    /// Those that are to go.
    pub(crate) fn without_value(mut self) -> Self {
        self.labels.retain(|_, value| value.is_none());
        self.annotations.retain(|_, value| value.is_none());
        self
    }

    /// The list of their keys, if there are any.
    pub(super) fn listed(&self) -> Option<String> {
        let keys = |map: &BTreeMap<String, _>| map.keys().cloned().collect();
        let listed = Listed { annotations: keys(&self.annotations), labels: keys(&self.labels) };
        (*self != Self::default()).then(|| serde_json::json!(listed).to_string())
    }

    /// What was given, after a change of it.
    pub(crate) fn apply(&mut self, change: &Self) {
        let copied = |(key, value): (&String, &Option<String>)| (key.clone(), value.clone());
        self.labels.extend(change.labels.iter().map(copied));
        self.annotations.extend(change.annotations.iter().filter(|(key, _)| !is_our_annotation(key)).map(copied));
        self.labels.retain(|_, value| value.is_some());
        self.annotations.retain(|_, value| value.is_some());
    }
}

/// What a user gives to the pods of a class.
pub fn pod_tags(desired: &Desired, class: ProcessClass) -> Tags {
    Tags::given(desired, desired.templates.get(&class).and_then(|template| template.pod.metadata.as_ref()))
}

/// What a user gives to the volume claims of a class.
pub fn claim_tags(desired: &Desired, class: ProcessClass) -> Tags {
    let template = desired.templates.get(&class).and_then(|template| template.claim.as_ref());
    Tags::given(desired, template.map(|template| &template.metadata))
}

/// What a user gives to objects that have no template: services and the disruption budget.
pub fn resource_tags(desired: &Desired) -> Tags {
    Tags::given(desired, None)
}

fn changes(
    has: &BTreeMap<String, Option<String>>,
    wanted: &BTreeMap<String, Option<String>>,
) -> BTreeMap<String, Option<String>> {
    let gone = has.keys().filter(|key| !wanted.contains_key(*key)).map(|key| (key.clone(), None));
    let other = wanted.iter().filter(|(key, value)| has.get(*key) != Some(value));
    gone.chain(other.map(|(key, value)| (key.clone(), value.clone()))).collect()
}

fn pair((key, value): (&String, &String)) -> (String, Option<String>) {
    (key.clone(), Some(value.clone()))
}

/// Labels that objects are found and selected by.
fn is_our_label(desired: &Desired, key: &String) -> bool {
    let crate::Labels { matching, resource: _, group, class } = &desired.labels;
    let identity = [labels::CLUSTER, labels::CLASS, labels::GROUP, labels::DISTRIBUTION_KEY].contains(&key.as_str());
    identity || matching.contains_key(key) || group.contains(key) || class.contains(key)
}

fn is_our_annotation(key: &str) -> bool {
    key.starts_with(OURS) || NOT_THEIRS.contains(&key)
}
