//! Whose work a change is.

use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim};
use quorate_world::ClusterView;
use quorate_world::kubelet::Change;

/// Whether a kubelet, a provisioner or a resizer would write this; the rest is done by the controller manager.
pub(super) fn ours(change: &Change, view: &ClusterView<'_>) -> bool {
    match change {
        Change::PodStatus(_) | Change::CreateVolume(_) | Change::DeleteVolume { .. } => true,
        // A kubelet confirms the end of a pod that somebody else deleted; it deletes none by itself.
        Change::DeletePod { namespace, name, grace_seconds, .. } => {
            let pod = view.pods.get(&(namespace.as_str(), name.as_str()));
            *grace_seconds == Some(0) && pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some())
        }
        Change::NodeStatus(node) => is_ready(node),
        // A volume that is bound to its claim already can only be growing, and so can a claim that is bound already.
        Change::Volume(volume) => {
            let seen = view.volumes.get(volume.metadata.name.as_deref().unwrap_or_default());
            let claim =
                |spec: Option<&k8s_openapi::api::core::v1::PersistentVolumeSpec>| spec.and_then(|spec| spec.claim_ref.clone());
            seen.is_some_and(|seen| claim(seen.spec.as_ref()) == claim(volume.spec.as_ref()))
        }
        Change::ClaimStatus(claim) => {
            let key = |text: &'_ Option<String>| text.clone().unwrap_or_default();
            let (namespace, name) = (key(&claim.metadata.namespace), key(&claim.metadata.name));
            view.claims.get(&(namespace.as_str(), name.as_str())).is_some_and(|claim| is_bound(claim))
        }
        Change::Node(_) | Change::Claim(_) | Change::VolumeStatus(_) => false,
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound")
}
