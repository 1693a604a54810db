//! `quorate replay`: a run that broke something, again.

use std::io::BufRead;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use quorate_world::simulation::Recording;

/// Which run.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The file that a failing run left.
    file: PathBuf,
    /// Wait for Enter after each line.
    #[arg(long)]
    step: bool,
}

impl Replay {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let text = std::fs::read_to_string(&self.file).with_context(|| format!("reading {}", self.file.display()))?;
        let recording: Recording = serde_json::from_str(&text)
            .with_context(|| format!("{} is not a file that `quorate simulate` left", self.file.display()))?;
        if recording.quorate != env!("CARGO_PKG_VERSION") {
            eprintln!(
                "made by version {}; this is {}, which may behave differently",
                recording.quorate,
                env!("CARGO_PKG_VERSION")
            );
        }
        for disturbance in &recording.script.disturbances {
            println!("goes wrong: {}", serde_json::to_string(disturbance)?);
        }
        let report = recording.play();
        let mut enter = std::io::stdin().lock().lines();
        for line in &report.story {
            println!("{line}");
            if self.step && enter.next().is_none() {
                break;
            }
        }
        let expected = recording.violation;
        Ok(match report.violation {
            None => {
                println!("nothing was broken; it used to break invariant {}: {}", expected.invariant, expected.what);
                ExitCode::SUCCESS
            }
            Some(violation) => {
                let same = if violation == expected { "as recorded" } else { "not as recorded" };
                println!("broke invariant {} ({same}): {}", violation.invariant, violation.what);
                ExitCode::FAILURE
            }
        })
    }
}
