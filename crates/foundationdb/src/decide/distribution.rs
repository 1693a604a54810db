//! Logical fault domains: the process groups of each class are packed into a chosen number of them, with the fewest possible moves.
//!
//! A process group never leaves its domain, so a move is one that goes and another that comes elsewhere; the new one comes first. Turning
//! domains on or off moves everybody, for nobody can be in one without having been made for it.

use std::collections::{BTreeMap, BTreeSet};

use quorate_quorum::placement::{Placed, Placement, place};
use quorate_quorum::{Gate, Hold, Severity};

use super::Draft;
use crate::{Distribution, GroupCondition, ProcessClass, ProcessGroup, ProcessGroupId, SetAside, domain_key, objects, reasons};

/// A coordinator stays longer than anybody who is none: its going costs a recovery.
const COORDINATOR: i64 = 1 << 40;

pub(super) fn propose(draft: &mut Draft<'_>) {
    let Some(distribution) = draft.seen.desired.distribution else { return turn_off(draft) };
    find_hosts(draft, distribution);
    for class in classes(draft) {
        let placement = placement(draft, class, distribution);
        leave(draft, class, &placement.leave, "to fill its fault domains evenly");
    }
}

/// Whoever was made for a logical fault domain goes with it.
fn turn_off(draft: &mut Draft<'_>) {
    draft.status.set_aside.clear();
    for class in classes(draft) {
        let packed: Vec<ProcessGroupId> = draft.live(class).filter(|(_, group)| group.packed).map(|(id, _)| id.clone()).collect();
        leave(draft, class, &packed, "because logical fault domains were turned off");
    }
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

fn classes(draft: &Draft<'_>) -> BTreeSet<ProcessClass> {
    draft.status.groups.values().map(|group| group.class).collect()
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
    place(&members, &in_use(draft, class, distribution), wanted)
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

/// The domains of a class that have not been set aside.
fn in_use(draft: &Draft<'_>, class: ProcessClass, distribution: Distribution) -> Vec<u32> {
    let prefix = draft.seen.desired.prefix.as_deref();
    (0..distribution.domains).filter(|domain| !draft.status.set_aside.contains_key(&domain_key(prefix, class, *domain))).collect()
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
        draft.holds.push(Hold::new(reasons::MOVES_HELD, class.name(), sentence, "the database answering"));
        return;
    }
    let at_once = at_once(draft, class, wanted);
    let in_flight = in_flight(draft, Some(class));
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

/// One domain's worth of those that need hosts of their own; all of the others, whose moves together cost one recovery.
fn at_once(draft: &Draft<'_>, class: ProcessClass, wanted: usize) -> usize {
    let most = usize::try_from(draft.seen.desired.automation.misconfigured_at_once).unwrap_or(usize::MAX);
    let elsewhere = in_flight(draft, None) - in_flight(draft, Some(class));
    let most = most.saturating_sub(elsewhere);
    if !objects::domains_must_be_apart(class) {
        return most;
    }
    let (groups, domains) = match draft.seen.desired.distribution {
        Some(distribution) => (wanted, in_use(draft, class, distribution).len()),
        None => packed(draft, class),
    };
    most.min(groups.div_ceil(domains.max(1)).max(1))
}

/// How many of a class are in logical fault domains, and in how many: whoever is on its way out of one is still in it.
fn packed(draft: &Draft<'_>, class: ProcessClass) -> (usize, usize) {
    let groups = draft.status.groups.values().filter(|group| group.class == class && group.exclusion.is_none());
    let domains: Vec<u32> = groups.filter_map(ProcessGroup::domain).collect();
    (domains.len(), domains.iter().collect::<BTreeSet<_>>().len())
}

fn in_flight(draft: &Draft<'_>, class: Option<ProcessClass>) -> usize {
    let counts = |group: &&ProcessGroup| group.is_in_flight() && class.is_none_or(|class| group.class == class);
    draft.status.groups.values().filter(counts).count()
}

/// Domains none of whose pods finds a host: waited for, or set aside until there is another node.
fn find_hosts(draft: &mut Draft<'_>, distribution: Distribution) {
    take_up_again(draft, distribution);
    let patience = draft.seen.desired.automation.ignore_pending_after;
    for class in classes(draft).into_iter().filter(|class| objects::domains_must_be_apart(*class)) {
        let mut homeless = homeless(draft, class, distribution);
        homeless.sort();
        let minimum = draft.seen.desired.redundancy_mode().minimum_fault_domains() as usize;
        let mut used = in_use(draft, class, distribution).len();
        let mut waiting = Vec::new();
        for (since, domain) in homeless {
            let due = since + patience;
            let may = !distribution.required && Gate::EnoughDomains.passes(used > minimum);
            if may && due <= draft.seen.now {
                used -= 1;
                set_aside(draft, &domain, class, used);
            } else {
                if may {
                    draft.wake.at(due);
                }
                waiting.push((domain, since));
            }
        }
        if !waiting.is_empty() {
            let hold = too_few_hosts(class, &waiting, distribution, used > minimum);
            draft.holds.push(hold);
        }
    }
}

/// Whether a process group never ran, because no pod of its domain is on a host.
pub(super) fn finds_no_host(draft: &Draft<'_>, group: &ProcessGroup) -> bool {
    let pending = |group: &ProcessGroup| group.conditions.contains_key(&GroupCondition::PodPending);
    pending(group)
        && group.addresses.is_empty()
        && objects::domains_must_be_apart(group.class)
        && group.domain_key().is_some_and(|domain| {
            draft.live(group.class).filter(|(_, other)| other.domain_key() == Some(domain)).all(|(_, other)| pending(other))
        })
}

/// Domains in use of a class that have process groups, and none of them on a node; and since when none is.
fn homeless(draft: &Draft<'_>, class: ProcessClass, distribution: Distribution) -> Vec<(jiff::Timestamp, String)> {
    let mut domains: BTreeMap<&str, Option<jiff::Timestamp>> = BTreeMap::new();
    for (_, group) in draft.live(class) {
        let Some(domain) = group.domain_key() else { continue };
        let since = group.conditions.get(&GroupCondition::PodPending).copied();
        domains.entry(domain).and_modify(|all| *all = all.zip(since).map(|(a, b)| a.max(b))).or_insert(since);
    }
    let prefix = draft.seen.desired.prefix.as_deref();
    let in_use = in_use(draft, class, distribution).into_iter().map(|domain| domain_key(prefix, class, domain));
    in_use.filter_map(|domain| Some(((*domains.get(domain.as_str())?)?, domain))).collect()
}

fn set_aside(draft: &mut Draft<'_>, domain: &str, class: ProcessClass, left: usize) {
    let aside = SetAside { since: draft.seen.now, open_nodes: draft.seen.kube.open_nodes };
    draft.status.set_aside.insert(domain.to_owned(), aside);
    let note =
        format!("no host was found for fault domain {domain}; the process groups of class {class} share the {left} others");
    draft.notice(Severity::Warning, "FaultDomainSetAside", note);
}

/// With a node more than there were, every domain that was set aside is tried again.
fn take_up_again(draft: &mut Draft<'_>, distribution: Distribution) {
    if draft.status.set_aside.is_empty() {
        return;
    }
    let open = draft.seen.kube.open_nodes;
    let prefix = draft.seen.desired.prefix.as_deref();
    let wanted: BTreeSet<String> = ProcessClass::ALL
        .iter()
        .flat_map(|class| (0..distribution.domains).map(|domain| domain_key(prefix, *class, domain)))
        .collect();
    draft.status.set_aside.retain(|domain, _| wanted.contains(domain));
    for aside in draft.status.set_aside.values_mut() {
        aside.open_nodes = aside.open_nodes.min(open);
    }
    // With fewer domains than there were, those that are aside may be needed.
    let minimum = draft.seen.desired.redundancy_mode().minimum_fault_domains() as usize;
    let too_few = ProcessClass::ALL.iter().any(|class| in_use(draft, *class, distribution).len() < minimum);
    let again = distribution.required || too_few || draft.status.set_aside.values().any(|aside| aside.open_nodes < open);
    if again && !draft.status.set_aside.is_empty() {
        let domains: Vec<String> = std::mem::take(&mut draft.status.set_aside).into_keys().collect();
        draft.notice(Severity::Normal, "FaultDomainTakenUp", format!("trying again: {}", domains.join(", ")));
    }
}

fn too_few_hosts(
    class: ProcessClass,
    waiting: &[(String, jiff::Timestamp)],
    distribution: Distribution,
    may_do_with_fewer: bool,
) -> Hold {
    let names: Vec<&str> = waiting.iter().map(|(domain, _)| domain.as_str()).collect();
    let what = format!("no host was found for fault domain {} of class {class}", names.join(", "));
    let (sentence, released_by) = match (distribution.required, may_do_with_fewer) {
        (true, _) => (format!("{what}; spec.distribution.required is true, so it is waited for"), String::new()),
        (false, true) => (format!("{what}; it is set aside if that lasts"), " or its being set aside".to_owned()),
        (false, false) => (format!("{what}; with fewer the redundancy mode could not be kept"), String::new()),
    };
    let released_by = format!("{} more hosts without other fault domains of this class{released_by}", waiting.len());
    let hold = Hold::new(reasons::TOO_FEW_HOSTS, names[0], sentence, released_by);
    let since = waiting.iter().map(|(_, since)| *since).min();
    let hold =
        hold.compared(format!("{} hosts too few", waiting.len()), format!("one for each of {} domains", distribution.domains));
    match since {
        Some(since) => hold.since(since),
        None => hold,
    }
}
