//! `quorate simulate`: the operator in simulated worlds, many of them, or one told as a story.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use quorate_world::simulation::{Report, simulate};
use serde::Serialize;

/// Which worlds.
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// How many worlds.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Only this world.
    #[arg(long)]
    seed: Option<u64>,
    /// Tell what happened, line by line.
    #[arg(long)]
    trace: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// All worlds together.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    seeds: u64,
    violations: u64,
    simulated_seconds: u64,
    cpu_seconds: f64,
    faults: BTreeMap<&'static str, u64>,
    invariants: BTreeMap<u32, u64>,
}

impl Simulate {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let (from, count) = self.seed.map_or((self.from, self.seeds), |seed| (seed, 1));
        let mut summary = Summary::default();
        for seed in from..from + count {
            let report = simulate(seed);
            if self.trace {
                report.story.iter().for_each(|line| println!("{line}"));
            }
            if let Some(violation) = &report.violation {
                eprintln!("seed {seed} broke invariant {}: {}", violation.invariant, violation.what);
                eprintln!("  see its story: quorate simulate --seed {seed} --trace");
            }
            summary.add(&report);
            progress(summary.seeds, count, summary.violations);
        }
        summary.cpu_seconds = cpu_seconds();
        if self.json {
            println!("{}", serde_json::to_string(&summary)?);
        } else {
            print!("{}", summary.text());
        }
        Ok(if summary.violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Summary {
    fn add(&mut self, report: &Report) {
        self.seeds += 1;
        self.violations += u64::from(report.violation.is_some());
        self.simulated_seconds += report.simulated.as_secs();
        for (fault, count) in &report.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        for (invariant, count) in &report.invariants {
            *self.invariants.entry(*invariant).or_default() += count;
        }
    }

    fn text(&self) -> String {
        let Self { seeds, violations, simulated_seconds, cpu_seconds, .. } = self;
        #[expect(clippy::cast_precision_loss, reason = "a ratio to look at")]
        let compression = *simulated_seconds as f64 / cpu_seconds.max(0.01);
        let mut text = format!(
            "{seeds} worlds, {violations} violations, {simulated_seconds} simulated seconds in {cpu_seconds:.1} CPU seconds ({compression:.0} : 1)\n"
        );
        text.push_str("faults:\n");
        for (fault, count) in &self.faults {
            text.push_str(&format!("  {count:>9}  {fault}\n"));
        }
        text.push_str("invariants checked:\n");
        for (invariant, count) in &self.invariants {
            text.push_str(&format!("  {count:>9}  number {invariant}\n"));
        }
        text
    }
}

fn progress(done: u64, of: u64, violations: u64) {
    let mut out = std::io::stderr();
    if out.is_terminal() && of > 1 {
        let filled = usize::try_from(40 * done / of).unwrap_or(40);
        let end = if done == of { "\n" } else { "" };
        // A progress bar that can't be written is no reason to stop.
        write!(out, "\r[{:<40}] {done}/{of} worlds, {violations} violations{end}", "=".repeat(filled)).ok();
        out.flush().ok();
    }
}

/// The CPU time of this process, as Linux counts it: in hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest).unwrap_or_default();
    let ticks: f64 = after_name.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks / 100.0
}
