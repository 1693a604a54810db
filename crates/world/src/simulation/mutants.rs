//! Whether a world notices that a safety gate was taken away.

use super::invariants::Violation;
use super::run::{Report, simulate};
use super::scenario::Scenario;

/// The first world that noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noticed {
    /// Its scenario.
    pub scenario: &'static str,
    /// Its seed.
    pub seed: u64,
    /// What it broke.
    pub violation: Violation,
}

/// Looks for a world that breaks something when it is run by `without_gate`, and nothing when it is run as it is. Every scenario gets
/// its worlds in turn, so that a gate that only one of them needs is found as soon as any other.
pub fn first_to_notice(
    seeds: u64,
    scenarios: &'static [Scenario],
    without_gate: impl Fn(&'static Scenario, u64) -> Report,
) -> Option<Noticed> {
    for seed in 0..seeds {
        for scenario in scenarios {
            // Gates are taken away per thread: on one of its own, all of them stand.
            let breaks_anyway =
                || std::thread::spawn(move || simulate(scenario, seed).violation.is_some()).join().unwrap_or(true);
            let violation = without_gate(scenario, seed).violation;
            if let Some(violation) = violation.filter(|_| !breaks_anyway()) {
                return Some(Noticed { scenario: scenario.name, seed, violation });
            }
        }
    }
    None
}
