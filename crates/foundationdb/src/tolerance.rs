//! How much may still be lost, counted by ourselves beside the database's own word, which comes late: for more than a minute after a
//! storage process died everything still looks perfect.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::configuration::redundancy_keys;
use crate::obstacle::{Obstacle, told};
use crate::{DatabaseReport, GroupCondition, ProcessClass, ProcessGroup, ProcessGroupId, RedundancyMode};

/// So long after a process vanished the database knows what that means; before, its "healthy" is about the time before.
pub const DATABASE_KNOWS_AFTER: SignedDuration = SignedDuration::from_secs(90);

/// Copies of a redundancy mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// Of the log.
    pub log: u32,
    /// Of the data.
    pub storage: u32,
}

impl Copies {
    /// What a mode keeps.
    pub fn of(mode: RedundancyMode) -> Self {
        let keys = redundancy_keys(mode);
        let number = |key: &str| keys.get(key).and_then(|value| std::str::from_utf8(value).ok()?.parse().ok()).unwrap_or(1);
        Self { log: number("log_replicas"), storage: number("storage_replicas") }
    }

    /// As many of each as either keeps.
    #[must_use]
    pub fn or_more(self, other: Self) -> Self {
        Self { log: self.log.max(other.log), storage: self.storage.max(other.storage) }
    }

    /// What a mode that the database names keeps; for one that can't be asked for, as much as is asked for.
    pub fn named(mode: Option<&str>, asked: RedundancyMode) -> Self {
        Self::of(mode.and_then(|mode| mode.parse().ok()).unwrap_or(asked))
    }
}

/// Process groups whose copies are gone and not yet made again, as far as anybody can know.
///
/// A storage or log process that vanished without having been drained is a lost copy until the database, asked long enough after, shows
/// everything replicated. One that never had an address never held any.
pub fn lost<'a>(
    groups: impl IntoIterator<Item = (&'a ProcessGroupId, &'a ProcessGroup)>,
    report: &DatabaseReport,
    lasted: impl Fn(Timestamp) -> SignedDuration,
) -> Vec<&'a ProcessGroupId> {
    let healed = is_replicated(report);
    let is_lost = |group: &ProcessGroup| {
        let Some(since) = group.conditions.get(&GroupCondition::MissingProcesses) else { return false };
        let held = group.exclusion.is_none() && holds_copies(group.class) && !group.addresses.is_empty();
        held && !(healed && database_knows(report, lasted(*since)))
    };
    groups.into_iter().filter(|(_, group)| is_lost(group)).map(|(id, _)| id).collect()
}

/// Whether the database has had the time to learn what vanished so long ago. After a recovery it begins to count anew.
pub fn database_knows(report: &DatabaseReport, ago: SignedDuration) -> bool {
    is_calm(report) && ago >= DATABASE_KNOWS_AFTER
}

/// Whether the last recovery is so long ago that the database knows who is dead.
pub fn is_calm(report: &DatabaseReport) -> bool {
    report.seconds_since_recovery().is_some_and(|seconds| seconds >= DATABASE_KNOWS_AFTER.as_secs_f64())
}

/// Whether the database itself says that some data has fewer copies than it should, or is on its way to where it should be: a dead server
/// that is excluded counts as one that data moves away from, with all copies there.
pub fn lacks_copies(report: &DatabaseReport, mode: RedundancyMode) -> bool {
    let Some(data) = &report.data else { return false };
    data.healthy == Some(false) || data.min_replicas_remaining.is_some_and(|left| left < copies(report, mode).storage)
}

/// The copies that are kept now.
fn copies(report: &DatabaseReport, mode: RedundancyMode) -> Copies {
    Copies::named(report.configuration.as_ref().and_then(|configuration| configuration.redundancy_mode.as_deref()), mode)
}

/// Whether processes of a class hold copies of data or logs.
pub const fn holds_copies(class: ProcessClass) -> bool {
    matches!(class, ProcessClass::Storage | ProcessClass::Log | ProcessClass::Transaction)
}

/// Whether the database calls all data replicated.
pub fn is_replicated(report: &DatabaseReport) -> bool {
    let healthy = report.data.as_ref().is_some_and(|data| data.healthy == Some(true));
    healthy && report.full_replication == Some(true)
}

/// What stands in the way of taking a whole zone down for a while, in the order in which it matters.
pub fn missing_for_a_disruption(
    report: &DatabaseReport,
    mode: RedundancyMode,
    lost_zones: &BTreeSet<String>,
) -> Option<Obstacle> {
    let copies = copies(report, mode);
    if !report.is_whole() {
        return Some(Obstacle::partial_report());
    }
    if !lost_zones.is_empty() {
        let zones: Vec<&str> = lost_zones.iter().map(String::as_str).collect();
        let because = format!("copies in zone {} are not there", zones.join(", "));
        return Some(Obstacle::new(because, format!("{} zones with lost copies", zones.len()), "none"));
    }
    let Some(data) = &report.data else {
        return Some(Obstacle::new("the database does not say how its data is", "nothing known of the data", "healthy"));
    };
    if data.healthy != Some(true) || report.full_replication != Some(true) {
        let state = if data.name.is_empty() { "not healthy" } else { &data.name };
        return Some(Obstacle::new(format!("the data is {state}"), state, "healthy"));
    }
    if data.min_replicas_remaining.is_none_or(|replicas| replicas < copies.storage) {
        let because = format!("some data has fewer than {} copies", copies.storage);
        let left = told(data.min_replicas_remaining);
        return Some(Obstacle::new(because, format!("{left} copies of some data"), copies.storage));
    }
    if report.logs.is_none_or(|log| log.fault_tolerance + 1 < log.replication_factor) {
        let tolerates = report.logs.map_or_else(|| "nothing known of them".to_owned(), |log| log.fault_tolerance.to_string());
        let needed = report.logs.map_or(copies.log.saturating_sub(1).into(), |log| log.replication_factor - 1);
        let measured = format!("losses that the logs tolerate: {tolerates}");
        return Some(Obstacle::new("some logs lack copies", measured, format!("at least {needed}")));
    }
    let dead = report.coordinators.iter().filter(|coordinator| !coordinator.reachable).count();
    if dead > 0 || report.coordinators.is_empty() {
        let because = format!("{dead} of {} coordinators do not answer", report.coordinators.len());
        let answer = report.coordinators.len() - dead;
        return Some(Obstacle::new(because, format!("{answer} coordinators answer"), "all of them"));
    }
    None
}
