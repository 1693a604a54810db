//! The kubelet's changes as calls to an API server.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{PersistentVolume, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use quorate_world::kubelet::Change;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Where nodes keep their leases.
const LEASES: &str = "kube-node-lease";

/// Writes a change. It fails if the object has changed since it was read, and is then decided again.
pub(super) async fn apply(client: &Client, change: Change) -> kube::Result<()> {
    let (post, all) = (PostParams::default(), client.clone());
    match change {
        Change::PodStatus(pod) => drop(of(client, &*pod).replace_status(&pod.name_any(), &post, &pod).await?),
        Change::DeletePod { namespace, name, uid, grace_seconds } => {
            let grace = grace_seconds.and_then(|seconds| u32::try_from(seconds).ok());
            let parameters = DeleteParams { grace_period_seconds: grace, ..only(uid) };
            drop(Api::<Pod>::namespaced(all, &namespace).delete(&name, &parameters).await?);
        }
        Change::Node(node) => drop(Api::all(all).replace(&node.name_any(), &post, &*node).await?),
        Change::NodeStatus(node) => drop(Api::all(all).replace_status(&node.name_any(), &post, &*node).await?),
        Change::Claim(claim) => drop(of(client, &*claim).replace(&claim.name_any(), &post, &claim).await?),
        Change::ClaimStatus(claim) => drop(of(client, &*claim).replace_status(&claim.name_any(), &post, &claim).await?),
        Change::CreateVolume(volume) => drop(Api::all(all).create(&post, &*volume).await?),
        Change::Volume(volume) => drop(Api::all(all).replace(&volume.name_any(), &post, &*volume).await?),
        Change::VolumeStatus(volume) => drop(Api::all(all).replace_status(&volume.name_any(), &post, &*volume).await?),
        Change::DeleteVolume { name, uid } => drop(Api::<PersistentVolume>::all(all).delete(&name, &only(uid)).await?),
    }
    Ok(())
}

/// Writes what a monitor says on its pod.
pub(super) async fn annotate(client: &Client, pod: &Pod) -> kube::Result<()> {
    of(client, pod).replace(&pod.name_any(), &PostParams::default(), pod).await.map(drop)
}

/// Says that a node is alive.
pub(super) async fn renew_lease(client: &Client, node: &str, now: Timestamp) -> kube::Result<()> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), LEASES);
    let spec = LeaseSpec {
        holder_identity: Some(node.to_owned()),
        lease_duration_seconds: Some(40),
        renew_time: Some(MicroTime(now)),
        ..LeaseSpec::default()
    };
    let metadata = ObjectMeta { name: Some(node.to_owned()), ..ObjectMeta::default() };
    let lease = Lease { metadata, spec: Some(spec) };
    match leases.patch(node, &PatchParams::default(), &Patch::Merge(&lease)).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => drop(leases.create(&PostParams::default(), &lease).await?),
        answer => drop(answer?),
    }
    Ok(())
}

fn of<T>(client: &Client, object: &T) -> Api<T>
where
    T: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Serialize,
{
    Api::namespaced(client.clone(), &object.namespace().unwrap_or_default())
}

/// Deletes the object of this uid, and no namesake made since.
fn only(uid: Option<String>) -> DeleteParams {
    DeleteParams { preconditions: Some(Preconditions { uid, resource_version: None }), ..DeleteParams::default() }
}
