//! Where pods go: those of a class apart from each other, and none of those that shall find no place.

use k8s_openapi::api::core::v1::{
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm, PodSpec, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::{labels, metadata};
use crate::{Desired, ProcessClass, ProcessGroupId, Zone};

/// The node label that tells hosts apart.
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";
/// No node has this label, unless somebody wants a pod that is kept from all nodes to run after all.
const NO_SCHEDULE_ALLOWED: &str = "foundationdb.org/no-schedule-allowed";

/// Keeps pods of one class in different zones as far as possible, besides what the template asks for.
pub(super) fn keep_apart(spec: &mut PodSpec, desired: &Desired, class: ProcessClass) {
    let Zone::Node { label, .. } = &desired.topology.zone else { return };
    let selector = LabelSelector { match_labels: Some(metadata::class_selector(desired, class)), match_expressions: None };
    let term = PodAffinityTerm { topology_key: label.clone(), label_selector: Some(selector), ..PodAffinityTerm::default() };
    let apart = spec.affinity.get_or_insert_default().pod_anti_affinity.get_or_insert_default();
    let preferred = apart.preferred_during_scheduling_ignored_during_execution.get_or_insert_default();
    preferred.push(WeightedPodAffinityTerm { weight: 1, pod_affinity_term: term });
}

/// Keeps pods of other logical fault domains of the class, and those that are in none, away from its zone; its own come there gladly.
///
/// For those that hold data or logs that is a condition: two fault domains on one host would be a lie to the database.
pub(super) fn keep_domains_apart(spec: &mut PodSpec, desired: &Desired, class: ProcessClass, domain: &str) {
    let label = match &desired.topology.zone {
        Zone::Node { label, .. } => label.as_str(),
        Zone::Pod | Zone::Cluster(_) => HOSTNAME,
    };
    let term = |operator: &str| {
        let requirement = LabelSelectorRequirement {
            key: labels::DISTRIBUTION_KEY.to_owned(),
            operator: operator.to_owned(),
            values: Some(vec![domain.to_owned()]),
        };
        let selector = LabelSelector {
            match_labels: Some(metadata::class_selector(desired, class)),
            match_expressions: Some(vec![requirement]),
        };
        PodAffinityTerm { topology_key: label.to_owned(), label_selector: Some(selector), ..PodAffinityTerm::default() }
    };
    let weighted = |term| WeightedPodAffinityTerm { weight: 1, pod_affinity_term: term };
    let affinity = spec.affinity.get_or_insert_default();
    let together = affinity.pod_affinity.get_or_insert_default();
    together.preferred_during_scheduling_ignored_during_execution.get_or_insert_default().push(weighted(term("In")));
    let apart = affinity.pod_anti_affinity.get_or_insert_default();
    if domains_must_be_apart(class) {
        apart.required_during_scheduling_ignored_during_execution.get_or_insert_default().push(term("NotIn"));
        let others = weighted(other_stateful_classes(desired, class, label));
        apart.preferred_during_scheduling_ignored_during_execution.get_or_insert_default().push(others);
    } else {
        apart.preferred_during_scheduling_ignored_during_execution.get_or_insert_default().push(weighted(term("NotIn")));
    }
}

/// Few domains need few hosts, and coordinators need more; so other classes that may be coordinators had better be elsewhere.
fn other_stateful_classes(desired: &Desired, class: ProcessClass, label: &str) -> PodAffinityTerm {
    let others = ProcessClass::ALL.iter().filter(|other| **other != class && other.is_stateful());
    let requirement = LabelSelectorRequirement {
        key: labels::CLASS.to_owned(),
        operator: "In".to_owned(),
        values: Some(others.map(|other| other.name().to_owned()).collect()),
    };
    let selector =
        LabelSelector { match_labels: Some(metadata::cluster_selector(desired)), match_expressions: Some(vec![requirement]) };
    PodAffinityTerm { topology_key: label.to_owned(), label_selector: Some(selector), ..PodAffinityTerm::default() }
}

/// Whether no host may have two logical fault domains of this class.
pub fn domains_must_be_apart(class: ProcessClass) -> bool {
    class.is_stateful()
}

/// Lets a pod find no node, if that fault is asked for. Terms are alternatives, so it takes the place of the template's.
pub(super) fn keep_from_nodes(spec: &mut PodSpec, desired: &Desired, group: &ProcessGroupId) {
    if !Desired::names(&desired.buggify.no_schedule, group) {
        return;
    }
    let requirement = NodeSelectorRequirement {
        key: NO_SCHEDULE_ALLOWED.to_owned(),
        operator: "In".to_owned(),
        values: Some(vec!["true".to_owned()]),
    };
    let term = NodeSelectorTerm { match_expressions: Some(vec![requirement]), match_fields: None };
    let nodes = spec.affinity.get_or_insert_default().node_affinity.get_or_insert_default();
    nodes.required_during_scheduling_ignored_during_execution = Some(NodeSelector { node_selector_terms: vec![term] });
}
