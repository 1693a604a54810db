//! All objects, and how they came to be: one revision per change, as etcd counts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::object::Metadata;

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) storage: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(storage: &str, namespace: &str, name: &str) -> Self {
        Self { storage: storage.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// One write.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) key: Key,
    pub(crate) before: Option<Arc<Value>>,
    /// The object after it; none after a deletion.
    pub(crate) after: Option<Arc<Value>>,
}

/// So much history is kept without being asked to forget; kube-apiserver's watch cache forgets as well.
const HISTORY: usize = 20_000;

#[derive(Clone, Debug)]
pub(crate) struct Store {
    revision: u64,
    compacted: u64,
    /// Up to here nobody knows any more how things were, not even a server that lags behind.
    lost: u64,
    objects: BTreeMap<Key, Arc<Value>>,
    history: VecDeque<Change>,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self { revision: 1, compacted: 0, lost: 0, objects: BTreeMap::new(), history: VecDeque::new() }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// What is older than this is gone for whoever asks.
    pub(crate) fn compacted(&self) -> u64 {
        self.compacted
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// Objects of one storage name, of one namespace or of all, in the order of their keys.
    pub(crate) fn list<'a>(&'a self, storage: &'a str, namespace: &'a str) -> impl Iterator<Item = (&'a Key, &'a Arc<Value>)> {
        self.objects
            .range(Key::new(storage, namespace, "")..)
            .take_while(move |(key, _)| key.storage == storage && (namespace.is_empty() || key.namespace == namespace))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        self.objects.iter()
    }

    /// The objects of one storage name as they were at a revision, also one that is compacted; none if nobody knows any more.
    pub(crate) fn list_at(&self, revision: u64, storage: &str, namespace: &str) -> Option<BTreeMap<Key, Arc<Value>>> {
        if revision < self.lost {
            return None;
        }
        let mut objects: BTreeMap<_, _> =
            self.list(storage, namespace).map(|(key, object)| (key.clone(), Arc::clone(object))).collect();
        for change in self.history.iter().rev().take_while(|change| change.revision > revision) {
            if change.key.storage != storage || !(namespace.is_empty() || change.key.namespace == namespace) {
                continue;
            }
            match &change.before {
                Some(before) => objects.insert(change.key.clone(), Arc::clone(before)),
                None => objects.remove(&change.key),
            };
        }
        Some(objects)
    }

    /// What changed after a revision, oldest first; none if part of it is forgotten.
    pub(crate) fn since(&self, revision: u64) -> Option<impl Iterator<Item = &Change>> {
        let first = self.history.partition_point(|change| change.revision <= revision);
        (revision >= self.compacted).then(|| self.history.range(first..))
    }

    /// Writes an object, or removes it, at a revision of its own, which becomes its resourceVersion.
    pub(crate) fn write(&mut self, key: Key, object: Option<Value>) -> Change {
        self.revision += 1;
        let stamped = |mut object: Value| {
            object.metadata().insert("resourceVersion".to_owned(), self.revision.to_string().into());
            Arc::new(object)
        };
        let before = self.objects.remove(&key);
        let after = object.map(stamped);
        if let Some(after) = &after {
            self.objects.insert(key.clone(), Arc::clone(after));
        }
        let change = Change { revision: self.revision, key, before, after };
        self.history.push_back(change.clone());
        if self.history.len() > HISTORY {
            self.lost = self.history.pop_front().map_or(self.lost, |change| change.revision);
            self.compact(self.lost);
        }
        change
    }

    /// From now on nobody may ask how things were before a revision. A server that lags behind still answers from before it.
    pub(crate) fn compact(&mut self, revision: u64) {
        self.compacted = revision.min(self.revision).max(self.compacted);
    }
}
