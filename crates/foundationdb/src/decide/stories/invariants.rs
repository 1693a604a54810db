//! What holds of every decision, whatever the story.

use std::collections::BTreeSet;

use quorate_quorum::Effect;

use super::cluster::class_of;
use crate::decide::{ClusterDecision, ClusterSnapshot, TakesAway};
use crate::report::{DatabaseReport, bare, host};
use crate::tolerance::{Copies, holds_copies};
use crate::{PodPhase, ProcessClass, ProcessGroup, ProcessGroupId};

/// Everything about a decision that must never be.
pub(super) fn broken(seen: &ClusterSnapshot, decision: &ClusterDecision) -> Vec<String> {
    let mut broken = Vec::new();
    let mut recoveries = 0;
    for step in &decision.steps {
        let Effect::TakesAway { action, .. } = &step.effect else { continue };
        match action {
            TakesAway::Pod(name) | TakesAway::PodForAnother { name, .. } => broken.extend(bad_pod_delete(seen, decision, name)),
            TakesAway::Claim(name) => {
                let group = seen.kube.claims[name].group.as_ref().and_then(|id| decision.status.groups.get(id));
                if !group.is_some_and(ProcessGroup::may_go) {
                    broken.push(format!("{name} is deleted, and nobody confirmed that it is empty"));
                }
            }
            TakesAway::Service(_) => {}
            TakesAway::Exclude(places) => {
                broken.extend(bad_exclusion(seen, places));
                recoveries += usize::from(!places.iter().all(|place| place.contains("storage")));
            }
            TakesAway::Coordinators(addresses) => {
                recoveries += 1;
                broken.extend(bad_coordinators(seen, decision, addresses));
            }
            TakesAway::Kill(addresses) => {
                recoveries += 1;
                if addresses.is_empty() {
                    broken.push("nobody is restarted, at the price of a recovery".to_owned());
                }
            }
        }
    }
    if recoveries > 1 {
        broken.push(format!("{recoveries} recoveries at once"));
    }
    broken.extend(bad_marks(seen, decision));
    // A moment that has passed would wake the loop at once, again and again.
    if let Some(wake) = decision.wake.0.filter(|wake| *wake <= seen.now) {
        broken.push(format!("it is to be looked at again at {wake}, and now is {}", seen.now));
    }
    broken
}

fn report(seen: &ClusterSnapshot) -> Option<&DatabaseReport> {
    seen.database.fresh(seen.now, jiff::SignedDuration::from_secs(30)).map(std::ops::Deref::deref)
}

/// A pod that serves goes only if it was asked to be another, or if nothing is left on it.
fn bad_pod_delete(seen: &ClusterSnapshot, decision: &ClusterDecision, name: &str) -> Option<String> {
    let pod = &seen.kube.pods[name];
    let group = pod.group.as_ref().and_then(|id| decision.status.groups.get(id))?;
    let ended = matches!(pod.phase, PodPhase::Failed | PodPhase::Succeeded);
    let outdated = group.conditions.contains_key(&crate::GroupCondition::IncorrectPodSpec);
    let fine = group.may_go() || ended || outdated;
    (!fine).then(|| format!("{name} is deleted, and it serves"))
}

/// Which classes are meant.
type Of<'a> = &'a dyn Fn(ProcessClass) -> bool;

