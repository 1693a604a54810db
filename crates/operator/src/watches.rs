//! One watch per kind. Each feeds its changes into one channel, in the order in which they came.

use std::sync::Arc;

use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::{ConfigMap, Node, PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::labels;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tracing::warn;

use crate::ClusterKey;
use crate::backoff::Backoff;
use crate::foundationdb::{budget_facts, claim_facts, config_map_facts, node_facts, pod_facts, service_facts};
use crate::index::{Change, ClusterObject, Facts, Kind, ObjectKey, Unreadable};
use crate::readable::Readable;

/// Where the watches look, and where they tell.
#[derive(Clone)]
pub(crate) struct Watches {
    pub(crate) client: Client,
    /// The namespace to watch; all of them if unset. Nodes and storage classes have none.
    pub(crate) namespace: Option<String>,
    pub(crate) changes: Sender<Change>,
}

impl Watches {
    /// Starts them all.
    pub(crate) fn start(&self, tasks: &mut JoinSet<()>) {
        tasks.spawn(self.clone().clusters());
        tasks.spawn(self.clone().objects(Kind::Pods, any_cluster, |pod: &Pod| Facts::Pod(pod_facts(pod))));
        tasks.spawn(
            self.clone().objects(Kind::Claims, any_cluster, |claim: &PersistentVolumeClaim| Facts::Claim(claim_facts(claim))),
        );
        tasks
            .spawn(self.clone().objects(Kind::Services, any_cluster, |service: &Service| Facts::Service(service_facts(service))));
        // Of these a cluster has one, which it owns; what somebody else labelled is not worth keeping.
        tasks.spawn(
            self.clone().objects(Kind::ConfigMaps, owning_cluster, |map: &ConfigMap| Facts::ConfigMap(config_map_facts(map))),
        );
        tasks.spawn(
            self.clone()
                .objects(Kind::Budgets, owning_cluster, |budget: &PodDisruptionBudget| Facts::Budget(budget_facts(budget))),
        );
        tasks.spawn(self.clone().nodes());
        tasks.spawn(self.clone().storage_classes());
    }

    async fn clusters(self) {
        follow(self.scoped(), Config::default(), Kind::Clusters, self.changes, |object, there| {
            let key = cluster_key(&object);
            let object = match object {
                _ if !there => ClusterObject::Gone,
                Readable::Cluster(cluster) => ClusterObject::Present(Arc::from(cluster)),
                Readable::Unreadable { ref why, .. } => {
                    ClusterObject::Unreadable(Unreadable { why: why.clone(), object: object.object_ref(&()) })
                }
            };
            Change::Cluster(key, Box::new(object))
        })
        .await;
    }

    /// Objects that belong to clusters. Only what carries the label of a cluster, as everything does that is made for one, whatever else
    /// it is labelled with: the fleet's other objects cost nothing.
    async fn objects<K>(self, kind: Kind, cluster: fn(&K) -> Option<ClusterKey>, facts: fn(&K) -> Facts)
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
    {
        let config = Config::default().labels(labels::CLUSTER);
        let change = move |object, there| object_change(kind, cluster, facts, &object, there);
        follow(self.scoped::<K>(), config, kind, self.changes, change).await;
    }

    async fn nodes(self) {
        follow(Api::<Node>::all(self.client), Config::default(), Kind::Nodes, self.changes, |node, there| {
            Change::Node(node.name_any(), there.then(|| Box::new(node_facts(node))))
        })
        .await;
    }

    async fn storage_classes(self) {
        let api = Api::<StorageClass>::all(self.client);
        follow(api, Config::default(), Kind::StorageClasses, self.changes, |class, there| {
            Change::StorageClass(class.name_any(), there.then(|| class.allow_volume_expansion.unwrap_or(false)))
        })
        .await;
    }

    fn scoped<K>(&self) -> Api<K>
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }
}

/// Follows a watch for ever. A failure is waited out; the list that comes after it says what was missed.
async fn follow<K>(api: Api<K>, config: Config, kind: Kind, changes: Sender<Change>, convert: impl Fn(K, bool) -> Change)
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let events = watcher(api, config);
    pin_mut!(events);
    let mut backoff = Backoff::default();
    while let Some(event) = events.next().await {
        let change = match event {
            Ok(event) => {
                // A list that is only being begun is no success.
                if !matches!(event, Event::Init) {
                    backoff.succeeded();
                }
                match event {
                    Event::Init => Change::ListBegins(kind),
                    Event::InitDone => Change::ListEnds(kind),
                    Event::Apply(object) | Event::InitApply(object) => convert(object, true),
                    Event::Delete(object) => convert(object, false),
                }
            }
            Err(error) => {
                let wait = backoff.failed();
                warn!(?kind, %error, "the watch failed; trying again in {} s", wait.as_secs());
                tokio::time::sleep(wait).await;
                continue;
            }
        };
        if changes.send(change).await.is_err() {
            return;
        }
    }
}

/// What an object of a cluster changes: facts are made only of what is there and somebody's.
pub(crate) fn object_change<K: Resource<DynamicType = ()>>(
    kind: Kind,
    cluster: fn(&K) -> Option<ClusterKey>,
    facts: fn(&K) -> Facts,
    object: &K,
    there: bool,
) -> Change {
    let owner = cluster(object);
    let facts = (there && owner.is_some()).then(|| Box::new(facts(object)));
    Change::Object(kind, object_key(object), owner, facts)
}

fn cluster_key(object: &Readable) -> ClusterKey {
    let metadata = object.meta();
    ClusterKey { namespace: metadata.namespace.clone().unwrap_or_default(), name: metadata.name.clone().unwrap_or_default() }
}

fn object_key(object: &impl ResourceExt) -> ObjectKey {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// The cluster an object belongs to: the one that owns it, or, as claims and what others made have no owner, the one its label names.
pub(crate) fn any_cluster<K: Resource<DynamicType = ()>>(object: &K) -> Option<ClusterKey> {
    let labelled = || {
        let name = object.labels().get(labels::CLUSTER)?.clone();
        Some(ClusterKey { namespace: object.namespace().unwrap_or_default(), name })
    };
    owning_cluster(object).or_else(labelled)
}

pub(crate) fn owning_cluster<K: Resource<DynamicType = ()>>(object: &K) -> Option<ClusterKey> {
    let is_cluster = |kind: &str| kind == FoundationDBCluster::kind(&());
    let owner = object.owner_references().iter().find(|owner| owner.controller == Some(true) && is_cluster(&owner.kind))?;
    Some(ClusterKey { namespace: object.namespace().unwrap_or_default(), name: owner.name.clone() })
}
