//! The life of a claim: it finds or gets a volume, grows, and stays as long as a pod uses it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::changes::Change;
use super::outlook::Outlook;
use super::settings::KubeletSettings;
use super::volumes;
use crate::quantity::Amount;
use crate::scheduler::volumes::{capacity, class_of, is_bound, requested, suits, volume_name, waits_for_consumer};
use crate::scheduler::{BIND_COMPLETED, SELECTED_NODE};
use crate::view::{ClusterView, annotation, claim_names, name, namespace, node_of};

/// What keeps a claim in the API while a pod uses it.
const PROTECTION: &str = "kubernetes.io/pvc-protection";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// What every claim has before it, and the volumes that are changed on their behalf.
pub(super) fn outlooks(now: Timestamp, view: &ClusterView<'_>, settings: &KubeletSettings) -> (Vec<Outlook>, BTreeSet<String>) {
    let mut touched = BTreeSet::new();
    let outlooks = view.claims.values().map(|claim| {
        let outlook = outlook(now, claim, &touched, view, settings);
        if let Some(Change::Volume(volume) | Change::CreateVolume(volume)) = &outlook.change {
            touched.insert(name(&volume.metadata).to_owned());
        }
        outlook
    });
    (outlooks.collect(), touched)
}

fn outlook(
    now: Timestamp,
    claim: &PersistentVolumeClaim,
    touched: &BTreeSet<String>,
    view: &ClusterView<'_>,
    settings: &KubeletSettings,
) -> Outlook {
    if claim.metadata.deletion_timestamp.is_some() {
        return leave(claim, view);
    }
    if !is_protected(claim) {
        return protect(claim);
    }
    if !is_bound(claim) {
        return bind(now, claim, touched, view, settings);
    }
    match volume_name(claim).and_then(|volume| view.volumes.get(volume)) {
        Some(volume) => serve(claim, volume, view),
        None => in_phase(claim, "Lost"),
    }
}

/// A claim that is to go stays while a pod that has a node uses it.
fn leave(claim: &PersistentVolumeClaim, view: &ClusterView<'_>) -> Outlook {
    if !is_protected(claim) || is_in_use(claim, view) {
        return Outlook::rest();
    }
    let mut claim = claim.clone();
    claim.metadata.finalizers.get_or_insert_default().retain(|finalizer| finalizer != PROTECTION);
    Outlook::now(Change::Claim(Box::new(claim)))
}

fn is_protected(claim: &PersistentVolumeClaim) -> bool {
    claim.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == PROTECTION)
}

fn protect(claim: &PersistentVolumeClaim) -> Outlook {
    let mut claim = claim.clone();
    claim.metadata.finalizers.get_or_insert_default().push(PROTECTION.to_owned());
    Outlook::now(Change::Claim(Box::new(claim)))
}

fn is_in_use(claim: &PersistentVolumeClaim, view: &ClusterView<'_>) -> bool {
    let mut neighbours = view.pods.values().filter(|pod| namespace(&pod.metadata) == namespace(&claim.metadata));
    neighbours.any(|pod| node_of(pod).is_some() && claim_names(pod).any(|used| used == name(&claim.metadata)))
}

/// From nothing to a volume: one that is there already, or a new one. The volume is told first, then the claim.
fn bind(
    now: Timestamp,
    claim: &PersistentVolumeClaim,
    touched: &BTreeSet<String>,
    view: &ClusterView<'_>,
    settings: &KubeletSettings,
) -> Outlook {
    if let Some(volume) = view.volumes.values().find(|volume| volumes::is_reserved_for(volume, claim)) {
        return take(claim, volume);
    }
    let selected = annotation(&claim.metadata, SELECTED_NODE);
    let asked_for = volume_name(claim);
    if asked_for.is_none() && selected.is_none() && waits_for_consumer(claim, view) {
        return Outlook::rest();
    }
    let free = view.volumes.values().filter(|volume| suits(volume, claim) && !touched.contains(name(&volume.metadata)));
    let suitable = free.filter(|volume| asked_for.is_none_or(|asked_for| asked_for == name(&volume.metadata)));
    if let Some(volume) = suitable.filter(|_| selected.is_none()).min_by_key(|volume| capacity(volume)) {
        return reserve(volume, claim);
    }
    if asked_for.is_some() {
        return Outlook::rest();
    }
    provision(now, claim, selected, view, settings)
}

