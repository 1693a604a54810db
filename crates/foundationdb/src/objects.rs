//! The Kubernetes objects of a process group.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, EmptyDirVolumeSource, EnvVar, PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimVolumeSource,
    Pod, Volume, VolumeMount, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::{Desired, ProcessClass, ProcessGroupId};

/// The labels of the existing operator, which everything else selects by.
pub mod labels {
    /// The cluster.
    pub const CLUSTER: &str = "foundationdb.org/fdb-cluster-name";
    /// The process class.
    pub const CLASS: &str = "foundationdb.org/fdb-process-class";
    /// The process group.
    pub const GROUP: &str = "foundationdb.org/fdb-process-group-id";
}

/// The container that runs fdbserver.
const MAIN_CONTAINER: &str = "foundationdb";
/// Its volume.
const DATA_VOLUME: &str = "data";
const DATA_PATH: &str = "/var/fdb/data";

/// The pod of a process group has its name, with the cluster's before it.
pub(crate) fn pod_name(desired: &Desired, class: ProcessClass, group: &ProcessGroupId) -> String {
    let number = group.number().unwrap_or_default();
    format!("{}-{}-{number}", desired.name, class.name().replace('_', "-"))
}

/// The volume claim of a process group is named after its pod.
pub(crate) fn claim_name(pod: &str) -> String {
    format!("{pod}-data")
}

pub(crate) fn pod(desired: &Desired, class: ProcessClass, group: &ProcessGroupId) -> Pod {
    let name = pod_name(desired, class, group);
    let template = desired.templates.get(&class).map(|template| template.pod.clone()).unwrap_or_default();
    let template_metadata = template.metadata.unwrap_or_default();
    let mut spec = template.spec.unwrap_or_default();
    put_main_container(&mut spec.containers, desired, group);
    let data = if class.is_stateful() {
        let claim = PersistentVolumeClaimVolumeSource { claim_name: claim_name(&name), read_only: None };
        Volume { name: DATA_VOLUME.to_owned(), persistent_volume_claim: Some(claim), ..Volume::default() }
    } else {
        Volume { name: DATA_VOLUME.to_owned(), empty_dir: Some(EmptyDirVolumeSource::default()), ..Volume::default() }
    };
    spec.volumes.get_or_insert_default().push(data);
    let mut labels = template_metadata.labels.unwrap_or_default();
    labels.extend(group_labels(desired, class, group));
    Pod {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(desired.namespace.clone()),
            labels: Some(labels),
            annotations: template_metadata.annotations,
            owner_references: Some(vec![owner(desired)]),
            ..ObjectMeta::default()
        },
        spec: Some(spec),
        status: None,
    }
}

fn put_main_container(containers: &mut Vec<Container>, desired: &Desired, group: &ProcessGroupId) {
    let position = containers.iter().position(|container| container.name == MAIN_CONTAINER);
    let mut main = position.map(|position| containers.remove(position)).unwrap_or_default();
    MAIN_CONTAINER.clone_into(&mut main.name);
    main.image.get_or_insert_with(|| desired.image.clone());
    let instance = EnvVar { name: "FDB_INSTANCE_ID".to_owned(), value: Some(group.to_string()), value_from: None };
    main.env.get_or_insert_default().push(instance);
    let mount = VolumeMount { name: DATA_VOLUME.to_owned(), mount_path: DATA_PATH.to_owned(), ..VolumeMount::default() };
    main.volume_mounts.get_or_insert_default().push(mount);
    containers.insert(0, main);
}

/// A claim has no owner: deleting the cluster must not delete its data.
pub(crate) fn claim(desired: &Desired, class: ProcessClass, group: &ProcessGroupId) -> PersistentVolumeClaim {
    let template = desired.templates.get(&class).and_then(|template| template.claim.clone()).unwrap_or_default();
    let template = template.spec.unwrap_or_default();
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(claim_name(&pod_name(desired, class, group))),
            namespace: Some(desired.namespace.clone()),
            labels: Some(group_labels(desired, class, group)),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: template.access_modes.or_else(|| Some(vec!["ReadWriteOnce".to_owned()])),
            resources: template.resources.or_else(|| Some(default_size())),
            ..template
        }),
        status: None,
    }
}

fn default_size() -> VolumeResourceRequirements {
    let requests = BTreeMap::from([("storage".to_owned(), Quantity("128G".to_owned()))]);
    VolumeResourceRequirements { requests: Some(requests), limits: None }
}

fn group_labels(desired: &Desired, class: ProcessClass, group: &ProcessGroupId) -> BTreeMap<String, String> {
    BTreeMap::from([
        (labels::CLUSTER.to_owned(), desired.name.clone()),
        (labels::CLASS.to_owned(), class.name().to_owned()),
        (labels::GROUP.to_owned(), group.to_string()),
    ])
}

fn owner(desired: &Desired) -> OwnerReference {
    OwnerReference {
        api_version: "apps.foundationdb.org/v1beta2".to_owned(),
        kind: "FoundationDBCluster".to_owned(),
        name: desired.name.clone(),
        uid: desired.uid.clone(),
        controller: Some(true),
        block_owner_deletion: None,
    }
}
