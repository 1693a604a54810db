//! Cordons, taints and tolerations.

use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};

use super::messages::Reason;

/// The taint that stands for a cordon; who tolerates it may go to a cordoned node.
pub(crate) const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Why a pod must not go to a node that is cordoned or tainted.
pub(super) fn reject_cordoned(pod: &Pod, node: &Node) -> Option<Reason> {
    let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or_default();
    let cordon = Taint { key: UNSCHEDULABLE.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() };
    (cordoned && !is_tolerated(&cordon, tolerations(pod))).then_some(Reason::Unschedulable)
}

/// Why a pod must not go to a node with these taints.
pub(super) fn reject_tainted(pod: &Pod, node: &Node) -> Option<Reason> {
    has_untolerated(pod, node).then_some(Reason::UntoleratedTaint)
}

/// Whether a node has a taint that keeps this pod away from it.
pub(super) fn has_untolerated(pod: &Pod, node: &Node) -> bool {
    taints(node)
        .iter()
        .filter(|taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute"))
        .any(|taint| !is_tolerated(taint, tolerations(pod)))
}

/// How many taints would rather not have this pod.
pub(super) fn unwelcoming(pod: &Pod, node: &Node) -> i64 {
    let count = taints(node)
        .iter()
        .filter(|taint| taint.effect == "PreferNoSchedule")
        .filter(|taint| !is_tolerated(taint, tolerations(pod)))
        .count();
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn is_tolerated(taint: &Taint, tolerations: &[Toleration]) -> bool {
    tolerations.iter().any(|toleration| tolerates(toleration, taint))
}

/// Whether one toleration is about a taint; an empty key or effect stands for any.
pub(crate) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let given = |field: &Option<String>| field.as_deref().filter(|text| !text.is_empty()).map(str::to_owned);
    let effect = given(&toleration.effect).is_none_or(|effect| effect == taint.effect);
    let key = given(&toleration.key).is_none_or(|key| key == taint.key);
    let value = match toleration.operator.as_deref() {
        Some("Exists") => true,
        None | Some("" | "Equal") => {
            toleration.value.as_deref().unwrap_or_default() == taint.value.as_deref().unwrap_or_default()
        }
        Some(_) => false,
    };
    effect && key && value
}

pub(crate) fn taints(node: &Node) -> &[Taint] {
    node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}

pub(crate) fn tolerations(pod: &Pod) -> &[Toleration] {
    pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Toleration {
            key: given(key),
            operator: given(operator),
            value: given(value),
            effect: given(effect),
            toleration_seconds: None,
        }
    }

    #[test]
    fn a_toleration_is_about_the_taints_it_names() {
        let taint = Taint {
            key: "dedicated".to_owned(),
            value: Some("fdb".to_owned()),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        };
        for (key, operator, value, effect, expected) in [
            ("dedicated", "Equal", "fdb", "NoSchedule", true),
            ("dedicated", "", "fdb", "", true),
            ("dedicated", "Equal", "web", "NoSchedule", false),
            ("dedicated", "Exists", "", "NoSchedule", true),
            ("dedicated", "Exists", "", "NoExecute", false),
            ("other", "Exists", "", "", false),
            ("", "Exists", "", "", true),
        ] {
            let toleration = toleration(key, operator, value, effect);
            assert_eq!(tolerates(&toleration, &taint), expected, "{toleration:?}");
        }
    }
}
