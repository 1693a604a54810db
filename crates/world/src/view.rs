//! What the models read: the objects of one cluster, sorted, at one instant.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodCondition, Service};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The name of an object without a namespace.
pub type Name<'a> = &'a str;
/// The namespace and the name of an object.
pub type Key<'a> = (&'a str, &'a str);

/// The objects of a cluster, borrowed and sorted by name, so that no answer depends on the order in which they were listed.
#[derive(Clone, Debug, Default)]
pub struct ClusterView<'a> {
    /// Every node.
    pub nodes: BTreeMap<Name<'a>, &'a Node>,
    /// Every pod, whether it has a node or not.
    pub pods: BTreeMap<Key<'a>, &'a Pod>,
    /// Every claim.
    pub claims: BTreeMap<Key<'a>, &'a PersistentVolumeClaim>,
    /// Every volume.
    pub volumes: BTreeMap<Name<'a>, &'a PersistentVolume>,
    /// Every storage class.
    pub classes: BTreeMap<Name<'a>, &'a StorageClass>,
    /// Every namespace; pod affinity may select them by label.
    pub namespaces: BTreeMap<Name<'a>, &'a Namespace>,
    /// Every service; pods behind one are spread by default.
    pub services: BTreeMap<Key<'a>, &'a Service>,
    /// The pods that take room, by node: the scheduler asks for them node by node, several times for each pod it places.
    placed: BTreeMap<Name<'a>, Vec<&'a Pod>>,
}

impl<'a> ClusterView<'a> {
    /// With these nodes.
    #[must_use]
    pub fn with_nodes(mut self, nodes: impl IntoIterator<Item = &'a Node>) -> Self {
        self.nodes = by_name(nodes, |node| &node.metadata);
        self
    }

    /// With these pods.
    #[must_use]
    pub fn with_pods(mut self, pods: impl IntoIterator<Item = &'a Pod>) -> Self {
        self.pods = by_key(pods, |pod| &pod.metadata);
        self.placed = BTreeMap::new();
        for (node, pod) in self.pods.values().filter(|pod| !is_finished(pod)).filter_map(|pod| Some((node_of(pod)?, *pod))) {
            self.placed.entry(node).or_default().push(pod);
        }
        self
    }

    /// With these claims.
    #[must_use]
    pub fn with_claims(mut self, claims: impl IntoIterator<Item = &'a PersistentVolumeClaim>) -> Self {
        self.claims = by_key(claims, |claim| &claim.metadata);
        self
    }

    /// With these volumes.
    #[must_use]
    pub fn with_volumes(mut self, volumes: impl IntoIterator<Item = &'a PersistentVolume>) -> Self {
        self.volumes = by_name(volumes, |volume| &volume.metadata);
        self
    }

    /// With these storage classes.
    #[must_use]
    pub fn with_classes(mut self, classes: impl IntoIterator<Item = &'a StorageClass>) -> Self {
        self.classes = by_name(classes, |class| &class.metadata);
        self
    }

    /// With these namespaces.
    #[must_use]
    pub fn with_namespaces(mut self, namespaces: impl IntoIterator<Item = &'a Namespace>) -> Self {
        self.namespaces = by_name(namespaces, |namespace| &namespace.metadata);
        self
    }

    /// With these services.
    #[must_use]
    pub fn with_services(mut self, services: impl IntoIterator<Item = &'a Service>) -> Self {
        self.services = by_key(services, |service| &service.metadata);
        self
    }

    /// The pods that take room on a node: those bound to it that have not finished.
    pub(crate) fn pods_on(&self, node: &str) -> impl Iterator<Item = &'a Pod> + use<'_, 'a> {
        self.placed.get(node).into_iter().flatten().copied()
    }

    /// Every pod that takes room somewhere, with the name of its node.
    pub(crate) fn placed_pods(&self) -> impl Iterator<Item = (&'a str, &'a Pod)> {
        self.placed.iter().flat_map(|(node, pods)| pods.iter().map(|pod| (*node, *pod)))
    }

    /// The claims a pod mounts: the name, and the claim if there is one by that name.
    pub(crate) fn claims_of<'p>(
        &self,
        pod: &'p Pod,
    ) -> impl Iterator<Item = (&'p str, Option<&'a PersistentVolumeClaim>)> + use<'_, 'a, 'p> {
        claim_names(pod).map(|name| (name, self.claims.get(&(namespace(&pod.metadata), name)).copied()))
    }
}

/// The names of the claims a pod mounts.
pub(crate) fn claim_names(pod: &Pod) -> impl Iterator<Item = &str> {
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_deref()).unwrap_or_default();
    volumes.iter().filter_map(|volume| volume.persistent_volume_claim.as_ref()).map(|source| source.claim_name.as_str())
}

/// The node a pod is bound to.
pub(crate) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
}

/// Whether all containers of a pod ended for good; such a pod is left as a record and takes no room.
pub(crate) fn is_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Whether a pod says that it is ready.
pub(crate) fn is_ready(pod: &Pod) -> bool {
    ready(pod).is_some()
}

/// Since when a pod is ready, if it is.
pub(crate) fn ready_since(pod: &Pod) -> Option<Timestamp> {
    ready(pod)?.last_transition_time.as_ref().map(|since| since.0)
}

fn ready(pod: &Pod) -> Option<&PodCondition> {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().find(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The name of an object, empty when it has none yet.
pub(crate) fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

/// The namespace of an object, empty when it has none.
pub(crate) fn namespace(metadata: &ObjectMeta) -> &str {
    metadata.namespace.as_deref().unwrap_or_default()
}

/// A label of an object.
pub(crate) fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// An annotation of an object.
pub(crate) fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn by_name<'a, T>(objects: impl IntoIterator<Item = &'a T>, metadata: impl Fn(&T) -> &ObjectMeta) -> BTreeMap<Name<'a>, &'a T>
where
    T: 'a,
{
    objects.into_iter().map(|object| (name(metadata(object)), object)).collect()
}

fn by_key<'a, T>(objects: impl IntoIterator<Item = &'a T>, metadata: impl Fn(&T) -> &ObjectMeta) -> BTreeMap<Key<'a>, &'a T>
where
    T: 'a,
{
    objects.into_iter().map(|object| ((namespace(metadata(object)), name(metadata(object))), object)).collect()
}
