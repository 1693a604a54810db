//! The life of a volume: made where its pod will be, bound, and given up or kept when its claim is gone.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    CSIPersistentVolumeSource, Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume,
    PersistentVolumeClaim, PersistentVolumeSpec, VolumeNodeAffinity,
};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::changes::Change;
use super::claims;
use super::outlook::Outlook;
use super::settings::{KubeletSettings, Reach};
use crate::scheduler::volumes::{is_allowed, is_reachable, volume_name};
use crate::view::{ClusterView, label, name, namespace};

const HOST: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// What a volume has before it.
pub(super) fn outlook(volume: &PersistentVolume, view: &ClusterView<'_>) -> Outlook {
    let Some(reference) = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref()) else {
        return in_phase(volume, "Available");
    };
    let key = (reference.namespace.as_deref().unwrap_or_default(), reference.name.as_deref().unwrap_or_default());
    let same = |claim: &PersistentVolumeClaim| reference.uid.is_none() || reference.uid == claim.metadata.uid;
    match view.claims.get(&key).filter(|claim| same(claim)) {
        Some(claim) if volume_name(claim) == volume.metadata.name.as_deref() => in_phase(volume, "Bound"),
        Some(_) => Outlook::rest(),
        // Kept for a claim that is still to come.
        None if reference.uid.is_none() => in_phase(volume, "Available"),
        None => release(volume),
    }
}

/// The claim is gone: the volume goes with it, or is kept for a person to look at.
fn release(volume: &PersistentVolume) -> Outlook {
    let released = in_phase(volume, "Released");
    if released.change.is_some() {
        return released;
    }
    let policy = volume.spec.as_ref().and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
    if policy != Some("Delete") || volume.metadata.deletion_timestamp.is_some() {
        return Outlook::rest();
    }
    Outlook::now(Change::DeleteVolume { name: name(&volume.metadata).to_owned(), uid: volume.metadata.uid.clone() })
}

fn in_phase(volume: &PersistentVolume, phase: &str) -> Outlook {
    if volume.status.as_ref().and_then(|status| status.phase.as_deref()) == Some(phase) {
        return Outlook::rest();
    }
    let mut volume = volume.clone();
    volume.status.get_or_insert_default().phase = Some(phase.to_owned());
    Outlook::now(Change::VolumeStatus(Box::new(volume)))
}

/// Whether a volume belongs to this claim, and not to a namesake of it.
pub(super) fn is_reserved_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref()).is_some_and(|reference| {
        reference.namespace.as_deref() == Some(namespace(&claim.metadata))
            && reference.name.as_deref() == Some(name(&claim.metadata))
            && (reference.uid.is_none() || reference.uid == claim.metadata.uid)
    })
}

/// A new volume for a claim; none when its class is not one of those that make volumes, or has no place for one.
pub(super) fn make(
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    selected: Option<&str>,
    view: &ClusterView<'_>,
    settings: &KubeletSettings,
) -> Option<PersistentVolume> {
    let reach = *settings.provisioners.get(&class.provisioner)?;
    let node = match selected {
        Some(selected) => view.nodes.get(selected).copied()?,
        None => emptiest(class, view)?,
    };
    let wanted = claim.spec.as_ref()?;
    let volume = format!("pvc-{}", claim.metadata.uid.as_deref().unwrap_or(name(&claim.metadata)));
    let spec = PersistentVolumeSpec {
        access_modes: wanted.access_modes.clone(),
        capacity: wanted.resources.as_ref().and_then(|resources| resources.requests.clone()),
        claim_ref: Some(claims::reference(claim)),
        csi: Some(CSIPersistentVolumeSource {
            driver: class.provisioner.clone(),
            volume_handle: volume.clone(),
            ..CSIPersistentVolumeSource::default()
        }),
        node_affinity: affinity(reach, node),
        persistent_volume_reclaim_policy: Some(class.reclaim_policy.clone().unwrap_or_else(|| "Delete".to_owned())),
        storage_class_name: class.metadata.name.clone(),
        volume_mode: wanted.volume_mode.clone(),
        ..PersistentVolumeSpec::default()
    };
    let provisioned_by = ("pv.kubernetes.io/provisioned-by".to_owned(), class.provisioner.clone());
    let metadata =
        ObjectMeta { name: Some(volume), annotations: Some(BTreeMap::from([provisioned_by])), ..ObjectMeta::default() };
    Some(PersistentVolume { metadata, spec: Some(spec), status: None })
}

/// Without a pod to follow, the allowed node that reaches the fewest volumes of the class, the first by name among equals.
fn emptiest<'a>(class: &StorageClass, view: &ClusterView<'a>) -> Option<&'a Node> {
    let of_class = |volume: &&&PersistentVolume| {
        volume.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref()) == class.metadata.name.as_deref()
    };
    let allowed = view.nodes.values().copied().filter(|node| is_allowed(class, node));
    allowed.min_by_key(|node| view.volumes.values().filter(of_class).filter(|volume| is_reachable(volume, node)).count())
}

fn affinity(reach: Reach, node: &Node) -> Option<VolumeNodeAffinity> {
    let key = match reach {
        Reach::Host => HOST,
        Reach::Zone => ZONE,
        Reach::Anywhere => return None,
    };
    let expression = NodeSelectorRequirement {
        key: key.to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![label(&node.metadata, key)?.to_owned()]),
    };
    let term = NodeSelectorTerm { match_expressions: Some(vec![expression]), match_fields: None };
    Some(VolumeNodeAffinity { required: Some(NodeSelector { node_selector_terms: vec![term] }) })
}
