//! Which pods a pod wants to be with, and which it keeps away from; in both directions.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Affinity, Node, Pod, PodAffinityTerm, WeightedPodAffinityTerm};

use super::messages::Reason;
use super::selectors::{Requirement, Selector};
use crate::view::{ClusterView, label, namespace};

/// What a pod's wish to be with a required pod counts for when that pod looks for a node.
const WEIGHT_OF_A_REQUIREMENT: i64 = 1;

/// A topology: a label of nodes, and its value.
type Domain<'a> = (String, &'a str);

/// The required rules about a pod, and what is where already.
pub(super) struct Rules<'a> {
    wanted: Vec<Term>,
    unwanted: Vec<Term>,
    /// Where pods are that satisfy all that is wanted.
    company: BTreeSet<Domain<'a>>,
    /// Where pods are that are unwanted.
    taken: BTreeSet<Domain<'a>>,
    /// Where pods are that do not want this one.
    closed: BTreeSet<Domain<'a>>,
    /// The pod itself satisfies what it wants: the first of a series, which would wait for ever otherwise.
    is_its_own_company: bool,
}

impl<'a> Rules<'a> {
    pub(super) fn of(pod: &Pod, view: &ClusterView<'a>) -> Self {
        let wanted = terms(required_affinity(pod), pod);
        let unwanted = terms(required_anti_affinity(pod), pod);
        let mut rules = Self {
            company: BTreeSet::new(),
            taken: BTreeSet::new(),
            closed: BTreeSet::new(),
            is_its_own_company: matches_all(&wanted, pod, view),
            wanted,
            unwanted,
        };
        for (node, placed) in view.placed_pods() {
            let Some(node) = view.nodes.get(node).copied() else { continue };
            if matches_all(&rules.wanted, placed, view) {
                rules.company.extend(rules.wanted.iter().filter_map(|term| term.domain(node)));
            }
            let repelled = rules.unwanted.iter().filter(|term| term.matches(placed, view));
            rules.taken.extend(repelled.filter_map(|term| term.domain(node)));
            let repelling = terms(required_anti_affinity(placed), placed);
            rules.closed.extend(repelling.iter().filter(|term| term.matches(pod, view)).filter_map(|term| term.domain(node)));
        }
        rules
    }

    /// Why the pod must not go to a node with or without these other pods.
    pub(super) fn reject(&self, node: &'a Node) -> Option<Reason> {
        let near =
            |domains: &BTreeSet<Domain<'a>>, term: &Term| term.domain(node).is_some_and(|domain| domains.contains(&domain));
        if !self.wanted.is_empty() {
            let has_labels = self.wanted.iter().all(|term| term.domain(node).is_some());
            let in_company = self.wanted.iter().all(|term| near(&self.company, term));
            let first = self.company.is_empty() && self.is_its_own_company;
            if !(has_labels && (in_company || first)) {
                return Some(Reason::PodAffinity);
            }
        }
        if self.unwanted.iter().any(|term| near(&self.taken, term)) {
            return Some(Reason::PodAntiAffinity);
        }
        let closed = self.closed.iter().any(|(key, value)| label(&node.metadata, key) == Some(*value));
        closed.then_some(Reason::ExistingAntiAffinity)
    }
}

/// The preferences of a pod and of those already placed, as a sum of weights per domain.
pub(super) struct Preferences<'a>(BTreeMap<Domain<'a>, i64>);

impl<'a> Preferences<'a> {
    pub(super) fn of(pod: &Pod, view: &ClusterView<'a>) -> Self {
        let likes = weighted(preferred_affinity(pod), pod, 1);
        let dislikes = weighted(preferred_anti_affinity(pod), pod, -1);
        let mut sums = BTreeMap::new();
        for (node, placed) in view.placed_pods() {
            let Some(node) = view.nodes.get(node).copied() else { continue };
            let mut weigh = |term: &Term, other: &Pod, weight: i64| {
                if let Some(domain) = term.domain(node).filter(|_| term.matches(other, view)) {
                    *sums.entry(domain).or_default() += weight;
                }
            };
            likes.iter().chain(&dislikes).for_each(|(term, weight)| weigh(term, placed, *weight));
            for term in terms(required_affinity(placed), placed) {
                weigh(&term, pod, WEIGHT_OF_A_REQUIREMENT);
            }
            let their_likes = weighted(preferred_affinity(placed), placed, 1);
            let their_dislikes = weighted(preferred_anti_affinity(placed), placed, -1);
            their_likes.iter().chain(&their_dislikes).for_each(|(term, weight)| weigh(term, pod, *weight));
        }
        Self(sums)
    }

