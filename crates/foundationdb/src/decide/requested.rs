//! Process groups that a user asked to be replaced or removed.

use quorate_quorum::Severity;

use super::Draft;
use crate::ProcessGroupId;

pub(super) fn propose(draft: &mut Draft<'_>) {
    let desired = &draft.seen.desired;
    let asked: Vec<(ProcessGroupId, bool)> = draft
        .status
        .groups
        .keys()
        .filter_map(|id| {
            let at_once = desired.remove_without_exclusion.contains(&id.0);
            (at_once || desired.remove.contains(&id.0)).then(|| (id.clone(), at_once))
        })
        .collect();
    let mut marked = Vec::new();
    for (id, at_once) in asked {
        if draft.mark(&id) {
            marked.push(id.to_string());
        }
        if let Some(group) = draft.status.groups.get_mut(&id)
            && at_once
            && group.exclusion.is_none()
        {
            group.exclusion_skipped = true;
        }
    }
    if !marked.is_empty() {
        draft.notice(Severity::Normal, "ReplacingProcesses", format!("as asked for, these go: {}", marked.join(", ")));
    }
}
