//! Health: what the database says, and whether everything asked for is there.

use std::collections::BTreeMap;

use quorate_quorum::{Hold, Severity, Sighting};

use super::Draft;
use super::draft::REPORT_IS_GOOD_FOR;
use super::roster::Objects;
use crate::{GroupCondition, ProcessGroup, ProcessGroupId, reasons};

pub(super) fn propose(draft: &mut Draft<'_>) {
    tell_of_the_database(draft);
    let live = draft.status.groups.iter().filter(|(_, group)| group.removal.is_none());
    let waits: Vec<Hold> = live.filter_map(|(id, group)| waits(id, group)).collect();
    draft.holds.extend(waits);
    tell_of_the_rest(draft);
    count_reconciled(draft);
}

/// The same of a cluster that is left alone: what is recorded of its process groups was not looked at.
pub(super) fn propose_of_one_left_alone(draft: &mut Draft<'_>) {
    tell_of_the_database(draft);
    if !draft.seen.desired.problems.is_empty() {
        // How many were asked for can't be said.
        draft.status.desired_groups = draft.status.groups.values().filter(|group| group.removal.is_none()).count();
    }
    count_reconciled(draft);
}

fn tell_of_the_database(draft: &mut Draft<'_>) {
    match &draft.seen.database {
        Sighting::Seen { .. } => tell(draft),
        Sighting::Unreachable { since, why } => {
            draft.status.available = Some(false);
            // Before it is created nobody expects it to answer.
            if draft.status.connection.is_some() {
                let sentence = format!("the database does not answer ({why}), so nothing is taken away");
                let hold = Hold::new(reasons::DATABASE_UNREACHABLE, &draft.seen.desired.name, sentence, "the database answering");
                draft.holds.push(hold.compared("no answer", "a report").since(*since));
            }
        }
        Sighting::NotAsked => {}
    }
}

/// Where nothing is done and nobody has said why, and still somebody is not as they should be, that alone is said.
fn tell_of_the_rest(draft: &mut Draft<'_>) {
    if !draft.holds.is_empty() || !draft.steps.is_empty() {
        return;
    }
    let mut live = draft.status.groups.iter().filter(|(_, group)| group.removal.is_none());
    let Some((id, group)) = live.find(|(_, group)| !group.conditions.is_empty()) else { return };
    let conditions: Vec<&str> = group.conditions.keys().map(|condition| condition.name()).collect();
    let sentence = format!("{id} is not as it should be yet: {}", conditions.join(", "));
    let hold =
        Hold::new(reasons::WAITING_FOR_PROCESSES, id.to_string(), sentence, "its coming right by itself, or its replacement");
    draft.holds.push(hold.compared(format!("{} conditions", conditions.len()), "none"));
}

fn tell(draft: &mut Draft<'_>) {
    let Some(report) = draft.report else {
        let sentence = "what the database said last is too old to act on";
        let hold = Hold::new(reasons::DATABASE_UNREACHABLE, &draft.seen.desired.name, sentence, "the database answering");
        let most = REPORT_IS_GOOD_FOR.as_secs();
        draft.holds.push(hold.compared(format!("older than {most} s"), format!("at most {most} s old")));
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
    if !report.available && draft.expects_a_database() {
        let state = report.recovery.as_ref().map_or("a point it does not tell", |recovery| recovery.name.as_str());
        let complaints = report.messages.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let sentence = format!("the database can't be used; its last recovery is at {state}, and it complains of {complaints}");
        let released_by = "the database being available";
        let hold = Hold::new(reasons::DATABASE_UNAVAILABLE, &draft.seen.desired.name, sentence, released_by);
        draft.holds.push(hold.compared("available false", "available true"));
    }
}

/// What is waited for where a pod is there and ready, and nobody else says why its group is not as it should be.
fn waits(id: &ProcessGroupId, group: &ProcessGroup) -> Option<Hold> {
    let since = |condition| group.conditions.get(&condition).copied();
    if let Some(since) = since(GroupCondition::MissingProcesses).filter(|_| group.conditions.len() == 1) {
        let sentence = format!("the pod of {id} is ready, but the database does not see its process");
        let released_by = "the process joining the database, some seconds after its start";
        let hold = Hold::new(reasons::PROCESS_NOT_REPORTING, id.to_string(), sentence, released_by);
        return Some(hold.compared("not all of its servers in the report", "all of them").since(since));
    }
    let replaced_in_time = [
        (GroupCondition::ProcessIsMarkedAsExcluded, "is excluded, though nobody here asked for that", "its being included again"),
        (GroupCondition::ProcessHasIoError, "complains of its disk", "its disk being well again"),
        (GroupCondition::NodeTaintDetected, "is on a node with a taint", "the taint being taken away"),
    ];
    let (since, condition, what, end) =
        replaced_in_time.into_iter().find_map(|(condition, what, end)| Some((since(condition)?, condition.name(), what, end)))?;
    let sentence = format!("{id} {what}; if that lasts, it is replaced");
    let hold = Hold::new(reasons::REPLACEMENT_HELD, id.to_string(), sentence, format!("{end}, or its replacement"));
    Some(hold.compared(condition, "no such condition").since(since))
}

fn count_reconciled(draft: &mut Draft<'_>) {
    let well = |(_, group, objects): &(&ProcessGroupId, &ProcessGroup, Objects<'_>)| {
        group.removal.is_none() && group.conditions.is_empty() && objects.pod.is_some_and(|pod| pod.ready)
    };
    draft.status.reconciled_groups = draft.groups().filter(well).count();
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
