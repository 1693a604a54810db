//! Services: one without an address, which gives every pod a name; and one per pod where addresses are to outlive pods.

use quorate_quorum::{Guard, Step};

use super::{Adds, Draft};
use crate::objects;

pub(super) fn propose(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    let (desired, services) = (&seen.desired, &seen.kube.services);
    let guard = || Guard::epoch(seen.epoch);
    if desired.routing.headless_service && !services.contains_key(&desired.name) {
        let service = Box::new(objects::headless_service(desired));
        draft.steps.push(Step::adds(Adds::Service(service), guard(), "pods have no names yet"));
    }
    if !desired.routing.service_per_pod {
        return;
    }
    for (id, group) in &draft.status.groups {
        if group.may_go() || services.contains_key(&objects::pod_name(desired, group.class, id)) {
            continue;
        }
        let service = Box::new(objects::pod_service(desired, group.class, id));
        draft.steps.push(Step::adds(Adds::Service(service), guard(), format!("{id} has no service")));
    }
}
