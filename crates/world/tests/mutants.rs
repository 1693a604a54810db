//! Every safety gate is needed: without it some world breaks something. Here each is looked for where it is missed soon; those that are
//! missed in rare worlds only are left to `quorate simulate --mutants`, which has the time.

use quorate_quorum::Gate;
use quorate_world::simulation::{Scenario, first_to_notice, simulate};

/// So many worlds of a scenario are tried.
const WORLDS: u64 = 8;

/// The scenario whose worlds soon miss a gate, if there is one.
fn missed_in(gate: Gate) -> Option<&'static str> {
    match gate {
        Gate::RecordedFirst => Some("api"),
        Gate::StatusCompareAndSet | Gate::EpochFence | Gate::StopsWhenNotLeading => Some("hand-over"),
        Gate::EnoughZonesAtBirth | Gate::EligibleCoordinators => Some("everything"),
        Gate::Skip | Gate::OnlyOurPods => Some("users"),
        Gate::MovesAtOnce => Some("domains"),
        Gate::ReplacesOnlyWhenAvailable => Some("nodes"),
        Gate::ReplacementBuckets | Gate::ExclusionHeadroom | Gate::DrainedBeforeRemoval => Some("replacements"),
        Gate::CoordinatorsFirst | Gate::RecoverySpacing => Some("coordinators"),
        Gate::ConfigurationEverywhere => Some("restarts"),
        Gate::WholeBeforeDisruption => Some("repairs"),
        Gate::ZonesForCopies => Some("hosts"),
        Gate::CoordinatorMajority => Some("shared"),
        Gate::DeleteGuard | Gate::WholeReport | Gate::UptimeBeforeRestart | Gate::EnoughDomains => None,
    }
}

#[test]
fn safety_gates_are_missed_when_they_are_gone() {
    for gate in Gate::ALL {
        let Some(scenario) = missed_in(gate).and_then(Scenario::named) else { continue };
        let scenario = std::slice::from_ref(scenario);
        let noticed = first_to_notice(WORLDS, scenario, |scenario, seed| gate.removed_during(|| simulate(scenario, seed)));
        let noticed = noticed.unwrap_or_else(|| panic!("nothing notices that {} is gone", gate.name()));
        println!("{}: invariant {} in {}, seed {}", gate.name(), noticed.violation.invariant, noticed.scenario, noticed.seed);
    }
}
