//! Hosts for logical fault domains: one whose pods find none is waited for, or set aside until there is another node.

use std::collections::{BTreeMap, BTreeSet};

use quorate_quorum::{Gate, Hold, Severity};

use super::Draft;
use crate::{Distribution, GroupCondition, ProcessClass, ProcessGroup, ProcessGroupId, SetAside, domain_key, objects, reasons};

pub(super) fn propose(draft: &mut Draft<'_>) {
    let Some(distribution) = draft.seen.desired.distribution else { return draft.status.set_aside.clear() };
    take_up_again(draft, distribution);
    let patience = draft.seen.desired.automation.ignore_pending_after;
    for class in draft.classes().into_iter().filter(|class| objects::domains_must_be_apart(*class)) {
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
        let crowded = crowded(draft, class);
        draft.holds.extend(crowded);
    }
}

/// The domains of a class that have not been set aside.
pub(super) fn in_use(draft: &Draft<'_>, class: ProcessClass, distribution: Distribution) -> Vec<u32> {
    let prefix = draft.seen.desired.prefix.as_deref();
    (0..distribution.domains).filter(|domain| !draft.status.set_aside.contains_key(&domain_key(prefix, class, *domain))).collect()
}

/// Whether a process group never ran, because no pod of its domain is on a host.
pub(super) fn finds_no_host(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> bool {
    let pending = |group: &ProcessGroup| group.conditions.contains_key(&GroupCondition::PodPending);
    pending(group)
        && !draft.has_run(id, group)
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

/// Domains of a class of which some are on hosts and others find no room there: such a domain is in use, so nothing is set aside.
fn crowded(draft: &Draft<'_>, class: ProcessClass) -> Vec<Hold> {
    // Of each domain, how many there are, and since when which of them have no node.
    let mut domains: BTreeMap<&str, (usize, Vec<jiff::Timestamp>)> = BTreeMap::new();
    for (_, group) in draft.live(class) {
        let Some(domain) = group.domain_key() else { continue };
        let (all, pending) = domains.entry(domain).or_default();
        *all += 1;
        pending.extend(group.conditions.get(&GroupCondition::PodPending));
    }
    let is_crowded = |(_, (all, pending)): &(&str, (usize, Vec<_>))| !pending.is_empty() && pending.len() < *all;
    let hold = |(domain, (all, pending)): (&str, (usize, Vec<jiff::Timestamp>))| {
        let without = pending.len();
        let sentence =
            format!("{without} of {all} pods of fault domain {domain} find no room on its hosts, and no host of their own");
        let released_by = "room on a host of this fault domain, or one more host without other fault domains of this class";
        let hold = Hold::new(reasons::TOO_FEW_HOSTS, domain, sentence, released_by);
        let hold = hold.compared(format!("{without} pods without a node"), "none");
        match pending.into_iter().min() {
            Some(since) => hold.since(since),
            None => hold,
        }
    };
    domains.into_iter().filter(is_crowded).map(hold).collect()
}

fn set_aside(draft: &mut Draft<'_>, domain: &str, class: ProcessClass, left: usize) {
    let aside = SetAside { since: draft.seen.now, open_nodes: draft.seen.kube.open_nodes.len() };
    draft.status.set_aside.insert(domain.to_owned(), aside);
    let note =
        format!("no host was found for fault domain {domain}; the process groups of class {class} share the {left} others");
    draft.notice(Severity::Warning, "FaultDomainSetAside", note);
}

/// With a node more than there were, or one that is new, every domain that was set aside is tried again. One that went and came back is
/// neither: to try costs moves.
fn take_up_again(draft: &mut Draft<'_>, distribution: Distribution) {
    if draft.status.set_aside.is_empty() {
        return;
    }
    let open = &draft.seen.kube.open_nodes;
    let prefix = draft.seen.desired.prefix.as_deref();
    let wanted: BTreeSet<String> = ProcessClass::ALL
        .iter()
        .flat_map(|class| (0..distribution.domains).map(|domain| domain_key(prefix, *class, domain)))
        .collect();
    draft.status.set_aside.retain(|domain, _| wanted.contains(domain));
    // With fewer domains than there were, those that are aside may be needed.
    let minimum = draft.seen.desired.redundancy_mode().minimum_fault_domains() as usize;
    let too_few = ProcessClass::ALL.iter().any(|class| in_use(draft, *class, distribution).len() < minimum);
    let newest = open.values().filter_map(|node| node.created).max();
    let another_node = |aside: &SetAside| aside.open_nodes < open.len() || newest.is_some_and(|newest| newest > aside.since);
    let again = distribution.required || too_few || draft.status.set_aside.values().any(another_node);
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
