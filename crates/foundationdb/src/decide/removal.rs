//! Removal: a process group goes when the database itself confirms that nothing is left on it. Then its pod, volume and service are
//! deleted, then its places may be used again, and only then it is forgotten.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use quorate_quorum::{Effect, Gate, Guard, Hold, JournalEntry, Severity, Step};

use super::members::Server;
use super::{Adds, ClusterStep, Draft, TakesAway, copies, exclusion, is_ours, lock, making_room, revival};
use crate::obstacle::{Obstacle, told};
use crate::report::{OPEN_AFTER, UNKNOWN_LOG, host};
use crate::tolerance::{DATABASE_KNOWS_AFTER, database_knows, holds_copies, is_replicated};
use crate::{AtOnce, GroupCondition, ProcessClass, ProcessGroup, ProcessGroupId, objects, reasons};

/// So long after its pod was made a server that has just started is one that starts again and again.
const OPENS_OR_NEVER: SignedDuration = SignedDuration::from_mins(10);

pub(super) fn propose(draft: &mut Draft<'_>) {
    let ready: Vec<ProcessGroupId> =
        draft.status.groups.iter().filter(|(_, group)| group.may_go()).map(|(id, _)| id.clone()).collect();
    // A coordinator without a pod gets it back in this decision.
    let is_gone = |id: &ProcessGroupId| nothing_is_left(draft, id) && draft.is_done_with(id, &draft.status.groups[id]);
    let (gone, there): (Vec<_>, Vec<_>) = ready.into_iter().partition(is_gone);
    remove(draft, there);
    include(draft, gone);
}

/// Asks the report whether those that are excluded are empty by now.
pub(super) fn confirm(draft: &mut Draft<'_>) {
    forget_what_was_undone(draft);
    let waiting: Vec<ProcessGroupId> =
        draft.status.groups.iter().filter(|(_, group)| group.is_in_flight()).map(|(id, _)| id.clone()).collect();
    for id in waiting {
        let group = &draft.status.groups[&id];
        let places = exclusion::places(draft, &id, group);
        let makes_room = making_room::goes_without_exclusion(draft, &id, group);
        let is_excluded = draft.report.is_some_and(|report| exclusion::is_excluded(report, &places));
        if !is_excluded && !makes_room {
            continue;
        }
        let needed = still_needed(draft, &id, group).or_else(|| vanished_too_shortly(draft, &id, group));
        match needed.filter(|_| !makes_room) {
            None => {
                let now = draft.seen.now;
                if let Some(group) = draft.status.groups.get_mut(&id) {
                    group.exclusion = Some(now);
                }
            }
            Some(because) => {
                let since = group.removal;
                let sentence = format!("{id} is excluded and stays until it is empty: {because}");
                let released_by = "the database confirming that nothing is left on it";
                let hold = Hold::new(reasons::EXCLUSION_IN_PROGRESS, id.to_string(), sentence, released_by);
                let mut hold = hold.compared(because.measured, because.needed);
                hold.since = since;
                draft.holds.push(hold);
            }
        }
    }
}

/// Somebody else may include a group that was found empty while its pod is still there; then data moves back to it, and it has to be
/// excluded and found empty again. Without a pod nothing moves back, and our own inclusion comes after it is gone.
fn forget_what_was_undone(draft: &mut Draft<'_>) {
    serve_after_all(draft);
    let Some(report) = draft.report.filter(|report| report.is_whole() && report.configuration.is_some()) else { return };
    let undone = |(id, group): &(&ProcessGroupId, &ProcessGroup)| {
        let there = draft.roster.pod(id, group.class).is_some_and(|pod| is_ours(&draft.seen.desired, pod));
        let is_excluded = exclusion::places(draft, id, group).iter().all(|place| report.excludes(place));
        there && !is_excluded && !making_room::goes_without_exclusion(draft, id, group)
    };
    let found_empty = draft.status.groups.iter().filter(|(_, group)| group.exclusion.is_some());
    let undone: Vec<ProcessGroupId> = found_empty.filter(undone).map(|(id, _)| id.clone()).collect();
    for id in undone {
        if let Some(group) = draft.status.groups.get_mut(&id) {
            group.exclusion = None;
        }
    }
}

