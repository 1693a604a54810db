//! Making room: a pod that keeps data finds no node, because pods of process groups that were found empty stand there; and those stay,
//! because a database that can't be used confirms nothing. Whoever keeps nothing, by its class, goes all the same: it would wait for a
//! database that waits for its room.

use super::Draft;
use crate::{DatabaseReport, GroupCondition, ProcessGroup, ProcessGroupId};

/// Who served, keeps something, and finds no node while the database can't be used.
pub(super) fn waiting(draft: &Draft<'_>) -> Vec<ProcessGroupId> {
    if draft.report.is_some_and(DatabaseReport::is_whole) {
        return vec![];
    }
    let waits = |(id, group): &(&ProcessGroupId, &ProcessGroup)| {
        let pod = draft.roster.pod(id, group.class);
        group.class.is_stateful()
            && !group.addresses.is_empty()
            && group.conditions.contains_key(&GroupCondition::PodPending)
            && pod.is_some_and(|pod| pod.unschedulable.is_some() && pod.deleted_since.is_none())
            && !draft.is_done_with(id, group)
    };
    draft.status.groups.iter().filter(waits).map(|(id, _)| id.clone()).collect()
}

/// Whether anybody does.
pub(super) fn is_needed(draft: &Draft<'_>) -> bool {
    !waiting(draft).is_empty()
}

/// Whether a process group that was found empty can't have become anything else since: it has no volume, and nobody of its class is made a
/// coordinator.
pub(super) fn keeps_nothing(draft: &Draft<'_>, group: &ProcessGroup) -> bool {
    group.exclusion.is_some() && !group.class.is_stateful() && draft.seen.desired.coordinator_priority(group.class).is_none()
}
