//! Exclusion: data and logs move away from process groups that are to go.
//!
//! Storage goes by itself and costs no recovery. All of the transaction system goes in one transaction, which costs one recovery for all.
//! A process that serves is excluded only if enough others do without it; a dead one always may, or replacement would deadlock.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use quorate_quorum::{Gate, Hold, Severity, Step};

use super::members::Server;
use super::{Draft, TakesAway, coordinators, lock, removal};
use crate::obstacle::{Obstacle, told};
use crate::report::{MOST_GENERATIONS, bare, port};
use crate::tolerance::{Copies, DATABASE_KNOWS_AFTER, holds_copies};
use crate::{DatabaseReport, GroupCondition, ProcessClass, ProcessGroup, ProcessGroupId, ProcessReport, reasons};

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
    Room::of(draft, report).serving.get(&class).is_some_and(|(serving, wanted)| serving.len() >= wanted + going)
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
    let all_serve = room.serving.get(&class).is_some_and(|(serving, wanted)| serving.len() >= *wanted);
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

/// The servers of a process group that are not excluded; one that is listed at two addresses is one.
fn each_once<'a>(servers: &[Server<'a>]) -> Vec<Server<'a>> {
    let mut ports = BTreeSet::new();
    let mut once: Vec<Server<'a>> = servers.iter().filter(|server| server.process.excluded != Some(true)).copied().collect();
    once.retain(|server| ports.insert(port(bare(server.address))));
    once
}

fn has_data(process: &ProcessReport) -> bool {
    process.roles.contains("storage")
}

fn names<'a>(ids: impl IntoIterator<Item = &'a ProcessGroupId>) -> String {
    ids.into_iter().map(|id| id.0.as_str()).collect::<Vec<_>>().join(", ")
}

fn hold(draft: &mut Draft<'_>, candidates: &[ProcessGroupId], obstacle: &Obstacle, released_by: &str) {
    let sentence = format!("{} are to go and not excluded yet, because {obstacle}", names(candidates));
    let hold = Hold::new(reasons::EXCLUSION_HELD, candidates[0].to_string(), sentence, released_by);
    draft.holds.push(hold.compared(&obstacle.measured, &obstacle.needed));
}

/// What has to happen before a group is excluded, however much room there is.
fn comes_first(draft: &Draft<'_>, id: &ProcessGroupId, servers: &[Server<'_>]) -> Option<Hold> {
    let (reason, what, (measured, needed), released_by) = if draft.is_coordinator(id) && Gate::CoordinatorsFirst.stands() {
        let what = "is a coordinator; another one takes its place first";
        (reasons::COORDINATOR_GOES_FIRST, what, ("a coordinator", "no coordinator"), "the coordinators having changed")
    } else if servers.is_empty() && !draft.knows_who_is_gone() {
        let what = "seems to be dead, but some processes have just started and have not said who they are";
        (reasons::EXCLUSION_HELD, what, ("processes that have not said who they are", "none"), "their saying so, in some seconds")
    } else {
        return None;
    };
    Some(Hold::new(reason, id.to_string(), format!("{id} {what}"), released_by).compared(measured, needed))
}

/// Whether a group has been without its processes for so long that it is not just its node that starts again.
fn has_been_away(draft: &Draft<'_>, group: &ProcessGroup) -> bool {
    let since = group.conditions.get(&GroupCondition::MissingProcesses);
    since.is_some_and(|since| draft.seen.lasted(*since) >= DATABASE_KNOWS_AFTER)
}

/// Whether no storage may still turn out to have data: one that comes back in a moment, or has just come back.
fn all_storage_has_said_what_it_has(draft: &Draft<'_>) -> bool {
    let mut storage = draft.status.groups.iter().filter(|(_, group)| group.class == ProcessClass::Storage && !group.may_go());
    storage.all(|(id, group)| {
        let servers = draft.members.of(id, group);
        let are_open = !servers.is_empty() && !servers.iter().any(|server| server.process.has_just_started());
        are_open || servers.is_empty() && has_been_away(draft, group)
    })
}

/// Why a group is not excluded now.
struct Refusal {
    hold: Box<Hold>,
    /// It goes after the others, so they do not wait for it.
    waits_for_the_others: bool,
}

impl Refusal {
    fn of(hold: Hold) -> Self {
        Self { hold: Box::new(hold), waits_for_the_others: false }
    }
}

