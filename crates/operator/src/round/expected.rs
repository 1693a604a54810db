//! What was done and is not seen yet.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

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

/// Watches may be this late; what has not appeared by then was taken away by somebody else before anybody saw it.
const SEEN_AFTER: Duration = Duration::from_mins(2);

/// Pods and claims that were made and have not appeared, over more than one round: whoever is thought to be gone may be one of them.
#[derive(Debug, Default)]
pub(crate) struct Unseen(BTreeMap<(Kind, String), Instant>);

impl Unseen {
    /// Takes in what a round made.
    pub(crate) fn note(&mut self, expected: &Expected, now: Instant) {
        let made = expected.appears.iter().filter(|(kind, _)| matches!(kind, Kind::Pods | Kind::Claims));
        self.0.extend(made.map(|made| (made.clone(), now)));
    }

    /// Forgets what the watches have shown by now, and names the rest.
    pub(crate) fn names(&mut self, known: &Known, now: Instant) -> BTreeSet<String> {
        self.0.retain(|(kind, name), since| known.state(*kind, name).is_none() && now < *since + SEEN_AFTER);
        self.0.keys().map(|(_, name)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_foundationdb::ServiceFacts;
    use quorate_foundationdb::objects::Tags;

    fn known(state: &str) -> Known {
        let facts = ServiceFacts {
            uid: "u".into(),
            resource_version: state.into(),
            group: None,
            owner: None,
            address: None,
            families: vec![],
            ports: BTreeMap::new(),
            given: Tags::default(),
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

    #[test]
    fn what_was_made_is_there_until_it_was_seen_or_never_will_be() {
        let now = Instant::now();
        let claim = (Kind::Claims, "sample-log-1-data".to_owned());
        let mut unseen = Unseen::default();
        unseen.note(&Expected { appears: BTreeSet::from([claim.clone()]), ..Expected::default() }, now);
        unseen.note(&Expected::default(), now);
        assert_eq!(unseen.names(&Known::default(), now), BTreeSet::from([claim.1]));
        assert!(unseen.names(&Known::default(), now + SEEN_AFTER).is_empty());
    }
}