/// Who was to go as it was because it never served, and serves after all before it went, is drained like any other; so is who has an address of
/// its own by now, for its servers may be on their way.
fn serve_after_all(draft: &mut Draft<'_>) {
    let asked = &draft.seen.desired.remove_without_exclusion;
    let skipped = draft.status.groups.iter().filter(|(id, group)| group.exclusion_skipped && !asked.contains(&id.0));
    let serves = |id: &ProcessGroupId, group: &ProcessGroup| {
        !draft.members.of(id, group).is_empty() || !exclusion::places(draft, id, group).is_empty()
    };
    let serving: Vec<ProcessGroupId> = skipped.filter(|(id, group)| serves(id, group)).map(|(id, _)| id.clone()).collect();
    for id in serving {
        if let Some(group) = draft.status.groups.get_mut(&id) {
            group.exclusion_skipped = false;
        }
    }
}

/// Why a group that is excluded can't go yet, if so: by every process of it and every address it was ever seen at.
fn still_needed(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> Option<Obstacle> {
    let report = draft.report?;
    if !Gate::DrainedBeforeRemoval.stands() {
        return None;
    }
    if !report.is_whole() {
        return Some(Obstacle::partial_report());
    }
    let generations = report.active_generations();
    if generations != Some(1) {
        let needed = told(generations);
        return Some(Obstacle::new("logs of older generations are still needed", format!("{needed} generations needed"), "1"));
    }
    let Some(in_progress) = &report.exclusions_in_progress else {
        let because = "the database does not say which exclusions are finished";
        return Some(Obstacle::new(because, "nothing known of them", "their list"));
    };
    let servers = draft.members.of(id, group);
    if let Some(server) = servers.iter().find(|server| server.process.excluded != Some(true) || has_roles(server)) {
        let roles: Vec<&str> = server.process.roles.iter().filter(|role| *role != "coordinator").map(String::as_str).collect();
        let because = format!(
            "{} still has the roles {}",
            server.address,
            if roles.is_empty() { "(unknown)".to_owned() } else { roles.join(", ") }
        );
        let left = match servers.iter().fold(0u64, |all, server| all.saturating_add(server.process.stored)) {
            0 => format!("roles: {}", told((!roles.is_empty()).then_some(roles.len()))),
            bytes => format!("less than {} of data left", rounded_up(bytes)),
        };
        return Some(Obstacle::new(because, left, "0"));
    }
    if holds_copies(group.class)
        && let Some(because) = not_open_yet(draft, id, &servers)
    {
        return Some(because);
    }
    let hosts = group.addresses.iter().map(String::as_str).chain(servers.iter().map(|server| host(server.address)));
    if let Some(address) = hosts.into_iter().find_map(|host| draft.moving_away.get(host)) {
        let because = format!("data is still moving away from {address}");
        return Some(Obstacle::new(because, "an exclusion in progress", "none"));
    }
    (is_log(group.class) && in_progress.contains(UNKNOWN_LOG))
        .then(|| Obstacle::new("a log whose address nobody knows is still needed", "1 log without an address", "none"))
}

/// A server is listed before it has opened its disk. Until then it has no roles, and if it came back at another address, the data on it is known
/// by the one it had before. One that starts again and again in the same pod never opens it: then what the database says of its addresses is
/// all there is to know.
fn not_open_yet(draft: &Draft<'_>, id: &ProcessGroupId, servers: &[Server<'_>]) -> Option<Obstacle> {
    let pod = draft.roster.pod(id, draft.status.groups[id].class);
    let never_opens = pod.is_some_and(|pod| draft.seen.now.duration_since(pod.created) >= OPENS_OR_NEVER);
    if let Some(server) = servers.iter().find(|server| server.process.has_just_started() && !never_opens) {
        let because = format!("{} has just started and may not have said yet what it has", server.address);
        return Some(Obstacle::new(because, "a server that just started", format!("{} s", OPEN_AFTER.as_secs())));
    }
    // Whose log it is that nobody knows is asked for logs alone.
    let address = moves_from_nowhere(draft).into_iter().find(|address| *address != UNKNOWN_LOG)?;
    let because = format!("data is still moving away from {address}, where nobody is known to have been");
    Some(Obstacle::new(because, "an exclusion in progress", "none"))
}

