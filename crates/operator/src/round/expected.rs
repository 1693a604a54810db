//! What was done and is not seen yet.

use std::collections::{BTreeMap, BTreeSet};

use crate::index::{Kind, Known};

/// What the watches must show before the next round sees the world as this one left it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The cluster's object must have left this state.
    pub(crate) object_was: Option<String>,
    /// These must have appeared.
    pub(crate) appears: BTreeSet<(Kind, String)>,
    /// These must have left the state they were in, or be gone.
    pub(crate) leaves: BTreeMap<(Kind, String), String>,
}

impl Expected {
    /// Whether the watches have caught up.
    pub(crate) fn is_seen(&self, known: &Known) -> bool {
        let state = known.object.as_ref().and_then(|object| object.metadata.resource_version.as_ref());
        (self.object_was.is_none() || self.object_was.as_ref() != state)
            && self.appears.iter().all(|(kind, name)| known.state(*kind, name).is_some())
            && self.leaves.iter().all(|((kind, name), was)| known.state(*kind, name) != Some(was.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_foundationdb::ServiceFacts;

    fn known(state: &str) -> Known {
        let facts = ServiceFacts {
            uid: "u".into(),
            resource_version: state.into(),
            group: None,
            owner: None,
            address: None,
            ports: BTreeMap::new(),
        };
        Known { services: BTreeMap::from([("sample".into(), facts)]), ..Known::default() }
    }

    #[test]
    fn what_was_made_must_appear_and_what_was_changed_must_leave_its_state() {
        let sample = (Kind::Services, "sample".to_owned());
        let made = Expected { appears: BTreeSet::from([sample.clone()]), ..Expected::default() };
        assert!(!made.is_seen(&Known::default()));
        assert!(made.is_seen(&known("1")));
        let changed = Expected { leaves: BTreeMap::from([(sample, "1".to_owned())]), ..Expected::default() };
        assert!(!changed.is_seen(&known("1")));
        assert!(changed.is_seen(&known("2")));
        assert!(changed.is_seen(&Known::default()), "it is gone");
    }
}
