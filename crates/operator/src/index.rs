//! Everything that is watched, converted once, and found by cluster. An event converts the one object that changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::{ClaimFacts, PodFacts};
use quorate_quorum::{Notice, Severity};
use serde::Serialize;

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
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Clusters, Self::Pods, Self::Claims];
}

/// A change that a watch delivered.
#[derive(Debug)]
pub(crate) enum Change {
    /// A list begins: what is not in it is gone.
    ListBegins(Kind),
    /// The list is complete.
    ListEnds(Kind),
    Cluster(ClusterKey, Box<ClusterObject>),
    Pod(ObjectKey, Option<ClusterKey>, Option<Box<PodFacts>>),
    Claim(ObjectKey, Option<ClusterKey>, Option<Box<ClaimFacts>>),
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

/// What is known of one cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) object: Option<Arc<FoundationDBCluster>>,
    pub(crate) pods: BTreeMap<String, PodFacts>,
    pub(crate) claims: BTreeMap<String, ClaimFacts>,
}

/// Everything that is known.
#[derive(Debug, Default)]
pub(crate) struct Index {
    clusters: BTreeMap<ClusterKey, Known>,
    unreadable: BTreeMap<ClusterKey, Unreadable>,
    owners: BTreeMap<(Kind, ObjectKey), ClusterKey>,
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
            Change::Pod(object, owner, facts) => {
                self.listed(Kind::Pods, &object);
                self.put(Kind::Pods, object, owner, facts, |known| &mut known.pods)
            }
            Change::Claim(object, owner, facts) => {
                self.listed(Kind::Claims, &object);
                self.put(Kind::Claims, object, owner, facts, |known| &mut known.claims)
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

    fn put<T>(
        &mut self,
        kind: Kind,
        (namespace, name): ObjectKey,
        owner: Option<ClusterKey>,
        facts: Option<Box<T>>,
        place: impl Fn(&mut Known) -> &mut BTreeMap<String, T>,
    ) -> BTreeSet<ClusterKey> {
        let object = (namespace, name.clone());
        let before = match (&owner, &facts) {
            (Some(owner), Some(_)) => self.owners.insert((kind, object), owner.clone()),
            _ => self.owners.remove(&(kind, object)),
        };
        let left = before.as_ref().filter(|before| facts.is_none() || Some(*before) != owner.as_ref());
        if let Some(known) = left.and_then(|left| self.clusters.get_mut(left)) {
            place(known).remove(&name);
        }
        if let (Some(owner), Some(facts)) = (&owner, facts) {
            place(self.clusters.entry(owner.clone()).or_default()).insert(name, *facts);
        }
        before.into_iter().chain(owner).collect()
    }

    fn present(&self, kind: Kind) -> BTreeSet<ObjectKey> {
        match kind {
            Kind::Clusters => {
                let there = self.clusters().chain(self.unreadable.keys());
                there.map(|key| (key.namespace.clone(), key.name.clone())).collect()
            }
            Kind::Pods | Kind::Claims => {
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
            Kind::Pods => self.apply(Change::Pod(object.clone(), None, None)),
            Kind::Claims => self.apply(Change::Claim(object.clone(), None, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ClusterKey {
        ClusterKey { namespace: "ns".into(), name: name.into() }
    }

    fn claim(name: &str, owner: Option<&str>, there: bool) -> Change {
        let facts = ClaimFacts { uid: name.into(), resource_version: "1".into(), group: None, deleted_since: None };
        Change::Claim(("ns".into(), name.into()), owner.map(key), there.then(|| Box::new(facts)))
    }

    #[test]
    fn an_object_is_found_under_its_cluster_until_it_is_gone() {
        let mut index = Index::default();
        assert_eq!(index.apply(claim("c1", Some("a"), true)), BTreeSet::from([key("a")]));
        assert_eq!(index.get(&key("a")).unwrap().claims.len(), 1);
        // A deletion may come without labels; who it belonged to is remembered.
        assert_eq!(index.apply(claim("c1", None, false)), BTreeSet::from([key("a")]));
        assert!(index.get(&key("a")).unwrap().claims.is_empty());
    }

    #[test]
    fn an_object_that_changes_hands_concerns_both() {
        let mut index = Index::default();
        index.apply(claim("c1", Some("a"), true));
        assert_eq!(index.apply(claim("c1", Some("b"), true)), BTreeSet::from([key("a"), key("b")]));
        assert!(index.get(&key("a")).unwrap().claims.is_empty());
        assert_eq!(index.get(&key("b")).unwrap().claims.len(), 1);
    }

    #[test]
    fn what_a_new_list_does_not_have_is_gone() {
        let mut index = Index::default();
        for change in [Change::ListBegins(Kind::Claims), claim("c1", Some("a"), true), claim("c2", Some("a"), true)] {
            index.apply(change);
        }
        index.apply(Change::ListEnds(Kind::Claims));
        index.apply(Change::ListBegins(Kind::Claims));
        index.apply(claim("c2", Some("a"), true));
        assert_eq!(index.get(&key("a")).unwrap().claims.len(), 2, "a list that is under way says nothing yet");
        assert_eq!(index.apply(Change::ListEnds(Kind::Claims)), BTreeSet::from([key("a")]));
        assert_eq!(index.get(&key("a")).unwrap().claims.keys().collect::<Vec<_>>(), ["c2"]);
    }

    #[test]
    fn nothing_is_synced_before_its_first_list() {
        let mut index = Index::default();
        assert_eq!(index.pending(), Kind::ALL);
        index.apply(Change::ListEnds(Kind::Pods));
        assert_eq!(index.pending(), [Kind::Clusters, Kind::Claims]);
    }
}
