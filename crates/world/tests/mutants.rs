//! Every safety gate is needed: without it some world breaks something.

use quorate_quorum::Gate;
use quorate_world::simulation::{Scenario, first_to_notice, simulate};

#[test]
fn every_safety_gate_is_missed_when_it_is_gone() {
    for gate in Gate::ALL {
        let noticed = first_to_notice(20, Scenario::ALL, |scenario, seed| gate.removed_during(|| simulate(scenario, seed)));
        let noticed = noticed.unwrap_or_else(|| panic!("nothing notices that {} is gone", gate.name()));
        println!("{}: invariant {} in {}, seed {}", gate.name(), noticed.violation.invariant, noticed.scenario, noticed.seed);
    }
}
