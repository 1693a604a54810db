//! Copies that are missing are remembered. After a recovery the database counts from the beginning who is dead, and for more than a minute
//! calls everything healthy that it knew to be missing before. So what it once said counts until it shows all copies, long enough after its
//! last recovery. Data that only moves is remembered as well, for nothing tells it from copies that are made again.

use quorate_quorum::JournalEntry;

use super::Draft;
use crate::obstacle::Obstacle;
use crate::{DatabaseReport, RedundancyMode, tolerance};

/// What missing copies are written down as.
pub(super) const JOURNAL: &str = "copies missing";
/// What they are written down under; no object has such a name.
const OF_THE_DATA: &str = "the data";

pub(super) fn remember(draft: &mut Draft<'_>) {
    let mode = draft.seen.desired.redundancy_mode();
    let lacks = draft.report.is_some_and(|report| tolerance::lacks_copies(report, mode));
    if lacks && !draft.status.journal.0.contains_key(OF_THE_DATA) {
        let entry = JournalEntry { what: JOURNAL.to_owned(), uid: String::new(), zone: String::new(), since: draft.seen.now };
        draft.status.journal.begin(OF_THE_DATA, entry);
    }
}

/// Whether what was written down may still be so.
pub(super) fn may_be_missing(report: Option<&DatabaseReport>, mode: RedundancyMode) -> bool {
    let shows_all = |report: &DatabaseReport| tolerance::is_replicated(report) && !tolerance::lacks_copies(report, mode);
    !report.is_some_and(|report| report.is_whole() && shows_all(report) && tolerance::is_calm(report))
}

/// What was missing, where the database says nothing of it.
pub(super) fn missing(draft: &Draft<'_>) -> Option<Obstacle> {
    let entry = draft.status.journal.0.get(OF_THE_DATA)?;
    let knows_after = tolerance::DATABASE_KNOWS_AFTER.as_secs();
    let because = format!(
        "copies were missing since {}, and the database may have forgotten; {knows_after} s after a recovery it knows",
        entry.since
    );
    Some(Obstacle::new(because, format!("less than {knows_after} s"), format!("{knows_after} s since the last recovery")))
}
