//! Labels, owners and the metadata of a template.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::{Tags, annotations, labels};
use crate::{Desired, ProcessClass, ProcessGroupId};

/// What makes an object go with the cluster.
pub fn owner(desired: &Desired) -> OwnerReference {
    OwnerReference {
        api_version: "apps.foundationdb.org/v1beta2".to_owned(),
        kind: "FoundationDBCluster".to_owned(),
        name: desired.name.clone(),
        uid: desired.uid.clone(),
        controller: Some(true),
        block_owner_deletion: None,
    }
}

/// The metadata of an object of the whole cluster; what a template says is kept where it is not ours to say.
pub(super) fn cluster_metadata(desired: &Desired, name: String, template: Option<&ObjectMeta>) -> ObjectMeta {
    metadata(desired, name, template, desired.labels.matching.clone())
}

/// The metadata of an object of one process group.
pub(super) fn group_metadata(
    desired: &Desired,
    name: String,
    template: Option<&ObjectMeta>,
    class: ProcessClass,
    group: &ProcessGroupId,
) -> ObjectMeta {
    let mut ours = desired.labels.matching.clone();
    ours.extend(desired.labels.class.iter().map(|key| (key.clone(), class.name().to_owned())));
    ours.extend(desired.labels.group.iter().map(|key| (key.clone(), group.to_string())));
    let mut metadata = metadata(desired, name, template, ours);
    let labels = metadata.labels.get_or_insert_default();
    labels.insert(labels::CLASS.to_owned(), class.name().to_owned());
    labels.insert(labels::GROUP.to_owned(), group.to_string());
    metadata
}

fn metadata(desired: &Desired, name: String, template: Option<&ObjectMeta>, ours: BTreeMap<String, String>) -> ObjectMeta {
    let given = Tags::given(desired, template).listed();
    let template = template.cloned().unwrap_or_default();
    let mut labels = template.labels.unwrap_or_default();
    labels.extend(ours);
    labels.extend(desired.labels.resource.clone());
    // By this we find it again, whatever labels anybody asks for besides.
    labels.insert(labels::CLUSTER.to_owned(), desired.name.clone());
    let mut annotations = template.annotations;
    if let Some(given) = given {
        annotations.get_or_insert_default().insert(annotations::GIVEN.to_owned(), given);
    }
    ObjectMeta {
        name: Some(name),
        namespace: Some(desired.namespace.clone()),
        labels: Some(labels),
        annotations,
        finalizers: template.finalizers,
        ..ObjectMeta::default()
    }
}

/// What selects all pods of the cluster: a label that they have from their beginning to their end, not those that a user may ask to be
/// others. Pods that were made before such a change and after it are to be found alike, by their names and by each other.
pub(super) fn cluster_selector(desired: &Desired) -> BTreeMap<String, String> {
    BTreeMap::from([(labels::CLUSTER.to_owned(), desired.name.clone())])
}

/// What selects the pods of a class.
pub(super) fn class_selector(desired: &Desired, class: ProcessClass) -> BTreeMap<String, String> {
    with(cluster_selector(desired), labels::CLASS, class.name())
}

/// What selects the pod of a process group.
pub(super) fn group_selector(desired: &Desired, group: &ProcessGroupId) -> BTreeMap<String, String> {
    with(cluster_selector(desired), labels::GROUP, &group.0)
}

fn with(mut selector: BTreeMap<String, String>, key: &str, value: &str) -> BTreeMap<String, String> {
    selector.insert(key.to_owned(), value.to_owned());
    selector
}
