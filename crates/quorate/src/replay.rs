//! `quorate replay`: a run that broke something, again.

use std::io::BufRead;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use quorate_world::simulation::Recording;

use crate::executable;

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
        if let Some(doubt) = doubt(&recording, env!("CARGO_PKG_VERSION"), executable::digest()) {
            eprintln!("{doubt}");
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

/// Why what is played may differ from what was recorded, if it may.
fn doubt(recording: &Recording, version: &str, build: Option<&str>) -> Option<String> {
    if recording.quorate != version {
        return Some(format!("made by version {}; this is {version}, which may behave differently", recording.quorate));
    }
    let Some(made_by) = &recording.build else {
        return Some(format!("made by version {version}, and it does not say by which build; this one may behave differently"));
    };
    let build = build.unwrap_or("unknown");
    (made_by != build)
        .then(|| format!("made by another build of version {version} ({made_by}; this is {build}), so it may end differently"))
}

#[cfg(test)]
mod tests {
    use quorate_world::simulation::{Scenario, Script, Violation};

    use super::*;

    fn made_by(version: &str, build: Option<&str>) -> Recording {
        let violation = Violation { invariant: 19, what: "a shard has no copy".to_owned() };
        let script = Script::new(&Scenario::ALL[0], 0);
        Recording { quorate: version.to_owned(), build: build.map(str::to_owned), violation, script }
    }

    #[test]
    fn only_the_very_build_that_made_it_is_trusted_to_repeat_it() {
        let doubts = |recording: &Recording| doubt(recording, "1.2.3", Some("ab12"));
        assert_eq!(doubts(&made_by("1.2.3", Some("ab12"))), None);
        assert_eq!(
            doubts(&made_by("1.2.3", Some("cd34"))).unwrap(),
            "made by another build of version 1.2.3 (cd34; this is ab12), so it may end differently"
        );
        assert_eq!(
            doubts(&made_by("1.2.2", Some("ab12"))).unwrap(),
            "made by version 1.2.2; this is 1.2.3, which may behave differently"
        );
        assert_eq!(
            doubts(&made_by("1.2.3", None)).unwrap(),
            "made by version 1.2.3, and it does not say by which build; this one may behave differently"
        );
    }

    #[test]
    fn a_file_that_says_nothing_of_a_build_is_read() {
        let mut file = serde_json::to_value(made_by("1.2.3", Some("ab12"))).unwrap();
        file.as_object_mut().unwrap().remove("build").unwrap();
        assert_eq!(serde_json::from_value::<Recording>(file).unwrap(), made_by("1.2.3", None));
    }
}
