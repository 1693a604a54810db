//! Services: one without an address, which gives every pod a name; and one per pod where addresses are to outlive pods.

use quorate_quorum::{Guard, Step};

use super::{Adds, Draft, TakesAway};
use crate::{GroupCondition, objects};

pub(super) fn propose(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    let (desired, services) = (&seen.desired, &seen.kube.services);
    let guard = || Guard::epoch(seen.epoch);
    if desired.routing.headless_service && !services.contains_key(&desired.name) {
        let service = Box::new(objects::headless_service(desired));
        draft.steps.push(Step::adds(Adds::Service(service), guard(), "pods have no names yet"));
    }
    if !desired.routing.service_per_pod {
        return clear_away(draft);
    }
    for (id, group) in &draft.status.groups {
        if draft.is_done_with(id, group) || services.contains_key(&objects::pod_name(desired, group.class, id)) {
            continue;
        }
        let service = Box::new(objects::pod_service(desired, group.class, id));
        draft.steps.push(Step::adds(Adds::Service(service), guard(), format!("{id} has no service")));
    }
}

/// Services that gave pods their addresses go when no pod of theirs is left that uses one.
fn clear_away(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    for (name, service) in &seen.kube.services {
        let Some(group) = service.group.as_ref().and_then(|id| draft.status.groups.get(id)) else { continue };
        let ours = service.owner.as_deref() == Some(&seen.desired.uid);
        let used = group.removal.is_some() || group.conditions.contains_key(&GroupCondition::IncorrectPodSpec);
        if ours && !used && seen.kube.pods.get(name).is_some_and(|pod| pod.deleted_since.is_none()) {
            let permit = draft.budget.clear_away(name);
            let guard = Guard::epoch(seen.epoch).and_object(&service.uid, &service.resource_version);
            let why = "pods have their own addresses again";
            draft.steps.push(Step::takes_away(TakesAway::Service(name.clone()), permit, guard, why));
        }
    }
}
