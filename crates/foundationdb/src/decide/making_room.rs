//! Making room: a pod that keeps data finds no node, because pods of process groups that are to go stand there; and those stay, because a
//! database that can't be used neither excludes anybody nor confirms anything. Whoever keeps nothing, by its class, goes all the same: it
//! would wait for a database that waits for its room.

use super::{Draft, exclusion};
use crate::{DatabaseReport, GroupCondition, ProcessGroup, ProcessGroupId};

/// Who served, keeps something, and finds no node while the database can't be used.
pub(super) fn waiting(draft: &Draft<'_>) -> Vec<ProcessGroupId> {
    draft.status.groups.iter().filter(|(id, group)| waits(draft, id, group)).map(|(id, _)| id.clone()).collect()
}

/// Whether anybody does.
pub(super) fn is_needed(draft: &Draft<'_>) -> bool {
    draft.status.groups.iter().any(|(id, group)| waits(draft, id, group))
}

/// Whether a process group keeps nothing: none of its class has a volume or is made a coordinator, and it was found empty.
pub(super) fn keeps_nothing(draft: &Draft<'_>, group: &ProcessGroup) -> bool {
    group.exclusion.is_some() && its_class_keeps_nothing(draft, group)
}

/// Whether a process group that is to go counts as empty though nobody can exclude it: somebody has waited for its room for long, its class
/// keeps nothing, and the report names no duty of its servers that does. In need a stateless process may have been given logs.
pub(super) fn goes_without_exclusion(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> bool {
    if can_be_used(draft) || group.removal.is_none() || !its_class_keeps_nothing(draft, group) || draft.is_coordinator(id) {
        return false;
    }
    let servers = draft.members.of(id, group);
    let keeps = |role: &String| matches!(role.as_str(), "log" | "storage" | "coordinator");
    draft.report.is_some_and(DatabaseReport::is_whole)
        && !servers.is_empty()
        && !servers.iter().flat_map(|server| &server.process.roles).any(keeps)
        && has_been_needed(draft)
}

/// Whether somebody has waited for longer than a pending pod is waited for.
fn has_been_needed(draft: &Draft<'_>) -> bool {
    let patience = exclusion::patience_with_pending(draft);
    let mut groups = draft.status.groups.iter();
    groups.any(|(id, group)| waits(draft, id, group) && exclusion::has_no_node_for(draft, group, patience))
}

fn waits(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> bool {
    let finds_no_node = || {
        let pod = draft.roster.pod(id, group.class);
        pod.is_some_and(|pod| pod.unschedulable.is_some() && pod.deleted_since.is_none())
    };
    group.class.is_stateful()
        && !group.addresses.is_empty()
        && group.conditions.contains_key(&GroupCondition::PodPending)
        && !can_be_used(draft)
        && finds_no_node()
        && !draft.is_done_with(id, group)
}

/// Whether the database answers with a whole report, and its own keys can be read: those who have them may be the ones that are away.
fn can_be_used(draft: &Draft<'_>) -> bool {
    draft.report.is_some_and(|report| report.is_whole() && report.exclusions_in_progress.is_some())
}

fn its_class_keeps_nothing(draft: &Draft<'_>, group: &ProcessGroup) -> bool {
    !group.class.is_stateful() && draft.seen.desired.coordinator_priority(group.class).is_none()
}
