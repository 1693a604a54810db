//! What a change costs as clusters become more, and what a decision costs as one becomes larger.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use quorate_foundationdb::{DatabaseReport, decide};
use quorate_operator::{Bystander, Watched};
use quorate_quorum::Sighting;
use quorate_world::scenery::CLUSTER;

use super::Measured;
use super::population::{Population, key};

/// So many clusters of 20 process groups.
const CLUSTERS: [usize; 3] = [10, 100, 1000];
/// One cluster that is so many times as large as one of 20.
const TIMES: [usize; 3] = [5, 50, 500];
/// Each is timed so often, in turns; the fastest counts, which is the one that nobody else disturbed.
const TURNS: usize = 15;
/// Events of a turn.
const EVENTS: u32 = 20;

/// The exponent of the number of clusters in what one event costs: the pod is read, taken in, and its cluster decided on.
pub(super) fn measure_clusters() -> Result<Measured> {
    let original = Population::original()?;
    let report = DatabaseReport::parse(original.document.as_bytes())?;
    let mut fleets = CLUSTERS.map(|count| fleet(&original, count)).into_iter().collect::<Result<Vec<_>>>()?;
    let mut fastest = [Duration::MAX; CLUSTERS.len()];
    for turn in 0..TURNS {
        for (fleet, fastest) in fleets.iter_mut().zip(&mut fastest) {
            *fastest = (*fastest).min(events(fleet, &original, &report, turn)?);
        }
    }
    let micros = fastest.map(|time| time.as_secs_f64() * 1e6 / f64::from(EVENTS));
    Ok(Measured {
        value: Some(exponent(&CLUSTERS, &micros)),
        baseline: Some(1.0),
        note: format!("{:.0}, {:.0} and {:.0} µs per event with {CLUSTERS:?} clusters", micros[0], micros[1], micros[2]),
    })
}

struct Fleet {
    bystander: Bystander,
    count: usize,
}

fn fleet(original: &Population, count: usize) -> Result<Fleet> {
    let mut bystander = Bystander::default();
    for number in 0..count {
        original.named(&name(number)).shown_to(&mut bystander)?;
    }
    Ok(Fleet { bystander, count })
}

fn name(number: usize) -> String {
    format!("c{number:04}")
}

fn events(fleet: &mut Fleet, original: &Population, report: &DatabaseReport, turn: usize) -> Result<Duration> {
    let mut took = Duration::ZERO;
    for event in 0..EVENTS as usize {
        // Far apart, so that none finds its cluster still warm from the one before.
        let name = name((event * 37 + turn * 11) % fleet.count);
        let text = original.pods[(event + turn) % original.pods.len()].replace(CLUSTER, &name);
        let seen = Sighting::Seen { at: original.now, facts: report.clone().into() };
        let start = Instant::now();
        let pod: Pod = serde_json::from_str(&text)?;
        let concerned = fleet.bystander.see(Watched::Pod(Box::new(pod)));
        let planned = black_box(fleet.bystander.plan(&key(&name), original.now, seen));
        took += start.elapsed();
        anyhow::ensure!(concerned.len() == 1 && planned.is_some(), "an event of {name} concerned {concerned:?}");
    }
    Ok(took)
}

/// What a decision costs, over reading the report it is made from, in the largest cluster.
pub(super) fn measure_decision() -> Result<Measured> {
    let sizes = decisions()?;
    let Sized { groups, decide, plan, parse } = sizes[sizes.len() - 1];
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    Ok(Measured {
        value: Some(millis(decide) / millis(parse)),
        baseline: Some(millis(parse)),
        note: format!(
            "{:.1} ms for a decision about {groups} process groups, {:.1} ms to read their report; {:.1} ms from what is known to the \
             status that is written",
            millis(decide),
            millis(parse),
            millis(plan)
        ),
    })
}

/// The exponent of the number of process groups in what a decision costs.
pub(super) fn measure_decision_growth() -> Result<Measured> {
    let sizes = decisions()?;
    let groups: Vec<usize> = sizes.iter().map(|size| size.groups).collect();
    let millis: Vec<f64> = sizes.iter().map(|size| size.decide.as_secs_f64() * 1000.0).collect();
    let parse: Vec<f64> = sizes.iter().map(|size| size.parse.as_secs_f64() * 1000.0).collect();
    Ok(Measured {
        value: Some(exponent(&groups, &millis)),
        baseline: Some(exponent(&groups, &parse)),
        note: format!("{:.2}, {:.2} and {:.2} ms with {groups:?} process groups", millis[0], millis[1], millis[2]),
    })
}

#[derive(Clone, Copy)]
struct Sized {
    groups: usize,
    /// A decision alone.
    decide: Duration,
    /// The same from the index to the status.
    plan: Duration,
    /// Reading the database's report.
    parse: Duration,
}

fn decisions() -> Result<Vec<Sized>> {
    let original = Population::original()?;
    TIMES.iter().map(|times| decision(&original.times(*times)?)).collect()
}

fn decision(population: &Population) -> Result<Sized> {
    let mut bystander = Bystander::default();
    population.shown_to(&mut bystander)?;
    let report = DatabaseReport::parse(population.document.as_bytes())?;
    let mut sized = Sized { groups: population.groups(), decide: Duration::MAX, plan: Duration::MAX, parse: Duration::MAX };
    let snapshot = population.snapshot(&bystander, report.clone())?;
    for _ in 0..TURNS {
        let start = Instant::now();
        black_box(DatabaseReport::parse(population.document.as_bytes())?);
        sized.parse = sized.parse.min(start.elapsed());
        let start = Instant::now();
        let decision = black_box(decide(&snapshot));
        sized.decide = sized.decide.min(start.elapsed());
        drop(decision);
        let report = report.clone();
        let start = Instant::now();
        population.planned(&bystander, report)?;
        sized.plan = sized.plan.min(start.elapsed());
    }
    Ok(sized)
}

/// The slope of the line of least squares through the logarithms: 0 if the cost stays, 1 if it grows as the number does.
#[expect(clippy::cast_precision_loss, reason = "counts far below what a float holds")]
pub(super) fn exponent(numbers: &[usize], costs: &[f64]) -> f64 {
    let points: Vec<(f64, f64)> = numbers.iter().zip(costs).map(|(number, cost)| ((*number as f64).ln(), cost.ln())).collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let variance: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    covariance / variance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_of_a_square_is_two() {
        let numbers = [10, 100, 1000];
        assert!((exponent(&numbers, &[3.0, 300.0, 30_000.0]) - 2.0).abs() < 1e-9);
        assert!(exponent(&numbers, &[7.0, 7.0, 7.0]).abs() < 1e-9);
    }
}