    /// The sum of the weights that concern a node.
    pub(super) fn sum(&self, node: &Node) -> i64 {
        self.0.iter().filter(|((key, value), _)| label(&node.metadata, key) == Some(*value)).map(|(_, weight)| weight).sum()
    }
}

/// An affinity term, with what follows from the pod that has it.
struct Term {
    key: String,
    pods: Selector,
    namespaces: BTreeSet<String>,
    by_namespace_label: Selector,
}

impl Term {
    fn new(term: &PodAffinityTerm, owner: &Pod) -> Self {
        let namespaces = term.namespaces.clone().unwrap_or_default();
        let own = namespaces.is_empty() && term.namespace_selector.is_none();
        let own = own.then(|| namespace(&owner.metadata).to_owned());
        let mut pods = Selector::of(term.label_selector.as_ref());
        for key in term.match_label_keys.iter().flatten() {
            if let Some(value) = label(&owner.metadata, key) {
                pods = pods.and(Requirement::is(key, value));
            }
        }
        for key in term.mismatch_label_keys.iter().flatten() {
            if let Some(value) = label(&owner.metadata, key) {
                pods = pods.and(Requirement::is_not(key, value));
            }
        }
        Self {
            key: term.topology_key.clone(),
            pods,
            namespaces: namespaces.into_iter().chain(own).collect(),
            by_namespace_label: Selector::of(term.namespace_selector.as_ref()),
        }
    }

    fn matches(&self, pod: &Pod, view: &ClusterView<'_>) -> bool {
        let of = namespace(&pod.metadata);
        let labels = view.namespaces.get(of).and_then(|namespace| namespace.metadata.labels.as_ref());
        (self.namespaces.contains(of) || self.by_namespace_label.matches(labels))
            && self.pods.matches(pod.metadata.labels.as_ref())
    }

    fn domain<'a>(&self, node: &'a Node) -> Option<Domain<'a>> {
        Some((self.key.clone(), label(&node.metadata, &self.key)?))
    }
}

/// One pod has to satisfy all terms. Nothing wanted is satisfied by no pod.
fn matches_all(terms: &[Term], pod: &Pod, view: &ClusterView<'_>) -> bool {
    !terms.is_empty() && terms.iter().all(|term| term.matches(pod, view))
}

fn terms(terms: &[PodAffinityTerm], owner: &Pod) -> Vec<Term> {
    terms.iter().map(|term| Term::new(term, owner)).collect()
}

fn weighted(terms: &[WeightedPodAffinityTerm], owner: &Pod, sign: i64) -> Vec<(Term, i64)> {
    terms.iter().map(|term| (Term::new(&term.pod_affinity_term, owner), sign * i64::from(term.weight))).collect()
}

fn affinity(pod: &Pod) -> Option<&Affinity> {
    pod.spec.as_ref()?.affinity.as_ref()
}

fn required_affinity(pod: &Pod) -> &[PodAffinityTerm] {
    let rules = affinity(pod).and_then(|affinity| affinity.pod_affinity.as_ref());
    rules.and_then(|rules| rules.required_during_scheduling_ignored_during_execution.as_deref()).unwrap_or_default()
}

fn required_anti_affinity(pod: &Pod) -> &[PodAffinityTerm] {
    let rules = affinity(pod).and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    rules.and_then(|rules| rules.required_during_scheduling_ignored_during_execution.as_deref()).unwrap_or_default()
}

fn preferred_affinity(pod: &Pod) -> &[WeightedPodAffinityTerm] {
    let rules = affinity(pod).and_then(|affinity| affinity.pod_affinity.as_ref());
    rules.and_then(|rules| rules.preferred_during_scheduling_ignored_during_execution.as_deref()).unwrap_or_default()
}

fn preferred_anti_affinity(pod: &Pod) -> &[WeightedPodAffinityTerm] {
    let rules = affinity(pod).and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    rules.and_then(|rules| rules.preferred_during_scheduling_ignored_during_execution.as_deref()).unwrap_or_default()
}
