//! Where a pod's volumes let it go, and which volumes it would get there.

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod, TopologySelectorTerm};
use k8s_openapi::api::storage::v1::StorageClass;

use super::messages::Reason;
use super::node_affinity;
use super::selectors::Selector;
use crate::quantity::Amount;
use crate::view::{ClusterView, annotation, claim_names, label, name, namespace};

/// The annotation by which the scheduler tells the provisioner for which node it chose a claim's volume.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// The annotation of a claim whose binding is complete.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// The provisioner of classes whose volumes are made by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Labels of a volume that say in which zone or region it is, and nodes must be.
const PLACES: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

/// What becomes of a claim that waited for its first consumer, once that has a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// The claim takes a volume that is there.
    Existing {
        /// The claim, in the pod's namespace.
        claim: String,
        /// The volume.
        volume: String,
    },
    /// A volume is to be made for the claim; the scheduler says so by the annotation [`SELECTED_NODE`].
    Provision {
        /// The claim, in the pod's namespace.
        claim: String,
    },
}

/// A pod's claims, sorted by what they still need.
pub(super) struct Claims<'a> {
    bound: Vec<&'a PersistentVolume>,
    waiting: Vec<&'a PersistentVolumeClaim>,
    in_use: bool,
}

impl<'a> Claims<'a> {
    /// An error keeps the pod from every node: the claim has to change first.
    pub(super) fn of(pod: &Pod, view: &ClusterView<'a>) -> Result<Self, String> {
        for (claim_name, claim) in view.claims_of(pod) {
            let claim = claim.ok_or_else(|| format!("persistentvolumeclaim {claim_name:?} not found"))?;
            if claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Lost") {
                let volume = volume_name(claim).unwrap_or_default();
                return Err(format!("persistentvolumeclaim {claim_name:?} bound to non-existent persistentvolume {volume:?}"));
            }
            if claim.metadata.deletion_timestamp.is_some() {
                return Err(format!("persistentvolumeclaim {claim_name:?} is being deleted"));
            }
        }
        let claims: Vec<_> = view.claims_of(pod).filter_map(|(_, claim)| claim).collect();
        let (bound, unbound): (Vec<_>, Vec<_>) = claims.iter().copied().partition(|claim| is_bound(claim));
        if unbound.iter().any(|claim| volume_name(claim).is_some() || !waits_for_consumer(claim, view)) {
            return Err("pod has unbound immediate PersistentVolumeClaims".to_owned());
        }
        let volumes = bound.iter().filter_map(|claim| volume_name(claim)).map(|volume| {
            let found = view.volumes.get(volume).copied();
            found.ok_or_else(|| format!("persistentvolume {volume:?} not found"))
        });
        let in_use = claims.iter().filter(|claim| is_for_one_pod(claim)).any(|claim| is_used_by_another(claim, pod, view));
        Ok(Self { bound: volumes.collect::<Result<_, _>>()?, waiting: unbound, in_use })
    }

    /// Why the pod cannot have its volumes on a node; bound and waiting claims each have their reason.
    pub(super) fn reject(&self, node: &Node, view: &ClusterView<'a>) -> Vec<Reason> {
        if self.in_use {
            return vec![Reason::ClaimInUse];
        }
        let elsewhere = self.bound.iter().any(|volume| !is_reachable(volume, node)).then_some(Reason::VolumeElsewhere);
        let none_to_bind = self.bindings(node, view).is_none().then_some(Reason::NoVolumeToBind);
        let reasons: Vec<_> = elsewhere.into_iter().chain(none_to_bind).collect();
        if reasons.is_empty() && self.bound.iter().any(|volume| !is_in_place(volume, node)) {
            return vec![Reason::VolumeZone];
        }
        reasons
    }

    /// What each waiting claim gets on a node, or nothing when one of them gets none. Small claims choose first.
    pub(super) fn bindings(&self, node: &Node, view: &ClusterView<'a>) -> Option<Vec<Binding>> {
        let mut waiting = self.waiting.clone();
        waiting.sort_by_key(|claim| requested(claim));
        let mut taken = Vec::new();
        let bindings = waiting.into_iter().map(|claim| {
            let selected = annotation(&claim.metadata, SELECTED_NODE);
            if selected.is_some_and(|selected| selected != name(&node.metadata)) {
                return None;
            }
            let claim_name = name(&claim.metadata).to_owned();
            let existing = if selected.is_none() { smallest_match(claim, node, &taken, view) } else { None };
            if let Some(volume) = existing {
                taken.push(name(&volume.metadata));
                return Some(Binding::Existing { claim: claim_name, volume: name(&volume.metadata).to_owned() });
            }
            provisions_for(claim, node, view).then_some(Binding::Provision { claim: claim_name })
        });
        bindings.collect()
    }
}

/// Whether a claim has its volume for good.
pub(crate) fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    volume_name(claim).is_some() && annotation(&claim.metadata, BIND_COMPLETED).is_some()
}

/// The volume a claim names.
pub(crate) fn volume_name(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.spec.as_ref()?.volume_name.as_deref().filter(|name| !name.is_empty())
}

