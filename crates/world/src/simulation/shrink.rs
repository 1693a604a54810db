//! Cuts a script down to what is needed to break the same invariant.

use super::invariants::Violation;
use super::run::{Report, play};
use super::script::{Disturbance, Script};

/// A script that was cut down.
#[derive(Debug)]
pub struct Shrunk {
    /// What is left of it.
    pub script: Script,
    /// The run it makes.
    pub report: Report,
    /// How many runs it took.
    pub runs: usize,
}

/// Takes away as much of a script as possible while it still breaks `violation`'s invariant, in at most so many runs.
pub fn shrink(script: &Script, violation: &Violation, at_most: usize) -> Shrunk {
    let first = play(script);
    let mut kept: Vec<Disturbance> = script.disturbances.iter().filter(|one| happened(one, &first)).cloned().collect();
    let mut report = first;
    let mut runs = 1;
    let mut size = kept.len().div_ceil(2);
    // Ever smaller pieces are taken out; a piece without which it still breaks is never put back.
    while size > 0 && runs < at_most {
        let mut at = 0;
        let mut cut = false;
        while at < kept.len() && runs < at_most {
            let mut fewer = kept.clone();
            fewer.drain(at..(at + size).min(kept.len()));
            let tried = play(&Script { disturbances: fewer.clone(), ..script.clone() });
            runs += 1;
            if tried.violation.as_ref().is_some_and(|broken| broken.invariant == violation.invariant) {
                (kept, report, cut) = (fewer, tried, true);
            } else {
                at += size;
            }
        }
        if size == 1 && !cut {
            break;
        }
        size = if cut { size.min(kept.len()).max(1) } else { size / 2 };
    }
    Shrunk { script: Script { disturbances: kept, ..script.clone() }, report, runs }
}

/// Whether something was reached before the run ended.
fn happened(disturbance: &Disturbance, report: &Report) -> bool {
    match disturbance {
        Disturbance::At(millis, _) => u128::from(*millis) <= report.simulated.as_millis(),
        Disturbance::Call(number, _) => *number <= report.numbers.0,
        Disturbance::Event(number, _) => *number <= report.numbers.1,
    }
}
