//! The one place where disruption is rationed.
//!
//! Whatever takes something away asks here. The answer is a [`Permit`] or a [`Hold`] that says what was compared with what.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde::Serialize;

use crate::{Hold, Reason};

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
    recovery: Option<String>,
}

/// How calm a database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calm {
    /// How long ago its last recovery ended; `None` while one is under way or if nobody knows.
    pub since: Option<SignedDuration>,
    /// Generations of its log that are still needed; `None` if nobody knows.
    pub generations: Option<u64>,
    /// More of them mean recoveries that follow each other.
    pub most_generations: u64,
}

/// Why a recovery is not granted now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRecovery {
    /// Another one is granted in this decision.
    Another(String),
    /// The last one is under way or was too short a time ago.
    TooRecent(SignedDuration),
    /// Too many generations are still needed: so many, if anybody knows, and at most so many may be.
    TooManyGenerations(Option<u64>, u64),
}

impl NoRecovery {
    /// When it would be granted, as the end of a sentence about what waits.
    pub fn when(&self, last: &str) -> String {
        match self {
            Self::Another(what) => format!("after another change that costs a recovery ({what})"),
            Self::TooRecent(spacing) => format!("{} s after {last}", spacing.as_secs()),
            Self::TooManyGenerations(_, most) => format!("once at most {most} generations of the log are needed"),
        }
    }

    /// What releases it.
    pub fn released_by(&self) -> String {
        match self {
            Self::Another(_) => "that recovery being over".to_owned(),
            Self::TooRecent(spacing) => format!("{} s without a recovery", spacing.as_secs()),
            Self::TooManyGenerations(..) => "the database coming to rest".to_owned(),
        }
    }

    /// What was measured, and what is needed. How long ago the last recovery was changes all the time, so it is not told.
    pub fn compared(&self) -> (String, String) {
        match self {
            Self::Another(_) => ("1 recovery in this decision".to_owned(), "none".to_owned()),
            Self::TooRecent(spacing) => {
                (format!("less than {} s", spacing.as_secs()), format!("{} s since the last recovery", spacing.as_secs()))
            }
            Self::TooManyGenerations(needed, most) => {
                let needed = needed.map_or_else(|| "an unknown number".to_owned(), |needed| needed.to_string());
                (format!("{needed} generations needed"), format!("at most {most}"))
            }
        }
    }
}

