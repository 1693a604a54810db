//! Pods that were asked to be others are made again, zone by zone, each zone only when everything else is whole.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use quorate_quorum::{Gate, Guard, Hold, JournalEntry, Severity, Sighting, Step};

use super::{Draft, TakesAway, is_ours, lock, misconfigured, revival};
use crate::obstacle::Obstacle;
use crate::{AtOnce, DatabaseReport, GroupCondition, PodFacts, PodPhase, ProcessGroup, ProcessGroupId, objects, reasons};

/// For so long a zone whose pods were made again is expected back, and the database asked more often: the next zone waits for its word.
const COMES_BACK_WITHIN: SignedDuration = SignedDuration::from_secs(60);
/// How often then.
const WHILE_IT_COMES_BACK: SignedDuration = SignedDuration::from_secs(1);

/// What a pod that is made again is written down as, until the next one is ready.
pub(super) const JOURNAL: &str = "made again";

pub(super) fn propose(draft: &mut Draft<'_>) {
    let outdated: Vec<ProcessGroupId> = draft
        .status
        .groups
        .iter()
        .filter(|(id, group)| group.conditions.contains_key(&GroupCondition::IncorrectPodSpec) && is_asked(draft, id, group))
        .map(|(id, _)| id.clone())
        .collect();
    let (mut serving, idle): (Vec<_>, Vec<_>) = outdated.into_iter().partition(|id| serves(draft, id));
    // Those that get a successor keep their pod until it is there.
    serving.retain(|id| !misconfigured::is_replaced(draft, id, draft.status.groups[id].class));
    // A pod that serves nobody may go at once: a bad template must not stand in the way of its own correction.
    for id in without_those_who_would_not_be_found(draft, idle) {
        delete(draft, &id, true, Guard::epoch(draft.seen.epoch));
    }
    if !serving.is_empty() {
        roll(draft, &serving);
    }
}

