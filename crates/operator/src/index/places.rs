//! What belongs to no cluster and matters to many: nodes and storage classes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use quorate_foundationdb::NodeFacts;
use quorate_quorum::Shared;

use crate::ClusterKey;

/// Nodes, and which clusters have pods on them.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    known: BTreeMap<String, Shared<NodeFacts>>,
    /// Those of them that take pods. Every decision has them, and none copies them.
    open: Shared<BTreeMap<String, Shared<NodeFacts>>>,
    /// How many pods each cluster has on a node.
    pods: BTreeMap<String, BTreeMap<ClusterKey, usize>>,
}

impl Nodes {
    pub(super) fn get(&self, name: &str) -> Option<&NodeFacts> {
        self.known.get(name).map(Deref::deref)
    }

    /// Those that take pods.
    pub(super) fn open(&self) -> &Shared<BTreeMap<String, Shared<NodeFacts>>> {
        &self.open
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.known.keys()
    }

    /// Takes in a node and names the clusters with pods on it; nobody if nothing that is kept has changed, as with a heartbeat.
    pub(super) fn put(&mut self, name: &str, facts: Option<NodeFacts>) -> BTreeSet<ClusterKey> {
        if self.get(name) == facts.as_ref() {
            return BTreeSet::new();
        }
        let facts = facts.map(Shared::from);
        match facts.as_ref().filter(|facts| facts.is_open()) {
            Some(open) => drop(self.open.insert(name.to_owned(), open.clone())),
            None if self.open.contains_key(name) => drop(self.open.remove(name)),
            None => {}
        }
        match facts {
            Some(facts) => drop(self.known.insert(name.to_owned(), facts)),
            None => drop(self.known.remove(name)),
        }
        self.pods.get(name).into_iter().flat_map(|clusters| clusters.keys().cloned()).collect()
    }

    /// A pod of this cluster is on this node from now on.
    pub(super) fn enters(&mut self, cluster: &ClusterKey, node: &str) {
        *self.pods.entry(node.to_owned()).or_default().entry(cluster.clone()).or_default() += 1;
    }

    /// And now no longer.
    pub(super) fn leaves(&mut self, cluster: &ClusterKey, node: &str) {
        let Some(clusters) = self.pods.get_mut(node) else { return };
        if let Some(count) = clusters.get_mut(cluster) {
            *count -= 1;
            if *count == 0 {
                clusters.remove(cluster);
            }
        }
        if clusters.is_empty() {
            self.pods.remove(node);
        }
    }
}

/// Whether each storage class lets volumes grow.
pub(super) type StorageClasses = BTreeMap<String, bool>;
