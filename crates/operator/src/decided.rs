//! The last decision of each cluster, and the metrics that follow from it. They are made when somebody asks, so they never differ from the
//! decision and go with their cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet};
use prometheus_client::metrics::MetricType;
use quorate_foundationdb::decide::{ClusterDecision, ClusterSnapshot};
use quorate_foundationdb::{DatabaseReport, ProcessClass, objects};
use quorate_quorum::{Shared, Sighting};
use tokio::time::Instant;

use crate::ClusterKey;

/// What was last decided, by cluster.
#[derive(Debug, Default)]
pub(crate) struct Decided(Mutex<BTreeMap<ClusterKey, Last>>);

/// The last decision of one cluster.
#[derive(Debug)]
struct Last {
    decision: Arc<ClusterDecision>,
    measured: Measured,
    at: Instant,
}

/// What a round saw and the decision does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    members: BTreeMap<(ProcessClass, &'static str), usize>,
    fault_tolerance: Option<i64>,
}

impl Measured {
    pub(crate) fn new(seen: &ClusterSnapshot, decision: &ClusterDecision) -> Self {
        Self { members: members(seen, decision), fault_tolerance: fault_tolerance(&seen.database) }
    }
}

/// How many process groups there are of each class, and how they are. Those that are ready are those that the status counts as reconciled.
fn members(seen: &ClusterSnapshot, decision: &ClusterDecision) -> BTreeMap<(ProcessClass, &'static str), usize> {
    let mut members = BTreeMap::new();
    for (id, group) in &decision.status.groups {
        let pod = || seen.kube.pods.get(&objects::pod_name(&seen.desired, group.class, id));
        let health = if group.removal.is_some() {
            "leaving"
        } else if group.conditions.is_empty() && pod().is_some_and(|pod| pod.ready) {
            "ready"
        } else {
            "not_ready"
        };
        *members.entry((group.class, health)).or_default() += 1;
    }
    members
}

/// How many more zones may fail without losing data or availability, as the database says; nothing if it did not say so now.
fn fault_tolerance(sighting: &Sighting<Shared<DatabaseReport>>) -> Option<i64> {
    let Sighting::Seen { facts, .. } = sighting else { return None };
    facts.tolerance.map(|tolerance| tolerance.data.min(tolerance.availability))
}

impl Decided {
    pub(crate) fn insert(&self, cluster: ClusterKey, decision: ClusterDecision, measured: Measured) {
        self.lock().insert(cluster, Last { decision: Arc::new(decision), measured, at: Instant::now() });
    }

    pub(crate) fn forget(&self, cluster: &ClusterKey) {
        self.lock().remove(cluster);
    }

    pub(crate) fn decisions(&self) -> BTreeMap<ClusterKey, Arc<ClusterDecision>> {
        self.lock().iter().map(|(key, last)| (key.clone(), Arc::clone(&last.decision))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ClusterKey, Last>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for Decided {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let all = self.lock();
        let each = || all.iter().map(|(key, last)| ([("namespace", key.namespace.as_str()), ("cluster", &key.name)], last));
        let holds = each().flat_map(|([namespace, cluster], last)| {
            let reasons: BTreeSet<_> = last.decision.holds.iter().map(|hold| hold.reason.0).collect();
            reasons.into_iter().map(move |reason| ([namespace, cluster, ("reason", reason)], 1))
        });
        gauge(&mut encoder, "quorate_hold_info", "1 for every reason a cluster is held for", holds)?;
        let members = each().flat_map(|([namespace, cluster], last)| {
            let labels = move |class: ProcessClass, health| [namespace, cluster, ("class", class.name()), ("health", health)];
            last.measured.members.iter().map(move |((class, health), count)| (labels(*class, health), *count))
        });
        gauge(&mut encoder, "quorate_members", "Process groups, by class and by how they are", members)?;
        let tolerances = each().filter_map(|(labels, last)| Some((labels, last.measured.fault_tolerance?)));
        let help = "How many more zones may fail without losing data or availability, as the database says";
        gauge(&mut encoder, "quorate_fault_tolerance", help, tolerances)?;
        let ages = each().map(|(labels, last)| (labels, last.at.elapsed().as_secs_f64()));
        gauge(&mut encoder, "quorate_decision_age_seconds", "How long ago the last decision was made", ages)
    }
}

fn gauge<Labels: EncodeLabelSet, Value: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl Iterator<Item = (Labels, Value)>,
) -> fmt::Result {
    let mut encoder = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in values {
        encoder.encode_family(&labels)?.encode_gauge(&value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use quorate_foundationdb::report::Tolerance;

    #[test]
    fn the_smaller_tolerance_counts_and_silence_is_none() {
        let report = |tolerance| DatabaseReport { tolerance, ..DatabaseReport::default() };
        let seen = |tolerance| Sighting::Seen { at: Timestamp::UNIX_EPOCH, facts: report(tolerance).into() };
        assert_eq!(fault_tolerance(&seen(Some(Tolerance { data: 2, availability: 1 }))), Some(1));
        assert_eq!(fault_tolerance(&seen(Some(Tolerance { data: -1, availability: 0 }))), Some(-1));
        assert_eq!(fault_tolerance(&seen(None)), None);
        assert_eq!(fault_tolerance(&Sighting::NotAsked), None);
    }
}
