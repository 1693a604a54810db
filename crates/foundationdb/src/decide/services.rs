//! Services: one without an address, which gives every pod a name; and one per pod where addresses are to outlive pods.

use quorate_quorum::{Guard, Step};

use super::{Adds, Draft, TakesAway, families};
use crate::{GroupCondition, ProcessGroup, ProcessGroupId, ServiceFacts, objects};

pub(super) fn propose(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    let (desired, services) = (&seen.desired, &seen.kube.services);
    let guard = || Guard::epoch(seen.epoch);
    if desired.routing.headless_service {
        match services.get(&desired.name) {
            None => {
                let service = Box::new(objects::headless_service(desired));
                draft.steps.push(Step::adds(Adds::Service(service), guard(), "pods have no names yet"));
            }
            Some(service) if leads_elsewhere(draft, service) => {
                let permit = draft.budget.clear_away(&desired.name);
                let guard = guard().and_object(&service.uid, &service.resource_version);
                let why = "names are to lead to addresses of another family, which a service can't change";
                draft.steps.push(Step::takes_away(TakesAway::Service(desired.name.clone()), permit, guard, why));
            }
            Some(_) => {}
        }
    }
    if !desired.routing.service_per_pod {
        return clear_away(draft);
    }
    for (id, group) in &draft.status.groups {
        if draft.is_done_with(id, group) || services.contains_key(&objects::pod_name(desired, group.class, id)) {
            continue;
        }
        let mut service = objects::pod_service(&draft.wish_for(id, group.class), group.class, id);
        if let Some(spec) = &mut service.spec {
            spec.cluster_ip = announced(draft, id, group);
        }
        draft.steps.push(Step::adds(Adds::Service(Box::new(service)), guard(), format!("{id} has no service")));
    }
}

/// The address that a service gave to the servers of a pod. They go on announcing it when the service is gone, so it is asked for again;
/// with another one nobody would reach them.
fn announced(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup) -> Option<String> {
    // A pod that is to be another may have been made before services gave addresses.
    let pod = draft.roster.pod(id, group.class).filter(|_| !group.conditions.contains_key(&GroupCondition::IncorrectPodSpec))?;
    let address = pod.environment.get(objects::PUBLIC_IP).filter(|address| !pod.addresses.contains(*address))?;
    let speaks = draft.seen.desired.routing.family.is_none_or(|family| (family == 6) == address.contains(':'));
    speaks.then(|| address.clone())
}

/// Whether names lead to addresses on which nobody is to listen any more. As long as a coordinator is known by its name, they have to.
fn leads_elsewhere(draft: &Draft<'_>, service: &ServiceFacts) -> bool {
    let ours = service.owner.as_deref() == Some(&draft.seen.desired.uid);
    ours && families::is_of_another_family(draft.seen, service) && !families::has_names(draft.seen)
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
