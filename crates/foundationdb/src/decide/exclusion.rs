//! Exclusion: data and logs move away from process groups that are to go.
//!
//! Storage goes by itself and costs no recovery. All of the transaction system goes in one transaction, which costs one recovery for all.
//! A process that serves is excluded only if enough others do without it; a dead one always may, or replacement would deadlock.

use jiff::SignedDuration;
use quorate_quorum::{Gate, Hold, Severity, Step};

use super::room::{Room, each_once};
use super::{Draft, TakesAway, coordinators, lock, removal};
use crate::obstacle::{Obstacle, told};
use crate::report::MOST_GENERATIONS;
use crate::tolerance::holds_copies;
use crate::{DatabaseReport, GroupCondition, ProcessClass, ProcessGroup, ProcessGroupId, reasons};

/// A pod that has found no node for so long will not find one in a moment.
const A_WHILE: SignedDuration = SignedDuration::from_secs(60);

pub(super) fn propose(draft: &mut Draft<'_>) {
    let candidates: Vec<ProcessGroupId> = draft
        .status
        .groups
        .iter()
        .filter(|(_, group)| group.is_in_flight())
        .filter(|(id, group)| draft.report.is_none_or(|report| !is_excluded(report, &places(draft, id, group))))
        .map(|(id, _)| id.clone())
        .collect();
    if candidates.is_empty() || !draft.status.configured {
        return;
    }
    let Some(report) = draft.report.filter(|report| Gate::WholeReport.passes(report.is_whole())) else {
        return hold(draft, &candidates, &Obstacle::partial_report(), "a whole report");
    };
    let generations = report.active_generations();
    if generations.is_none_or(|generations| generations > MOST_GENERATIONS) {
        let needed = told(generations);
        let because = "the database has not come to rest after its last recoveries";
        let obstacle =
            Obstacle::new(because, format!("{needed} generations of the log needed"), format!("at most {MOST_GENERATIONS}"));
        return hold(draft, &candidates, &obstacle, "fewer generations of the log");
    }
    let (nameless, named): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|id| places(draft, id, &draft.status.groups[id]).is_empty());
    let_go(draft, nameless);
    let (storage, others): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|id| draft.status.groups[id].class == ProcessClass::Storage);
    let mut room = Room::of(draft, report);
    let needed_besides = exclude_storage(draft, &mut room, storage);
    exclude_transaction_system(draft, &mut room, others, needed_besides);
}

