//! Moves: the process groups of each class are packed into a chosen number of logical fault domains, with the fewest possible moves.
//!
//! A process group never leaves its domain, so a move is one that goes and another that comes elsewhere; the new one comes first. Turning
//! domains on or off moves everybody, for nobody can be in one without having been made for it.

use std::collections::{BTreeMap, BTreeSet};

use quorate_quorum::placement::{Placed, Placement, place};
use quorate_quorum::{Gate, Hold, Severity};

use super::{Draft, exclusion, hosts};
use crate::{Distribution, ProcessClass, ProcessGroup, ProcessGroupId, objects, reasons};

/// A coordinator stays longer than anybody who is none: its going costs a recovery.
const COORDINATOR: i64 = 1 << 40;

pub(super) fn propose(draft: &mut Draft<'_>) {
    let why = match draft.seen.desired.distribution {
        Some(_) => "to fill its fault domains evenly",
        None => "because logical fault domains were turned off",
    };
    for class in draft.classes() {
        let leaving = leaving(draft, class);
        leave(draft, class, &leaving, why);
    }
}

/// Who of a class moves sooner or later, as things are; the first ones first.
pub(super) fn leaving(draft: &Draft<'_>, class: ProcessClass) -> Vec<ProcessGroupId> {
    if let Some(distribution) = draft.seen.desired.distribution {
        return placement(draft, class, distribution).leave;
    }
    // Whoever was made for a logical fault domain goes with it, coordinators last here as well.
    let mut packed: Vec<ProcessGroupId> = draft.live(class).filter(|(_, group)| group.packed).map(|(id, _)| id.clone()).collect();
    packed.sort_by_cached_key(|id| draft.is_coordinator(id));
    packed
}

/// The domains of so many new process groups of a class, the least full first.
pub(super) fn domains_of_new(draft: &Draft<'_>, class: ProcessClass, count: usize) -> Vec<Option<u32>> {
    let Some(distribution) = draft.seen.desired.distribution else { return vec![None; count] };
    let placement = placement(draft, class, distribution);
    placement.join.into_iter().map(Some).chain(std::iter::repeat(None)).take(count).collect()
}

/// Whether this concern chooses who goes when there are too many.
pub(super) fn chooses(draft: &Draft<'_>) -> bool {
    draft.seen.desired.distribution.is_some()
}

/// How many of those that were just marked move: they go for their fault domains, and others come for them.
pub(super) fn moved(draft: &Draft<'_>, marked: &BTreeSet<ProcessGroupId>) -> usize {
    let of_class = |class| {
        let wanted = draft.seen.desired.counts.get(&class).copied().unwrap_or(0) as usize;
        let surplus = draft.live(class).count().saturating_sub(wanted);
        leaving(draft, class).iter().filter(|id| marked.contains(*id)).count().saturating_sub(surplus)
    };
    draft.classes().into_iter().map(of_class).sum()
}

fn placement(draft: &Draft<'_>, class: ProcessClass, distribution: Distribution) -> Placement<ProcessGroupId> {
    let hosts: BTreeSet<&str> =
        draft.live(class).filter(|(_, group)| !group.packed).filter_map(|(_, group)| group.fault_domain.as_deref()).collect();
    let hosts: BTreeMap<&str, i64> = hosts.into_iter().zip(0..).collect();
    let members: Vec<Placed<ProcessGroupId>> = draft
        .live(class)
        .map(|(id, group)| Placed { id: id.clone(), domain: group.domain(), rank: rank(draft, id, group, &hosts) })
        .collect();
    let wanted = draft.seen.desired.counts.get(&class).copied().unwrap_or(0) as usize;
    place(&members, &hosts::in_use(draft, class, distribution), wanted)
}

/// Of several in one domain those of the highest rank go first: the youngest, coordinators last. Of those in no domain, all of whom go,
/// those of the lowest rank go first: host by host, so that hosts become free, and coordinators last again.
fn rank(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup, hosts: &BTreeMap<&str, i64>) -> i64 {
    let coordinator = if draft.is_coordinator(id) { COORDINATOR } else { 0 };
    if group.packed {
        return id.number().unwrap_or(0) - coordinator;
    }
    let host = group.fault_domain.as_deref().and_then(|host| hosts.get(host)).copied().unwrap_or(0);
    host + coordinator
}

