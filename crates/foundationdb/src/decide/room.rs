//! Room: how much may be excluded before too little is left. A process that serves goes only if enough of its class serve without it, and enough
//! zones stay for every copy; a dead one costs nothing.

use std::collections::{BTreeMap, BTreeSet};

use quorate_quorum::{Effect, Gate, Hold};

use super::members::Server;
use super::{Adds, ClusterStep, Draft};
use crate::report::{bare, port};
use crate::tolerance::{Copies, DATABASE_KNOWS_AFTER, holds_copies};
use crate::{DatabaseReport, GroupCondition, ProcessClass, ProcessGroup, ProcessGroupId, ProcessReport, reasons};

/// Why a group is not excluded now.
pub(super) struct Refusal {
    pub hold: Box<Hold>,
    /// It goes after the others, so they do not wait for it.
    pub waits_for_the_others: bool,
}

impl Refusal {
    fn of(hold: Hold) -> Self {
        Self { hold: Box::new(hold), waits_for_the_others: false }
    }
}

/// How much may still be excluded.
#[derive(Clone)]
pub(super) struct Room<'a> {
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
pub(super) enum Kind {
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
    pub(super) fn of(draft: &Draft<'_>, report: &'a DatabaseReport) -> Self {
        let desired = &draft.seen.desired;
        let mode = report.configuration.as_ref().and_then(|configuration| configuration.redundancy_mode.as_deref());
        let has = Copies::named(mode, desired.redundancy_mode());
        // Another mode may be set in this very decision.
        let is_set = |step: &ClusterStep| matches!(step.effect, Effect::Adds(Adds::Configuration(_)));
        let copies = if draft.steps.iter().any(is_set) { has.or_more(Copies::of(desired.redundancy_mode())) } else { has };
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

    /// How many process groups of a class serve with all their servers, and how many are wanted.
    pub(super) fn serving(&self, class: ProcessClass) -> Option<(usize, usize)> {
        self.serving.get(&class).map(|(serving, wanted)| (serving.len(), *wanted))
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
    pub(super) fn take(&mut self, draft: &Draft<'_>, id: &ProcessGroupId) -> Result<(), Refusal> {
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
        let (serving, wanted) = self.serving(class).unwrap_or_default();
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
    pub(super) fn subtract(&mut self, draft: &Draft<'_>, id: &ProcessGroupId, class: ProcessClass, servers: &[Server<'_>]) {
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
    pub(super) fn lacking(&self, class: ProcessClass) -> Option<(Kind, usize, usize)> {
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

/// The servers of a process group that are not excluded; one that is listed at two addresses is one.
pub(super) fn each_once<'a>(servers: &[Server<'a>]) -> Vec<Server<'a>> {
    let mut ports = BTreeSet::new();
    let mut once: Vec<Server<'a>> = servers.iter().filter(|server| server.process.excluded != Some(true)).copied().collect();
    once.retain(|server| ports.insert(port(bare(server.address))));
    once
}

fn has_data(process: &ProcessReport) -> bool {
    process.roles.contains("storage")
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
