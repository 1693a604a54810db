//! Growth: as many process groups of each class as were asked for.
//!
//! A new group is written into the status before anything of it exists, and its number is never used again, so that a crash in between
//! can neither lose nor double it.

use quorate_quorum::{Hold, Severity};

use super::Draft;
use crate::{ProcessClass, ProcessGroup, ProcessGroupId, reasons};

pub(super) fn propose(draft: &mut Draft<'_>) {
    let wanted = draft.seen.desired.counts.clone();
    let mut added = Vec::new();
    for class in ProcessClass::ALL {
        let want = wanted.get(class).copied().unwrap_or(0) as usize;
        let have = draft.status.groups.values().filter(|group| group.class == *class && group.removal.is_none()).count();
        if have > want {
            draft.holds.push(surplus(*class, have, want));
        }
        for _ in have..want {
            draft.status.last_number += 1;
            let id = ProcessGroupId::new(draft.seen.desired.prefix.as_deref(), *class, draft.status.last_number);
            draft.status.groups.insert(id.clone(), ProcessGroup::new(*class));
            added.push(id.to_string());
        }
    }
    if !added.is_empty() {
        draft.notice(Severity::Normal, "AddingProcesses", format!("adding {} process groups: {}", added.len(), added.join(", ")));
    }
}

fn surplus(class: ProcessClass, have: usize, want: usize) -> Hold {
    Hold::new(
        reasons::SURPLUS_PROCESS_GROUPS,
        class.name(),
        format!("there are {have} process groups of class {class}, and {want} were asked for; this version never removes any"),
        format!("asking for {have} again"),
    )
    .compared(have, want)
}
