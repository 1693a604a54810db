//! Health: what the database says, and whether everything asked for is there.

use std::collections::BTreeMap;

use quorate_quorum::{Hold, Severity, Sighting};

use super::Draft;
use crate::{GroupCondition, reasons};

pub(super) fn propose(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    match &seen.database {
        Sighting::Seen { facts: report, .. } => {
            draft.status.available = Some(report.available);
            draft.status.healthy = Some(report.healthy);
            draft.status.full_replication = report.full_replication;
            let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
            for version in report.processes.values().filter_map(|process| process.version.as_deref()) {
                *versions.entry(version).or_default() += 1;
            }
            draft.status.running_version =
                versions.into_iter().max_by_key(|(version, count)| (*count, *version)).map(|(version, _)| version.to_owned());
            for (id, group) in &mut draft.status.groups {
                let missing = report.of_group(id, &group.addresses).next().is_none();
                group.note(GroupCondition::MissingProcesses, missing, seen.now);
                if missing && group.conditions.len() == 1 {
                    let since = group.conditions[&GroupCondition::MissingProcesses];
                    let sentence = format!("the pod of {id} is ready, but the database does not see its process");
                    let released_by = "the process joining the database, some seconds after its start";
                    draft
                        .holds
                        .push(Hold::new(reasons::PROCESS_NOT_REPORTING, id.to_string(), sentence, released_by).since(since));
                }
            }
        }
        Sighting::Unreachable { since, why } => {
            let sentence = format!("the database does not answer ({why}), so nothing is taken away");
            let hold =
                Hold::new(reasons::DATABASE_UNREACHABLE, &seen.desired.name, sentence, "the database answering").since(*since);
            draft.holds.push(hold);
            draft.status.available = Some(false);
        }
        Sighting::NotAsked => {}
    }
    count_reconciled(draft);
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
