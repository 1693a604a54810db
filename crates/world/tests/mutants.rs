//! Every safety gate is needed: without it some world breaks something. Here each is looked for where it is missed soon; those that are
//! missed in rare worlds only are left to `quorate simulate --mutants`, which has the time. What such a world leaves behind breaks the
//! same again.

use quorate_quorum::Gate;
use quorate_world::simulation::{Recording, Scenario, Script, first_to_notice, play, shrink, simulate};

/// So many worlds of a scenario are tried.
const WORLDS: u64 = 12;

/// The scenario whose worlds soon miss a gate, if there is one.
fn missed_in(gate: Gate) -> Option<&'static str> {
    match gate {
        Gate::RecordedFirst | Gate::DeleteGuard => Some("api"),
        Gate::StatusCompareAndSet | Gate::EpochFence | Gate::StopsWhenNotLeading => Some("hand-over"),
        Gate::EnoughZonesAtBirth | Gate::EligibleCoordinators => Some("mishaps"),
        Gate::Skip | Gate::OnlyOurPods => Some("users"),
        Gate::MovesAtOnce => Some("domains"),
        Gate::ReplacesOnlyWhenAvailable => Some("nodes"),
        Gate::ReplacementBuckets | Gate::ExclusionHeadroom | Gate::DrainedBeforeRemoval => Some("replacements"),
        Gate::CoordinatorsFirst | Gate::RecoverySpacing => Some("coordinators"),
        Gate::ConfigurationEverywhere => Some("restarts"),
        Gate::WholeBeforeDisruption => Some("repairs"),
        Gate::ZonesForCopies => Some("hosts"),
        Gate::CoordinatorMajority => Some("shared"),
        Gate::WholeReport | Gate::UptimeBeforeRestart | Gate::EnoughDomains => None,
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

#[test]
fn a_world_that_was_cut_down_and_kept_breaks_the_same_again() {
    let scenario = Scenario::named("users").expect("it is one of those there are");
    Gate::Skip.removed_during(|| {
        let mut worlds = (0..WORLDS).map(|seed| Script::new(scenario, seed));
        let breaks = |script: Script| play(&script).violation.map(|violation| (script, violation));
        let (script, violation) = worlds.find_map(breaks).expect("a world without the gate breaks something");
        let shrunk = shrink(&script, &violation, 12);
        assert!(shrunk.script.disturbances.len() < script.disturbances.len(), "nothing was taken away");
        let left = shrunk.report.violation.expect("what is left still breaks something");
        assert_eq!(left.invariant, violation.invariant);
        let kept = Recording { quorate: "test".to_owned(), build: None, violation: left, script: shrunk.script };
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(&file, serde_json::to_string_pretty(&kept).expect("it can be written")).expect("a file to write to");

        let text = std::fs::read_to_string(&file).expect("it was written");
        let read: Recording = serde_json::from_str(&text).expect("it is as it was written");
        assert_eq!(read, kept);
        assert_eq!(read.play().violation, Some(kept.violation));
    });
}
