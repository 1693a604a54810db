//! What follows from a snapshot.

use jiff::Timestamp;
use serde::Serialize;

use crate::{Hold, Step};

/// Everything that follows from a snapshot. Status, events, metrics, the command line and the console all show this one value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision<Creates, TakesAway, Status> {
    /// What to do now, in order. The status is written first.
    pub steps: Vec<Step<Creates, TakesAway>>,
    /// The whole status.
    pub status: Status,
    /// What users should hear of.
    pub notices: Vec<Notice>,
    /// Why nothing more is done.
    pub holds: Vec<Hold>,
    /// When to look again, even if nothing happens.
    pub wake: Wake,
}

/// When to look again. The earliest wish wins, so that no concern delays another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Wake(pub Option<Timestamp>);

impl Wake {
    /// Wishes to look again at this time, or earlier.
    pub fn at(&mut self, time: Timestamp) {
        self.0 = Some(self.0.map_or(time, |earlier| earlier.min(time)));
    }
}

/// Something users should hear of. It becomes an Event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// How bad it is.
    pub severity: Severity,
    /// A stable code in PascalCase.
    pub reason: &'static str,
    /// The sentence.
    pub note: String,
}

/// How bad a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Things go as they should.
    Normal,
    /// Somebody may have to do something.
    Warning,
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    #[test]
    fn the_earliest_wish_wins_in_any_order() {
        let second = |n| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(n);
        for order in [[10, 300, 60], [300, 60, 10], [60, 10, 300]] {
            let mut wake = Wake::default();
            for n in order {
                wake.at(second(n));
            }
            assert_eq!(wake.0, Some(second(10)));
        }
    }
}
