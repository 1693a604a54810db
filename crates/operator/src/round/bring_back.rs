//! Pods that are gone are made again before the database is asked: after a death it takes seconds to say how it is, and whatever it says,
//! they are to come back.

use std::collections::BTreeSet;
use std::sync::Arc;

use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::decide::{Adds, ClusterSnapshot, ClusterStep, decide};
use quorate_foundationdb::objects::labels;
use quorate_foundationdb::{KubeFacts, ProcessGroup, ProcessGroupId, objects};
use quorate_quorum::{Effect, Epoch};
use tracing::info;

use super::{Expected, Hands, Remembered};

impl Hands {
    /// Makes lost pods again beside a round that waits for its database.
    pub(crate) async fn bring_back_beside(
        &self,
        object: &Arc<FoundationDBCluster>,
        kube: KubeFacts,
        epoch: Epoch,
        remembered: &Remembered,
    ) -> Expected {
        let seen = self.snapshot(object, kube, epoch, remembered);
        self.bring_back(object, &seen, remembered).await
    }

    /// Makes lost pods again, by what the database said last, where this leadership has written that it knows what is asked for. What
    /// fails is tried again by the round that follows, which says why.
    pub(super) async fn bring_back(
        &self,
        object: &Arc<FoundationDBCluster>,
        seen: &ClusterSnapshot,
        remembered: &Remembered,
    ) -> Expected {
        let mut expected = Expected::default();
        let status = remembered.telling.status(object);
        let is_known = status.and_then(|status| status.observed_generation) == object.metadata.generation;
        if !is_known || seen.kube.recorded.epoch != seen.epoch {
            return expected;
        }
        for step in lost_pods(seen) {
            if self.check_leading(step.guard.epoch).is_err() {
                break;
            }
            info!(cluster = seen.desired.name, why = step.why, "bringing a pod back");
            if self.perform_in_kubernetes(&seen.desired, &step, &mut expected).await.is_err() {
                break;
            }
        }
        expected
    }
}

/// Steps that make pods of process groups that are on record, stay, and have their volumes. Everything else has to be written down first,
/// or depends on what the database says.
fn lost_pods(seen: &ClusterSnapshot) -> Vec<ClusterStep> {
    if !is_somebody_missing(seen) {
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
