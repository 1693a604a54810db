//! How evenly pods are spread over zones, hosts or any other domain.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod, TopologySpreadConstraint};

use super::messages::Reason;
use super::selectors::{Requirement, Selector};
use super::{node_affinity, taints};
use crate::view::{ClusterView, label, name, namespace};

const HOST: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// One constraint, with its defaults filled in.
struct Constraint {
    key: String,
    max_skew: i64,
    min_domains: usize,
    pods: Selector,
    honors_node_affinity: bool,
    honors_taints: bool,
}

impl Constraint {
    fn new(constraint: &TopologySpreadConstraint, pod: &Pod) -> Self {
        let mut pods = Selector::of(constraint.label_selector.as_ref());
        for key in constraint.match_label_keys.iter().flatten() {
            if let Some(value) = label(&pod.metadata, key) {
                pods = pods.and(Requirement::is(key, value));
            }
        }
        Self {
            key: constraint.topology_key.clone(),
            max_skew: i64::from(constraint.max_skew),
            min_domains: constraint.min_domains.and_then(|domains| usize::try_from(domains).ok()).unwrap_or(1),
            pods,
            honors_node_affinity: constraint.node_affinity_policy.as_deref() != Some("Ignore"),
            honors_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
        }
    }

    /// Whether the pods on a node count.
    fn counts(&self, pod: &Pod, node: &Node) -> bool {
        (!self.honors_node_affinity || node_affinity::admits(pod, node))
            && !(self.honors_taints && taints::has_untolerated(pod, node))
    }

    /// The pods on a node that are spread together with this one. A selector that asks for nothing counts nothing.
    fn pods_on(&self, pod: &Pod, node: &Node, view: &ClusterView<'_>) -> i64 {
        if self.pods.asks_for_nothing() {
            return 0;
        }
        let together = view
            .pods_on(name(&node.metadata))
            .filter(|placed| placed.metadata.deletion_timestamp.is_none())
            .filter(|placed| namespace(&placed.metadata) == namespace(&pod.metadata))
            .filter(|placed| self.pods.matches(placed.metadata.labels.as_ref()));
        i64::try_from(together.count()).unwrap_or(i64::MAX)
    }
}

/// The constraints that must hold, and how many pods there are in each domain.
pub(super) struct Spread {
    constraints: Vec<(Constraint, BTreeMap<String, i64>, bool)>,
}

impl Spread {
    pub(super) fn of(pod: &Pod, view: &ClusterView<'_>) -> Self {
        let constraints = constraints(pod, "DoNotSchedule");
        let counted: Vec<_> = view.nodes.values().filter(|node| has_labels(node, &constraints)).collect();
        let constraints = constraints.into_iter().map(|constraint| {
            let mut counts = BTreeMap::new();
            for node in counted.iter().filter(|node| constraint.counts(pod, node)) {
                let domain = label(&node.metadata, &constraint.key).unwrap_or_default().to_owned();
                *counts.entry(domain).or_default() += constraint.pods_on(pod, node, view);
            }
            let counts_itself = constraint.pods.matches(pod.metadata.labels.as_ref());
            (constraint, counts, counts_itself)
        });
        Self { constraints: constraints.collect() }
    }

    /// Why the pod must not go to a node: its domain would have too many more pods than the emptiest.
    pub(super) fn reject(&self, node: &Node) -> Option<Reason> {
        self.constraints.iter().find_map(|(constraint, counts, counts_itself)| {
            let Some(domain) = label(&node.metadata, &constraint.key) else { return Some(Reason::TopologySpreadLabel) };
            let fewest = counts.values().copied().min().unwrap_or(i64::MAX);
            let fewest = if counts.len() < constraint.min_domains { 0 } else { fewest };
            let here = counts.get(domain).copied().unwrap_or_default() + i64::from(*counts_itself);
            (here - fewest > constraint.max_skew).then_some(Reason::TopologySpread)
        })
    }
}

/// The constraints that should hold, and the weighted number of pods they find in each node's domains. Less is better.
pub(super) struct Evenness {
    constraints: Vec<(Constraint, BTreeMap<String, i64>, f64)>,
    /// A pod's own constraints concern only nodes with all their labels; the default ones concern every node.
    needs_labels: bool,
}

