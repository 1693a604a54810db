//! What must be true at every moment, whatever goes wrong. The numbers are those of the project's list of invariants.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::labels;

use crate::kubernetes::Kubernetes;

/// What was seen before, to compare with.
#[derive(Default)]
pub(crate) struct Invariants {
    claims: BTreeMap<String, String>,
    groups: BTreeSet<String>,
    epoch: i64,
    checks: BTreeMap<u32, u64>,
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its number.
    pub invariant: u32,
    /// What was seen.
    pub what: String,
}

impl Invariants {
    /// Looks at the world and says what is broken.
    pub(crate) fn check(&mut self, kubernetes: &Kubernetes) -> Vec<Violation> {
        let mut broken = Vec::new();
        let clusters: Vec<FoundationDBCluster> = kubernetes.list("").unwrap_or_default();
        let pods: Vec<Pod> = kubernetes.list("").unwrap_or_default();
        let claims: Vec<PersistentVolumeClaim> = kubernetes.list("").unwrap_or_default();
        self.no_volume_is_lost(&claims, &mut broken);
        for cluster in &clusters {
            self.groups_are_recorded_first(cluster, &pods, &claims, &mut broken);
            self.one_leadership_after_the_other(cluster, &mut broken);
            self.waiting_is_explained(cluster, &mut broken);
        }
        broken
    }

    /// How often each was checked.
    pub(crate) fn checks(&self) -> &BTreeMap<u32, u64> {
        &self.checks
    }

    fn demand(&mut self, invariant: u32, holds: bool, broken: &mut Vec<Violation>, what: impl FnOnce() -> String) {
        *self.checks.entry(invariant).or_default() += 1;
        if !holds {
            broken.push(Violation { invariant, what: what() });
        }
    }

    /// 61: nothing of ours ever deletes a volume.
    fn no_volume_is_lost(&mut self, claims: &[PersistentVolumeClaim], broken: &mut Vec<Violation>) {
        let there: BTreeMap<String, String> = claims
            .iter()
            .map(|claim| (claim.metadata.name.clone().unwrap_or_default(), claim.metadata.uid.clone().unwrap_or_default()))
            .collect();
        let before = std::mem::take(&mut self.claims);
        for (name, uid) in &before {
            self.demand(61, there.get(name) == Some(uid), broken, || format!("the volume claim {name} is gone"));
        }
        self.claims = there;
    }

    /// 55: whatever exists was recorded before it was made, so that a crash in between can neither lose nor double it.
    fn groups_are_recorded_first(
        &mut self,
        cluster: &FoundationDBCluster,
        pods: &[Pod],
        claims: &[PersistentVolumeClaim],
        broken: &mut Vec<Violation>,
    ) {
        let recorded: BTreeSet<String> = cluster
            .status
            .iter()
            .flat_map(|status| status.process_groups.iter().flatten())
            .filter_map(|group| group.process_group_id.clone())
            .collect();
        let label = |metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta| {
            metadata.labels.as_ref().and_then(|labels| labels.get(labels::GROUP)).cloned()
        };
        let made =
            pods.iter().filter_map(|pod| label(&pod.metadata)).chain(claims.iter().filter_map(|claim| label(&claim.metadata)));
        for group in made.collect::<BTreeSet<_>>() {
            self.demand(55, recorded.contains(&group), broken, || format!("{group} exists and was not recorded"));
        }
        let before = std::mem::take(&mut self.groups);
        for group in &before {
            self.demand(55, recorded.contains(group), broken, || format!("{group} was recorded and is forgotten"));
        }
        self.groups = recorded;
    }

    /// 28: an operator that lost its leadership changes nothing: the epoch in the status never goes back.
    fn one_leadership_after_the_other(&mut self, cluster: &FoundationDBCluster, broken: &mut Vec<Violation>) {
        let epoch =
            cluster.status.as_ref().and_then(|status| status.quorate.as_ref()).and_then(|quorate| quorate.epoch).unwrap_or(0);
        let before = self.epoch;
        self.demand(28, epoch >= before, broken, || format!("the epoch went from {before} back to {epoch}"));
        self.epoch = epoch.max(before);
    }

    /// 62: a cluster that is not as it should be says why, or is being worked on.
    fn waiting_is_explained(&mut self, cluster: &FoundationDBCluster, broken: &mut Vec<Violation>) {
        let Some(status) = &cluster.status else { return };
        let progressing = status.conditions.iter().flatten().find(|condition| condition.type_ == "Progressing");
        let complete = status.reconciled_process_groups == status.desired_process_groups;
        let said = progressing.is_some_and(|condition| condition.status == "True");
        self.demand(62, complete || said, broken, || "process groups are missing and the status says all is at rest".to_owned());
    }
}
