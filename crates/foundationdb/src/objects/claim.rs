//! Volume claims.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{annotations, claim_asked_for, claim_name, labels, metadata, pod_name};
use crate::{Desired, ProcessClass, ProcessGroup, ProcessGroupId};

pub(super) const DEFAULT_ACCESS_MODE: &str = "ReadWriteOnce";
const DEFAULT_SIZE: &str = "128G";
const SIZE: &str = "storage";

/// The volume claim of a process group. It has an owner only if volumes are to go with the cluster: otherwise deleting the cluster must
/// not delete its data. It has the fault domain of its process group and the number of its servers, which nothing else may remember then.
pub fn claim(desired: &Desired, group: &ProcessGroupId, of: &ProcessGroup) -> PersistentVolumeClaim {
    let class = of.class;
    let template = template(desired, class);
    let name = claim_name(&pod_name(desired, class, group));
    let mut metadata = metadata::group_metadata(desired, name, template.map(|template| &template.metadata), class, group);
    metadata.owner_references = desired.delete_volumes.then(|| vec![metadata::owner(desired)]);
    let digest = claim_asked_for(desired, class);
    let servers = desired.servers_per_pod(class).to_string();
    let ours = [(annotations::ASKED_FOR.to_owned(), digest), (annotations::SERVERS.to_owned(), servers)];
    metadata.annotations.get_or_insert_default().extend(ours);
    if let Some(domain) = of.domain_key() {
        metadata.labels.get_or_insert_default().insert(labels::DISTRIBUTION_KEY.to_owned(), domain.to_owned());
    }

    let mut spec = template.and_then(|template| template.spec.clone()).unwrap_or_default();
    spec.access_modes = spec.access_modes.filter(|modes| !modes.is_empty());
    spec.access_modes.get_or_insert_with(|| vec![DEFAULT_ACCESS_MODE.to_owned()]);
    set_size(&mut spec, claim_size(desired, class));
    PersistentVolumeClaim { metadata, spec: Some(spec), status: None }
}

/// How large the volumes of a class are to be, as it was written.
pub fn claim_size(desired: &Desired, class: ProcessClass) -> Quantity {
    let spec = template(desired, class).and_then(|template| template.spec.as_ref());
    let requests = spec.and_then(|spec| spec.resources.as_ref()?.requests.as_ref());
    let asked = requests.and_then(|requests| requests.get(SIZE)).filter(|size| !size.0.trim_matches(['0', '.']).is_empty());
    asked.cloned().unwrap_or_else(|| Quantity(DEFAULT_SIZE.to_owned()))
}

/// The storage class that volumes of a class are asked to be of, if one is named.
pub fn claim_storage_class(desired: &Desired, class: ProcessClass) -> Option<&str> {
    let spec = template(desired, class)?.spec.as_ref()?;
    spec.storage_class_name.as_deref().filter(|name| !name.is_empty())
}

fn template(desired: &Desired, class: ProcessClass) -> Option<&PersistentVolumeClaim> {
    desired.templates.get(&class)?.claim.as_ref()
}

fn set_size(spec: &mut PersistentVolumeClaimSpec, size: Quantity) {
    let requests: &mut BTreeMap<_, _> = spec.resources.get_or_insert_default().requests.get_or_insert_default();
    requests.insert(SIZE.to_owned(), size);
}
