//! How much faster than life the simulated world is, with everything in it that can go wrong.

use anyhow::{Result, ensure};
use quorate_world::simulation::{Scenario, simulate};

use super::Measured;
use crate::simulate::cpu_seconds;

const SEEDS: u64 = 20;

pub(super) fn measure() -> Result<Measured> {
    let scenario = &Scenario::ALL[0];
    // The first world also builds the CRDs that all of them begin with.
    simulate(scenario, 0);
    let before = cpu_seconds();
    let mut simulated = 0.0;
    for seed in 0..SEEDS {
        let report = simulate(scenario, seed);
        ensure!(report.violation.is_none(), "seed {seed} of scenario {} broke an invariant", scenario.name);
        simulated += report.simulated.as_secs_f64();
    }
    // Linux counts in hundredths of a second.
    let took = (cpu_seconds() - before).max(0.01);
    Ok(Measured {
        value: Some(simulated / took),
        baseline: None,
        note: format!("{simulated:.0} simulated seconds in {took:.2} CPU seconds, {SEEDS} seeds of {}", scenario.name),
    })
}
