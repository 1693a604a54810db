//! Objects of an API server that is not ours, listed at about the same time. What differs from the last list is the news.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::ResourceExt;

use crate::kubelet::KubeletSettings;
use crate::mirror::{ByName, Key, Mirror, News};
use crate::{ClusterView, Fdbservers};

/// All objects that concern kubelets, provisioners and what runs in pods.
#[derive(Debug, Default)]
pub struct Listed {
    /// Nodes.
    pub nodes: Vec<Node>,
    /// Pods.
    pub pods: Vec<Pod>,
    /// Volume claims.
    pub claims: Vec<PersistentVolumeClaim>,
    /// Volumes.
    pub volumes: Vec<PersistentVolume>,
    /// Classes of volumes.
    pub classes: Vec<StorageClass>,
    /// `ConfigMaps`.
    pub config_maps: Vec<ConfigMap>,
}

impl Listed {
    /// What the scheduler and kubelets look at.
    pub fn view(&self) -> ClusterView<'_> {
        ClusterView::default()
            .with_nodes(&self.nodes)
            .with_pods(&self.pods)
            .with_claims(&self.claims)
            .with_volumes(&self.volumes)
            .with_classes(&self.classes)
    }
}

/// The model's servers in the pods of an API server that is listed again and again.
pub struct ListedServers {
    servers: Fdbservers,
    mirror: Mirror,
}

impl ListedServers {
    /// None has been listed yet.
    pub fn new(servers: Fdbservers) -> Self {
        Self { servers, mirror: Mirror::default() }
    }

    /// Does something to the servers.
    pub fn servers(&mut self) -> &mut Fdbservers {
        &mut self.servers
    }

    /// Lets every monitor do what it would have done by now; gives the pods on which something is to be written.
    pub fn step(&mut self, now: Timestamp, listed: Listed, kubelets: &KubeletSettings) -> Vec<Pod> {
        let news = take_in(&mut self.mirror, listed);
        self.servers.step(now, news, &self.mirror, kubelets)
    }
}

fn take_in(mirror: &mut Mirror, listed: Listed) -> News {
    let Listed { nodes, pods, claims, volumes, classes: _, config_maps } = listed;
    mirror.nodes = by_name(nodes);
    mirror.claims = by_name(claims);
    let volumes = std::mem::replace(&mut mirror.volumes, by_name(volumes));
    let is_lost = |(key, volume): &(&Key, &PersistentVolume)| {
        mirror.volumes.get(*key).is_none_or(|now| now.metadata.uid != volume.metadata.uid)
    };
    let lost_volumes = volumes.iter().filter(is_lost).map(|((_, name), _)| name.clone()).collect();
    let (pods, config_maps) = (replaced(&mut mirror.pods, pods), replaced(&mut mirror.config_maps, config_maps));
    News { pods, config_maps, lost_volumes }
}

/// Puts new objects in place of those before; gives the names under which something has changed.
fn replaced<T: ResourceExt>(objects: &mut ByName<T>, listed: Vec<T>) -> BTreeSet<Key> {
    let before = std::mem::replace(objects, by_name(listed));
    let version = |objects: &ByName<T>, key: &Key| objects.get(key).and_then(kube::ResourceExt::resource_version);
    let keys = before.keys().chain(objects.keys());
    keys.filter(|key| version(&before, key) != version(objects, key)).cloned().collect()
}

fn by_name<T: ResourceExt>(objects: Vec<T>) -> ByName<T> {
    objects.into_iter().map(|object| ((object.namespace().unwrap_or_default(), object.name_any()), object)).collect()
}
