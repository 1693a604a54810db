//! `quorate simulate --mutants`: each safety gate is taken away in turn, and a world must notice.

use std::process::ExitCode;

use anyhow::Result;

use crate::simulate::Simulate;

#[cfg(not(feature = "mutants"))]
pub(crate) fn run(_simulate: &Simulate) -> Result<ExitCode> {
    anyhow::bail!(
        "this build has no mutants: taking safety gates away is possible in builds with the feature `mutants` only \
         (cargo run --release --features mutants -- simulate --mutants)"
    )
}

#[cfg(feature = "mutants")]
pub(crate) fn run(simulate: &Simulate) -> Result<ExitCode> {
    let seeds = simulate.seeds.unwrap_or(200);
    let mut outcomes = Vec::new();
    for gate in quorate_world::Gate::ALL {
        let caught = gate.removed_during(|| first_to_notice(seeds));
        if !simulate.json {
            println!("{}", line(gate, caught.as_ref(), seeds));
        }
        outcomes.push((gate, caught));
    }
    let survivors: Vec<&str> = outcomes.iter().filter(|(_, caught)| caught.is_none()).map(|(gate, _)| gate.name()).collect();
    let killed = outcomes.len() - survivors.len();
    if simulate.json {
        println!("{}", serde_json::json!({"mutants": outcomes.len(), "killed": killed, "survivors": survivors}));
    } else {
        println!("{} gates taken away, {killed} noticed", outcomes.len());
    }
    Ok(if survivors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The first world of a scenario that breaks an invariant.
#[cfg(feature = "mutants")]
struct Caught {
    scenario: &'static str,
    seed: u64,
    violation: quorate_world::simulation::Violation,
}

/// Every scenario gets its worlds in turn, so that a gate that only one of them needs is found as soon as any other.
#[cfg(feature = "mutants")]
fn first_to_notice(seeds: u64) -> Option<Caught> {
    use quorate_world::simulation::{Scenario, simulate as run};
    for seed in 0..seeds {
        for scenario in Scenario::ALL {
            let violation = run(scenario, seed).violation;
            // On a thread of its own all gates stand: what breaks there, too, says nothing about the gate.
            let breaks_anyway = || std::thread::spawn(move || run(scenario, seed).violation.is_some()).join().unwrap_or(true);
            if let Some(violation) = violation.filter(|_| !breaks_anyway()) {
                return Some(Caught { scenario: scenario.name, seed, violation });
            }
        }
    }
    None
}

#[cfg(feature = "mutants")]
fn line(gate: quorate_world::Gate, caught: Option<&Caught>, seeds: u64) -> String {
    match caught {
        None => format!("{:<24} NOT NOTICED in {seeds} seeds", gate.name()),
        Some(Caught { scenario, seed, violation }) => format!(
            "{:<24} noticed by invariant {} in {scenario}, seed {seed}: {}",
            gate.name(),
            violation.invariant,
            violation.what
        ),
    }
}
