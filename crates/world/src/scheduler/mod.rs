//! Where a pod goes: kube-scheduler's default profile as a pure function.
//!
//! Each file decides one thing: [`taints`], [`node_affinity`], [`resources`], [`volumes`], [`topology_spread`], [`pod_affinity`]
//! reject nodes; [`scoring`] compares those that are left; [`messages`] puts a failure into the words of the real scheduler. The
//! cases in `e2e/scheduling-cases` are run against both.
//!
//! # What is left out
//!
//! - Preemption: pods have the same priority, so there is nobody to evict; the message says so, as the real one does.
//! - Chance: among equally good nodes the real scheduler throws dice; this one takes the first by name.
//! - Sampling: from 100 nodes on the real scheduler looks at some of them only; this one always looks at all.
//! - Host ports, volume limits of CSI drivers, dynamic resources, and what images a node has: nothing here uses them.
//! - Default spreading looks at services only, not at ReplicaSets and StatefulSets: nothing here makes them.

mod messages;
mod node_affinity;
mod pod_affinity;
mod resources;
mod scoring;
mod selectors;
pub(crate) mod taints;
mod topology_spread;
pub(crate) mod volumes;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod};

use crate::view::{ClusterView, node_of};
use messages::Reason;
use pod_affinity::Rules;
use topology_spread::Spread;
use volumes::Claims;
pub use volumes::{BIND_COMPLETED, Binding, SELECTED_NODE};

/// What the scheduler decides about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The pod goes to this node.
    On(String),
    /// No node would do for now. This is what the pod's condition `PodScheduled` says, with the status False.
    Unschedulable {
        /// The condition's reason: `Unschedulable` or `SchedulingGated`.
        reason: &'static str,
        /// The condition's message.
        message: String,
    },
}

/// Chooses the node for a pod.
pub fn place(pod: &Pod, view: &ClusterView<'_>) -> Placement {
    if let Some(node) = node_of(pod) {
        return Placement::On(node.to_owned());
    }
    if is_gated(pod) {
        let message = "Scheduling is blocked due to non-empty scheduling gates".to_owned();
        return Placement::Unschedulable { reason: "SchedulingGated", message };
    }
    let unschedulable = |message| Placement::Unschedulable { reason: "Unschedulable", message };
    if view.nodes.is_empty() {
        return unschedulable(messages::NO_NODES.to_owned());
    }
    let claims = match Claims::of(pod, view) {
        Ok(claims) => claims,
        Err(why) => return unschedulable(messages::nowhere(view.nodes.len(), &why)),
    };
    let (feasible, rejections) = filter(pod, &claims, view);
    match scoring::best(pod, &feasible, view) {
        Some(node) => Placement::On(node.to_owned()),
        None => unschedulable(messages::rejected(&rejections, may_evict(pod))),
    }
}

/// What the pod's waiting claims get when it goes to this node; the scheduler sees to it before it binds the pod.
pub fn bindings(pod: &Pod, node: &str, view: &ClusterView<'_>) -> Vec<Binding> {
    let claims = Claims::of(pod, view).ok();
    let node = view.nodes.get(node).copied();
    claims.zip(node).and_then(|(claims, node)| claims.bindings(node, view)).unwrap_or_default()
}

/// The score of every node the pod could go to, for those who want to know why.
pub fn scores<'a>(pod: &Pod, view: &ClusterView<'a>) -> BTreeMap<&'a str, i64> {
    let Ok(claims) = Claims::of(pod, view) else { return BTreeMap::new() };
    scoring::scores(pod, &filter(pod, &claims, view).0, view)
}

/// The nodes that would do, and why the others would not.
fn filter<'a>(pod: &Pod, claims: &Claims<'a>, view: &ClusterView<'a>) -> (Vec<&'a Node>, BTreeMap<&'a str, Vec<Reason>>) {
    let named = node_affinity::named_nodes(pod);
    let spread = Spread::of(pod, view);
    let affinity = Rules::of(pod, view);
    let (mut feasible, mut rejections) = (Vec::new(), BTreeMap::new());
    for (name, node) in &view.nodes {
        let reasons = if named.as_ref().is_some_and(|named| !named.contains(*name)) {
            vec![Reason::NotNamed]
        } else {
            reject(pod, node, claims, &spread, &affinity, view)
        };
        if reasons.is_empty() {
            feasible.push(*node);
        } else {
            rejections.insert(*name, reasons);
        }
    }
    (feasible, rejections)
}

/// The first rule that rejects a node is the one that is told, so the order matters.
fn reject<'a>(
    pod: &Pod,
    node: &'a Node,
    claims: &Claims<'a>,
    spread: &Spread,
    affinity: &Rules<'a>,
    view: &ClusterView<'a>,
) -> Vec<Reason> {
    if let Some(reason) = unfit(pod, node) {
        return vec![reason];
    }
    let no_room = resources::reject(pod, node, view);
    if !no_room.is_empty() {
        return no_room;
    }
    let no_volumes = claims.reject(node, view);
    if !no_volumes.is_empty() {
        return no_volumes;
    }
    spread.reject(node).or_else(|| affinity.reject(node)).into_iter().collect()
}

/// What keeps a pod from a node whatever else is on it.
fn unfit(pod: &Pod, node: &Node) -> Option<Reason> {
    taints::reject_cordoned(pod, node).or_else(|| taints::reject_tainted(pod, node)).or_else(|| node_affinity::reject(pod, node))
}

/// Whether a node takes such a pod while it has room: it is not cordoned, its taints are tolerated, and it has the labels asked for.
pub fn takes(pod: &Pod, node: &Node) -> bool {
    unfit(pod, node).is_none()
}

fn is_gated(pod: &Pod) -> bool {
    pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref()).is_some_and(|gates| !gates.is_empty())
}

fn may_evict(pod: &Pod) -> bool {
    pod.spec.as_ref().and_then(|spec| spec.preemption_policy.as_deref()) != Some("Never")
}