/// A number of bytes, so coarse that it is told anew only when it has halved.
fn rounded_up(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut amount, mut unit) = (bytes.saturating_add(1).checked_next_power_of_two().unwrap_or(1 << 63), 0);
    while amount >= 1024 && unit + 1 < UNITS.len() {
        (amount, unit) = (amount / 1024, unit + 1);
    }
    format!("{amount} {}", UNITS[unit])
}

fn has_roles(server: &Server<'_>) -> bool {
    server.process.roles.iter().any(|role| role != "coordinator")
}

const fn is_log(class: ProcessClass) -> bool {
    matches!(class, ProcessClass::Log | ProcessClass::Transaction)
}

/// Nobody can say of a process that vanished what it held; so its copies count as lost until they were made again elsewhere.
pub(super) fn vanished_too_shortly(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> Option<Obstacle> {
    let report = draft.report?;
    if !Gate::DrainedBeforeRemoval.stands() || !draft.members.of(id, group).is_empty() {
        return None;
    }
    // It may have been somewhere that nobody saw, while the operator was away or told to touch nothing.
    if let Some(address) = moves_from_nowhere(draft).first().filter(|_| holds_copies(group.class)) {
        let because = format!("it vanished, and data is still moving away from {address}, where nobody is known to have been");
        return Some(Obstacle::new(because, "an exclusion in progress", "none"));
    }
    let since = group.conditions.get(&GroupCondition::MissingProcesses).copied().unwrap_or(draft.seen.now);
    if !database_knows(report, draft.seen.lasted(since)) {
        let seconds = DATABASE_KNOWS_AFTER.as_secs();
        let because =
            format!("it vanished at {since}, and the database knows what that means only after {seconds} s without recovery");
        return Some(Obstacle::new(because, format!("less than {seconds} s"), format!("{seconds} s without recovery")));
    }
    // A log is needed until what it had was taken over, and in need whoever keeps nothing else may have been one. Data that is copied for
    // hours is nothing of theirs.
    if group.class == ProcessClass::Storage {
        let because = "it vanished, and not all data has all its copies again";
        return (!is_replicated(report)).then(|| Obstacle::new(because, "copies missing", "all of them"));
    }
    let generations = report.active_generations();
    let because = "it vanished, and logs of older generations are still needed";
    (generations != Some(1)).then(|| Obstacle::new(because, format!("{} generations needed", told(generations)), "1"))
}

/// Addresses that data is moving away from, and that belong to no process group and no process.
fn moves_from_nowhere<'a>(draft: &Draft<'a>) -> Vec<&'a str> {
    if draft.moving_away.is_empty() {
        return vec![];
    }
    // Data moves away only from who is excluded; whoever else has such an address now was given it since.
    let going = draft.status.groups.values().filter(|group| group.removal.is_some());
    let recorded = going.flat_map(|group| group.addresses.iter().map(String::as_str));
    let excluded = draft.report.iter().flat_map(|report| &report.processes).filter(|(_, process)| process.excluded == Some(true));
    let listed = excluded.map(|(address, _)| host(address));
    let known: BTreeSet<&str> = recorded.chain(listed).collect();
    draft.moving_away.iter().filter(|(host, _)| !known.contains(*host)).map(|(_, address)| *address).collect()
}

/// Whether pod, volume and service are gone, and none of them is being made.
fn nothing_is_left(draft: &Draft<'_>, id: &ProcessGroupId) -> bool {
    let name = objects::pod_name(&draft.seen.desired, draft.status.groups[id].class, id);
    let kube = &draft.seen.kube;
    let claim = objects::claim_name(&name);
    // Whose exclusion was found to be for nothing in this decision may have been given a pod before.
    let is_made = |step: &ClusterStep| match &step.effect {
        Effect::Adds(Adds::Pod(pod)) => pod.metadata.name.as_ref() == Some(&name),
        Effect::Adds(Adds::Claim(made)) => made.metadata.name.as_ref() == Some(&claim),
        Effect::Adds(Adds::Service(service)) => service.metadata.name.as_ref() == Some(&name),
        _ => false,
    };
    !draft.steps.iter().any(is_made)
        && !kube.pods.get(&name).is_some_and(|pod| is_ours(&draft.seen.desired, pod))
        && !kube.claims.contains_key(&claim)
        && !kube.unseen.contains(&name)
        && !kube.unseen.contains(&claim)
        && kube.services.get(&name).is_none_or(|service| service.group.as_ref() != Some(id))
}

