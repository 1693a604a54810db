//! The objects of a namespace that say what runs in its pods.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use kube::api::ListParams;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

/// All of them, at about the same time.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) pods: BTreeMap<String, Pod>,
    pub(super) claims: BTreeMap<String, PersistentVolumeClaim>,
    pub(super) config_maps: BTreeMap<String, ConfigMap>,
    pub(super) nodes: BTreeMap<String, Node>,
    /// The names of all volumes of the cluster.
    pub(super) volumes: BTreeSet<String>,
}

impl Seen {
    pub(super) async fn list(client: &Client, namespace: &str) -> Result<Self> {
        let here = || client.clone();
        Ok(Self {
            pods: listed(Api::namespaced(here(), namespace)).await?,
            claims: listed(Api::namespaced(here(), namespace)).await?,
            config_maps: listed(Api::namespaced(here(), namespace)).await?,
            nodes: listed(Api::all(here())).await?,
            volumes: listed::<PersistentVolume>(Api::all(here())).await?.into_keys().collect(),
        })
    }
}

async fn listed<T>(api: Api<T>) -> Result<BTreeMap<String, T>>
where
    T: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let list = api.list(&ListParams::default()).await.with_context(|| format!("listing {}", T::plural(&())))?;
    Ok(list.items.into_iter().map(|object| (object.name_any(), object)).collect())
}
