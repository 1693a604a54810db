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
    use quorate_world::Gate;
    use quorate_world::simulation::{Noticed, Scenario, first_to_notice, simulate as run};

    let seeds = simulate.seeds.unwrap_or(200);
    let mut survivors = Vec::new();
    if let Some(name) = simulate.gate.iter().find(|name| Gate::ALL.iter().all(|gate| gate.name() != **name)) {
        let names: Vec<&str> = Gate::ALL.iter().map(|gate| gate.name()).collect();
        anyhow::bail!("--gate: there is no gate {name}; there are {}", names.join(", "));
    }
    let is_meant = |gate: &Gate| simulate.gate.is_empty() || simulate.gate.iter().any(|name| name == gate.name());
    let gates: Vec<Gate> = Gate::ALL.into_iter().filter(is_meant).collect();
    let tried = |number: u64| {
        let gate = gates[usize::try_from(number).unwrap_or_default()];
        let noticed = first_to_notice(seeds, Scenario::ALL, |scenario, seed| gate.removed_during(|| run(scenario, seed)));
        (gate.name(), noticed)
    };
    crate::workers::in_order(0..gates.len() as u64, tried, |_, (name, noticed)| {
        let line = match noticed {
            None => {
                survivors.push(name);
                format!("{name:<28} NOT NOTICED in {seeds} seeds")
            }
            Some(Noticed { scenario, seed, violation }) => {
                format!("{name:<28} noticed by invariant {} in {scenario}, seed {seed}: {}", violation.invariant, violation.what)
            }
        };
        if !simulate.json {
            println!("{line}");
        }
        Ok(())
    })?;
    let (mutants, killed) = (gates.len(), gates.len() - survivors.len());
    if simulate.json {
        let summary = serde_json::json!({"mutants": mutants, "killed": killed, "survivors": survivors});
        println!("{}", serde_json::to_string(&summary)?);
    } else {
        println!("{mutants} gates taken away, {killed} noticed");
    }
    Ok(if survivors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
