//! `quorate simulate --crashes`: a world is run once as it is, then twice for each thing that the operator changed in it, with a crash
//! before and a crash after.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use quorate_world::simulation::{Crashed, Report, Script, Violation, play, with_each_crash};
use serde::Serialize;

use crate::simulate::{Simulate, cpu_seconds, file_name, keep, progress};
use crate::workers;

/// All crashes together.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    /// What the operator changed in the worlds without a crash.
    effects: u64,
    worlds: u64,
    violations: u64,
    simulated_seconds: u64,
    cpu_seconds: f64,
    /// The effects by kind.
    kinds: BTreeMap<String, u64>,
}

pub(crate) fn run(simulate: &Simulate) -> Result<ExitCode> {
    let mut summary = Summary::default();
    for seed in simulate.worlds(1) {
        let script = Script::new(simulate.scenario(), seed);
        let undisturbed = play(&script);
        summary.add(&undisturbed);
        summary.count(&undisturbed);
        if let Some(violation) = &undisturbed.violation {
            eprintln!("\nseed {seed} broke invariant {} without any crash: {}", violation.invariant, violation.what);
            keep(&simulate.keep, &file_name(&script, ""), &script, violation, simulate.shrink)?;
            summary.violations += 1;
            continue;
        }
        summary.crash_everywhere(simulate, &script, &undisturbed)?;
    }
    summary.cpu_seconds = cpu_seconds();
    if simulate.json {
        println!("{}", serde_json::to_string(&summary)?);
    } else {
        print!("{}", summary.text());
    }
    Ok(if summary.violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Summary {
    fn crash_everywhere(&mut self, simulate: &Simulate, script: &Script, undisturbed: &Report) -> Result<()> {
        let worlds = with_each_crash(script, undisturbed);
        let world = |number: u64| usize::try_from(number).ok().and_then(|number| worlds.get(number));
        let count = worlds.len() as u64;
        let played = |number| world(number).map(|crashed| (crashed, play(&crashed.script)));
        workers::in_order(0..count, played, |number, played| {
            let Some((crashed, report)) = played else { return Ok(()) };
            self.add(&report);
            let Crashed { number: effect, before, what, script } = crashed;
            let moment = if *before { "before" } else { "after" };
            if let Some(violation) = broken(undisturbed, &report) {
                self.violations += 1;
                eprintln!(
                    "\na crash {moment} effect {effect} ({what}) broke invariant {}: {}",
                    violation.invariant, violation.what
                );
                keep(&simulate.keep, &file_name(script, &format!("-{moment}-{effect}")), script, &violation, simulate.shrink)?;
            }
            progress(number + 1, count, self.violations);
            Ok(())
        })
    }

    fn add(&mut self, report: &Report) {
        self.worlds += 1;
        self.simulated_seconds += report.simulated.as_secs();
    }

    fn count(&mut self, undisturbed: &Report) {
        for change in &undisturbed.changes {
            self.effects += 1;
            *self.kinds.entry(kind(&change.what)).or_default() += 1;
        }
    }

    fn text(&self) -> String {
        let Self { effects, worlds, violations, simulated_seconds, cpu_seconds, kinds } = self;
        let mut text = format!(
            "{effects} effects, {worlds} worlds, {violations} violations, {simulated_seconds} simulated seconds in {cpu_seconds:.1} CPU seconds\n"
        );
        text.push_str("effects:\n");
        for (kind, count) in kinds {
            text.push_str(&format!("  {count:>9}  {kind}\n"));
        }
        text
    }
}

/// What is wrong with how a world with a crash ended, if anything is: it must end as the one without.
fn broken(undisturbed: &Report, crashed: &Report) -> Option<Violation> {
    let differs = undisturbed.as_asked && !crashed.as_asked;
    let what = "it waits for more zones, and without the crash all is as asked";
    crashed.violation.clone().or_else(|| differs.then(|| Violation { invariant: 58, what: what.to_owned() }))
}

/// What is changed, without its name: `create pods`, `database: exclude`.
fn kind(what: &str) -> String {
    what.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_counted_by_what_is_done_to_what() {
        assert_eq!(kind("delete pods sample-log-1"), "delete pods");
        assert_eq!(kind("database: exclude 10.0.0.1 10.0.0.2"), "database: exclude");
    }
}
