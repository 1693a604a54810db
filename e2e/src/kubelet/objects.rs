//! What kubelets read, listed from an API server.

use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, Client, Resource, ResourceExt};
use quorate_world::Listed;
use serde::de::DeserializeOwned;

pub(super) async fn list(client: &Client) -> kube::Result<Listed> {
    Ok(Listed {
        nodes: listed(client).await?,
        pods: listed(client).await?,
        claims: listed(client).await?,
        volumes: listed(client).await?,
        classes: listed(client).await?,
        config_maps: listed(client).await?,
    })
}

/// The names of all nodes.
pub(super) async fn nodes(client: &Client) -> kube::Result<Vec<String>> {
    Ok(listed::<Node>(client).await?.iter().map(ResourceExt::name_any).collect())
}

async fn listed<T>(client: &Client) -> kube::Result<Vec<T>>
where
    T: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    Ok(Api::<T>::all(client.clone()).list(&ListParams::default()).await?.items)
}