fn provision(
    now: Timestamp,
    claim: &PersistentVolumeClaim,
    selected: Option<&str>,
    view: &ClusterView<'_>,
    settings: &KubeletSettings,
) -> Outlook {
    let Some(class) = class_of(claim, view) else { return Outlook::rest() };
    let stuck: Vec<_> = settings.stuck(name(&class.metadata)).collect();
    if stuck.iter().any(|during| during.contains(now)) {
        return stuck.iter().filter_map(|during| during.next_edge(now)).min().map_or_else(Outlook::rest, Outlook::at);
    }
    let volume = volumes::make(claim, class, selected, view, settings);
    volume.map_or_else(Outlook::rest, |volume| Outlook::now(Change::CreateVolume(Box::new(volume))))
}

fn reserve(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Outlook {
    let mut volume = volume.clone();
    volume.spec.get_or_insert_default().claim_ref = Some(reference(claim));
    Outlook::now(Change::Volume(Box::new(volume)))
}

/// How a volume names its claim.
pub(super) fn reference(claim: &PersistentVolumeClaim) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("PersistentVolumeClaim".to_owned()),
        namespace: claim.metadata.namespace.clone(),
        name: claim.metadata.name.clone(),
        uid: claim.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

fn take(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Outlook {
    let mut claim = claim.clone();
    claim.spec.get_or_insert_default().volume_name.clone_from(&volume.metadata.name);
    let annotations = claim.metadata.annotations.get_or_insert_default();
    annotations.insert(BIND_COMPLETED.to_owned(), "yes".to_owned());
    annotations.insert(BOUND_BY_CONTROLLER.to_owned(), "yes".to_owned());
    Outlook::now(Change::Claim(Box::new(claim)))
}

/// A bound claim says so, and its volume grows with it where the class allows.
fn serve(claim: &PersistentVolumeClaim, volume: &PersistentVolume, view: &ClusterView<'_>) -> Outlook {
    let may_grow = class_of(claim, view).and_then(|class| class.allow_volume_expansion).unwrap_or_default();
    if may_grow && requested(claim) > capacity(volume) {
        let asked = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.requests.as_ref()?.get("storage"));
        return grow(volume, asked.cloned().unwrap_or_default());
    }
    let status = claim.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    let known = status.and_then(|status| status.capacity.as_ref()?.get("storage")).map_or(Amount::ZERO, Amount::of);
    if phase == Some("Bound") && known == capacity(volume) {
        return Outlook::rest();
    }
    let mut claim = claim.clone();
    let spec = volume.spec.as_ref();
    let status = claim.status.get_or_insert_default();
    status.phase = Some("Bound".to_owned());
    status.capacity = spec.and_then(|spec| spec.capacity.clone());
    status.access_modes = spec.and_then(|spec| spec.access_modes.clone());
    Outlook::now(Change::ClaimStatus(Box::new(claim)))
}

fn grow(volume: &PersistentVolume, size: Quantity) -> Outlook {
    let mut volume = volume.clone();
    volume.spec.get_or_insert_default().capacity.get_or_insert_default().insert("storage".to_owned(), size);
    Outlook::now(Change::Volume(Box::new(volume)))
}

fn in_phase(claim: &PersistentVolumeClaim, phase: &str) -> Outlook {
    if claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some(phase) {
        return Outlook::rest();
    }
    let mut claim = claim.clone();
    claim.status.get_or_insert_default().phase = Some(phase.to_owned());
    Outlook::now(Change::ClaimStatus(Box::new(claim)))
}
