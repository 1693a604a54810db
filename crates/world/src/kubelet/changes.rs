//! What is written.

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};

/// One write to the API, as a value. Objects are whole, with the `resourceVersion` that was seen.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The status of a pod.
    PodStatus(Box<Pod>),
    /// A pod is deleted: with its own grace period, or at once when `grace_seconds` is 0.
    DeletePod {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its uid, so that a namesake made since is not deleted.
        uid: Option<String>,
        /// The grace period, unless it is the pod's own.
        grace_seconds: Option<i64>,
    },
    /// The taints of a node.
    Node(Box<Node>),
    /// The status of a node.
    NodeStatus(Box<Node>),
    /// The volume, annotations or finalizers of a claim.
    Claim(Box<PersistentVolumeClaim>),
    /// The status of a claim.
    ClaimStatus(Box<PersistentVolumeClaim>),
    /// A new volume.
    CreateVolume(Box<PersistentVolume>),
    /// The size of a volume, or the claim it belongs to.
    Volume(Box<PersistentVolume>),
    /// The status of a volume.
    VolumeStatus(Box<PersistentVolume>),
    /// A volume is deleted, with what is on it.
    DeleteVolume {
        /// Its name.
        name: String,
        /// Its uid.
        uid: Option<String>,
    },
}

impl Change {
    /// Deletes a pod.
    pub(super) fn delete(pod: &Pod, grace_seconds: Option<i64>) -> Self {
        Self::DeletePod {
            namespace: pod.metadata.namespace.clone().unwrap_or_default(),
            name: pod.metadata.name.clone().unwrap_or_default(),
            uid: pod.metadata.uid.clone(),
            grace_seconds,
        }
    }
}
