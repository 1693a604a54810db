//! Who makes pods go that do not go by themselves: taints, and the garbage collector.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod, Taint};

use super::changes::Change;
use super::conditions;
use super::nodes::{NOT_READY, UNREACHABLE};
use super::outlook::Outlook;
use super::settings::KubeletSettings;
use crate::scheduler::taints::{taints, tolerates, tolerations};

/// The taint by which a person says that a lost node is really off, so that its pods and volumes can be freed.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// Whether the taints of a pod's node make it go: at once, later, or not.
pub(super) fn outlook(now: Timestamp, pod: &Pod, node: &Node, settings: &KubeletSettings) -> Outlook {
    if pod.metadata.deletion_timestamp.is_some() {
        let freed = taints(node).iter().any(|taint| taint.key == OUT_OF_SERVICE) && !conditions::node_is_ready(node);
        return if freed { at_once(pod) } else { Outlook::rest() };
    }
    match due(now, pod, node, settings) {
        Some(due) if due > now => Outlook::at(due),
        Some(_) if conditions::is_true(pod, "DisruptionTarget") => Outlook::now(Change::delete(pod, None)),
        Some(_) => announced(now, pod),
        None => Outlook::rest(),
    }
}

/// A pod without a node has nothing to stop.
pub(super) fn of_unplaced(pod: &Pod) -> Outlook {
    if pod.metadata.deletion_timestamp.is_some() { at_once(pod) } else { Outlook::rest() }
}

/// A pod whose node does not exist any more.
pub(super) fn of_orphan(pod: &Pod) -> Outlook {
    at_once(pod)
}

/// Deletes a pod without waiting for anybody. One that is held by a finalizer is deleted only once.
pub(super) fn at_once(pod: &Pod) -> Outlook {
    let asked = pod.metadata.deletion_timestamp.is_some() && pod.metadata.deletion_grace_period_seconds == Some(0);
    let held = pod.metadata.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty());
    if asked && held { Outlook::rest() } else { Outlook::now(Change::delete(pod, Some(0))) }
}

/// When the first toleration ends; never, if all are for ever.
fn due(now: Timestamp, pod: &Pod, node: &Node, settings: &KubeletSettings) -> Option<Timestamp> {
    let evicting: Vec<_> = taints(node).iter().filter(|taint| taint.effect == "NoExecute").collect();
    let since = evicting.iter().filter_map(|taint| taint.time_added.as_ref()).map(|time| time.0).max().unwrap_or(now);
    evicting.iter().filter_map(|taint| tolerated_for(pod, taint, settings)).min().map(|tolerated| since + tolerated)
}

/// How long a pod stays with a taint: nothing means for ever.
fn tolerated_for(pod: &Pod, taint: &Taint, settings: &KubeletSettings) -> Option<SignedDuration> {
    let mut concerned = tolerations(pod).iter().filter(|toleration| tolerates(toleration, taint)).peekable();
    if concerned.peek().is_none() {
        let default = matches!(taint.key.as_str(), UNREACHABLE | NOT_READY);
        return Some(if default { settings.default_toleration } else { SignedDuration::ZERO });
    }
    concerned
        .filter_map(|toleration| toleration.toleration_seconds)
        .min()
        .map(|seconds| SignedDuration::from_secs(seconds.max(0)))
}

/// First the pod says why it will go, then it is deleted.
fn announced(now: Timestamp, pod: &Pod) -> Outlook {
    let mut pod = pod.clone();
    let status = pod.status.get_or_insert_default();
    conditions::set(status, now, "DisruptionTarget", true, Some("DeletionByTaintManager"));
    Outlook::now(Change::PodStatus(Box::new(pod)))
}
