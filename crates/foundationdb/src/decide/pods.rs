//! Pods: one for each process group. One that has ended is cleared away, and made again with its volume.

use quorate_quorum::{Guard, Hold, JournalEntry, Step};

use super::precedence::Homeless;
use super::{Adds, Draft, TakesAway, is_ours, precedence};
use crate::{PodFacts, PodPhase, ProcessGroupId, objects, reasons};

pub(super) fn propose(draft: &mut Draft<'_>) {
    let is_well = |pod: &PodFacts| pod.ready && pod.phase == PodPhase::Running && pod.deleted_since.is_none();
    let is_well = |pod: Option<&PodFacts>| pod.is_some_and(|pod| is_well(pod) && is_ours(&draft.seen.desired, pod));
    let unwell = draft.groups().filter(|(_, _, objects)| !is_well(objects.pod));
    let mut ids: Vec<ProcessGroupId> = unwell.map(|(id, ..)| id.clone()).collect();
    if ids.is_empty() {
        return;
    }
    ids.sort_by_cached_key(|id| (precedence::of(draft, id), id.clone()));
    let homeless = Homeless::of(draft);
    for id in ids {
        let group = &draft.status.groups[&id];
        let name = objects::pod_name(&draft.seen.desired, group.class, &id);
        match draft.roster.pod(&id, group.class) {
            // Its data is elsewhere; it is not made again only to be removed.
            None if draft.is_done_with(&id, group) => {}
            None => match homeless.come_first(draft, &id) {
                Some(hold) => draft.holds.push(hold),
                None => create(draft, &id, &name),
            },
            Some(pod) if !is_ours(&draft.seen.desired, pod) => draft.holds.push(not_ours(&id, &name)),
            Some(pod) => look_after(draft, &id, &name, pod),
        }
    }
}

fn create(draft: &mut Draft<'_>, id: &ProcessGroupId, name: &str) {
    let desired = &draft.seen.desired;
    let address = draft.seen.kube.services.get(name).and_then(|service| service.address.as_deref());
    if desired.routing.service_per_pod && address.is_none() {
        let sentence = format!("pod {name} is made once its service has an address");
        let hold = Hold::new(reasons::SERVICE_WITHOUT_ADDRESS, id.to_string(), sentence, "the service getting its address");
        draft.holds.push(hold.compared("0 addresses", "at least 1"));
        return;
    }
    let group = &draft.status.groups[id];
    let pod = Box::new(draft.wish_for(id, group.class).pod(id, group, address));
    draft.steps.push(Step::adds(Adds::Pod(pod), Guard::epoch(draft.seen.epoch), format!("{id} has no pod")));
}

fn look_after(draft: &mut Draft<'_>, id: &ProcessGroupId, name: &str, pod: &PodFacts) {
    // Kubernetes writes down when it has to be gone, not when it was deleted; so this holds since it was first seen.
    if let Some(gone_by) = pod.deleted_since {
        let then = if draft.is_done_with(id, &draft.status.groups[id]) { "not made again" } else { "made again once it is gone" };
        let sentence = format!("pod {name} is being deleted; it is {then}");
        let released_by = "the pod being gone; if its node is lost for good, delete the Node object";
        let hold = Hold::new(reasons::POD_TERMINATING, id.to_string(), sentence, released_by);
        draft.holds.push(hold.compared("a pod that is being deleted", format!("gone by {gone_by}")));
        return;
    }
    let due = pod.created + draft.seen.desired.automation.timers.ended_pod_age;
    match pod.phase {
        // One that ended as soon as it began would be made again and again without a pause.
        PodPhase::Failed | PodPhase::Succeeded if due > draft.seen.now => {
            draft.wake.at(due);
            draft.holds.push(ended_early(id, name, pod, due));
        }
        PodPhase::Failed | PodPhase::Succeeded => clear_away(draft, id, name, pod),
        PodPhase::Pending if pod.node.is_none() => draft.holds.push(pending(id, name, pod)),
        _ if !pod.ready => {
            let sentence = format!("pod {name} is not ready");
            let released_by = "its containers becoming ready; its events and logs say more";
            let hold = Hold::new(reasons::POD_NOT_READY, id.to_string(), sentence, released_by);
            draft.holds.push(hold.compared(format!("{:?}, not ready", pod.phase), "ready").since(pod.created));
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

fn ended_early(id: &ProcessGroupId, name: &str, pod: &PodFacts, due: jiff::Timestamp) -> Hold {
    let sentence = format!("pod {name} has ended soon after it was made; another one is made after a while");
    let hold = Hold::new(reasons::POD_NOT_READY, id.to_string(), sentence, due.to_string());
    hold.compared(format!("{:?}", pod.phase), "Running").since(pod.created)
}

fn pending(id: &ProcessGroupId, name: &str, pod: &PodFacts) -> Hold {
    let why = pod.unschedulable.as_deref().unwrap_or("the scheduler has not said why");
    let sentence = format!("pod {name} was not placed on a node: {why}");
    let hold = Hold::new(reasons::POD_PENDING, id.to_string(), sentence, "a node that fits the pod");
    hold.compared("no node", "1").since(pod.created)
}

fn not_ours(id: &ProcessGroupId, name: &str) -> Hold {
    let sentence = format!("pod {name} exists and belongs to somebody else, so {id} can't have a pod");
    let hold = Hold::new(reasons::POD_NOT_OURS, id.to_string(), sentence, format!("deleting or renaming pod {name}"));
    hold.compared("a pod of somebody else", "none of this name")
}
