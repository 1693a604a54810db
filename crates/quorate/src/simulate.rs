//! `quorate simulate`: the operator in simulated worlds, many of them, or one told as a story.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use quorate_world::simulation::{Recording, Report, Scenario, Script, Violation, play, shrink};
use serde::Serialize;

use crate::{executable, workers};

/// Which worlds.
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// How many worlds; 100 if nothing is said, 200 per safety gate, 1 whose crashes are enumerated.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: Option<u64>,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Only this world.
    #[arg(long, conflicts_with_all = ["seeds", "from", "mutants"])]
    seed: Option<u64>,
    /// What may go wrong; where crashes are enumerated, `changes` if nothing is said.
    #[arg(long, value_parser = Scenario::ALL.iter().map(|scenario| scenario.name).collect::<Vec<_>>(), default_value = Scenario::ALL[0].name, default_value_if("crashes", "true", "changes"))]
    scenario: String,
    /// Tell what happened, line by line.
    #[arg(long, conflicts_with = "json")]
    trace: bool,
    /// Run each world twice, and demand the same story to the byte.
    #[arg(long)]
    twice: bool,
    /// Where a failing world leaves the file that `quorate replay` plays again.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) keep: PathBuf,
    /// In how many further runs a failing world is cut down at most; 0 keeps it whole.
    #[arg(long, value_name = "RUNS", default_value_t = 300)]
    pub(crate) shrink: usize,
    /// Let the operator crash before and after each thing it changes, in a world of its own each time; all must end as the one without.
    #[arg(long, conflicts_with_all = ["mutants", "twice", "trace"])]
    crashes: bool,
    /// Take each safety gate away in turn, and see whether a world notices (only in builds with the feature `mutants`).
    #[arg(long, conflicts_with_all = ["scenario", "from", "twice", "trace", "keep", "shrink"])]
    mutants: bool,
    /// Only this gate, by its name; may be said several times.
    #[arg(long, value_name = "NAME", requires = "mutants")]
    pub(crate) gate: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
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
    /// Worlds that were at rest within ten minutes and the longest wait there is.
    rested_within_usual: u64,
    /// The world that took longest to come to rest after the last disturbance.
    longest_to_rest: Option<ToRest>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct ToRest {
    seconds: u64,
    seed: u64,
}

impl Simulate {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        if self.mutants {
            return crate::mutants::run(self);
        }
        if self.crashes {
            return crate::crashes::run(self);
        }
        let seeds = self.worlds(100);
        let count = seeds.end - seeds.start;
        let mut summary = Summary::default();
        let played = |seed| {
            let script = Script::new(self.scenario(), seed);
            let report = play(&script);
            let differs = self.twice.then(|| first_difference(&report.story, &play(&script).story)).flatten();
            (script, report, differs)
        };
        workers::in_order(seeds, played, |seed, (script, report, differs)| {
            if self.trace {
                report.story.iter().for_each(|line| println!("{line}"));
            }
            if let Some(violation) = &report.violation {
                eprintln!("\nseed {seed} broke invariant {}: {}", violation.invariant, violation.what);
                keep(&self.keep, &file_name(&script, ""), &script, violation, self.shrink)?;
            }
            if let Some((one, other)) = &differs {
                eprintln!("\nseed {seed} tells two stories:\n  {one}\n  {other}");
            }
            summary.add(&report, differs.is_some());
            progress(summary.seeds, count, summary.violations);
            Ok(())
        })?;
        summary.cpu_seconds = cpu_seconds();
        if self.json {
            println!("{}", serde_json::to_string(&summary)?);
        } else {
            print!("{}", summary.text());
        }
        Ok(if summary.violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The seeds of the worlds; so many if nothing is said.
    pub(crate) fn worlds(&self, usual: u64) -> Range<u64> {
        let (from, count) = self.seed.map_or((self.from, self.seeds.unwrap_or(usual)), |seed| (seed, 1));
        from..from + count
    }

    pub(crate) fn scenario(&self) -> &'static Scenario {
        // The command line takes no other names.
        Scenario::named(&self.scenario).unwrap_or(&Scenario::ALL[0])
    }
}

/// The file that a failing world leaves; `which` tells worlds of one seed apart.
pub(crate) fn file_name(script: &Script, which: &str) -> String {
    format!("quorate-{}-{}{which}.json", script.scenario, script.seed)
}

/// Cuts a failing run down and leaves it as a file.
pub(crate) fn keep(folder: &Path, name: &str, script: &Script, violation: &Violation, runs: usize) -> Result<()> {
    let shrunk = shrink(script, violation, runs);
    let violation = shrunk.report.violation.clone().unwrap_or_else(|| violation.clone());
    let recording = Recording {
        quorate: env!("CARGO_PKG_VERSION").to_owned(),
        build: executable::digest().map(str::to_owned),
        violation,
        script: shrunk.script,
    };
    let file = folder.join(name);
    let text = serde_json::to_string_pretty(&recording)?;
    std::fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    let (left, runs) = (recording.script.disturbances.len(), shrunk.runs);
    eprintln!("  {left} of {} disturbances are needed for it (found in {runs} runs)", script.disturbances.len());
    eprintln!("  play it again: quorate replay {}", file.display());
    Ok(())
}

/// Where two stories part.
fn first_difference(one: &[String], other: &[String]) -> Option<(String, String)> {
    let longest = one.len().max(other.len());
    let line = |story: &[String], at: usize| story.get(at).cloned().unwrap_or_else(|| "(it has ended)".to_owned());
    (0..longest).map(|at| (line(one, at), line(other, at))).find(|(one, other)| one != other)
}

impl Summary {
    fn add(&mut self, report: &Report, differs: bool) {
        self.seeds += 1;
        self.violations += u64::from(report.violation.is_some()) + u64::from(differs);
        self.simulated_seconds += report.simulated.as_secs();
        if let Some(rested) = report.rested {
            self.rested_within_usual += u64::from(rested.within_usual);
            let seconds = rested.after.as_secs();
            if self.longest_to_rest.is_none_or(|longest| longest.seconds < seconds) {
                self.longest_to_rest = Some(ToRest { seconds, seed: report.seed });
            }
        }
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
        if let Some(ToRest { seconds, seed }) = self.longest_to_rest {
            let usual = self.rested_within_usual;
            text.push_str(&format!(
                "at rest after the last disturbance: {usual} within ten minutes and the longest wait, the last after {seconds} s (seed {seed})\n"
            ));
        }
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

/// A bar on a terminal; elsewhere a line for every tenth of many worlds.
pub(crate) fn progress(done: u64, of: u64, violations: u64) {
    let mut out = std::io::stderr();
    if !out.is_terminal() {
        if of >= 100 && done * 10 / of > (done - 1) * 10 / of {
            writeln!(out, "{done}/{of} worlds, {violations} violations").ok();
        }
    } else if of > 1 {
        let filled = usize::try_from(40 * done / of).unwrap_or(40);
        let end = if done == of { "\n" } else { "" };
        // A progress bar that can't be written is no reason to stop.
        write!(out, "\r[{:<40}] {done}/{of} worlds, {violations} violations{end}", "=".repeat(filled)).ok();
        out.flush().ok();
    }
}

/// The CPU time of this process, as Linux counts it: in hundredths of a second.
pub(crate) fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest).unwrap_or_default();
    let ticks: f64 = after_name.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks / 100.0
}
