//! Conditions, and when they last changed.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeCondition, Pod, PodCondition, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Whether a pod's condition is True.
pub(super) fn is_true(pod: &Pod, type_: &str) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == type_ && condition.status == "True")
}

/// Sets a pod's condition; its transition time changes only with its status.
pub(super) fn set(status: &mut PodStatus, now: Timestamp, type_: &str, holds: bool, reason: Option<&str>) {
    let conditions = status.conditions.get_or_insert_default();
    let value = if holds { "True" } else { "False" };
    let index = conditions.iter().position(|condition| condition.type_ == type_).unwrap_or_else(|| {
        conditions.push(PodCondition { type_: type_.to_owned(), ..PodCondition::default() });
        conditions.len() - 1
    });
    let condition = &mut conditions[index];
    if condition.status != value {
        value.clone_into(&mut condition.status);
        condition.last_transition_time = Some(Time(now));
    }
    condition.reason = reason.map(str::to_owned);
    condition.message = None;
}

/// Whether a node says it is ready.
pub(super) fn node_is_ready(node: &Node) -> bool {
    ready(node).is_some_and(|condition| condition.status == "True")
}

/// What a node says of its readiness.
pub(super) fn ready(node: &Node) -> Option<&NodeCondition> {
    node.status.as_ref()?.conditions.as_deref()?.iter().find(|condition| condition.type_ == "Ready")
}
