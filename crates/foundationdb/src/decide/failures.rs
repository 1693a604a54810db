//! Failures: a process group that has been failing for too long is replaced, as many at once as its bucket has room for.
//!
//! A replacement begins with a mark. What is marked is not counted any more, so its successor comes up first; then its data moves away,
//! and only then it goes.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use quorate_quorum::buckets::{Buckets, Limits, REPLACEMENTS_IN_FLIGHT};
use quorate_quorum::{Gate, Hold, Reason, Severity};

use super::{Draft, exclusion, hosts};
use crate::bucket::Bucket;
use crate::obstacle::Obstacle;
use crate::{AtMost, GroupCondition, ProcessClass, ProcessGroup, ProcessGroupId, reasons};

pub(super) fn propose(draft: &mut Draft<'_>) {
    let mut buckets = buckets(draft);
    let failed = failed(draft);
    if !failed.is_empty() && may_replace(draft, &failed) {
        let around = Around::of(draft, failed.iter().map(|(_, id, _)| id.clone()).collect());
        for (_, id, why) in failed {
            replace(draft, &mut buckets, &around, &id, &why);
        }
    }
}

/// Shows each bucket with who is in it, whatever they were marked for.
pub(super) fn show(draft: &mut Draft<'_>) {
    draft.status.buckets = buckets(draft).shown(&Bucket::ALL);
}

/// In flight is what is marked and not yet excluded, whatever it was marked for.
fn buckets(draft: &Draft<'_>) -> Buckets<Bucket> {
    let replacements = &draft.seen.desired.automation.replacements;
    let limits = match replacements.buckets {
        None => Limits::Together(replacements.at_once),
        Some(limits) => Limits::PerBucket(replacements.at_once, Bucket::limits(limits)),
    };
    let in_flight = draft.status.groups.iter().filter(|(_, group)| group.is_in_flight());
    let mut buckets = Buckets::new(limits, in_flight.map(|(id, group)| (Bucket::of(group.class), id.to_string())));
    if replacements.by_fault_domain {
        buckets.count_domains(draft.status.groups.iter().map(|(id, group)| (id.to_string(), draft.fails_as(id, group))));
    }
    buckets
}

/// Those that have been failing for long enough, the longest first; the others wake us when their time has come.
fn failed(draft: &mut Draft<'_>) -> Vec<(Timestamp, ProcessGroupId, String)> {
    let replacements = &draft.seen.desired.automation.replacements;
    let now = draft.seen.now;
    let mut due = Vec::new();
    let mut next = Vec::new();
    for (id, group) in &draft.status.groups {
        let Some((condition, since)) = failing(draft, id, group) else { continue };
        let wait =
            if condition == GroupCondition::NodeTaintReplacing { replacements.taint_replaced_after } else { replacements.after };
        if since + wait <= now {
            due.push((since, id.clone(), format!("{} since {since}", condition.name())));
        } else {
            next.push(since + wait);
        }
    }
    if replacements.enabled {
        for time in next {
            draft.wake.at(time);
        }
    }
    due.sort();
    due
}