/// How much may still be excluded.
#[derive(Clone)]
struct Room<'a> {
    /// Process groups of each class that serve with all their servers and are not excluded, and how many are wanted. Servers are not
    /// counted: a pod may have been made with more of them or fewer than are asked for now.
    serving: BTreeMap<ProcessClass, (BTreeSet<&'a ProcessGroupId>, usize)>,
    /// Not excluded processes that hold copies, by zone: of storage class, of log classes, of either. A zone without any is not there.
    /// Counted as the database counts zones, and as hosts are counted.
    zones: BTreeMap<(Kind, Sense), BTreeMap<&'a str, usize>>,
    /// Processes that have data and are not excluded. One that came back after its data was copied elsewhere has none, until fewer others
    /// are left than it takes.
    with_data: usize,
    /// Whether all storage has said what it has, or has been away for long.
    all_have_said: bool,
    copies: Copies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Storage,
    Log,
    /// Storage processes can hold logs too, if only in need.
    LogCapable,
}

/// Two senses of a zone, which differ where there are logical fault domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sense {
    Logical,
    Physical,
}

impl Sense {
    const ALL: [Self; 2] = [Self::Logical, Self::Physical];

    fn zone(self, process: &ProcessReport) -> Option<&str> {
        match self {
            Self::Logical => process.zone.as_deref(),
            Self::Physical => process.physical(),
        }
    }
}

impl Kind {
    const fn of(class: ProcessClass) -> &'static [Self] {
        match class {
            ProcessClass::Storage => &[Self::Storage, Self::LogCapable],
            ProcessClass::Log | ProcessClass::Transaction => &[Self::Log, Self::LogCapable],
            _ => &[],
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Storage => "storage",
            Self::Log => "log",
            Self::LogCapable => "storage or log",
        }
    }
}

impl<'a> Room<'a> {
    fn of(draft: &Draft<'_>, report: &'a DatabaseReport) -> Self {
        let desired = &draft.seen.desired;
        let mode = report.configuration.as_ref().and_then(|configuration| configuration.redundancy_mode.as_deref());
        let copies = Copies::named(mode, desired.redundancy_mode());
        let all_have_said = all_storage_has_said_what_it_has(draft);
        let mut room = Self { serving: BTreeMap::new(), zones: BTreeMap::new(), with_data: 0, all_have_said, copies };
        for (class, count) in &desired.counts {
            room.serving.insert(*class, (BTreeSet::new(), *count as usize));
        }
        // One that was restarted at another address is listed twice for some seconds, with the same port.
        let mut counted = BTreeSet::new();
        let mut servers: BTreeMap<(&ProcessGroupId, ProcessClass), usize> = BTreeMap::new();
        for (address, process) in report.processes.iter().filter(|(_, process)| process.excluded != Some(true)) {
            let (Some(class), Some(group)) = (process.class, &process.group) else { continue };
            // Who was removed and included again is listed for some seconds more, as dead as it is, before and after it is forgotten.
            let recorded = draft.status.groups.get(group);
            if recorded.map_or_else(|| group.has_prefix(desired.prefix.as_deref(), class), ProcessGroup::may_go) {
                continue;
            }
            // Who is being made again is listed for some seconds more as well.
            if draft.is_being_made_again(group, class) {
                continue;
            }
            if counted.insert((group, port(bare(address)))) {
                room.count_zone(class, process);
                room.with_data += usize::from(has_data(process));
                *servers.entry((group, class)).or_default() += 1;
            }
        }
        // Who belongs to another object of the same database serves that one.
        for ((id, class), listed) in servers.into_iter().filter(|((id, _), _)| draft.status.groups.contains_key(*id)) {
            let has = draft.roster.pod(id, class).map_or(1, |pod| pod.servers as usize);
            if listed >= has {
                room.serving.entry(class).or_default().0.insert(id);
            }
        }
        room
    }

    fn count_zone(&mut self, class: ProcessClass, process: &'a ProcessReport) {
        for sense in Sense::ALL {
            let Some(zone) = sense.zone(process) else { continue };
            for kind in Kind::of(class) {
                *self.zones.entry((*kind, sense)).or_default().entry(zone).or_default() += 1;
            }
        }
    }

