//! Shrinking: process groups beyond what was asked for are marked to go, those first that stand closest together.
//! Where they are packed into logical fault domains, those domains say who goes.
//!
//! Who happens to be absent from one report is no better victim than anybody else: absence is repaired elsewhere, and a mark is for ever.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use quorate_quorum::{Hold, Severity};

use super::{Draft, moves};
use crate::{GroupCondition, ProcessClass, ProcessGroup, ProcessGroupId, reasons};

pub(super) fn propose(draft: &mut Draft<'_>) {
    if moves::chooses(draft) {
        return;
    }
    for (class, have) in draft.live_counts() {
        let want = draft.seen.desired.counts.get(&class).copied().unwrap_or(0) as usize;
        if have > want {
            shrink(draft, class, have, want);
        }
    }
}

fn shrink(draft: &mut Draft<'_>, class: ProcessClass, have: usize, want: usize) {
    if !draft.report.is_some_and(crate::DatabaseReport::is_whole) {
        let sentence = format!(
            "{} process groups of class {class} are too many; which of them go is chosen by what the database says",
            have - want
        );
        let hold = Hold::new(reasons::SURPLUS_PROCESS_GROUPS, class.name(), sentence, "the database answering");
        draft.holds.push(hold.compared(have, want));
        return;
    }
    let victims = victims(draft, class, have - want);
    let names: Vec<&str> = victims.iter().map(|id| id.0.as_str()).collect();
    draft.notice(
        Severity::Normal,
        "ShrinkingProcesses",
        format!("{want} process groups of class {class} were asked for, so {} of {have} go: {}", have - want, names.join(", ")),
    );
    for id in &victims {
        draft.mark(id);
    }
}

/// First those that somebody has excluded, for they serve as nobody's successors; then one after the other from the zone that has most of
/// them; of equal ones the one that is no coordinator, then the youngest.
fn victims(draft: &Draft<'_>, class: ProcessClass, count: usize) -> Vec<ProcessGroupId> {
    let is_excluded = |group: &ProcessGroup| group.conditions.contains_key(&GroupCondition::ProcessIsMarkedAsExcluded);
    let excluded = draft.live(class).filter(|(_, group)| is_excluded(group));
    let mut victims: Vec<ProcessGroupId> = excluded.map(|(id, _)| id.clone()).take(count).collect();
    let mut zones: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (id, group) in draft.live(class).filter(|(_, group)| !is_excluded(group)) {
        // Who goes first is greatest.
        let goes = (!draft.is_coordinator(id), id.number(), id);
        zones.entry(group.fault_domain.as_deref().unwrap_or_default()).or_default().push(goes);
    }
    let mut fullest = BinaryHeap::new();
    for (zone, mut ids) in zones {
        ids.sort();
        fullest.extend(ids.pop().map(|next| (ids.len(), next, Reverse(zone), ids)));
    }
    while victims.len() < count
        && let Some((_, (_, _, id), zone, mut ids)) = fullest.pop()
    {
        victims.push(id.clone());
        fullest.extend(ids.pop().map(|next| (ids.len(), next, zone, ids)));
    }
    victims.sort();
    victims
}