fn remove(draft: &mut Draft<'_>, there: Vec<ProcessGroupId>) {
    let mode = draft.seen.desired.automation.removal;
    // Also of those whose pods are being deleted, for that may be somebody else's doing.
    let free: Vec<ProcessGroupId> = there.into_iter().filter(|id| may_be_removed(draft, id)).collect();
    let (begun, mut fresh): (Vec<_>, Vec<_>) =
        free.into_iter().partition(|id| draft.status.groups[id].conditions.contains_key(&GroupCondition::ResourcesTerminating));
    // What was begun is finished, without a pause; but who deleted a pod may be somebody else, and only a volume takes copies along.
    let (full, begun): (Vec<_>, Vec<_>) =
        begun.into_iter().partition(|id| mode != AtOnce::All && takes_copies_along(draft, id, &draft.status.groups[id]));
    let full = if full.is_empty() { full } else { fullest_zone(draft, full) };
    for id in begun.iter().chain(&full) {
        delete(draft, id);
    }
    // One zone after the other: who begins with its copies waits for those that go with theirs now.
    fresh.retain(|id| full.is_empty() || !takes_copies_along(draft, id, &draft.status.groups[id]));
    if fresh.is_empty() {
        return;
    }
    let last = draft
        .status
        .groups
        .values()
        .filter(|group| group.may_go())
        .filter_map(|group| group.conditions.get(&GroupCondition::ResourcesTerminating))
        .max()
        .copied();
    let due = last
        .map(|last| last + draft.seen.desired.automation.between_removals)
        .filter(|due| *due > draft.seen.now && mode != AtOnce::All);
    if mode == AtOnce::Nothing || due.is_some() {
        let pause = draft.seen.desired.automation.between_removals.as_secs();
        let why = if mode == AtOnce::Nothing {
            Obstacle::new("removalMode is None", "removalMode None", "another mode")
        } else {
            Obstacle::new("others were removed just now", format!("less than {pause} s"), format!("{pause} s between removals"))
        };
        let released_by = due.map_or_else(|| "another automationOptions.removalMode".to_owned(), |due| due.to_string());
        let sentence = format!(
            "{} are empty and not removed yet: {why}",
            fresh.iter().map(|id| id.0.as_str()).collect::<Vec<_>>().join(", ")
        );
        let hold = Hold::new(reasons::REMOVAL_HELD, fresh[0].to_string(), sentence, released_by);
        draft.holds.push(hold.compared(why.measured, why.needed));
        if let Some(due) = due {
            draft.wake.at(due);
        }
        return;
    }
    let chosen = match mode {
        AtOnce::All => fresh,
        AtOnce::ProcessGroup => fresh.into_iter().take(1).collect(),
        AtOnce::Zone | AtOnce::Nothing => fullest_zone(draft, fresh),
    };
    announce(draft, &chosen);
    let now = draft.seen.now;
    for id in &chosen {
        if let Some(group) = draft.status.groups.get_mut(id) {
            group.note(GroupCondition::ResourcesTerminating, true, now);
        }
        delete(draft, id);
    }
}

fn announce(draft: &mut Draft<'_>, chosen: &[ProcessGroupId]) {
    let names = |ids: &[&ProcessGroupId]| ids.iter().map(|id| id.0.as_str()).collect::<Vec<_>>().join(", ");
    let (full, empty): (Vec<_>, Vec<_>) = chosen.iter().partition(|id| draft.status.groups[*id].goes_with_copies());
    if !empty.is_empty() {
        let waiting = making_room::waiting(draft);
        let room = match waiting.as_slice() {
            [] => String::new(),
            waiting => format!(", where nothing is kept, to make room for {}", names(&waiting.iter().collect::<Vec<_>>())),
        };
        draft.notice(Severity::Normal, "RemovingProcesses", format!("removing {}{room}", names(&empty)));
    }
    if !full.is_empty() {
        let note = format!("removing {} without exclusion, as asked for: the copies there are lost", names(&full));
        draft.notice(Severity::Warning, "RemovingProcesses", note);
    }
}

