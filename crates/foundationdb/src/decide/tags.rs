//! Labels and annotations that a user gives to pods, volume claims and services. They are changed in place: nothing that runs depends on
//! them, so nobody is made again or replaced for them.

use std::collections::BTreeMap;

use quorate_quorum::{Effect, Guard, Step};

use super::{Adds, Draft, TakesAway, is_ours};
use crate::objects::{self, Tags, annotations};
use crate::wish::Given;
use crate::{AtOnce, GroupCondition, PodFacts, PodPhase, ProcessGroup, ProcessGroupId};

pub(super) fn propose(draft: &mut Draft<'_>) {
    of_process_groups(draft);
    of_services(draft);
}

fn of_process_groups(draft: &mut Draft<'_>) {
    let has =
        |group: &ProcessGroup| group.removal.is_none() && group.conditions.contains_key(&GroupCondition::IncorrectPodMetadata);
    let ids: Vec<ProcessGroupId> = draft.status.groups.iter().filter(|(_, group)| has(group)).map(|(id, _)| id.clone()).collect();
    if ids.is_empty() {
        return;
    }
    // One write for each object: a second one would be about a state that is gone.
    let mut written = written(draft);
    for id in ids {
        let group = &draft.status.groups[&id];
        let desired = &draft.seen.desired;
        let Given { pod: of_pod, claim: of_claim } = desired.given(group.class);
        let (name, objects) = (objects::pod_name(desired, group.class, &id), draft.roster.objects(&id, group.class));
        let why = format!("{id} is asked to have other labels or annotations");
        if let Some(claim) = objects.claim.filter(|claim| claim.deleted_since.is_none() && claim.given != *of_claim) {
            let (name, tags) = (objects::claim_name(&name), claim.given.change_to(of_claim));
            let guard = Guard::epoch(draft.seen.epoch).and_object(&claim.uid, &claim.resource_version);
            if !written.contains_key(&name) {
                draft.steps.push(Step::adds(Adds::ClaimTags { name, tags }, guard, why.clone()));
            }
        }
        let Some(pod) = objects.pod.filter(|pod| stays(draft, group, pod) && pod.given != *of_pod) else { continue };
        let tags = with_its_node(pod.given.change_to(of_pod), pod);
        match written.remove(&name).map(|step| &mut draft.steps[step].effect) {
            Some(Effect::Adds(Adds::PodTags { tags: poke, .. })) => {
                poke.labels.extend(tags.labels);
                poke.annotations.extend(tags.annotations);
            }
            Some(_) => {}
            None => {
                let guard = Guard::epoch(draft.seen.epoch).and_object(&pod.uid, &pod.resource_version);
                draft.steps.push(Step::adds(Adds::PodTags { name, tags }, guard, why));
            }
        }
    }
}

fn of_services(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    let wanted = objects::resource_tags(&seen.desired);
    for (name, service) in seen.kube.services.iter().filter(|(_, service)| service.given != wanted) {
        let ours = service.owner.as_deref() == Some(&seen.desired.uid);
        let goes = |step: &super::ClusterStep| match &step.effect {
            Effect::TakesAway { action: TakesAway::Service(gone), .. } => gone == name,
            _ => false,
        };
        if ours && !draft.steps.iter().any(goes) {
            let tags = service.given.change_to(&wanted);
            let guard = Guard::epoch(seen.epoch).and_object(&service.uid, &service.resource_version);
            let why = format!("service {name} is asked to have other labels");
            draft.steps.push(Step::adds(Adds::ServiceTags { name: name.clone(), tags }, guard, why));
        }
    }
}

/// The node of a pod, as the existing operator writes it down: with whatever is written on the pod anyway.
pub(super) fn with_its_node(mut tags: Tags, pod: &PodFacts) -> Tags {
    if let Some(node) = &pod.node {
        tags.annotations.insert(annotations::CURRENT_NODE.to_owned(), Some(node.clone()));
    }
    tags
}

/// Pods and claims that this decision writes on already, and by which step.
fn written(draft: &Draft<'_>) -> BTreeMap<String, usize> {
    let name = |(index, step): (usize, &super::ClusterStep)| match &step.effect {
        Effect::Adds(Adds::PodTags { name, .. } | Adds::ClaimSize { name, .. } | Adds::ClaimOwner { name, .. }) => {
            Some((name.clone(), index))
        }
        Effect::Adds(_) | Effect::TakesAway { .. } => None,
    };
    draft.steps.iter().enumerate().filter_map(name).collect()
}

/// Whether a pod is ours and stays as it is. One that is to be made again gets everything then.
fn stays(draft: &Draft<'_>, group: &ProcessGroup, pod: &PodFacts) -> bool {
    let desired = &draft.seen.desired;
    let outdated = group.conditions.contains_key(&GroupCondition::IncorrectPodSpec);
    let made_again = outdated && desired.automation.deletion != AtOnce::Nothing;
    let ended = matches!(pod.phase, PodPhase::Failed | PodPhase::Succeeded);
    is_ours(desired, pod) && pod.deleted_since.is_none() && !ended && !made_again
}
