//! Pods that are gone are made again before the database is asked, and beside a round that waits for its answer.

use std::sync::Arc;

use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::KubeFacts;
use quorate_foundationdb::decide::{ClusterSnapshot, lost_pods};
use quorate_quorum::Epoch;
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

    /// Makes lost pods again, by what the database said last. What fails is tried again by the round that follows, which says why.
    pub(super) async fn bring_back(
        &self,
        object: &Arc<FoundationDBCluster>,
        seen: &ClusterSnapshot,
        remembered: &Remembered,
    ) -> Expected {
        let mut expected = Expected::default();
        let observed = remembered.telling.status(object).and_then(|status| status.observed_generation);
        for step in lost_pods(seen, observed) {
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