fn fullest_zone(draft: &Draft<'_>, ids: Vec<ProcessGroupId>) -> Vec<ProcessGroupId> {
    let mut zones: BTreeMap<String, Vec<ProcessGroupId>> = BTreeMap::new();
    for id in ids {
        zones.entry(draft.zone_of(&id)).or_default().push(id);
    }
    zones
        .into_iter()
        .max_by_key(|(zone, ids)| (ids.len(), std::cmp::Reverse(zone.clone())))
        .map(|(_, ids)| ids)
        .unwrap_or_default()
}

/// What a human, or a coordinator, still has to say about it; and whether it is still as empty as it was.
fn may_be_removed(draft: &mut Draft<'_>, id: &ProcessGroupId) -> bool {
    let group = &draft.status.groups[id];
    let pod = draft.roster.pod(id, group.class);
    let (reason, sentence, (measured, needed), released_by) = if draft.is_coordinator(id) && Gate::CoordinatorsFirst.stands() {
        (
            reasons::COORDINATOR_GOES_FIRST,
            format!("{id} is a coordinator; another one takes its place first"),
            ("a coordinator".to_owned(), "no coordinator".to_owned()),
            "the coordinators having changed".to_owned(),
        )
    } else if group.exclusion_skipped && may_be_a_coordinator_unseen(draft, group) {
        (
            reasons::REMOVAL_HELD,
            format!("{id} goes without exclusion once the database answers: only it knows whether {id} is a coordinator"),
            ("no whole report".to_owned(), "a whole report".to_owned()),
            "the database answering with a whole report".to_owned(),
        )
    } else if let Some(other) = took_copies_along(draft, id, group) {
        (
            reasons::REMOVAL_HELD,
            format!(
                "{id} goes without exclusion once the copies that went with {other} were made again: both may have had the same"
            ),
            (format!("the copies of {other} are missing"), "all copies".to_owned()),
            "all data having all its copies again; automationOptions.removalMode: All does not wait for them".to_owned(),
        )
    } else if let Some(because) = may_have_the_last(draft, id, group) {
        (
            reasons::REMOVAL_HELD,
            format!("{id} goes without exclusion once all copies are there: {because}"),
            (because.measured, because.needed),
            "all data having all its copies again; automationOptions.removalMode: All does not wait for them".to_owned(),
        )
    } else if pod.is_some_and(|pod| pod.isolated) {
        (
            reasons::REMOVAL_HELD,
            format!("{id} is isolated by an annotation on its pod, and stays"),
            ("isolated".to_owned(), "not isolated".to_owned()),
            "the annotation being removed".to_owned(),
        )
    } else if draft.seen.desired.buggify.block_removal.contains(&id.0) {
        (
            reasons::REMOVAL_HELD,
            format!("{id} is named in buggify.blockRemoval, and stays"),
            ("named there".to_owned(), "not named".to_owned()),
            "its name being removed there".to_owned(),
        )
    } else if !group.exclusion_skipped
        && let Some(because) = needed_again(draft, id, group)
    {
        (
            reasons::EXCLUSION_IN_PROGRESS,
            format!("{id} was empty and is not any more: {because}"),
            (because.measured, because.needed),
            "the database confirming that nothing is left on it".to_owned(),
        )
    } else {
        return true;
    };
    draft.holds.push(Hold::new(reason, id.to_string(), sentence, released_by).compared(measured, needed));
    false
}

/// Without a whole report nobody knows whom somebody has made a coordinator by hand, and its volume goes with it.
fn may_be_a_coordinator_unseen(draft: &Draft<'_>, group: &ProcessGroup) -> bool {
    let asked = draft.report.is_some_and(crate::DatabaseReport::is_whole);
    group.class.is_stateful() && !group.addresses.is_empty() && !Gate::WholeReport.passes(asked)
}

