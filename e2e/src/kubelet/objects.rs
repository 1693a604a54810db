//! What the kubelet reads, listed from an API server.

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::ListParams;
use kube::{Api, Client, Resource, ResourceExt};
use quorate_world::ClusterView;
use serde::de::DeserializeOwned;

/// All objects that concern kubelets and provisioners.
pub(super) struct Objects {
    nodes: Vec<Node>,
    pods: Vec<Pod>,
    claims: Vec<PersistentVolumeClaim>,
    volumes: Vec<PersistentVolume>,
    classes: Vec<StorageClass>,
}

impl Objects {
    pub(super) async fn list(client: &Client) -> kube::Result<Self> {
        Ok(Self {
            nodes: listed(client).await?,
            pods: listed(client).await?,
            claims: listed(client).await?,
            volumes: listed(client).await?,
            classes: listed(client).await?,
        })
    }

    /// The names of all nodes.
    pub(super) async fn nodes(client: &Client) -> kube::Result<Vec<String>> {
        Ok(listed::<Node>(client).await?.iter().map(ResourceExt::name_any).collect())
    }

    pub(super) fn view(&self) -> ClusterView<'_> {
        ClusterView::default()
            .with_nodes(&self.nodes)
            .with_pods(&self.pods)
            .with_claims(&self.claims)
            .with_volumes(&self.volumes)
            .with_classes(&self.classes)
    }
}

async fn listed<T>(client: &Client) -> kube::Result<Vec<T>>
where
    T: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    Ok(Api::<T>::all(client.clone()).list(&ListParams::default()).await?.items)
}
