//! Redundancy modes: how many copies, over how many zones.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The redundancy modes a user may ask for.
///
/// A database can be in others (`three_data_hall_fallback`, set by hand in an emergency); those are only ever read, and stay
/// strings in the status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedundancyMode {
    /// One copy.
    Single,
    /// Two copies in two zones; what FoundationDB clusters get unless they say otherwise.
    #[default]
    Double,
    /// Three copies in three zones.
    Triple,
    /// Three copies in three data halls, four copies of the log in two of them.
    ThreeDataHall,
    /// Six copies in three datacenters, two zones in each.
    ThreeDatacenter,
}

impl RedundancyMode {
    /// Every mode, weakest first.
    pub const ALL: [Self; 5] = [Self::Single, Self::Double, Self::Triple, Self::ThreeDataHall, Self::ThreeDatacenter];

    /// The name FoundationDB knows it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Double => "double",
            Self::Triple => "triple",
            Self::ThreeDataHall => "three_data_hall",
            Self::ThreeDatacenter => "three_datacenter",
        }
    }

    /// The fewest zones in which one cluster object can carry this mode.
    pub const fn minimum_fault_domains(self) -> u32 {
        match self {
            Self::Single => 1,
            Self::Double => 2,
            Self::Triple | Self::ThreeDataHall | Self::ThreeDatacenter => 3,
        }
    }

    /// How many zones may fail before data or availability is lost; also how many spare processes each role gets.
    pub const fn fault_tolerance(self) -> u32 {
        match self {
            Self::Single => 0,
            Self::Double => 1,
            Self::Triple | Self::ThreeDataHall | Self::ThreeDatacenter => 2,
        }
    }

    /// Whether the mode spreads over halls or datacenters, and so needs that locality on every process.
    pub const fn spans_halls(self) -> bool {
        matches!(self, Self::ThreeDataHall | Self::ThreeDatacenter)
    }
}

impl fmt::Display for RedundancyMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A mode that cannot be asked for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("redundancy mode {0:?} is not known; use one of single, double, triple, three_data_hall, three_datacenter")]
pub struct UnknownRedundancyMode(pub String);

impl FromStr for RedundancyMode {
    type Err = UnknownRedundancyMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| UnknownRedundancyMode(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_back_from_its_name() {
        for mode in RedundancyMode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
    }

    #[test]
    fn a_fallback_mode_cannot_be_asked_for() {
        let error = "three_data_hall_fallback".parse::<RedundancyMode>().unwrap_err();
        assert!(error.to_string().contains("three_data_hall_fallback"), "{error}");
    }

    #[test]
    fn every_mode_survives_as_many_zones_as_it_tolerates() {
        for mode in RedundancyMode::ALL {
            assert!(mode.minimum_fault_domains() > mode.fault_tolerance(), "{mode}");
        }
    }
}
