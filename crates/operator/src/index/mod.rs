//! Everything that is watched, converted once, and found by cluster. An event converts the one object that changed.

mod objects;
mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::{KubeFacts, NodeFacts};
use quorate_quorum::{Notice, Severity};
use serde::Serialize;

pub(crate) use objects::{Facts, Known};
use places::{Nodes, StorageClasses};

/// A cluster, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ClusterKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Clusters,
    Pods,
    Claims,
    Services,
    ConfigMaps,
    Budgets,
    Nodes,
    StorageClasses,
}

impl Kind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Clusters,
        Self::Pods,
        Self::Claims,
        Self::Services,
        Self::ConfigMaps,
        Self::Budgets,
        Self::Nodes,
        Self::StorageClasses,
    ];
}

/// A change that a watch delivered.
#[derive(Debug)]
pub(crate) enum Change {
    /// A list begins: what is not in it is gone.
    ListBegins(Kind),
    /// The list is complete.
    ListEnds(Kind),
    Cluster(ClusterKey, Box<ClusterObject>),
    /// An object that belongs to a cluster. Without facts it is gone; without an owner it is none of ours.
    Object(Kind, ObjectKey, Option<ClusterKey>, Option<Box<Facts>>),
    Node(String, Option<Box<NodeFacts>>),
    /// Whether a storage class lets volumes grow.
    StorageClass(String, Option<bool>),
}

/// A cluster object as it was delivered.
#[derive(Debug)]
pub(crate) enum ClusterObject {
    Present(Arc<FoundationDBCluster>),
    /// It is there and can't be read; nobody else is stopped by it.
    Unreadable(Unreadable),
    Gone,
}

/// An object that can't be read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unreadable {
    pub(crate) why: String,
    pub(crate) object: ObjectReference,
}

impl Unreadable {
    /// What its user is told.
    pub(crate) fn notice(&self) -> Notice {
        let note = format!("the object can't be read, so nothing is done for it: {}", self.why);
        Notice { severity: Severity::Warning, reason: "UnreadableObject", note }
    }
}

/// A namespaced object, by its name.
pub(crate) type ObjectKey = (String, String);

/// Everything that is known.
#[derive(Debug, Default)]
pub(crate) struct Index {
    clusters: BTreeMap<ClusterKey, Known>,
    unreadable: BTreeMap<ClusterKey, Unreadable>,
    owners: BTreeMap<(Kind, ObjectKey), ClusterKey>,
    nodes: Nodes,
    storage_classes: StorageClasses,
    /// While a list is under way: what was there before and has not come again.
    not_yet_listed: BTreeMap<Kind, BTreeSet<ObjectKey>>,
    synced: BTreeSet<Kind>,
}

impl Index {
    /// Takes in a change and names the clusters it concerns.
    pub(crate) fn apply(&mut self, change: Change) -> BTreeSet<ClusterKey> {
        match change {
            Change::ListBegins(kind) => {
                self.not_yet_listed.insert(kind, self.present(kind));
                BTreeSet::new()
            }
            Change::ListEnds(kind) => {
                self.synced.insert(kind);
                let gone = self.not_yet_listed.remove(&kind).unwrap_or_default();
                gone.into_iter().flat_map(|object| self.forget(kind, &object)).collect()
            }
            Change::Cluster(key, object) => {
                self.listed(Kind::Clusters, &(key.namespace.clone(), key.name.clone()));
                self.unreadable.remove(&key);
                match *object {
                    ClusterObject::Present(object) => self.clusters.entry(key.clone()).or_default().object = Some(object),
                    ClusterObject::Unreadable(why) => {
                        self.clusters.entry(key.clone()).or_default().object = None;
                        self.unreadable.insert(key.clone(), why);
                    }
                    ClusterObject::Gone => self.clusters.entry(key.clone()).or_default().object = None,
                }
                BTreeSet::from([key])
            }
            Change::Object(kind, object, owner, facts) => {
                self.listed(kind, &object);
                self.put(kind, object, owner, facts)
            }
            Change::Node(name, facts) => {
                self.listed(Kind::Nodes, &cluster_wide(&name));
                self.nodes.put(&name, facts.map(|facts| *facts))
            }
            Change::StorageClass(name, grows) => {
                self.listed(Kind::StorageClasses, &cluster_wide(&name));
                self.put_storage_class(&name, grows)
            }
        }
    }

    /// Kinds of which no list was completed yet.
    pub(crate) fn pending(&self) -> Vec<Kind> {
        Kind::ALL.into_iter().filter(|kind| !self.synced.contains(kind)).collect()
    }

    pub(crate) fn get(&self, key: &ClusterKey) -> Option<&Known> {
        self.clusters.get(key)
    }

    pub(crate) fn unreadable(&self) -> &BTreeMap<ClusterKey, Unreadable> {
        &self.unreadable
    }