    /// Takes a group's processes out of what serves, or says why that would be too much.
    fn take(&mut self, draft: &Draft<'_>, id: &ProcessGroupId) -> Result<(), Refusal> {
        let group = &draft.status.groups[id];
        let servers = draft.members.of(id, group);
        if let Some(hold) = comes_first(draft, id, &servers) {
            return Err(Refusal::of(hold));
        }
        let before = self.clone();
        self.subtract(draft, id, group.class, &servers);
        let is_dead = servers.is_empty() && has_been_away(draft, group);
        let too_little = self.too_little(id, group.class).filter(|_| !is_dead).map(Refusal::of);
        let Some(refusal) = too_little.or_else(|| self.no_data_left(id, before.with_data)) else { return Ok(()) };
        *self = before;
        Err(refusal)
    }

    /// What would be too few without it.
    fn too_little(&self, id: &ProcessGroupId, class: ProcessClass) -> Option<Hold> {
        let (serving, wanted) = self.serving.get(&class).map_or((0, 0), |(serving, wanted)| (serving.len(), *wanted));
        if !Gate::ExclusionHeadroom.passes(serving >= wanted) {
            let sentence = format!("{id} is excluded once a successor serves: without it too few {class} processes would");
            let hold = Hold::new(reasons::NO_HEADROOM, id.to_string(), sentence, format!("more processes of class {class}"));
            return Some(hold.compared(format!("{serving} would be left"), format!("at least {wanted}")));
        }
        self.too_few_zones(id, class).filter(|_| holds_copies(class))
    }

    /// The database refuses to exclude all that have data, however many others wait for some: it sees no space left.
    fn no_data_left(&self, id: &ProcessGroupId, before: usize) -> Option<Refusal> {
        if before == 0 || self.with_data > 0 {
            return None;
        }
        let sentence = format!(
            "{id} is excluded after the others: it is the last one with data, and the database refuses to be without any"
        );
        let released_by = "another storage process having data";
        let hold = Hold::new(reasons::NO_HEADROOM, id.to_string(), sentence, released_by);
        let hold = Box::new(hold.compared("none with data would be left", "at least 1"));
        Some(Refusal { hold, waits_for_the_others: self.all_have_said })
    }

    /// Takes a group's processes out, unless it is being made again: then they were never counted.
    fn subtract(&mut self, draft: &Draft<'_>, id: &ProcessGroupId, class: ProcessClass, servers: &[Server<'_>]) {
        if draft.is_being_made_again(id, class) {
            return;
        }
        if let Some((serving, _)) = self.serving.get_mut(&class) {
            serving.remove(id);
        }
        for server in each_once(servers) {
            self.with_data = self.with_data.saturating_sub(usize::from(has_data(server.process)));
            for (kind, sense) in Kind::of(class).iter().flat_map(|kind| Sense::ALL.map(|sense| (*kind, sense))) {
                let (Some(zones), Some(zone)) = (self.zones.get_mut(&(kind, sense)), sense.zone(server.process)) else {
                    continue;
                };
                if let Some(left) = zones.get_mut(zone) {
                    *left = left.saturating_sub(1);
                }
                if zones.get(zone) == Some(&0) {
                    zones.remove(zone);
                }
            }
        }
    }

    /// The database takes any exclusion, and then stops for good if too few zones are left to hold its copies.
    fn too_few_zones(&self, id: &ProcessGroupId, class: ProcessClass) -> Option<Hold> {
        let (kind, left, needed) = self.lacking(class)?;
        let kind = kind.name();
        let sentence = format!("{id} is not excluded: too few zones with {kind} processes would be left for all copies");
        let released_by = format!(
            "{kind} processes in more zones; where a host is free, replacing one of a crowded zone (processGroupsToRemove) makes one"
        );
        let hold = Hold::new(reasons::TOO_FEW_ZONES, id.to_string(), sentence, released_by);
        Some(hold.compared(format!("{left} zones"), format!("at least {needed}")))
    }

    /// What a class's processes are in too few zones for: in how many, and how many it takes.
    fn lacking(&self, class: ProcessClass) -> Option<(Kind, usize, usize)> {
        Kind::of(class).iter().find_map(|kind| {
            let needed = match kind {
                Kind::Storage => self.copies.storage,
                Kind::Log => self.copies.log,
                Kind::LogCapable => self.copies.storage.max(self.copies.log),
            } as usize;
            let zones = |sense: &Sense| self.zones.get(&(*kind, *sense)).map_or(0, BTreeMap::len);
            let left = Sense::ALL.iter().map(zones).min().unwrap_or(0);
            (!Gate::ZonesForCopies.passes(left >= needed)).then_some((*kind, left, needed))
        })
    }
}