/// A claim's storage class, if it exists.
pub(crate) fn class_of<'a>(claim: &PersistentVolumeClaim, view: &ClusterView<'a>) -> Option<&'a StorageClass> {
    view.classes.get(claim.spec.as_ref()?.storage_class_name.as_deref()?).copied()
}

/// Whether a claim gets its volume only once a pod that uses it has a node.
pub(crate) fn waits_for_consumer(claim: &PersistentVolumeClaim, view: &ClusterView<'_>) -> bool {
    let mode = class_of(claim, view).and_then(|class| class.volume_binding_mode.as_deref());
    mode == Some("WaitForFirstConsumer")
}

/// The storage a claim asks for.
pub(crate) fn requested(claim: &PersistentVolumeClaim) -> Amount {
    let requests = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.requests.as_ref());
    requests.and_then(|requests| requests.get("storage")).map_or(Amount::ZERO, Amount::of)
}

/// The storage a volume has.
pub(crate) fn capacity(volume: &PersistentVolume) -> Amount {
    let capacity = volume.spec.as_ref().and_then(|spec| spec.capacity.as_ref());
    capacity.and_then(|capacity| capacity.get("storage")).map_or(Amount::ZERO, Amount::of)
}

/// Whether a volume could serve a claim, wherever it is.
pub(crate) fn suits(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let (Some(spec), Some(wanted)) = (&volume.spec, &claim.spec) else { return false };
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    let is_free = spec.claim_ref.is_none() && phase == Some("Available") && volume.metadata.deletion_timestamp.is_none();
    let same_class =
        spec.storage_class_name.as_deref().unwrap_or_default() == wanted.storage_class_name.as_deref().unwrap_or_default();
    let same_mode = spec.volume_mode.as_deref().unwrap_or("Filesystem") == wanted.volume_mode.as_deref().unwrap_or("Filesystem");
    let offered = spec.access_modes.as_deref().unwrap_or_default();
    let accessible = wanted.access_modes.iter().flatten().all(|mode| offered.contains(mode));
    let selected = wanted.selector.is_none() || Selector::of(wanted.selector.as_ref()).matches(volume.metadata.labels.as_ref());
    is_free && same_class && same_mode && accessible && selected && capacity(volume) >= requested(claim)
}

/// Whether a node can reach a volume.
pub(crate) fn is_reachable(volume: &PersistentVolume, node: &Node) -> bool {
    let required = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()?.required.as_ref());
    required.is_none_or(|selector| node_affinity::selects(selector, node))
}

fn smallest_match<'a>(
    claim: &PersistentVolumeClaim,
    node: &Node,
    taken: &[&str],
    view: &ClusterView<'a>,
) -> Option<&'a PersistentVolume> {
    let free = view.volumes.values().filter(|volume| !taken.contains(&name(&volume.metadata)));
    let fitting = free.filter(|volume| suits(volume, claim) && is_reachable(volume, node));
    fitting.min_by_key(|volume| capacity(volume)).copied()
}

/// Whether a class makes volumes that this node can reach.
fn provisions_for(claim: &PersistentVolumeClaim, node: &Node, view: &ClusterView<'_>) -> bool {
    class_of(claim, view).is_some_and(|class| {
        let makes_volumes = !class.provisioner.is_empty() && class.provisioner != NO_PROVISIONER;
        makes_volumes && is_allowed(class, node)
    })
}

/// Whether a class may make volumes where a node is.
pub(crate) fn is_allowed(class: &StorageClass, node: &Node) -> bool {
    let describes = |term: &TopologySelectorTerm| {
        term.match_label_expressions.iter().flatten().all(|expression| {
            label(&node.metadata, &expression.key).is_some_and(|value| expression.values.iter().any(|allowed| allowed == value))
        })
    };
    let terms = class.allowed_topologies.as_deref().unwrap_or_default();
    terms.is_empty() || terms.iter().any(describes)
}

/// Whether a node is where a volume's labels say it is. Nodes without any such label are everywhere.
fn is_in_place(volume: &PersistentVolume, node: &Node) -> bool {
    if PLACES.iter().all(|place| label(&node.metadata, place).is_none()) {
        return true;
    }
    PLACES.iter().filter_map(|place| Some((place, label(&volume.metadata, place)?))).all(|(place, values)| {
        let current = place.replace("failure-domain.beta", "topology");
        let here = label(&node.metadata, place).or_else(|| label(&node.metadata, &current));
        here.is_some_and(|here| values.split("__").any(|value| value == here))
    })
}

fn is_for_one_pod(claim: &PersistentVolumeClaim) -> bool {
    claim
        .spec
        .as_ref()
        .and_then(|spec| spec.access_modes.as_ref())
        .is_some_and(|modes| modes.iter().any(|mode| mode == "ReadWriteOncePod"))
}

fn is_used_by_another(claim: &PersistentVolumeClaim, pod: &Pod, view: &ClusterView<'_>) -> bool {
    view.placed_pods()
        .filter(|(_, placed)| namespace(&placed.metadata) == namespace(&pod.metadata))
        .filter(|(_, placed)| name(&placed.metadata) != name(&pod.metadata))
        .any(|(_, placed)| claim_names(placed).any(|used| used == name(&claim.metadata)))
}