/// Whether a process group is replaced sooner or later for what fails in it, as things are.
pub(super) fn is_failing(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> bool {
    failing(draft, id, group).is_some()
}

/// The failure that will be due first.
fn failing(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> Option<(GroupCondition, Timestamp)> {
    if !group.conditions.keys().any(|condition| condition.is_failure()) {
        return None;
    }
    let desired = &draft.seen.desired;
    // A group that was made to crash is watched, not replaced.
    if group.removal.is_some() || desired.buggify.concerns(id) || draft.is_under_maintenance(id, group) {
        return None;
    }
    // Whoever came in its stead would find no host either; its domain is waited for or set aside, which begins anew with each of them.
    if hosts::finds_no_host(draft, id, group) {
        return None;
    }
    let wait = |condition: GroupCondition| match condition {
        GroupCondition::NodeTaintReplacing => desired.automation.replacements.taint_replaced_after,
        _ => desired.automation.replacements.after,
    };
    let failures = group.conditions.iter().filter(|(condition, _)| condition.is_failure());
    failures
        .map(|(condition, since)| (*condition, *since))
        .min_by_key(|(condition, since)| (*since + wait(*condition), *condition))
}

/// Whether anything is replaced now at all.
fn may_replace(draft: &mut Draft<'_>, failed: &[(Timestamp, ProcessGroupId, String)]) -> bool {
    let desired = &draft.seen.desired;
    let (since, first, _) = &failed[0];
    let hold = |sentence: String, (measured, needed): (&str, &str), released_by: &str| {
        Hold::new(reasons::REPLACEMENT_HELD, first.to_string(), sentence, released_by).compared(measured, needed).since(*since)
    };
    let names = || failed.iter().map(|(_, id, _)| id.0.as_str()).collect::<Vec<_>>().join(", ");
    if desired.buggify.empty_monitor_configuration {
        let sentence = format!("{} failed and would be replaced, but no server is to run", names());
        let measured = ("buggify.emptyMonitorConf true", "buggify.emptyMonitorConf false");
        draft.holds.push(hold(sentence, measured, "buggify.emptyMonitorConf: false"));
        return false;
    }
    if !desired.automation.replacements.enabled {
        let sentence = format!("{} failed and would be replaced, but automatic replacement is off", names());
        draft.holds.push(hold(
            sentence,
            ("replacements.enabled false", "replacements.enabled true"),
            "automationOptions.replacements.enabled: true",
        ));
        return false;
    }
    if !Gate::ReplacesOnlyWhenAvailable.passes(draft.report.is_some_and(crate::DatabaseReport::is_whole)) {
        let sentence = format!("{} failed and would be replaced, but nobody knows how the database is", names());
        draft.holds.push(hold(sentence, ("no whole report", "a whole report"), "the database answering with a whole report"));
        return false;
    }
    true
}

/// How the whole cluster is, which no replacement changes: counted once, however many failed.
struct Around {
    /// All that are to be replaced.
    failed: BTreeSet<ProcessGroupId>,
    /// What is not whole, if anything.
    missing: Option<Obstacle>,
    zones: usize,
    tainted_zones: usize,
}

impl Around {
    fn of(draft: &Draft<'_>, failed: BTreeSet<ProcessGroupId>) -> Self {
        let zones = |tainted: bool| -> BTreeSet<String> {
            let counts = |group: &ProcessGroup| !tainted || group.conditions.contains_key(&GroupCondition::NodeTaintDetected);
            let groups = draft.status.groups.iter().filter(|(_, group)| counts(group));
            groups.filter_map(|(id, group)| draft.physical_zone(id, group)).collect()
        };
        Self { failed, missing: draft.not_whole(), zones: zones(false).len(), tainted_zones: zones(true).len() }
    }
}

fn replace(draft: &mut Draft<'_>, buckets: &mut Buckets<Bucket>, around: &Around, id: &ProcessGroupId, why: &str) {
    let group = &draft.status.groups[id];
    let (class, tainted) = (group.class, why.starts_with(GroupCondition::NodeTaintReplacing.name()));
    if tainted && let Some(hold) = too_many_tainted(draft, around, id) {
        draft.holds.push(hold);
        return;
    }
    // Without an address there is nothing to exclude it by; that is safe only while nothing else is missing.
    let nameless = !draft.seen.desired.automation.exclude_by_locality && group.addresses.is_empty();
    if nameless && let Some(missing) = &around.missing {
        let sentence = format!("{id} failed before it had an address, and can't be excluded by one; {missing}");
        let hold = Hold::new(reasons::REPLACEMENT_HELD, id.to_string(), sentence, "everything else being whole");
        draft.holds.push(hold.compared(&missing.measured, &missing.needed));
        return;
    }
    match buckets.take(Bucket::of(class), &id.0) {
        Err(hold) if Gate::ReplacementBuckets.stands() && !is_waited_for(draft, buckets, around, id, hold.reason) => {
            draft.holds.push(*hold);
        }
        _ => {
            draft.mark(id);
            if nameless && let Some(group) = draft.status.groups.get_mut(id) {
                group.exclusion_skipped = true;
            }
            draft.notice(Severity::Warning, "ReplacingProcesses", format!("{id} is replaced: {why}"));
        }
    }
}

/// Whether those that take all the room wait for this very group, and would for ever: one of its servers is dead though its pod is ready, all
/// of them were to serve before they go, and nobody else is still to come; who has found no node for long may be waiting for them. Then it is
/// replaced beyond the limit, for it costs nobody anything: they stand still. One without a pod or a node would only be followed by another, but
/// for one whom its own volume or a lost node keeps from anywhere else.
fn is_waited_for(draft: &Draft<'_>, buckets: &Buckets<Bucket>, around: &Around, id: &ProcessGroupId, held: Reason) -> bool {
    let (class, Some(report)) = (draft.status.groups[id].class, draft.report) else { return false };
    let wanted = draft.seen.desired.counts.get(&class).copied().unwrap_or(0) as usize;
    // Who is excluded counts nowhere, though nobody here asked for that.
    let serves = |id: &ProcessGroupId, group: &ProcessGroup| {
        let lacks = [GroupCondition::MissingProcesses, GroupCondition::ProcessIsMarkedAsExcluded];
        !lacks.iter().any(|condition| group.conditions.contains_key(condition)) && !draft.members.of(id, group).is_empty()
    };
    let holders: Vec<ProcessGroupId> = buckets.holders(Bucket::of(class)).into_iter().map(ProcessGroupId).collect();
    let group = |holder: &ProcessGroupId| draft.status.groups.get(holder);
    // All that is not storage goes together: whoever is of another class of that waits for those of this one.
    let goes_with_it = |other: ProcessClass| (other == ProcessClass::Storage) == (class == ProcessClass::Storage);
    let stands_still = |holder: &ProcessGroupId| {
        group(holder).is_some_and(|group| {
            goes_with_it(group.class) && !exclusion::is_excluded(report, &exclusion::places(draft, holder, group))
        })
    };
    let patience = exclusion::patience_with_pending(draft);
    let comes = |id: &ProcessGroupId, group: &ProcessGroup| {
        !serves(id, group) && !around.failed.contains(id) && !exclusion::has_no_node_for(draft, group, patience)
    };
    held == REPLACEMENTS_IN_FLIGHT
        && !draft.members.are_still_joining()
        && !serves(id, &draft.status.groups[id])
        && (draft.roster.pod(id, class).is_some_and(|pod| pod.ready) || is_bound_to_its_place(draft, id, patience))
        && draft.live(class).count() >= wanted
        && !draft.live(class).any(|(id, group)| comes(id, group))
        && !exclusion::has_headroom(draft, report, class)
        && holders.iter().any(|holder| group(holder).is_some_and(|group| group.class == class))
        && holders.iter().all(stands_still)
}

/// Whether a pod is where its successor would not have to be: its volume is where no node takes it, or its node is lost and does not let it go.
fn is_bound_to_its_place(draft: &Draft<'_>, id: &ProcessGroupId, patience: SignedDuration) -> bool {
    let group = &draft.status.groups[id];
    let has_volume = draft.roster.claim(id, group.class).is_some_and(|claim| claim.bound && claim.deleted_since.is_none());
    let is_stuck = draft.roster.pod(id, group.class).is_some_and(|pod| {
        let gone_by = pod.deleted_since.map(|since| since + draft.seen.desired.automation.pod_failed_after);
        gone_by.is_some_and(|gone_by| gone_by <= draft.seen.now)
    });
    is_stuck || has_volume && draft.has_run(id, group) && exclusion::has_no_node_for(draft, group, patience)
}

/// Many tainted zones at once are maintenance by somebody else, and not many failures.
fn too_many_tainted(draft: &Draft<'_>, around: &Around, id: &ProcessGroupId) -> Option<Hold> {
    let (all, tainted) = (around.zones, around.tainted_zones);
    let most = match draft.seen.desired.automation.replacements.most_tainted_domains {
        AtMost::Number(number) => number as usize,
        AtMost::Percent(percent) => (all * percent as usize / 100).max(1),
    };
    (tainted > most).then(|| {
        let sentence = format!("{id} is on a tainted node and stays, because too many zones are tainted at once");
        let hold = Hold::new(reasons::TOO_MANY_TAINTED_ZONES, id.to_string(), sentence, "fewer tainted zones");
        hold.compared(format!("{tainted} of {all} zones"), format!("at most {most}"))
    })
}
