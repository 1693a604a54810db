//! The life of a node: ready, lost, back.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeCondition, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::changes::Change;
use super::outlook::Outlook;
use super::settings::{KubeletSettings, Window};
use super::{addresses, conditions};
use crate::scheduler::taints::{UNSCHEDULABLE, taints};
use crate::view::name;

/// The taint of a node that nothing is heard of.
pub(super) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// The taint of a node that says it is not ready; every node is born with it.
pub(super) const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// What a node has before it: first its conditions change, then the taints that follow from them.
pub(super) fn outlook(now: Timestamp, node: &Node, settings: &KubeletSettings) -> Outlook {
    let losses: Vec<_> = settings.losses(name(&node.metadata)).map(|(during, _)| during).collect();
    let edge = losses.iter().filter_map(|during| during.next_edge(now)).min();
    let status = match losses.iter().find(|during| during.contains(now)) {
        Some(loss) => lost(now, node, loss, settings),
        None => heard_of(now, node),
    };
    let taints = if status.change.is_none() { tainted(now, node) } else { Outlook::rest() };
    Outlook { change: status.change.or(taints.change), wake: status.wake }.no_later_than(edge)
}

/// The kubelet posts its status.
fn heard_of(now: Timestamp, node: &Node) -> Outlook {
    if conditions::node_is_ready(node) {
        return Outlook::rest();
    }
    let mut node = node.clone();
    let address = addresses::of_node(name(&node.metadata));
    let status = node.status.get_or_insert_default();
    let addresses = status.addresses.get_or_insert_default();
    if addresses.is_empty() {
        addresses.push(NodeAddress { type_: "InternalIP".to_owned(), address });
    }
    set_all(status.conditions.get_or_insert_default(), now, |type_| match type_ {
        "Ready" => ("True", "KubeletReady", "kubelet is posting ready status"),
        _ => ("False", "KubeletIsFine", "kubelet has no such problem"),
    });
    Outlook::now(Change::NodeStatus(Box::new(node)))
}

/// Nothing is heard of the node; after a while that means something.
fn lost(now: Timestamp, node: &Node, loss: &Window, settings: &KubeletSettings) -> Outlook {
    let due = loss.from + settings.lost_after;
    if now < due {
        return Outlook::at(due);
    }
    if conditions::ready(node).is_some_and(|condition| condition.status == "Unknown") {
        return Outlook::rest();
    }
    let mut node = node.clone();
    let status = node.status.get_or_insert_default();
    set_all(status.conditions.get_or_insert_default(), now, |_| {
        ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    });
    Outlook::now(Change::NodeStatus(Box::new(node)))
}

/// Every condition the node has, and Ready in any case.
fn set_all(
    conditions: &mut Vec<NodeCondition>,
    now: Timestamp,
    says: impl Fn(&str) -> (&'static str, &'static str, &'static str),
) {
    if !conditions.iter().any(|condition| condition.type_ == "Ready") {
        conditions.push(NodeCondition { type_: "Ready".to_owned(), ..NodeCondition::default() });
    }
    for condition in conditions {
        let (status, reason, message) = says(&condition.type_);
        if condition.status != status {
            status.clone_into(&mut condition.status);
            condition.last_transition_time = Some(Time(now));
        }
        condition.reason = Some(reason.to_owned());
        condition.message = Some(message.to_owned());
    }
}

/// The taints that follow from a node's conditions and from its cordon; those of others are left alone.
fn tainted(now: Timestamp, node: &Node) -> Outlook {
    let ready = conditions::ready(node).map_or("False", |condition| condition.status.as_str());
    let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or_default();
    let wanted = [
        (UNREACHABLE, "NoSchedule", ready == "Unknown"),
        (UNREACHABLE, "NoExecute", ready == "Unknown"),
        (NOT_READY, "NoSchedule", ready == "False"),
        (NOT_READY, "NoExecute", ready == "False"),
        (UNSCHEDULABLE, "NoSchedule", cordoned),
    ];
    let is = |taint: &Taint, key: &str, effect: &str| taint.key == key && taint.effect == effect;
    let mut tainted = taints(node).to_vec();
    tainted.retain(|taint| wanted.iter().all(|(key, effect, holds)| *holds || !is(taint, key, effect)));
    for (key, effect, _) in wanted.iter().filter(|(.., holds)| *holds) {
        if !tainted.iter().any(|taint| is(taint, key, effect)) {
            let (key, effect) = ((*key).to_owned(), (*effect).to_owned());
            tainted.push(Taint { key, effect, time_added: Some(Time(now)), value: None });
        }
    }
    if tainted == taints(node) {
        return Outlook::rest();
    }
    let mut node = node.clone();
    node.spec.get_or_insert_default().taints = Some(tainted);
    Outlook::now(Change::Node(Box::new(node)))
}
