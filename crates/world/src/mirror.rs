//! The objects of the API as typed values. Each is read once: a look reads again only what was written since the last one.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::storage::v1::StorageClass;
use quorate_api::foundationdb::FoundationDBCluster;
use serde::Deserialize;
use serde_json::Value;

use crate::ClusterView;
use crate::kubernetes::{Kubernetes, Written};

/// Namespace and name.
pub(crate) type Key = (String, String);
/// Objects of one kind, by namespace and name.
pub(crate) type ByName<T> = BTreeMap<Key, T>;

/// What has changed and may not have been looked at yet.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Pods that were written or are gone.
    pub(crate) pods: BTreeSet<Key>,
    /// ConfigMaps that were written or are gone.
    pub(crate) config_maps: BTreeSet<Key>,
    /// Volumes that are gone, even if others have their names now.
    pub(crate) lost_volumes: BTreeSet<String>,
}

/// All objects the models read, as they were at the last look.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    revision: u64,
    /// The revision of the last write that matters to anybody but leaders and readers of events.
    pub(crate) relevant: u64,
    pub(crate) nodes: ByName<Node>,
    pub(crate) pods: ByName<Pod>,
    pub(crate) claims: ByName<PersistentVolumeClaim>,
    pub(crate) volumes: ByName<PersistentVolume>,
    pub(crate) config_maps: ByName<ConfigMap>,
    pub(crate) clusters: ByName<FoundationDBCluster>,
    classes: ByName<StorageClass>,
    namespaces: ByName<Namespace>,
    services: ByName<Service>,
    /// For whoever works on what has changed only; they take it away.
    pub(crate) news: News,
}

impl Mirror {
    /// Takes in what was written since the last look; says whether any of it matters.
    pub(crate) fn refresh(&mut self, kubernetes: &Kubernetes) -> bool {
        let mut volumes = Vec::new();
        let (revision, changes) = kubernetes.changes_since(self.revision).unwrap_or_else(|| {
            volumes = self.forget();
            kubernetes.everything()
        });
        self.revision = revision;
        let mut matters = false;
        for Written { storage, key, object } in changes {
            matters |= !matches!(storage.as_str(), "leases" | "events");
            self.news.add(&storage, &key, object.is_some());
            match storage.as_str() {
                "nodes" => put(&mut self.nodes, key, object.as_deref()),
                "pods" => put(&mut self.pods, key, object.as_deref()),
                "persistentvolumeclaims" => put(&mut self.claims, key, object.as_deref()),
                "persistentvolumes" => put(&mut self.volumes, key, object.as_deref()),
                "configmaps" => put(&mut self.config_maps, key, object.as_deref()),
                "storageclasses" => put(&mut self.classes, key, object.as_deref()),
                "namespaces" => put(&mut self.namespaces, key, object.as_deref()),
                "services" => put(&mut self.services, key, object.as_deref()),
                "foundationdbclusters.apps.foundationdb.org" => put(&mut self.clusters, key, object.as_deref()),
                _ => {}
            }
        }
        self.news.lost_volumes.extend(volumes.into_iter().filter(|key| !self.volumes.contains_key(key)).map(|(_, name)| name));
        if matters {
            self.relevant = revision;
        }
        matters
    }

    /// Forgets everything but that it was there; gives the volumes, of which those that are not seen again are lost.
    fn forget(&mut self) -> Vec<Key> {
        let Self { pods, volumes, config_maps, mut news, .. } = std::mem::take(self);
        news.pods.extend(pods.into_keys());
        news.config_maps.extend(config_maps.into_keys());
        self.news = news;
        volumes.into_keys().collect()
    }

    pub(crate) fn view(&self) -> ClusterView<'_> {
        ClusterView::default()
            .with_nodes(self.nodes.values())
            .with_pods(self.pods.values())
            .with_claims(self.claims.values())
            .with_volumes(self.volumes.values())
            .with_classes(self.classes.values())
            .with_namespaces(self.namespaces.values())
            .with_services(self.services.values())
    }
}

impl News {
    fn add(&mut self, storage: &str, key: &Key, exists: bool) {
        match storage {
            "pods" => drop(self.pods.insert(key.clone())),
            "configmaps" => drop(self.config_maps.insert(key.clone())),
            "persistentvolumes" if !exists => drop(self.lost_volumes.insert(key.1.clone())),
            _ => {}
        }
    }
}

/// What can't be read as its type is not there for the models; the API took it, so that is a custom object of another shape.
fn put<T: for<'de> Deserialize<'de>>(objects: &mut ByName<T>, key: (String, String), object: Option<&Value>) {
    match object.and_then(|object| T::deserialize(object).ok()) {
        Some(object) => objects.insert(key, object),
        None => objects.remove(&key),
    };
}
