//! How old the database's word may be for what costs it a recovery. Each keeps its distance to the last one, and a report that was long under way,
//! or long thought about, does not know the last one.

use std::time::Duration;

use quorate_quorum::{Effect, Sighting};

use super::{Adds, ClusterSnapshot, ClusterStep, TakesAway};

/// For so long after the database was asked there was no recovery that its report does not know.
const RECOVERIES_ARE_KNOWN_FOR: Duration = Duration::from_secs(10);
/// A database that has answered late for so long, while nothing was sent to it, will not answer sooner.
const ANSWERS_ARE_LATE_FOR: Duration = Duration::from_secs(300);

/// Whether a step is not sent any more by what was seen so long ago: it would make the database recover, which may have done so since. If every
/// answer has been that late for minutes, waiting for a quick one would be waiting for ever; and a database that is down has nothing to keep
/// its distance from, and answers late until something is done.
pub fn is_too_late(seen: &ClusterSnapshot, step: &ClusterStep, age: Duration, late_for: Duration) -> bool {
    let is_available = matches!(&seen.database, Sighting::Seen { facts, .. } if facts.available);
    costs_a_recovery(step) && is_available && age >= RECOVERIES_ARE_KNOWN_FOR && late_for < ANSWERS_ARE_LATE_FOR
}

/// Whether a step makes the database recover.
fn costs_a_recovery(step: &ClusterStep) -> bool {
    matches!(
        &step.effect,
        Effect::Adds(Adds::Configuration(_))
            | Effect::TakesAway { action: TakesAway::Exclude(_) | TakesAway::Coordinators(_) | TakesAway::Kill(_), .. }
    )
}
