//! Lost pods: which of them may be made again before the database has said how it is. After a death it takes seconds to answer, and
//! whatever it says, they are to come back.

use std::collections::BTreeSet;

use quorate_quorum::Effect;

use super::{Adds, ClusterSnapshot, ClusterStep, decide};
use crate::objects::{self, labels};
use crate::{ProcessGroup, ProcessGroupId};

/// Steps that make pods of process groups that are on record, stay, and have their volumes. Everything else has to be written down first,
/// or depends on what the database says. So does everything of an object that was edited since the status was written, which speaks of
/// the generation `observed`, or that another leadership wrote.
pub fn lost_pods(seen: &ClusterSnapshot, observed: Option<i64>) -> Vec<ClusterStep> {
    let is_known = observed == Some(seen.desired.generation) && seen.kube.recorded.epoch == seen.epoch;
    if !is_known || !is_somebody_missing(seen) {
        return vec![];
    }
    let makes_a_lost_one = |step: &ClusterStep| {
        let Effect::Adds(Adds::Pod(pod)) = &step.effect else { return false };
        let id = pod.metadata.labels.as_ref().and_then(|all| all.get(labels::GROUP)).cloned().map(ProcessGroupId);
        let Some((id, group)) = id.and_then(|id| seen.kube.recorded.groups.get_key_value(&id)) else { return false };
        let name = objects::pod_name(&seen.desired, group.class, id);
        let has_volume = !group.class.is_stateful() || seen.kube.claims.contains_key(&objects::claim_name(&name));
        // What was made a moment ago may not have been shown yet.
        stays(group) && has_volume && !seen.kube.unseen.contains(&name)
    };
    decide(seen).steps.into_iter().filter(makes_a_lost_one).collect()
}

/// Whether somebody who stays has no pod; looked for before anything is decided, because mostly nobody is missing.
fn is_somebody_missing(seen: &ClusterSnapshot) -> bool {
    let recorded = &seen.kube.recorded.groups;
    if seen.kube.pods.len() >= recorded.len() {
        return false;
    }
    let with_pods: BTreeSet<&ProcessGroupId> = seen.kube.pods.values().filter_map(|pod| pod.group.as_ref()).collect();
    recorded.iter().any(|(id, group)| stays(group) && !with_pods.contains(id))
}

fn stays(group: &ProcessGroup) -> bool {
    group.removal.is_none()
}