/// Whether a group is asked to be anything else. One that is to go is not, unless it can't run as it is and is not empty: the database may need
/// what is on it. Nor is one whose volume has another number of servers, and that is otherwise as asked: another pod would be the same.
fn is_asked(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> bool {
    let is_as_its_volume_is = || {
        let asked_for = draft.roster.pod(id, group.class).and_then(|pod| pod.asked_for.as_deref());
        asked_for == Some(&*draft.wish_for(id, group.class).pod_asked_for(group.class, id))
    };
    if draft.servers_of(id, group.class) != draft.seen.desired.servers_per_pod(group.class) && is_as_its_volume_is() {
        return false;
    }
    let cannot_run = || draft.roster.pod(id, group.class).is_some_and(PodFacts::cannot_run);
    group.removal.is_none() || !group.may_go() && cannot_run()
}

/// Coordinators that are known by the addresses of their pods keep those, but for as many as a whole database can spare.
fn without_those_who_would_not_be_found(draft: &mut Draft<'_>, idle: Vec<ProcessGroupId>) -> Vec<ProcessGroupId> {
    if nobody_ever_served(draft) || !draft.coordinators_go_with_their_pods() {
        return idle;
    }
    let has_address = |id: &ProcessGroupId| {
        let pod = draft.roster.pod(id, draft.status.groups[id].class);
        pod.is_some_and(|pod| !pod.addresses.is_empty())
    };
    let (found, mut idle): (Vec<_>, Vec<_>) = idle.into_iter().partition(|id| draft.is_coordinator(id) && has_address(id));
    let is_whole = draft.report.is_some_and(DatabaseReport::is_whole);
    let spare = if is_whole { keeping_a_majority(draft, &found.iter().collect::<Vec<_>>()) } else { Vec::new() };
    if let Some(id) = found.iter().find(|id| !spare.contains(id)) {
        let sentence = format!(
            "the pod of {id} is asked to be another and can't run as it is, but stays: {id} is a coordinator, and known by the address of \
             this pod"
        );
        let released_by = "another coordinator in its place; with routing.useDNSInClusterFile addresses do not matter";
        let hold = Hold::new(reasons::POD_UPDATE_HELD, id.to_string(), sentence, released_by);
        draft.holds.push(hold.compared("no coordinator to spare", "at least 1"));
    }
    idle.extend(spare);
    idle
}

/// Whether the database counts on this group's pod, or may do so: one that is ready is about to serve.
pub(super) fn serves(draft: &Draft<'_>, id: &ProcessGroupId) -> bool {
    let group = &draft.status.groups[id];
    let pod = draft.roster.pod(id, group.class);
    // What never ran serves nobody, whether there is a database to ask or not; nor does what can't run, by the word of its own kubelet.
    if pod.is_some_and(|pod| !pod.ready && (pod.node.is_none() || nobody_ever_served(draft) || pod.cannot_run())) {
        return false;
    }
    !draft.knows_who_is_gone() || pod.is_some_and(|pod| pod.ready) || !draft.members.of(id, group).is_empty()
}

/// Whether there never was a database, as far as is on record; one that was lost says nothing of that.
fn nobody_ever_served(draft: &Draft<'_>) -> bool {
    !draft.status.configured && !revival::is_read_back(draft)
}

fn roll(draft: &mut Draft<'_>, serving: &[ProcessGroupId]) {
    let mode = draft.seen.desired.automation.deletion;
    let mut zones: BTreeMap<String, Vec<&ProcessGroupId>> = BTreeMap::new();
    for id in serving {
        zones.entry(draft.zone_of(id)).or_default().push(id);
    }
    // The zone that has begun goes on; then the one with most to do, and the one that leads at last.
    let leading = leading(draft);
    let first = |(zone, ids): &(&String, &Vec<_>)| {
        (draft.budget.is_disrupted(zone), !leading.contains(*zone), ids.len(), Reverse((*zone).clone()))
    };
    let Some((zone, ids)) = zones.iter().max_by_key(first) else { return };
    if only_the_database_is_waited_for(draft) {
        draft.wake.at(draft.seen.now + WHILE_IT_COMES_BACK);
    }
    let what = format!("{} of {} zones", zones.len(), draft.zones());
    if let Some(obstacle) = obstacle(draft, mode) {
        let sentence = format!("pods in {what} are to be made again; zone {zone} is next, but {}", obstacle.0);
        let hold = Hold::new(reasons::POD_UPDATE_HELD, zone, sentence, obstacle.1);
        draft.holds.push(hold.compared(obstacle.0.measured, obstacle.0.needed));
        return;
    }
    let chosen: Vec<ProcessGroupId> = match mode {
        // Whoever is known by an address that goes with its pod is not found again.
        AtOnce::All if draft.coordinators_go_with_their_pods() => keeping_a_majority(draft, &serving.iter().collect::<Vec<_>>()),
        AtOnce::All => serving.to_vec(),
        AtOnce::Zone => keeping_a_majority(draft, ids),
        AtOnce::ProcessGroup => keeping_a_majority(draft, ids).into_iter().take(1).collect(),
        AtOnce::Nothing => return,
    };
    if chosen.is_empty() {
        let sentence = format!("pods in {what} are to be made again; those of zone {zone} are coordinators, and others are away");
        let released_by = "the other coordinators answering from ready pods";
        let hold = Hold::new(reasons::POD_UPDATE_HELD, zone, sentence, released_by);
        draft.holds.push(hold.compared("no coordinator to spare", "at least 1"));
        return;
    }
    let Some(guard) = lock::guard(draft, zone) else { return };
    let names: Vec<&str> = chosen.iter().map(|id| id.0.as_str()).collect();
    draft.notice(Severity::Normal, "UpdatingPods", format!("making the pods of {} again", names.join(", ")));
    for id in &chosen {
        delete(draft, id, mode == AtOnce::All, guard.clone());
    }
}

/// Zones with a role on which data distribution depends. When such a role moves, the database says nothing of its data for half a minute,
/// and it may move into a zone that is still to go; after the last zone nobody waits for that word.
fn leading(draft: &Draft<'_>) -> BTreeSet<String> {
    let leads = |id: &ProcessGroupId, group: &ProcessGroup| {
        let servers = draft.members.of(id, group);
        let mut roles = servers.iter().flat_map(|server| &server.process.roles);
        roles.any(|role| matches!(role.as_str(), "cluster_controller" | "master" | "data_distributor"))
    };
    let groups = draft.status.groups.iter().filter(|(id, group)| leads(id, group));
    groups.map(|(id, _)| draft.zone_of(id)).collect()
}

/// Whether pods that were just made are ready, so that no event will tell when their zone is whole. While some are not, their events wake
/// us; and what takes longer than a moment, such as data that moves, is not waited for like this.
fn only_the_database_is_waited_for(draft: &Draft<'_>) -> bool {
    let mut ours = draft.seen.kube.pods.values().filter(|pod| is_ours(&draft.seen.desired, pod));
    let youngest = ours.clone().map(|pod| pod.created).max();
    let just_made = youngest.is_some_and(|created| draft.seen.now.duration_since(created) < COMES_BACK_WITHIN);
    just_made && ours.all(|pod| pod.ready)
}

/// A logical fault domain may span several hosts, and so have several coordinators; as many of them go at once as may be missing, together
/// with those elsewhere that are missing already. First those that may not answer anyway: a pod that is not ready has to be corrected, too.
fn keeping_a_majority(draft: &Draft<'_>, zone: &[&ProcessGroupId]) -> Vec<ProcessGroupId> {
    let all = draft.report.map_or(0, |report| report.coordinators.len());
    let away = |id: &ProcessGroupId| is_away(draft, id, &draft.status.groups[id]);
    let elsewhere = draft.status.groups.keys().filter(|id| !zone.contains(id) && draft.is_coordinator(id));
    let missing = elsewhere.filter(|id| away(id)).count();
    // A single one can't be spared, and has to go all the same.
    let mut spare = (all.saturating_sub(1) / 2).max(1).saturating_sub(missing);
    let mut may_go = |id: &ProcessGroupId| {
        if !draft.is_coordinator(id) {
            return true;
        }
        let may = Gate::CoordinatorMajority.passes(spare > 0);
        spare = spare.saturating_sub(1);
        may
    };
    let mut order = zone.to_vec();
    order.sort_by_key(|id| !away(id));
    order.into_iter().filter(|id| may_go(id)).cloned().collect()
}

/// Whether a process group may not answer now, whatever a report says that is some seconds old: its pod is on its way out, or another one
/// was made since it was answered.
fn is_away(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> bool {
    let answered = match draft.seen.database {
        Sighting::Seen { at, .. } => Some(at),
        Sighting::Unreachable { .. } | Sighting::NotAsked => None,
    };
    let serves = |pod: &PodFacts| pod.ready && pod.deleted_since.is_none() && answered.is_some_and(|at| pod.created < at);
    let goes = draft.is_being_made_again(id, group.class);
    goes || !draft.roster.pod(id, group.class).is_some_and(serves) || draft.members.of(id, group).is_empty()
}

/// What stands in the way, and what would clear it.
fn obstacle(draft: &Draft<'_>, mode: AtOnce) -> Option<(Obstacle, String)> {
    if mode == AtOnce::Nothing {
        let obstacle = Obstacle::new("deletionMode is None", "deletionMode None", "another mode");
        return Some((obstacle, "another automationOptions.deletionMode".to_owned()));
    }
    if mode == AtOnce::All {
        return None;
    }
    let missing = draft.not_whole().filter(|_| Gate::WholeBeforeDisruption.stands())?;
    Some((missing, "everything being whole again".to_owned()))
}

fn delete(draft: &mut Draft<'_>, id: &ProcessGroupId, freely: bool, guard: Guard) {
    let class = draft.status.groups[id].class;
    let name = objects::pod_name(&draft.seen.desired, class, id);
    let Some(pod) = draft.seen.kube.pods.get(&name) else { return };
    // One that has ended is cleared away whatever it was asked to be.
    let ended = matches!(pod.phase, PodPhase::Failed | PodPhase::Succeeded);
    if ended || pod.deleted_since.is_some() || !is_ours(&draft.seen.desired, pod) {
        return;
    }
    let zone = draft.zone_of(id);
    let permit = if freely {
        draft.budget.clear_away(&name)
    } else {
        match draft.budget.disrupt(&name, &zone) {
            Ok(permit) => permit,
            Err(hold) => return draft.holds.push(*hold),
        }
    };
    let entry = JournalEntry { what: JOURNAL.to_owned(), uid: pod.uid.clone(), zone, since: draft.seen.now };
    draft.status.journal.begin(&name, entry);
    let guard = guard.and_object(&pod.uid, &pod.resource_version);
    let address = draft.seen.kube.services.get(&name).and_then(|service| service.address.as_deref());
    let next = Box::new(draft.wish_for(id, class).pod(id, &draft.status.groups[id], address));
    let why = format!("the pod of {id} is asked to be another");
    draft.steps.push(Step::takes_away(TakesAway::PodForAnother { name, next }, permit, guard, why));
}
