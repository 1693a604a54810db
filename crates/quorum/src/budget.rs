//! The one place where disruption is rationed.
//!
//! Whatever takes something away asks here. The answer is a [`Permit`] or a [`Hold`] that says what was compared with what.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{Hold, Journal, Reason};

/// The budget's word that something may go. It can't be made anywhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Permit {
    granted_for: String,
}

impl Permit {
    /// What it was granted for.
    pub fn granted_for(&self) -> &str {
        &self.granted_for
    }
}

/// Too many zones would be disrupted at once.
pub const ANOTHER_ZONE_IS_DISRUPTED: Reason = Reason("AnotherZoneIsDisrupted");

/// How much may be disrupted at once, and what already is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    disrupted: BTreeSet<String>,
    at_most: usize,
}

impl Budget {
    /// A budget of so many zones, of which those in the journal and those that are down anyway are spent.
    pub fn of_zones<'a>(at_most: usize, journal: &'a Journal, down: impl IntoIterator<Item = &'a str>) -> Self {
        let disrupted = journal.zones().chain(down).map(str::to_owned).collect();
        Self { disrupted, at_most }
    }

    /// Asks to disrupt something that serves. Within a zone that is disrupted already, nothing more is lost.
    pub fn disrupt(&mut self, what: &str, zone: &str) -> Result<Permit, Box<Hold>> {
        if !self.disrupted.contains(zone) && self.disrupted.len() >= self.at_most {
            let zones: Vec<_> = self.disrupted.iter().map(String::as_str).collect();
            let hold = Hold::new(
                ANOTHER_ZONE_IS_DISRUPTED,
                what,
                format!("{what} in zone {zone} is left alone, because zone {} is disrupted", zones.join(", ")),
                format!("zone {} being whole again", zones.join(", ")),
            );
            return Err(Box::new(hold.compared(format!("{} zones disrupted", zones.len()), format!("at most {}", self.at_most))));
        }
        self.disrupted.insert(zone.to_owned());
        Ok(Permit { granted_for: what.to_owned() })
    }

    /// Asks to clear away something that serves nothing any more: it has ended, or its node is gone. That disrupts nobody, and refusing
    /// it would keep the cluster from healing.
    pub fn clear_away(&self, what: &str) -> Permit {
        Permit { granted_for: what.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JournalEntry;
    use jiff::Timestamp;

    fn journal(zones: &[&str]) -> Journal {
        let entry = |zone: &&str| {
            let entry =
                JournalEntry { what: "delete".into(), uid: "u".into(), zone: (*zone).into(), since: Timestamp::UNIX_EPOCH };
            (format!("pod-in-{zone}"), entry)
        };
        Journal(zones.iter().map(entry).collect())
    }

    #[test]
    fn one_zone_may_be_disrupted_and_then_no_other() {
        let mut budget = Budget::of_zones(1, &Journal::default(), []);
        assert!(budget.disrupt("storage-1", "a").is_ok());
        assert!(budget.disrupt("storage-2", "a").is_ok());
        let hold = budget.disrupt("storage-3", "b").unwrap_err();
        assert_eq!(hold.reason, ANOTHER_ZONE_IS_DISRUPTED);
        assert_eq!(hold.measured.as_deref(), Some("1 zones disrupted"));
    }

    #[test]
    fn what_was_begun_and_not_seen_to_end_is_spent() {
        let mut budget = Budget::of_zones(1, &journal(&["a"]), []);
        assert!(budget.disrupt("storage-3", "b").is_err());
    }

    #[test]
    fn what_is_down_anyway_is_spent() {
        let mut budget = Budget::of_zones(1, &Journal::default(), ["a"]);
        assert!(budget.disrupt("storage-3", "b").is_err());
    }

    #[test]
    fn clearing_away_what_has_ended_needs_no_budget() {
        let budget = Budget::of_zones(1, &journal(&["a"]), ["b"]);
        assert_eq!(budget.clear_away("storage-9").granted_for(), "storage-9");
    }
}