/// Marks those that leave: whoever is too many at once, whoever moves only as others have arrived.
fn leave(draft: &mut Draft<'_>, class: ProcessClass, leaving: &[ProcessGroupId], why: &str) {
    if leaving.is_empty() || !draft.status.configured {
        return;
    }
    let wanted = draft.seen.desired.counts.get(&class).copied().unwrap_or(0) as usize;
    let surplus = draft.live(class).count().saturating_sub(wanted);
    if !draft.report.is_some_and(crate::DatabaseReport::is_whole) {
        let sentence = format!("{} process groups of class {class} are to go {why}, but not now", leaving.len());
        let hold = Hold::new(reasons::MOVES_HELD, class.name(), sentence, "the database answering");
        draft.holds.push(hold.compared("no whole report", "a whole report"));
        return;
    }
    let at_once = at_once(draft, class, wanted);
    // Those who can't go until others of their class are in more zones wait for these moves, not the other way round.
    let in_flight = if exclusion::waits_for_zones(draft, class) { 0 } else { in_flight(draft, Some(class)) };
    let room = if Gate::MovesAtOnce.stands() { at_once.saturating_sub(in_flight) } else { usize::MAX };
    let now = surplus.saturating_add(room).min(leaving.len());
    let gone: Vec<String> = leaving[..now].iter().map(|id| told(draft, id)).collect();
    for id in &leaving[..now] {
        draft.mark(id);
    }
    let waiting = leaving.len() - now;
    if waiting > 0 {
        let sentence = format!("{waiting} more process groups of class {class} go {why}, after those that go now");
        let hold = Hold::new(reasons::MOVES_HELD, class.name(), sentence, "those in flight being excluded");
        draft.holds.push(hold.compared(format!("{} in flight", in_flight + now), format!("at most {at_once}")));
    }
    if !gone.is_empty() {
        let note = format!("{} of {wanted} process groups of class {class} go {why}: {}", gone.len(), gone.join(", "));
        draft.notice(Severity::Normal, "DistributingProcesses", note);
    }
}

/// A process group and its domain.
fn told(draft: &Draft<'_>, id: &ProcessGroupId) -> String {
    match draft.status.groups[id].domain_key() {
        Some(domain) => format!("{id} (from {domain})"),
        None => id.to_string(),
    }
}

/// One domain's worth of those that need hosts of their own; all of the others, whose moves together cost one recovery. Of those as well
/// nobody else moves until they are out, or a user's change of mind, and another, would take the room of many clusters.
fn at_once(draft: &Draft<'_>, class: ProcessClass, wanted: usize) -> usize {
    let most = usize::try_from(draft.seen.desired.automation.misconfigured_at_once).unwrap_or(usize::MAX);
    let elsewhere = in_flight(draft, None) - in_flight(draft, Some(class));
    let most = most.saturating_sub(elsewhere);
    if !objects::domains_must_be_apart(class) {
        return most.min(wanted.max(1));
    }
    let (groups, domains) = match draft.seen.desired.distribution {
        Some(distribution) => (wanted, hosts::in_use(draft, class, distribution).len()),
        None => packed(draft, class),
    };
    most.min(groups.div_ceil(domains.max(1)).max(1))
}

/// How many of a class are in logical fault domains, and in how many: whoever is on its way out of one is still in it, unless nobody waits
/// for its data.
fn packed(draft: &Draft<'_>, class: ProcessClass) -> (usize, usize) {
    let counts = |group: &&ProcessGroup| group.class == class && (group.removal.is_none() || group.is_in_flight());
    let groups = draft.status.groups.values().filter(counts);
    let domains: Vec<u32> = groups.filter_map(ProcessGroup::domain).collect();
    (domains.len(), domains.iter().collect::<BTreeSet<_>>().len())
}

fn in_flight(draft: &Draft<'_>, class: Option<ProcessClass>) -> usize {
    let counts = |group: &&ProcessGroup| group.is_in_flight() && class.is_none_or(|class| group.class == class);
    draft.status.groups.values().filter(counts).count()
}