/// Whether a group goes without its data having been moved away.
fn goes_full(group: &ProcessGroup) -> bool {
    group.exclusion_skipped && group.goes_with_copies()
}

/// Whether the volume of such a group is still to be deleted.
fn takes_copies_along(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> bool {
    goes_full(group) && draft.roster.claim(id, group.class).is_some_and(|claim| claim.deleted_since.is_none())
}

/// What was missing before a group that serves goes without exclusion: it may have the last copies of that. Who went before a status was lost,
/// nobody knows.
fn may_have_the_last(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> Option<Obstacle> {
    let at_once = draft.seen.desired.automation.removal == AtOnce::All;
    if at_once || !takes_copies_along(draft, id, group) || draft.members.of(id, group).is_empty() {
        return None;
    }
    revival::missing(draft).or_else(|| copies::missing(draft))
}

/// Who went without exclusion from another zone a while ago, if its copies are not known to be elsewhere yet. Of one that goes in the same way, they
/// may be the last.
fn took_copies_along(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> Option<ProcessGroupId> {
    if draft.seen.desired.automation.removal == AtOnce::All || !takes_copies_along(draft, id, group) {
        return None;
    }
    let zone = draft.zone_of(id);
    let went = |(other, group): &(&ProcessGroupId, &ProcessGroup)| {
        // A pod may be deleted by others, when its node is lost; a volume is not.
        let volume = draft.roster.claim(other, group.class);
        let goes = draft.is_being_made_again(other, group.class) || volume.is_none_or(|claim| claim.deleted_since.is_some());
        let is_missed = || !draft.members.of(other, group).is_empty() || vanished_too_shortly(draft, other, group).is_some();
        goes_full(group) && goes && draft.zone_of(other) != zone && is_missed()
    };
    draft.status.groups.iter().filter(|(other, _)| *other != id).find(went).map(|(other, _)| other.clone())
}

/// What was confirmed once is asked again before it counts: without a report nobody knows. But who keeps nothing does not stand in the way of
/// those without whom there is none.
fn needed_again(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> Option<Obstacle> {
    let needed = if draft.report.is_none() && Gate::WholeReport.stands() {
        Some(Obstacle::no_answer())
    } else {
        still_needed(draft, id, group)
    };
    needed.filter(|_| !(making_room::keeps_nothing(draft, group) && making_room::is_needed(draft)))
}

fn delete(draft: &mut Draft<'_>, id: &ProcessGroupId) {
    let name = objects::pod_name(&draft.seen.desired, draft.status.groups[id].class, id);
    let kube = &draft.seen.kube;
    let epoch = draft.seen.epoch;
    let pod = kube.pods.get(&name).filter(|pod| is_ours(&draft.seen.desired, pod) && pod.deleted_since.is_none());
    let claim_name = objects::claim_name(&name);
    let claim = kube.claims.get(&claim_name).filter(|claim| claim.deleted_since.is_none());
    let service = kube.services.get(&name).filter(|service| service.group.as_ref() == Some(id));
    if let Some(hold) = claim_stays(draft, id, &name) {
        draft.holds.push(hold);
    }
    let mut taken = Vec::new();
    if let Some(pod) = pod {
        taken.push((TakesAway::Pod(name.clone()), &pod.uid, &pod.resource_version));
        let entry = JournalEntry { what: "removed".to_owned(), uid: pod.uid.clone(), zone: String::new(), since: draft.seen.now };
        draft.status.journal.begin(&name, entry);
    }
    if draft.status.groups[id].goes_with_copies() {
        draft.budget.count_as_disrupted(&draft.zone_of(id));
    }
    if let Some(claim) = claim {
        taken.push((TakesAway::Claim(claim_name), &claim.uid, &claim.resource_version));
    }
    if let Some(service) = service {
        taken.push((TakesAway::Service(name.clone()), &service.uid, &service.resource_version));
    }
    let skipped = draft.status.groups[id].exclusion_skipped;
    let why = if skipped { format!("{id} goes without exclusion") } else { format!("nothing is left on {id}") };
    for (action, uid, resource_version) in taken {
        let permit = draft.budget.clear_away(&name);
        let guard = Guard::epoch(epoch).and_object(uid, resource_version);
        draft.steps.push(Step::takes_away(action, permit, guard, why.clone()));
    }
}

/// A claim that was deleted and that nobody uses any more is kept by somebody else: a snapshot, a driver, a policy.
fn claim_stays(draft: &Draft<'_>, id: &ProcessGroupId, name: &str) -> Option<Hold> {
    let kube = &draft.seen.kube;
    let claim_name = objects::claim_name(name);
    let since = kube.claims.get(&claim_name).filter(|_| !kube.pods.contains_key(name))?.deleted_since?;
    let sentence = format!("{id} is gone but for its volume claim {claim_name}, which was deleted and is still there");
    let released_by = "whoever put a finalizer on the claim taking it away";
    let hold = Hold::new(reasons::CLAIM_TERMINATING, id.to_string(), sentence, released_by);
    Some(hold.compared("a claim that is being deleted", "none of this name").since(since))
}

/// Why a group that went as it was must not be forgotten yet: whatever it held counts as lost until it was made again elsewhere.
fn leaves_a_gap(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> Option<Obstacle> {
    if group.exclusion_skipped && group.goes_with_copies() { vanished_too_shortly(draft, id, group) } else { None }
}

/// Places of groups that are gone may be used again, once nobody is seen there; then nothing remembers the group.
fn include(draft: &mut Draft<'_>, gone: Vec<ProcessGroupId>) {
    let Some(report) = draft.report.filter(|report| report.configuration.is_some()) else { return };
    let mut places = Vec::new();
    // Nobody ever has the name of a group again, but its addresses are given to others.
    let mut lived_at = false;
    for id in gone {
        let group = &draft.status.groups[&id];
        if let Some(server) = draft.members.of(&id, group).first() {
            let sentence = format!("the pod of {id} is gone, and the database still sees a process of it at {}", server.address);
            let released_by = "the process ending; one on a node that is cut off may go on until that is turned off";
            let hold = Hold::new(reasons::REMOVAL_HELD, id.to_string(), sentence, released_by);
            draft.holds.push(hold.compared("a process without a pod", "none"));
            continue;
        }
        if let Some(because) = leaves_a_gap(draft, &id, group) {
            let sentence = format!("{id} went without exclusion and is remembered for what it held: {because}");
            let hold = Hold::new(reasons::REMOVAL_HELD, id.to_string(), sentence, "all data having all its copies again");
            draft.holds.push(hold.compared(because.measured, because.needed));
            continue;
        }
        let all = std::iter::once(id.locality()).chain(group.addresses.iter().cloned());
        let excluded: Vec<String> = all.filter(|place| report.excludes(place)).collect();
        if excluded.is_empty() {
            draft.status.groups.remove(&id);
        } else {
            lived_at |= excluded.iter().any(|place| *place != id.locality());
            places.extend(excluded);
        }
    }
    if places.is_empty() || (lived_at && !may_recover_for(draft, &places)) {
        return;
    }
    let Some(guard) = lock::guard(draft, &places[0]) else { return };
    draft.notice(Severity::Normal, "IncludingProcesses", format!("{} lifted", exclusions_of(&places)));
    let why = "the process groups there are gone";
    draft.steps.push(Step::adds(Adds::Include(places), guard, why));
}

fn exclusions_of(places: &[String]) -> String {
    let names: Vec<&str> = places.iter().map(|place| place.strip_prefix("locality_instance_id:").unwrap_or(place)).collect();
    match names.as_slice() {
        [one] => format!("the exclusion of {one} is"),
        several => format!("the exclusions of {} are", several.join(", ")),
    }
}

/// Who may be used again may be needed at once, and that costs a recovery, as an exclusion does.
fn may_recover_for(draft: &mut Draft<'_>, places: &[String]) -> bool {
    let spacing = draft.seen.desired.automation.timers.recovery_before_inclusion;
    let what = format!("{} lifted", exclusions_of(places));
    draft.recover(&places[0], &what, spacing, reasons::INCLUSION_HELD).is_some()
}