/// The database takes any exclusion; whether enough is left is for us to count.
fn bad_exclusion(seen: &ClusterSnapshot, places: &[String]) -> Option<String> {
    let report = report(seen)?;
    let copies = Copies::of(seen.desired.redundancy_mode());
    let goes = |address: &str, group: Option<&ProcessGroupId>| {
        places.iter().any(|place| *place == host(address) || group.is_some_and(|group| group.locality() == *place))
    };
    let zones = |wanted: &dyn Fn(ProcessClass) -> bool, after: bool| -> BTreeSet<&str> {
        report
            .processes
            .iter()
            .filter(|(_, process)| process.excluded != Some(true) && process.class.is_some_and(wanted))
            .filter(|(address, process)| !after || !goes(address, process.group.as_ref()))
            .filter_map(|(_, process)| process.physical())
            .collect()
    };
    let kinds: [(&str, Of<'_>, u32); 3] = [
        ("storage", &|class| class == ProcessClass::Storage, copies.storage),
        ("log", &|class| matches!(class, ProcessClass::Log | ProcessClass::Transaction), copies.log),
        ("storage or log", &holds_copies, copies.log.max(copies.storage)),
    ];
    kinds.into_iter().find_map(|(name, wanted, needed)| {
        let (before, after) = (zones(wanted, false).len(), zones(wanted, true).len());
        (after < before && after < needed as usize).then(|| format!("{places:?} leave {after} zones with {name} processes"))
    })
}

/// New coordinators are as many as there should be, or an odd number of them where there are places for fewer; each in a zone of its own, none of
/// them about to go.
fn bad_coordinators(seen: &ClusterSnapshot, decision: &ClusterDecision, addresses: &[String]) -> Option<String> {
    let report = report(seen)?;
    let mut zones = BTreeSet::new();
    for address in addresses {
        let of = |(at, process): &(&String, &crate::ProcessReport)| {
            bare(at) == bare(address) || process.dns_name.as_deref() == Some(host(address))
        };
        let Some((_, process)) = report.processes.iter().find(of) else { return Some(format!("{address} is nobody")) };
        let group = process.group.as_ref().and_then(|id| decision.status.groups.get(id));
        if group.is_none_or(|group| group.removal.is_some()) || process.excluded == Some(true) {
            return Some(format!("{address} is about to go and becomes a coordinator"));
        }
        zones.insert(process.physical());
    }
    let wanted = seen.desired.coordinator_count();
    let may = |class| seen.desired.coordinator_priority(class).is_some();
    let stays = |process: &&crate::ProcessReport| {
        let group = process.group.as_ref().and_then(|id| decision.status.groups.get(id));
        process.class.is_some_and(may) && process.excluded != Some(true) && group.is_some_and(|group| group.removal.is_none())
    };
    let places: BTreeSet<_> = report.processes.values().filter(stays).filter_map(crate::ProcessReport::physical).collect();
    let as_many = addresses.len() == wanted || (addresses.len() % 2 == 1 && addresses.len() >= 3 && places.len() <= wanted);
    (zones.len() != addresses.len() || !as_many).then(|| format!("{addresses:?} are in {} zones", zones.len()))
}

/// Marks are never taken back, and automatic ones fit into their budget.
fn bad_marks(seen: &ClusterSnapshot, decision: &ClusterDecision) -> Vec<String> {
    let marked_before = |id: &ProcessGroupId| seen.kube.recorded.groups.get(id).is_some_and(|group| group.removal.is_some());
    let forgiven = seen.kube.recorded.groups.iter().filter(|(id, group)| {
        group.removal.is_some() && decision.status.groups.get(*id).is_some_and(|group| group.removal.is_none())
    });
    let mut broken: Vec<String> = forgiven.map(|(id, _)| format!("{id} was to go and is not any more")).collect();
    let automatic = decision.notices.iter().filter(|notice| notice.note.contains("is replaced:")).count();
    let replacements = &seen.desired.automation.replacements;
    let most = replacements.buckets.map_or(replacements.at_once, |limits| limits.storage + limits.log + limits.stateless);
    if automatic > usize::try_from(most).unwrap_or(0) && !replacements.by_fault_domain {
        let new: Vec<&ProcessGroupId> =
            decision.status.groups.iter().filter(|(_, group)| group.removal.is_some()).map(|(id, _)| id).collect();
        let new: Vec<_> = new.into_iter().filter(|id| !marked_before(id)).map(|id| (id, class_of(id))).collect();
        broken.push(format!("{automatic} are replaced at once: {new:?}"));
    }
    broken
}
