//! One watch per kind. Each feeds its changes into one channel, in the order in which they came.

use std::sync::Arc;

use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use quorate_foundationdb::labels;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;
use tracing::warn;

use crate::ClusterKey;
use crate::backoff::Backoff;
use crate::foundationdb::{claim_facts, pod_facts};
use crate::index::{Change, ClusterObject, Kind, ObjectKey, Unreadable};
use crate::readable::Readable;

pub(crate) async fn clusters(client: Client, namespace: Option<String>, changes: Sender<Change>) {
    follow(scoped(client, namespace.as_deref()), Config::default(), Kind::Clusters, changes, |object, there| {
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

pub(crate) async fn pods(client: Client, namespace: Option<String>, changes: Sender<Change>) {
    // Only what carries the label of a cluster: the fleet's other pods cost nothing.
    let config = Config::default().labels(labels::CLUSTER);
    follow(scoped::<Pod>(client, namespace.as_deref()), config, Kind::Pods, changes, |pod, there| {
        let facts = there.then(|| Box::new(pod_facts(&pod)));
        Change::Pod(object_key(&pod), labelled_cluster(&pod), facts)
    })
    .await;
}

pub(crate) async fn claims(client: Client, namespace: Option<String>, changes: Sender<Change>) {
    let config = Config::default().labels(labels::CLUSTER);
    follow(scoped::<PersistentVolumeClaim>(client, namespace.as_deref()), config, Kind::Claims, changes, |claim, there| {
        let facts = there.then(|| Box::new(claim_facts(&claim)));
        Change::Claim(object_key(&claim), labelled_cluster(&claim), facts)
    })
    .await;
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

fn scoped<K>(client: Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<Scope = kube::core::NamespaceResourceScope>,
    K::DynamicType: Default,
{
    match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    }
}

fn cluster_key(object: &Readable) -> ClusterKey {
    let metadata = object.meta();
    ClusterKey { namespace: metadata.namespace.clone().unwrap_or_default(), name: metadata.name.clone().unwrap_or_default() }
}

fn object_key(object: &impl ResourceExt) -> ObjectKey {
    (object.namespace().unwrap_or_default(), object.name_any())
}

fn labelled_cluster(object: &impl ResourceExt) -> Option<ClusterKey> {
    let name = object.labels().get(labels::CLUSTER)?.clone();
    Some(ClusterKey { namespace: object.namespace().unwrap_or_default(), name })
}