impl Evenness {
    /// Nothing when a pod has no such constraints.
    pub(super) fn of(pod: &Pod, feasible: &[&Node], view: &ClusterView<'_>) -> Option<Self> {
        let own =
            pod.spec.as_ref().and_then(|spec| spec.topology_spread_constraints.as_ref()).is_some_and(|list| !list.is_empty());
        let constraints = if own { constraints(pod, "ScheduleAnyway") } else { default_constraints(pod, view) };
        if constraints.is_empty() {
            return None;
        }
        let concerned: Vec<_> = feasible.iter().filter(|node| !own || has_labels(node, &constraints)).collect();
        let counted: Vec<_> = view.nodes.values().filter(|node| !own || has_labels(node, &constraints)).collect();
        let constraints = constraints.into_iter().map(|constraint| {
            let domain = |node: &Node| label(&node.metadata, &constraint.key).unwrap_or_default().to_owned();
            let mut counts: BTreeMap<_, i64> = BTreeMap::new();
            if constraint.key != HOST {
                counts.extend(concerned.iter().map(|node| (domain(node), 0)));
            }
            for node in counted.iter().filter(|node| constraint.counts(pod, node)) {
                if let Some(count) = counts.get_mut(&domain(node)) {
                    *count += constraint.pods_on(pod, node, view);
                }
            }
            let domains = if constraint.key == HOST { concerned.len() } else { counts.len() };
            (constraint, counts, domain_weight(domains))
        });
        Some(Self { constraints: constraints.collect(), needs_labels: own })
    }

    /// Nothing for a node without the labels that the constraints need.
    pub(super) fn crowding(&self, pod: &Pod, node: &Node, view: &ClusterView<'_>) -> Option<i64> {
        if self.needs_labels && !self.constraints.iter().all(|(constraint, ..)| label(&node.metadata, &constraint.key).is_some())
        {
            return None;
        }
        let crowding = self.constraints.iter().filter_map(|(constraint, counts, weight)| {
            let domain = label(&node.metadata, &constraint.key)?;
            let count = if constraint.key == HOST {
                constraint.pods_on(pod, node, view)
            } else {
                counts.get(domain).copied().unwrap_or_default()
            };
            Some(weigh(count, *weight, constraint.max_skew))
        });
        Some(round(crowding.sum()))
    }
}

/// Fewer domains weigh less, so that many hosts do not drown few zones.
#[allow(clippy::cast_precision_loss, reason = "the real scheduler computes with floating point numbers too")]
fn domain_weight(domains: usize) -> f64 {
    (domains as f64 + 2.0).ln()
}

#[allow(clippy::cast_precision_loss, reason = "the real scheduler computes with floating point numbers too")]
fn weigh(count: i64, weight: f64, max_skew: i64) -> f64 {
    count as f64 * weight + (max_skew - 1) as f64
}

#[allow(clippy::cast_possible_truncation, reason = "a sum of pods, weighted")]
fn round(crowding: f64) -> i64 {
    crowding.round() as i64
}

fn constraints(pod: &Pod, when_unsatisfiable: &str) -> Vec<Constraint> {
    let constraints = pod.spec.as_ref().and_then(|spec| spec.topology_spread_constraints.as_deref()).unwrap_or_default();
    let asked = constraints.iter().filter(|constraint| constraint.when_unsatisfiable == when_unsatisfiable);
    asked.map(|constraint| Constraint::new(constraint, pod)).collect()
}

/// What the scheduler does for pods of a service that say nothing about it: loosely over hosts, more loosely over zones.
fn default_constraints(pod: &Pod, view: &ClusterView<'_>) -> Vec<Constraint> {
    let selectors = view
        .services
        .values()
        .filter(|service| namespace(&service.metadata) == namespace(&pod.metadata))
        .filter_map(|service| service.spec.as_ref()?.selector.as_ref())
        .filter(|selector| Selector::of_map(selector).matches(pod.metadata.labels.as_ref()));
    let together: BTreeMap<_, _> = selectors.flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
    if together.is_empty() {
        return Vec::new();
    }
    [(HOST, 3), (ZONE, 5)]
        .map(|(key, max_skew)| Constraint {
            key: key.to_owned(),
            max_skew,
            min_domains: 1,
            pods: Selector::of_map(&together),
            honors_node_affinity: true,
            honors_taints: false,
        })
        .into()
}

fn has_labels(node: &Node, constraints: &[Constraint]) -> bool {
    constraints.iter().all(|constraint| label(&node.metadata, &constraint.key).is_some())
}