    /// Clusters with an object.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &ClusterKey> {
        self.clusters.iter().filter(|(_, known)| known.object.is_some()).map(|(key, _)| key)
    }

    /// A cluster as a decision sees it: with the nodes its pods are on, and what their storage classes allow. What the status recorded
    /// and what failed is for the round to add.
    pub(crate) fn facts(&self, known: &Known, object: &FoundationDBCluster) -> KubeFacts {
        let owner = object.metadata.uid.as_ref();
        let nodes: BTreeSet<&String> = known.pods.values().filter_map(|pod| pod.node.as_ref()).collect();
        KubeFacts {
            pods: known.pods.clone(),
            claims: known.claims.clone(),
            services: known.services.clone(),
            // By owner, not by name: somebody else's of the same name is met, and said, when ours is made.
            config_map: known.config_maps.values().find(|facts| facts.owner.as_ref() == owner).cloned(),
            disruption_budget: known.budgets.values().find(|facts| facts.owner.as_ref() == owner).cloned(),
            nodes: nodes.into_iter().filter_map(|name| Some((name.clone(), self.nodes.get(name)?.clone()))).collect(),
            open_nodes: self.nodes.open().clone(),
            storage_classes: Some(self.storage_classes.keys().cloned().collect()),
            ..KubeFacts::default()
        }
    }

    fn put(
        &mut self,
        kind: Kind,
        (namespace, name): ObjectKey,
        owner: Option<ClusterKey>,
        facts: Option<Box<Facts>>,
    ) -> BTreeSet<ClusterKey> {
        let object = (namespace, name.clone());
        let before = match (&owner, &facts) {
            (Some(owner), Some(_)) => self.owners.insert((kind, object), owner.clone()),
            _ => self.owners.remove(&(kind, object)),
        };
        if let Some(before) = &before
            && let Some(known) = self.clusters.get_mut(before)
        {
            if kind == Kind::Pods
                && let Some(node) = known.pods.get(&name).and_then(|pod| pod.node.as_ref())
            {
                self.nodes.leaves(before, node);
            }
            if facts.is_none() || owner.as_ref() != Some(before) {
                known.drop(kind, &name);
            }
        }
        if let (Some(owner), Some(mut facts)) = (&owner, facts) {
            match facts.as_mut() {
                Facts::Pod(pod) => pod.node.iter().for_each(|node| self.nodes.enters(owner, node)),
                Facts::Claim(claim) => {
                    claim.may_grow = claim.storage_class.as_ref().and_then(|class| self.storage_classes.get(class)).copied();
                }
                Facts::Service(_) | Facts::ConfigMap(_) | Facts::Budget(_) => {}
            }
            let matters = self.clusters.entry(owner.clone()).or_default().keep(name, *facts);
            if !matters && before.as_ref() == Some(owner) {
                return BTreeSet::new();
            }
        }
        before.into_iter().chain(owner).collect()
    }

    /// Storage classes hardly ever change, so whom it concerns is looked for only then.
    fn put_storage_class(&mut self, name: &str, grows: Option<bool>) -> BTreeSet<ClusterKey> {
        if self.storage_classes.get(name) == grows.as_ref() {
            return BTreeSet::new();
        }
        match grows {
            Some(grows) => drop(self.storage_classes.insert(name.to_owned(), grows)),
            None => drop(self.storage_classes.remove(name)),
        }
        let mut concerned = BTreeSet::new();
        for (key, known) in &mut self.clusters {
            if known.object.as_ref().is_some_and(|object| asks_for(object, name)) {
                concerned.insert(key.clone());
            }
            for claim in known.claims.values_mut().filter(|claim| claim.storage_class.as_deref() == Some(name)) {
                claim.may_grow = grows;
                concerned.insert(key.clone());
            }
        }
        concerned
    }

    fn present(&self, kind: Kind) -> BTreeSet<ObjectKey> {
        match kind {
            Kind::Clusters => {
                let there = self.clusters().chain(self.unreadable.keys());
                there.map(|key| (key.namespace.clone(), key.name.clone())).collect()
            }
            Kind::Nodes => self.nodes.names().map(|name| cluster_wide(name)).collect(),
            Kind::StorageClasses => self.storage_classes.keys().map(|name| cluster_wide(name)).collect(),
            Kind::Pods | Kind::Claims | Kind::Services | Kind::ConfigMaps | Kind::Budgets => {
                self.owners.keys().filter(|(of, _)| *of == kind).map(|(_, object)| object.clone()).collect()
            }
        }
    }

    fn listed(&mut self, kind: Kind, object: &ObjectKey) {
        if let Some(waiting) = self.not_yet_listed.get_mut(&kind) {
            waiting.remove(object);
        }
    }

    fn forget(&mut self, kind: Kind, object: &ObjectKey) -> BTreeSet<ClusterKey> {
        match kind {
            Kind::Clusters => {
                let key = ClusterKey { namespace: object.0.clone(), name: object.1.clone() };
                self.apply(Change::Cluster(key, Box::new(ClusterObject::Gone)))
            }
            Kind::Nodes => self.apply(Change::Node(object.1.clone(), None)),
            Kind::StorageClasses => self.apply(Change::StorageClass(object.1.clone(), None)),
            Kind::Pods | Kind::Claims | Kind::Services | Kind::ConfigMaps | Kind::Budgets => {
                self.apply(Change::Object(kind, object.clone(), None, None))
            }
        }
    }
}

/// Whether a cluster names a storage class for its volumes.
fn asks_for(object: &FoundationDBCluster, storage_class: &str) -> bool {
    let settings = object.spec.processes.iter().flat_map(BTreeMap::values);
    let volumes = settings.filter_map(|settings| settings.volume_claim_template.as_ref()?.spec.as_ref());
    volumes.filter_map(|volume| volume.storage_class_name.as_deref()).any(|name| name == storage_class)
}

/// An object without a namespace, by its name.
fn cluster_wide(name: &str) -> ObjectKey {
    (String::new(), name.to_owned())
}

#[cfg(test)]
mod tests;