impl Budget {
    /// A budget of so many zones, of which these are disrupted already, by us or by themselves.
    pub fn of_zones<'a>(at_most: usize, disrupted: impl IntoIterator<Item = &'a str>) -> Self {
        Self { disrupted: disrupted.into_iter().map(str::to_owned).collect(), at_most, recovery: None }
    }

    /// Whether a zone is disrupted already, so that more of it may go.
    pub fn is_disrupted(&self, zone: &str) -> bool {
        self.disrupted.contains(zone)
    }

    /// Whether nothing is disrupted, by us or by itself.
    pub fn is_untouched(&self) -> bool {
        self.disrupted.is_empty()
    }

    /// Counts a zone that is disrupted now because somebody asked for it, whatever else is.
    pub fn count_as_disrupted(&mut self, zone: &str) {
        self.disrupted.insert(zone.to_owned());
    }

    /// Asks for a recovery of the database: one per decision, with enough time since the last, and never on top of unfinished ones.
    pub fn recover(&mut self, what: &str, calm: &Calm, spacing: SignedDuration) -> Result<Permit, NoRecovery> {
        if let Some(other) = &self.recovery {
            return Err(NoRecovery::Another(other.clone()));
        }
        if calm.since.is_none_or(|since| since < spacing) {
            return Err(NoRecovery::TooRecent(spacing));
        }
        if calm.generations.is_none_or(|generations| generations > calm.most_generations) {
            return Err(NoRecovery::TooManyGenerations(calm.generations, calm.most_generations));
        }
        self.recovery = Some(what.to_owned());
        Ok(Permit { granted_for: what.to_owned() })
    }

    /// Asks to move data away from something; whoever asks has counted what is left. It costs no recovery.
    pub fn drain(&self, what: &str) -> Permit {
        Permit { granted_for: what.to_owned() }
    }

    /// Asks to disrupt something that serves. Within the zones that may be disrupted nothing more is lost; where more zones are disrupted
    /// than may be, by themselves or because something only starts there, nothing more goes in any of them. And nothing goes beside a recovery,
    /// after which the database may count on others than it does now.
    pub fn disrupt(&mut self, what: &str, zone: &str) -> Result<Permit, Box<Hold>> {
        if let Some(recovery) = &self.recovery {
            let sentence = format!("{what} in zone {zone} is left alone, because in the same moment {recovery}");
            let hold = Hold::new(ANOTHER_ZONE_IS_DISRUPTED, what, sentence, "the next report of the database");
            return Err(Box::new(hold.compared("1 recovery in this decision", "none")));
        }
        let others = self.disrupted.iter().filter(|other| *other != zone).count();
        if others >= self.at_most {
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

    #[test]
    fn nothing_is_disrupted_beside_a_recovery() {
        let mut budget = Budget::of_zones(1, []);
        let calm = Calm { since: Some(SignedDuration::from_hours(1)), generations: Some(1), most_generations: 2 };
        assert!(budget.recover("coordinators change", &calm, SignedDuration::from_secs(60)).is_ok());
        assert!(budget.disrupt("storage-1", "a").unwrap_err().sentence.contains("coordinators change"));
    }

    #[test]
    fn one_zone_may_be_disrupted_and_then_no_other() {
        let mut budget = Budget::of_zones(1, []);
        assert!(budget.disrupt("storage-1", "a").is_ok());
        assert!(budget.disrupt("storage-2", "a").is_ok());
        let hold = budget.disrupt("storage-3", "b").unwrap_err();
        assert_eq!(hold.reason, ANOTHER_ZONE_IS_DISRUPTED);
        assert_eq!(hold.measured, "1 zones disrupted");
    }

    #[test]
    fn what_is_down_or_was_begun_is_spent() {
        let mut budget = Budget::of_zones(1, ["a"]);
        assert!(budget.disrupt("storage-3", "b").is_err());
        assert!(budget.disrupt("storage-4", "a").is_ok());
    }

    #[test]
    fn where_too_much_is_down_already_nothing_more_goes() {
        let mut budget = Budget::of_zones(1, ["a", "b"]);
        assert!(budget.disrupt("storage-3", "b").is_err());
        assert!(budget.disrupt("storage-4", "a").is_err());
        assert!(Budget::of_zones(2, ["a", "b"]).disrupt("storage-3", "b").is_ok());
    }

    #[test]
    fn one_recovery_at_a_time_and_not_too_soon() {
        let calm = |seconds: Option<i64>, generations| Calm {
            since: seconds.map(SignedDuration::from_secs),
            generations,
            most_generations: 10,
        };
        let spacing = SignedDuration::from_secs(120);
        let mut budget = Budget::of_zones(1, []);
        for restless in [calm(None, Some(1)), calm(Some(119), Some(1))] {
            assert_eq!(budget.recover("a", &restless, spacing), Err(NoRecovery::TooRecent(spacing)));
        }
        for restless in [calm(Some(120), None), calm(Some(120), Some(11))] {
            assert_eq!(budget.recover("a", &restless, spacing), Err(NoRecovery::TooManyGenerations(restless.generations, 10)));
        }
        assert!(budget.recover("a", &calm(Some(120), Some(10)), spacing).is_ok());
        assert_eq!(budget.recover("b", &calm(Some(120), Some(1)), spacing), Err(NoRecovery::Another("a".to_owned())));
    }

    #[test]
    fn clearing_away_what_has_ended_needs_no_budget() {
        let budget = Budget::of_zones(1, ["a", "b"]);
        assert_eq!(budget.clear_away("storage-9").granted_for(), "storage-9");
    }
}
