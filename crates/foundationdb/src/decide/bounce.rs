//! Restarts: servers whose arguments changed are restarted together, once every monitor has the new configuration. One recovery (or two)
//! for all is what a restart costs; one by one it would be many.

use quorate_quorum::{Gate, Hold, JournalEntry, Severity, Step};

use super::{Draft, TakesAway, lock};
use crate::report::bare;
use crate::{GroupCondition, ProcessGroup, ProcessGroupId, reasons};

/// What a restart is written down as.
pub(super) const JOURNAL: &str = "restart of servers";

pub(super) fn propose(draft: &mut Draft<'_>) {
    let wrong: Vec<ProcessGroupId> = draft
        .status
        .groups
        .iter()
        .filter(|(id, group)| {
            group.conditions.contains_key(&GroupCondition::IncorrectCommandLine) && takes_part(draft, id, group)
        })
        .map(|(id, _)| id.clone())
        .collect();
    if wrong.is_empty() {
        return;
    }
    if let Some((obstacle, released_by)) = obstacle(draft, &wrong) {
        let sentence = format!("{} process groups wait for a restart with new arguments: {obstacle}", wrong.len());
        draft.holds.push(Hold::new(reasons::RESTART_HELD, wrong[0].to_string(), sentence, released_by));
        return;
    }
    let spacing = draft.seen.desired.automation.uptime_before_bounce;
    let what = format!("{} process groups are restarted", wrong.len());
    let Some(permit) = draft.recover(&wrong[0].0, &what, spacing, reasons::RESTART_HELD) else { return };
    let addresses: Vec<String> = wrong
        .iter()
        .flat_map(|id| draft.members.of(id, &draft.status.groups[id]).into_owned())
        .map(|server| bare(server.address).to_owned())
        .collect();
    let Some(guard) = lock::guard(draft, &wrong[0].0) else { return };
    draft.notice(Severity::Normal, "BouncingProcesses", format!("restarting {} servers with new arguments", addresses.len()));
    let uid = draft.report.and_then(|report| report.generation).map_or_else(String::new, |generation| generation.to_string());
    let entry = JournalEntry { what: JOURNAL.to_owned(), uid, zone: String::new(), since: draft.seen.now };
    draft.status.journal.begin(JOURNAL, entry);
    draft.steps.push(Step::takes_away(TakesAway::Kill(addresses), permit, guard, what));
}

/// Whether a process group is among those that are restarted when they have to be.
pub(super) fn takes_part(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> bool {
    group.removal.is_none() && !draft.seen.desired.buggify.ignore_during_restart.contains(&id.0)
}

/// What stands in the way, and what would clear it.
fn obstacle(draft: &Draft<'_>, wrong: &[ProcessGroupId]) -> Option<(String, String)> {
    let automation = &draft.seen.desired.automation;
    if !automation.kill_processes {
        return Some(("killProcesses is false".to_owned(), "automationOptions.killProcesses: true".to_owned()));
    }
    let Some(report) = draft.report.filter(|report| report.is_whole()) else {
        return Some(("the database's report is not whole".to_owned(), "a whole report".to_owned()));
    };
    if draft.status.journal.0.contains_key(JOURNAL) {
        return Some(("one was begun a moment ago".to_owned(), "the database showing what became of it".to_owned()));
    }
    // Whoever is missing for longer is restarted anyway when it comes back.
    let patience = automation.ignore_missing_after;
    let waits = |group: &ProcessGroup| {
        let unsynced = group.conditions.contains_key(&GroupCondition::IncorrectConfigMap);
        let missing = group.conditions.get(&GroupCondition::MissingProcesses);
        unsynced && missing.is_none_or(|since| draft.seen.now.duration_since(*since) < patience)
    };
    let unsynced: Vec<&str> = draft
        .status
        .groups
        .iter()
        .filter(|(id, group)| takes_part(draft, id, group) && waits(group))
        .map(|(id, _)| id.0.as_str())
        .collect();
    if !Gate::ConfigurationEverywhere.passes(unsynced.is_empty()) {
        let obstacle = format!(
            "{} of {} monitors have not seen the new configuration, such as {}",
            unsynced.len(),
            draft.status.groups.len(),
            unsynced[0]
        );
        return Some((obstacle, "the kubelets bringing the ConfigMap to the pods, which takes up to a minute".to_owned()));
    }
    let other_pods =
        wrong.iter().filter(|id| draft.status.groups[*id].conditions.contains_key(&GroupCondition::IncorrectPodSpec)).count();
    if other_pods > 0 {
        return Some((
            format!("{other_pods} of their pods are to be made again first"),
            "those pods being made again".to_owned(),
        ));
    }
    if report.can_clean_bounce == Some(false) {
        return Some((
            "the database says that not all of them would come back".to_owned(),
            "the database saying otherwise".to_owned(),
        ));
    }
    let needed = automation.uptime_before_bounce.as_secs_f64();
    let young = wrong
        .iter()
        .flat_map(|id| draft.members.of(id, &draft.status.groups[id]).into_owned())
        .filter(|server| server.process.uptime.is_none_or(|uptime| uptime < needed))
        .count();
    (!Gate::UptimeBeforeRestart.passes(young == 0))
        .then(|| (format!("some of their servers run for less than {needed} s"), format!("all of them running for {needed} s")))
}
