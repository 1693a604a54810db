//! Growth: as many process groups of each class as were asked for, not counting those that are to go.
//!
//! A new group is written into the status before anything of it exists, and its number is never used again, so that a crash in between
//! can neither lose nor double it.

use quorate_quorum::Severity;

use super::{Draft, moves};
use crate::{ProcessClass, ProcessGroup, ProcessGroupId};

pub(super) fn propose(draft: &mut Draft<'_>) {
    let mut added = Vec::new();
    let live = draft.live_counts();
    for class in ProcessClass::ALL {
        let want = draft.seen.desired.counts.get(class).copied().unwrap_or(0) as usize;
        let have = live.get(class).copied().unwrap_or(0);
        if have >= want {
            continue;
        }
        for domain in moves::domains_of_new(draft, *class, want - have) {
            let id = next_id(draft, *class);
            let prefix = draft.seen.desired.prefix.as_deref();
            let group =
                domain.map_or_else(|| ProcessGroup::new(*class), |domain| ProcessGroup::packed_into(*class, prefix, domain));
            added.push(group.domain_key().map_or_else(|| id.to_string(), |domain| format!("{id} (in {domain})")));
            draft.status.groups.insert(id, group);
        }
    }
    if !added.is_empty() {
        draft.notice(Severity::Normal, "AddingProcesses", format!("adding {} process groups: {}", added.len(), added.join(", ")));
    }
}

/// A name that was never used, and that nothing is excluded by.
fn next_id(draft: &mut Draft<'_>, class: ProcessClass) -> ProcessGroupId {
    loop {
        draft.status.last_number += 1;
        let id = ProcessGroupId::new(draft.seen.desired.prefix.as_deref(), class, draft.status.last_number);
        let excluded = draft.report.is_some_and(|report| report.excludes(&id.locality()));
        if !excluded && !draft.status.groups.contains_key(&id) {
            return id;
        }
    }
}
