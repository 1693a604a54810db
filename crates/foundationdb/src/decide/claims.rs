//! Volume claims: one for each process group whose class keeps state.

use quorate_quorum::{Guard, Hold, Step};

use super::{Adds, Draft};
use crate::{GroupCondition, objects, reasons};

pub(super) fn propose(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    for (id, group) in &mut draft.status.groups {
        if !group.class.is_stateful() {
            continue;
        }
        let name = objects::claim_name(&objects::pod_name(&seen.desired, group.class, id));
        let claim = seen.kube.claims.get(&name);
        group.note(GroupCondition::MissingPvc, claim.is_none(), seen.now);
        match claim {
            None => {
                let claim = Box::new(objects::claim(&seen.desired, group.class, id));
                draft.steps.push(Step::adds(Adds::Claim(claim), Guard::epoch(seen.epoch), format!("{id} has no volume claim")));
            }
            Some(claim) => {
                if let Some(since) = claim.deleted_since {
                    let sentence = format!("the volume claim {name} of {id} is being deleted, so its data will be gone");
                    draft.holds.push(
                        Hold::new(reasons::CLAIM_TERMINATING, id.to_string(), sentence, "the claim being gone").since(since),
                    );
                }
            }
        }
    }
}
