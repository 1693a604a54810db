//! Pods: one for each process group. One that has ended is cleared away, and made again with its volume.

use quorate_quorum::{Gate, Guard, Hold, JournalEntry, Step};

use super::{Adds, Draft, TakesAway};
use crate::{GroupCondition, PodFacts, PodPhase, ProcessGroupId, objects, reasons};

pub(super) fn propose(draft: &mut Draft<'_>) {
    let ids: Vec<ProcessGroupId> = draft.status.groups.keys().cloned().collect();
    for id in ids {
        let class = draft.status.groups[&id].class;
        let name = objects::pod_name(&draft.seen.desired, class, &id);
        match draft.seen.kube.pods.get(&name) {
            None => create(draft, &id),
            Some(pod) if !is_ours(draft, pod) => draft.holds.push(not_ours(&id, &name)),
            Some(pod) => look_after(draft, &id, &name, pod),
        }
        note_conditions(draft, &id, &name);
    }
}

fn is_ours(draft: &Draft<'_>, pod: &PodFacts) -> bool {
    Gate::OnlyOurPods.passes(pod.owner.as_deref() == Some(&draft.seen.desired.uid))
}

fn create(draft: &mut Draft<'_>, id: &ProcessGroupId) {
    let class = draft.status.groups[id].class;
    let pod = Box::new(objects::pod(&draft.seen.desired, class, id, None));
    draft.steps.push(Step::adds(Adds::Pod(pod), Guard::epoch(draft.seen.epoch), format!("{id} has no pod")));
}

fn look_after(draft: &mut Draft<'_>, id: &ProcessGroupId, name: &str, pod: &PodFacts) {
    if let Some(since) = pod.deleted_since {
        let sentence = format!("pod {name} is being deleted; it is made again once it is gone");
        let released_by = "the pod being gone; if its node is lost for good, delete the Node object";
        draft.holds.push(Hold::new(reasons::POD_TERMINATING, id.to_string(), sentence, released_by).since(since));
        return;
    }
    match pod.phase {
        PodPhase::Failed | PodPhase::Succeeded => clear_away(draft, id, name, pod),
        PodPhase::Pending if pod.node.is_none() => draft.holds.push(pending(id, name, pod)),
        _ if !pod.ready => {
            let sentence = format!("pod {name} is not ready");
            let released_by = "its containers becoming ready; its events and logs say more";
            draft.holds.push(Hold::new(reasons::POD_NOT_READY, id.to_string(), sentence, released_by).since(pod.created));
        }
        _ => {}
    }
}

/// A pod that has ended serves nobody, so clearing it away disrupts nobody.
fn clear_away(draft: &mut Draft<'_>, id: &ProcessGroupId, name: &str, pod: &PodFacts) {
    let permit = draft.budget.clear_away(name);
    let zone = pod.node.clone().unwrap_or_default();
    let entry = JournalEntry { what: "clearing away".to_owned(), uid: pod.uid.clone(), zone, since: draft.seen.now };
    draft.status.journal.begin(name, entry);
    let guard = Guard::epoch(draft.seen.epoch).and_object(&pod.uid, &pod.resource_version);
    draft.steps.push(Step::takes_away(TakesAway::Pod(name.to_owned()), permit, guard, format!("the pod of {id} has ended")));
}

fn pending(id: &ProcessGroupId, name: &str, pod: &PodFacts) -> Hold {
    let why = pod.unschedulable.as_deref().unwrap_or("the scheduler has not said why");
    let sentence = format!("pod {name} was not placed on a node: {why}");
    Hold::new(reasons::POD_PENDING, id.to_string(), sentence, "a node that fits the pod").since(pod.created)
}

fn not_ours(id: &ProcessGroupId, name: &str) -> Hold {
    let sentence = format!("pod {name} exists and belongs to somebody else, so {id} can't have a pod");
    Hold::new(reasons::POD_NOT_OURS, id.to_string(), sentence, format!("deleting or renaming pod {name}"))
}

fn note_conditions(draft: &mut Draft<'_>, id: &ProcessGroupId, name: &str) {
    let now = draft.seen.now;
    let pod = draft.seen.kube.pods.get(name);
    let Some(group) = draft.status.groups.get_mut(id) else { return };
    let ended = |pod: &PodFacts| matches!(pod.phase, PodPhase::Failed | PodPhase::Succeeded);
    group.note(GroupCondition::MissingPod, pod.is_none(), now);
    group.note(GroupCondition::PodPending, pod.is_some_and(|pod| pod.node.is_none() && !ended(pod)), now);
    group.note(GroupCondition::PodFailing, pod.is_some_and(|pod| ended(pod) || (pod.node.is_some() && !pod.ready)), now);
    group.note(GroupCondition::ResourcesTerminating, pod.is_some_and(|pod| pod.deleted_since.is_some()), now);
    if let Some(pod) = pod {
        if let Some(address) = pod.addresses.first()
            && !group.addresses.contains(address)
        {
            // A living group has one address; one that is being removed keeps all it ever had.
            if group.removal.is_none() {
                group.addresses.clear();
            }
            group.addresses.push(address.clone());
        }
        if pod.node.is_some() {
            group.fault_domain.clone_from(&pod.node);
        }
    }
}
