//! What a decision is made from.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Journal;

/// Which leadership a decision belongs to: the number of times the lease changed hands. A step of an older one has no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub i64);

/// Everything that may influence a decision about one cluster, and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<Desired, Kube, Facts> {
    /// The time it was taken.
    pub now: Timestamp,
    /// Since when the clock that says so has gone steadily, in our own hands. What was written down before may be by another clock, or by
    /// this one before it was put forward.
    pub steady_since: Timestamp,
    /// The leadership it was taken under.
    pub epoch: Epoch,
    /// What the user asked for, checked.
    pub desired: Desired,
    /// What Kubernetes says: sorted, small, our own types.
    pub kube: Kube,
    /// What the database says.
    pub database: Sighting<Facts>,
    /// What was begun and not seen to finish.
    pub journal: Journal,
}

impl<Desired, Kube, Facts> Snapshot<Desired, Kube, Facts> {
    /// How long something has lasted at least, for waits that data depends on: nothing from before the clock went steadily counts.
    pub fn lasted(&self, since: Timestamp) -> SignedDuration {
        // By our clock it has not begun yet, so another one said so.
        let since = if since > self.now { self.steady_since } else { since.max(self.steady_since) };
        self.now.duration_since(since)
    }
}

/// What is known of a database. There is no silent default: what was not seen is not known.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "sighting")]
pub enum Sighting<Facts> {
    /// It was asked and answered.
    Seen {
        /// When it answered.
        at: Timestamp,
        /// What it said.
        facts: Facts,
    },
    /// It was asked and did not answer.
    Unreachable {
        /// Since when.
        since: Timestamp,
        /// What went wrong.
        why: String,
    },
    /// It was not asked yet.
    NotAsked,
}

impl<Facts> Sighting<Facts> {
    /// What it said, if it was said recently enough to act on. Old is not safe.
    pub fn fresh(&self, now: Timestamp, at_most: jiff::SignedDuration) -> Option<&Facts> {
        match self {
            // A report from the future is as old as it can be: the clock was set back, nobody knows how old it is.
            Self::Seen { at, facts } if *at <= now && now.duration_since(*at) <= at_most => Some(facts),
            _ => None,
        }
    }

    /// What it last said, however long ago; for showing, not for acting.
    pub fn last(&self) -> Option<&Facts> {
        match self {
            Self::Seen { facts, .. } => Some(facts),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    #[test]
    fn an_old_sighting_is_shown_but_not_acted_on() {
        let at = Timestamp::UNIX_EPOCH;
        let seen = Sighting::Seen { at, facts: "healthy" };
        let limit = SignedDuration::from_secs(10);
        assert_eq!(seen.fresh(at + SignedDuration::from_secs(10), limit), Some(&"healthy"));
        assert_eq!(seen.fresh(at + SignedDuration::from_secs(11), limit), None);
        assert_eq!(seen.fresh(at - SignedDuration::from_secs(1), limit), None, "the clock was set back");
        assert_eq!(seen.last(), Some(&"healthy"));
    }

    #[test]
    fn silence_is_not_an_answer() {
        let limit = SignedDuration::MAX;
        let since = Timestamp::UNIX_EPOCH;
        assert_eq!(Sighting::<()>::Unreachable { since, why: String::new() }.fresh(since, limit), None);
        assert_eq!(Sighting::<()>::NotAsked.fresh(since, limit), None);
    }
}
