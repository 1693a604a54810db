//! `quorate bench`: what the operator costs, in numbers with goals. docs/bench.md says what each means.
//!
//! A benchmark is one file and one line in [`BENCHMARKS`].

mod api_calls;
mod child_memory;
mod cold_start;
mod fdbserver;
mod growth;
mod makespan;
mod memory;
mod placement;
mod population;
mod reaction;
mod round_trips;
mod simulation;
mod stage;
mod status_parse;
mod waves;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

/// Which benchmarks.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Only these; all of them if none is named.
    #[arg(value_parser = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect::<Vec<_>>())]
    names: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

struct Benchmark {
    name: &'static str,
    goal: Option<Goal>,
    measure: fn() -> Result<Measured>,
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark { name: "R1", goal: Some(Goal::AtMost(1.1)), measure: api_calls::measure },
    Benchmark { name: "R1-at-rest", goal: Some(Goal::AtMost(0.0)), measure: api_calls::measure_at_rest },
    Benchmark { name: "R2a", goal: Some(Goal::AtMost(0.05)), measure: growth::measure_clusters },
    Benchmark { name: "R2b", goal: Some(Goal::AtMost(1.0)), measure: growth::measure_decision },
    Benchmark { name: "R2b-growth", goal: Some(Goal::AtMost(1.05)), measure: growth::measure_decision_growth },
    Benchmark { name: "R3", goal: Some(Goal::AtMost(1.5)), measure: memory::measure },
    Benchmark { name: "R3-relist", goal: Some(Goal::AtMost(1.3)), measure: memory::measure_relist },
    Benchmark { name: "R4", goal: Some(Goal::AtMost(3.0)), measure: reaction::measure },
    Benchmark { name: "R5", goal: Some(Goal::AtMost(1.0)), measure: placement::measure },
    Benchmark { name: "R5-growth", goal: Some(Goal::AtMost(1.1)), measure: placement::measure_growth },
    Benchmark { name: "waves", goal: Some(Goal::AtMost(3.0)), measure: waves::measure },
    Benchmark { name: "R8", goal: Some(Goal::AtMost(1.25)), measure: makespan::measure },
    Benchmark { name: "R10", goal: Some(Goal::AtMost(2.0)), measure: cold_start::measure },
    Benchmark { name: "round-trips", goal: Some(Goal::AtMost(1.0)), measure: round_trips::measure },
    Benchmark { name: "status-parse", goal: Some(Goal::AtMost(1.0)), measure: status_parse::measure },
    Benchmark { name: "child-memory", goal: None, measure: child_memory::measure },
    Benchmark { name: "simulation", goal: Some(Goal::AtLeast(10_000.0)), measure: simulation::measure },
];

#[derive(Clone, Copy, Debug)]
enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    fn number(self) -> f64 {
        match self {
            Self::AtMost(number) | Self::AtLeast(number) => number,
        }
    }

    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtMost(most) => format!("at most {most}"),
            Self::AtLeast(least) => format!("at least {least}"),
        }
    }
}

/// What a benchmark came to.
#[derive(Debug, Default)]
struct Measured {
    /// Nothing if it could not be run here; the note says why.
    value: Option<f64>,
    /// What the value is compared with, measured in the same run.
    baseline: Option<f64>,
    /// The figures behind the value.
    note: String,
}

impl Measured {
    fn not_run(why: &str) -> Self {
        Self { note: format!("not run: {why}"), ..Self::default() }
    }
}

/// One benchmark as it is printed.
#[derive(Debug, Serialize)]
struct Row {
    value: Option<f64>,
    goal: Option<f64>,
    /// Nothing where there is no goal or no value.
    met: Option<bool>,
    baseline: Option<f64>,
    note: String,
}

impl Row {
    fn new(goal: Option<Goal>, measured: Measured) -> Self {
        let Measured { value, baseline, note } = measured;
        let met = goal.zip(value).map(|(goal, value)| goal.is_met(value));
        Self { value, goal: goal.map(Goal::number), met, baseline, note }
    }
}

impl Bench {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        if cfg!(debug_assertions) {
            eprintln!("quorate: this is a debug build; times mean something in a release build only");
        }
        let wanted = |benchmark: &&Benchmark| self.names.is_empty() || self.names.iter().any(|name| name == benchmark.name);
        let mut rows = BTreeMap::new();
        if !self.json {
            println!("{}", line("BENCHMARK", "VALUE", "BASELINE", "GOAL", "MET", "FIGURES"));
        }
        for benchmark in BENCHMARKS.iter().filter(wanted) {
            let measured = (benchmark.measure)().with_context(|| format!("measuring {}", benchmark.name))?;
            let row = Row::new(benchmark.goal, measured);
            if !self.json {
                println!("{}", text(benchmark, &row));
            }
            rows.insert(benchmark.name, row);
        }
        if self.json {
            println!("{}", serde_json::to_string(&rows)?);
        }
        Ok(if all_met(rows.values()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Every goal that is set is met. What was not run is neither met nor missed.
fn all_met<'a>(rows: impl IntoIterator<Item = &'a Row>) -> bool {
    rows.into_iter().all(|row| row.met != Some(false))
}

fn text(benchmark: &Benchmark, row: &Row) -> String {
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| format!("{number:.3}"));
    let goal = benchmark.goal.map_or_else(|| "-".to_owned(), Goal::text);
    let met = row.met.map_or("-", |met| if met { "yes" } else { "no" });
    line(benchmark.name, &number(row.value), &number(row.baseline), &goal, met, &row.note)
}

fn line(name: &str, value: &str, baseline: &str, goal: &str, met: &str, figures: &str) -> String {
    format!("{name:14}{value:>12}{baseline:>12}  {goal:16}{met:5}{figures}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(goal: Option<Goal>, value: Option<f64>) -> Row {
        Row::new(goal, Measured { value, ..Measured::default() })
    }

    #[test]
    fn a_goal_is_met_from_its_own_side() {
        assert_eq!(row(Some(Goal::AtMost(1.0)), Some(1.0)).met, Some(true));
        assert_eq!(row(Some(Goal::AtMost(1.0)), Some(1.1)).met, Some(false));
        assert_eq!(row(Some(Goal::AtLeast(10.0)), Some(9.0)).met, Some(false));
        assert_eq!(row(Some(Goal::AtLeast(10.0)), Some(11.0)).met, Some(true));
    }

    #[test]
    fn what_was_not_run_and_what_has_no_goal_fails_nobody() {
        let met = row(Some(Goal::AtMost(1.0)), Some(0.5));
        let missed = row(Some(Goal::AtMost(1.0)), Some(1.5));
        let not_run = row(Some(Goal::AtMost(1.0)), None);
        let without_goal = row(None, Some(40.0));
        assert!(all_met([&met, &not_run, &without_goal]));
        assert!(!all_met([&met, &missed]));
    }

    #[test]
    fn programs_read_four_fields_by_name() {
        let measured = Measured { value: Some(0.5), baseline: Some(8.0), note: "n".to_owned() };
        let row = serde_json::to_value(Row::new(Some(Goal::AtMost(1.0)), measured)).unwrap();
        assert_eq!(row, serde_json::json!({"value": 0.5, "goal": 1.0, "met": true, "baseline": 8.0, "note": "n"}));
    }
}