/// What a group is excluded by: its locality, which survives a change of address, or every address it was seen at.
pub(super) fn places(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> Vec<String> {
    if draft.seen.desired.automation.exclude_by_locality {
        return vec![id.locality()];
    }
    // An address it had before may have been given to somebody else since.
    let of_another = |address: &&String| {
        let mut pods = draft.seen.kube.pods.values();
        pods.any(|pod| pod.group.as_ref() != Some(id) && pod.addresses.contains(*address))
    };
    group.addresses.iter().filter(|address| !of_another(address)).cloned().collect()
}

/// Without an address of its own there is nothing to exclude a group by. While nothing else is missing, one that never served anybody may go as
/// it is, and one whose addresses others have by now when what it had is elsewhere.
fn let_go(draft: &mut Draft<'_>, nameless: Vec<ProcessGroupId>) {
    if nameless.is_empty() {
        return;
    }
    if let Some(missing) = draft.not_whole() {
        let because = format!("they have no address of their own to be excluded by; and {missing}");
        let obstacle = Obstacle::new(because, missing.measured, missing.needed);
        return hold(draft, &nameless, &obstacle, "everything else being whole");
    }
    for id in nameless {
        let group = &draft.status.groups[&id];
        if !draft.members.of(&id, group).is_empty() {
            continue;
        }
        if let Some(obstacle) = removal::vanished_too_shortly(draft, &id, group).filter(|_| !group.addresses.is_empty()) {
            hold(draft, &[id], &obstacle, "all copies being elsewhere");
        } else if let Some(group) = draft.status.groups.get_mut(&id) {
            group.exclusion_skipped = true;
        }
    }
}

/// Whether the database has been told that nothing may live at these places any more.
pub(super) fn is_excluded(report: &DatabaseReport, places: &[String]) -> bool {
    !places.is_empty() && places.iter().all(|place| report.excludes(place))
}

/// Whether some of a class that are to go could go now, as far as the number of those that serve is concerned: of storage one, of the
/// transaction system, which goes together, all of them.
pub(super) fn has_headroom(draft: &Draft<'_>, report: &DatabaseReport, class: ProcessClass) -> bool {
    let going = draft.status.groups.iter().filter(|(_, group)| group.class == class && group.is_in_flight());
    let going = going.filter(|(id, group)| !each_once(&draft.members.of(id, group)).is_empty());
    let going = if class == ProcessClass::Storage { 1 } else { going.count() };
    Room::of(draft, report).serving(class).is_some_and(|(serving, wanted)| serving >= wanted + going)
}

/// Whether all successors of those of a class that are to go serve, and yet in too few zones to go without them: for all copies, or for
/// the coordinators that are to change before anybody of them goes.
pub(super) fn waits_for_zones(draft: &Draft<'_>, class: ProcessClass) -> bool {
    let Some(report) = draft.report else { return false };
    let mut room = Room::of(draft, report);
    let going = draft.status.groups.iter().filter(|(_, group)| group.class == class && group.is_in_flight());
    for (id, group) in going {
        room.subtract(draft, id, class, &draft.members.of(id, group));
    }
    let all_serve = room.serving(class).is_some_and(|(serving, wanted)| serving >= wanted);
    let lacks_zones = || holds_copies(class) && room.lacking(class).is_some();
    let may_coordinate = draft.seen.desired.coordinator_priority(class).is_some();
    all_serve && (lacks_zones() || may_coordinate && coordinators::lack_zones(draft, report))
}

/// Storage: each that fits, at once; nothing recovers. Those that could go, and have a part in the transaction system because somebody else was
/// missing there, are left to be excluded with that.
fn exclude_storage(draft: &mut Draft<'_>, room: &mut Room<'_>, candidates: Vec<ProcessGroupId>) -> Vec<ProcessGroupId> {
    let mut granted = Vec::new();
    for id in candidates {
        match room.take(draft, &id) {
            Ok(()) => granted.push(id),
            Err(refusal) => draft.holds.push(*refusal.hold),
        }
    }
    let (needed_besides, granted): (Vec<_>, Vec<_>) = granted.into_iter().partition(|id| has_other_duties(draft, id));
    if !granted.is_empty() {
        let permit = draft.budget.drain(&names(&granted));
        exclude(draft, &granted, permit);
    }
    needed_besides
}

/// Whether a process group has roles whose loss costs a recovery.
fn has_other_duties(draft: &Draft<'_>, id: &ProcessGroupId) -> bool {
    let servers = draft.members.of(id, &draft.status.groups[id]);
    let mut roles = servers.iter().flat_map(|server| &server.process.roles);
    roles.any(|role| !matches!(role.as_str(), "storage" | "coordinator"))
}

/// The transaction system: all together, or none. Successors that do not come, because a quota or a full cluster keeps them from it, are
/// not waited for: then those go that can, which may be what makes room for the others. Nor is the last one with data, which itself waits for
/// the others.
fn exclude_transaction_system(
    draft: &mut Draft<'_>,
    room: &mut Room<'_>,
    candidates: Vec<ProcessGroupId>,
    needed_besides: Vec<ProcessGroupId>,
) {
    let before = room.clone();
    let (mut granted, mut refused) = (Vec::new(), Vec::new());
    for id in candidates {
        match room.take(draft, &id) {
            Ok(()) => granted.push(id),
            Err(refusal) => refused.push((id, refusal)),
        }
    }
    let waited_for = refused.iter().find(|(_, refusal)| !refusal.waits_for_the_others);
    if let Some((first, _)) = waited_for.filter(|_| !granted.is_empty() && !successors_are_stuck(draft)) {
        *room = before;
        let sentence =
            format!("{} wait for {first}: the transaction system is excluded together, in one recovery", names(&granted));
        let released_by = format!("{first} having room to go");
        let hold = Hold::new(reasons::EXCLUDED_TOGETHER, first.to_string(), sentence, released_by);
        let all = granted.len() + refused.len();
        draft.holds.push(hold.compared(format!("{} of {all} could go", granted.len()), "all of them"));
        granted.clear();
    }
    draft.holds.extend(refused.into_iter().map(|(_, refusal)| *refusal.hold));
    granted.extend(needed_besides);
    if !granted.is_empty() {
        exclude_together(draft, &granted);
    }
}

/// Whether somebody who was to come has not come for so long that a pending pod would be left out of account. Of whatever class: the room
/// that storage waits for may be what coordinators wait for, and they are waited for by the transaction system.
fn successors_are_stuck(draft: &Draft<'_>) -> bool {
    let patience = patience_with_pending(draft);
    draft.status.groups.values().any(|group| group.removal.is_none() && has_no_node_for(draft, group, patience))
}

/// How long somebody who finds no node is waited for.
pub(super) fn patience_with_pending(draft: &Draft<'_>) -> SignedDuration {
    let patience = draft.seen.desired.automation.ignore_pending_after;
    // Whoever finds no node is replaced, and its successor waits anew; those who wait for either have waited all the time.
    let since_long = draft.status.groups.values().filter(|group| group.is_in_flight()).filter_map(|group| group.removal);
    if since_long.min().is_some_and(|since| draft.seen.now.duration_since(since) >= patience) { A_WHILE } else { patience }
}

/// Whether a process group has had no pod, or none with a node, for so long.
pub(super) fn has_no_node_for(draft: &Draft<'_>, group: &ProcessGroup, patience: SignedDuration) -> bool {
    let waits = [GroupCondition::MissingPod, GroupCondition::PodPending].iter().filter_map(|it| group.conditions.get(it)).min();
    waits.is_some_and(|since| draft.seen.now.duration_since(*since) >= patience)
}

fn exclude_together(draft: &mut Draft<'_>, candidates: &[ProcessGroupId]) {
    let serving = candidates.iter().any(|id| !draft.members.of(id, &draft.status.groups[id]).is_empty());
    let permit = if serving {
        let what = format!("{} are excluded", names(candidates));
        draft.recover(
            &candidates[0].0,
            &what,
            draft.seen.desired.automation.timers.recovery_before_exclusion,
            reasons::EXCLUSION_HELD,
        )
    } else {
        Some(draft.budget.drain(&names(candidates)))
    };
    if let Some(permit) = permit {
        exclude(draft, candidates, permit);
    }
}

fn exclude(draft: &mut Draft<'_>, granted: &[ProcessGroupId], permit: quorate_quorum::Permit) {
    let places: Vec<String> = granted.iter().flat_map(|id| places(draft, id, &draft.status.groups[id])).collect();
    if places.is_empty() {
        return;
    }
    let Some(guard) = lock::guard(draft, &granted[0].0) else { return };
    draft.notice(Severity::Normal, "ExcludingProcesses", format!("excluding {}", names(granted)));
    draft.steps.push(Step::takes_away(TakesAway::Exclude(places), permit, guard, format!("{} are to go", names(granted))));
}

fn names<'a>(ids: impl IntoIterator<Item = &'a ProcessGroupId>) -> String {
    ids.into_iter().map(|id| id.0.as_str()).collect::<Vec<_>>().join(", ")
}

fn hold(draft: &mut Draft<'_>, candidates: &[ProcessGroupId], obstacle: &Obstacle, released_by: &str) {
    let sentence = format!("{} are to go and not excluded yet, because {obstacle}", names(candidates));
    let hold = Hold::new(reasons::EXCLUSION_HELD, candidates[0].to_string(), sentence, released_by);
    draft.holds.push(hold.compared(&obstacle.measured, &obstacle.needed));
}
