//! Health: what the database says, and whether everything asked for is there.

use std::collections::BTreeMap;

use quorate_quorum::{Hold, Severity, Sighting};

use super::Draft;
use crate::{GroupCondition, reasons};

pub(super) fn propose(draft: &mut Draft<'_>) {
    match &draft.seen.database {
        Sighting::Seen { .. } => tell(draft),
        Sighting::Unreachable { since, why } => {
            draft.status.available = Some(false);
            // Before it is created nobody expects it to answer.
            if draft.status.connection.is_some() {
                let sentence = format!("the database does not answer ({why}), so nothing is taken away");
                let hold = Hold::new(reasons::DATABASE_UNREACHABLE, &draft.seen.desired.name, sentence, "the database answering");
                draft.holds.push(hold.since(*since));
            }
        }
        Sighting::NotAsked => {}
    }
    count_reconciled(draft);
}

fn tell(draft: &mut Draft<'_>) {
    let Some(report) = draft.report else {
        let sentence = "what the database said last is too old to act on";
        draft.holds.push(Hold::new(reasons::DATABASE_UNREACHABLE, &draft.seen.desired.name, sentence, "the database answering"));
        return;
    };
    draft.status.available = Some(report.available);
    draft.status.healthy = Some(report.healthy);
    draft.status.full_replication = report.full_replication;
    draft.status.data_movement_priority = report.data.as_ref().and_then(|data| data.highest_priority);
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for version in report.processes.values().filter_map(|process| process.version.as_deref()) {
        *versions.entry(version).or_default() += 1;
    }
    let most = versions.into_iter().max_by_key(|(version, count)| (*count, *version));
    if let Some((version, _)) = most {
        draft.status.running_version = Some(version.to_owned());
    }
    if !report.available && draft.status.configured {
        let state = report.recovery.as_ref().map_or("unknown", |recovery| recovery.name.as_str());
        let complaints = report.messages.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let sentence = format!("the database can't be used; its last recovery is at {state}, and it complains of {complaints}");
        draft.holds.push(Hold::new(
            reasons::DATABASE_UNAVAILABLE,
            &draft.seen.desired.name,
            sentence,
            "the database being available",
        ));
    }
    let silent: Vec<_> = draft
        .status
        .groups
        .iter()
        .filter(|(_, group)| group.conditions.len() == 1 && group.removal.is_none())
        .filter_map(|(id, group)| Some((id.to_string(), *group.conditions.get(&GroupCondition::MissingProcesses)?)))
        .collect();
    for (id, since) in silent {
        let sentence = format!("the pod of {id} is ready, but the database does not see its process");
        let released_by = "the process joining the database, some seconds after its start";
        draft.holds.push(Hold::new(reasons::PROCESS_NOT_REPORTING, id, sentence, released_by).since(since));
    }
}

fn count_reconciled(draft: &mut Draft<'_>) {
    let groups = draft.status.groups.values();
    draft.status.reconciled_groups = groups.filter(|group| group.removal.is_none() && group.conditions.is_empty()).count();
    let everything_is_there = draft.status.reconciled_groups == draft.status.desired_groups
        && draft.status.groups.len() == draft.status.desired_groups
        && draft.status.available == Some(true)
        && draft.holds.is_empty()
        && draft.steps.is_empty();
    let generation = draft.seen.desired.generation;
    if everything_is_there && draft.status.reconciled != Some(generation) {
        draft.status.reconciled = Some(generation);
        draft.notice(Severity::Normal, "ReconciliationComplete", format!("generation {generation} is carried out"));
    }
}
