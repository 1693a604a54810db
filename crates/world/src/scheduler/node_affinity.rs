//! Which nodes a pod asks for: its node selector and its node affinity.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, NodeAffinity, NodeSelector, NodeSelectorTerm, Pod};

use super::messages::Reason;
use super::selectors::{Selector, node_expression_holds};
use crate::view::{label, name};

/// Why a pod must not go to a node it did not ask for.
pub(super) fn reject(pod: &Pod, node: &Node) -> Option<Reason> {
    (!admits(pod, node)).then_some(Reason::NodeAffinity)
}

/// Whether a node has the labels that a pod requires.
pub(super) fn admits(pod: &Pod, node: &Node) -> bool {
    let Some(spec) = &pod.spec else { return true };
    let selected = spec.node_selector.as_ref().is_none_or(|map| Selector::of_map(map).matches(node.metadata.labels.as_ref()));
    selected && required(pod).is_none_or(|selector| selects(selector, node))
}

/// Whether one of a selector's terms describes a node. Without terms it describes none.
pub(super) fn selects(selector: &NodeSelector, node: &Node) -> bool {
    selector.node_selector_terms.iter().any(|term| describes(term, node))
}

/// The weights of the preferences that a node satisfies.
pub(super) fn preference(pod: &Pod, node: &Node) -> i64 {
    let preferred =
        node_affinity(pod).and_then(|affinity| affinity.preferred_during_scheduling_ignored_during_execution.as_deref());
    preferred
        .unwrap_or_default()
        .iter()
        .filter(|preferred| describes(&preferred.preference, node))
        .map(|preferred| i64::from(preferred.weight))
        .sum()
}

/// The only nodes a pod can go to, when every term of its affinity names its nodes.
///
/// The scheduler then does not look at the others, and says so in other words.
pub(super) fn named_nodes(pod: &Pod) -> Option<BTreeSet<String>> {
    let terms = required(pod)?.node_selector_terms.as_slice();
    if terms.is_empty() {
        return None;
    }
    terms.iter().map(names_in).try_fold(BTreeSet::new(), |all, names| Some(&all | &names?))
}

fn names_in(term: &NodeSelectorTerm) -> Option<BTreeSet<String>> {
    let named = term.match_fields.iter().flatten().filter(|field| field.key == "metadata.name" && field.operator == "In");
    named.map(|field| field.values.iter().flatten().cloned().collect::<BTreeSet<_>>()).reduce(|all, names| &all & &names)
}

/// An empty term describes no node.
fn describes(term: &NodeSelectorTerm, node: &Node) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let by_label = expressions.iter().all(|expression| node_expression_holds(expression, label(&node.metadata, &expression.key)));
    let by_field = fields.iter().all(|field| {
        let value = (field.key == "metadata.name").then(|| name(&node.metadata));
        node_expression_holds(field, value)
    });
    !(expressions.is_empty() && fields.is_empty()) && by_label && by_field
}

fn required(pod: &Pod) -> Option<&NodeSelector> {
    node_affinity(pod)?.required_during_scheduling_ignored_during_execution.as_ref()
}

fn node_affinity(pod: &Pod) -> Option<&NodeAffinity> {
    pod.spec.as_ref()?.affinity.as_ref()?.node_affinity.as_ref()
}
