//! How long an operator that was just started takes to its first plan, over reading the same bytes as plain JSON.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Result;
use quorate_foundationdb::DatabaseReport;
use quorate_operator::Bystander;
use serde_json::Value;

use super::Measured;
use super::population::Population;

/// 10,000 process groups.
const TIMES: usize = 500;
const TURNS: usize = 3;

pub(super) fn measure() -> Result<Measured> {
    let population = Population::original()?.times(TIMES)?;
    let (mut ours, mut baseline) = (Duration::MAX, Duration::MAX);
    for _ in 0..TURNS {
        ours = ours.min(first_plan(&population)?);
        baseline = baseline.min(read(&population)?);
    }
    Ok(Measured {
        value: Some(ours.as_secs_f64() / baseline.as_secs_f64()),
        baseline: Some(baseline.as_secs_f64() * 1000.0),
        note: format!(
            "{:.0} ms to the first plan for {} process groups, {:.0} ms to read their {} MiB as plain JSON",
            ours.as_secs_f64() * 1000.0,
            population.groups(),
            baseline.as_secs_f64() * 1000.0,
            (population.bytes() + population.document.len()) / (1 << 20)
        ),
    })
}

/// All objects are read and taken in, the report is read, and a plan is made.
fn first_plan(population: &Population) -> Result<Duration> {
    let start = Instant::now();
    let mut bystander = Bystander::default();
    population.shown_to(&mut bystander)?;
    let facts = DatabaseReport::parse(population.document.as_bytes())?;
    population.planned(&bystander, facts)?;
    Ok(start.elapsed())
}

fn read(population: &Population) -> Result<Duration> {
    let start = Instant::now();
    let Population { cluster, pods, claims, others, document, .. } = population;
    for text in [cluster, document].into_iter().chain(pods).chain(claims).chain(others) {
        black_box(serde_json::from_str::<Value>(text)?);
    }
    Ok(start.elapsed())
}
