//! Restarts: servers whose arguments changed are restarted together, once every monitor has the new configuration. One recovery (or two)
//! for all is what a restart costs; one by one it would be many.

use quorate_quorum::{Gate, Hold, JournalEntry, Severity, Step};

use super::{Draft, TakesAway, lock};
use crate::obstacle::Obstacle;
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
        let hold = Hold::new(reasons::RESTART_HELD, wrong[0].to_string(), sentence, released_by);
        draft.holds.push(hold.compared(obstacle.measured, obstacle.needed));
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
fn obstacle(draft: &Draft<'_>, wrong: &[ProcessGroupId]) -> Option<(Obstacle, String)> {
    let automation = &draft.seen.desired.automation;
    if !automation.kill_processes {
        let obstacle = Obstacle::new("killProcesses is false", "killProcesses false", "killProcesses true");
        return Some((obstacle, "automationOptions.killProcesses: true".to_owned()));
    }
    let Some(report) = draft.report.filter(|report| report.is_whole()) else {
        return Some((Obstacle::partial_report(), "a whole report".to_owned()));
    };
    if draft.status.journal.0.contains_key(JOURNAL) {
        let obstacle = Obstacle::new("one was begun a moment ago", "1 restart under way", "none");
        return Some((obstacle, "the database showing what became of it".to_owned()));
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
        let because = format!(
            "{} of {} monitors have not seen the new configuration, such as {}",
            unsynced.len(),
            draft.status.groups.len(),
            unsynced[0]
        );
        let obstacle = Obstacle::new(because, format!("monitors without it: {}", unsynced.len()), "0");
        return Some((obstacle, "the kubelets bringing the ConfigMap to the pods, which takes up to a minute".to_owned()));
    }
    let other_pods =
        wrong.iter().filter(|id| draft.status.groups[*id].conditions.contains_key(&GroupCondition::IncorrectPodSpec)).count();
    if other_pods > 0 {
        let because = format!("{other_pods} of their pods are to be made again first");
        let obstacle = Obstacle::new(because, format!("{other_pods} pods to be made again"), "none");
        return Some((obstacle, "those pods being made again".to_owned()));
    }
    if report.can_clean_bounce == Some(false) {
        let because = "the database says that not all of them would come back";
        let obstacle = Obstacle::new(because, "bounce_impact.can_clean_bounce is false", "true");
        return Some((obstacle, "the database saying otherwise".to_owned()));
    }
    let needed = automation.uptime_before_bounce.as_secs_f64();
    let young = wrong
        .iter()
        .flat_map(|id| draft.members.of(id, &draft.status.groups[id]).into_owned())
        .filter(|server| server.process.uptime.is_none_or(|uptime| uptime < needed))
        .count();
    (!Gate::UptimeBeforeRestart.passes(young == 0)).then(|| {
        let because = format!("some of their servers run for less than {needed} s");
        let obstacle = Obstacle::new(because, format!("{young} servers that run for less"), "none");
        (obstacle, format!("all of them running for {needed} s"))
    })
}
