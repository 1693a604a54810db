//! Whether a node is still one that a pod asks for: by its node selector, and by the node affinity that the scheduler requires. Taints, room and
//! what is only preferred are the scheduler's.

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm, PodSpec};

use crate::NodeFacts;

/// The only field of a node that terms may name.
const NAME: &str = "metadata.name";

/// Whether a pod of this kind may be on a node, as far as it asks for one itself.
pub(crate) fn may_be_on(pod: &PodSpec, name: &str, node: &NodeFacts) -> bool {
    let selected = pod.node_selector.iter().flatten().all(|(label, value)| node.labels.get(label) == Some(value));
    let affinity = pod.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    selected && required.is_none_or(|required| required.node_selector_terms.iter().any(|term| fits(term, name, node)))
}

/// A term that asks for nothing fits no node.
fn fits(term: &NodeSelectorTerm, name: &str, node: &NodeFacts) -> bool {
    let labels = || term.match_expressions.iter().flatten();
    let fields = || term.match_fields.iter().flatten();
    let field = |field: &str| (field == NAME).then_some(name);
    labels().chain(fields()).next().is_some()
        && labels().all(|asked| holds(asked, node.labels.get(&asked.key).map(String::as_str)))
        && fields().all(|asked| holds(asked, field(&asked.key)))
}

fn holds(asked: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = asked.values.as_deref().unwrap_or_default();
    let is_listed = || value.is_some_and(|value| values.iter().any(|listed| listed == value));
    let compared = || {
        let [limit] = values else { return None };
        Some((value?.parse::<i64>().ok()?, limit.parse::<i64>().ok()?))
    };
    match asked.operator.as_str() {
        "In" => is_listed(),
        "NotIn" => !is_listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared().is_some_and(|(value, limit)| value > limit),
        "Lt" => compared().is_some_and(|(value, limit)| value < limit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn may(pod: Value) -> bool {
        let labels = [("disk", "fast"), ("generation", "7")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let node = NodeFacts { labels: labels.into(), ..NodeFacts::default() };
        let mut pod = pod;
        pod["containers"] = json!([]);
        may_be_on(&serde_json::from_value(pod).unwrap(), "node-1", &node)
    }

    fn required(terms: &Value) -> Value {
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
    }

    #[test]
    fn who_asks_for_nothing_may_be_anywhere() {
        assert!(may(json!({})));
    }

    #[test]
    fn every_selected_label_is_to_be_there() {
        assert!(may(json!({"nodeSelector": {"disk": "fast"}})));
        assert!(!may(json!({"nodeSelector": {"disk": "fast", "generation": "8"}})));
        assert!(!may(json!({"nodeSelector": {"arch": "arm64"}})));
    }

    #[test]
    fn one_term_is_enough_and_all_of_it_is_needed() {
        let asks = |operator: &str, values: &[&str]| json!({"key": "generation", "operator": operator, "values": values});
        let one = |asked: Value| may(required(&json!([{"matchExpressions": [asked]}])));
        for (operator, values, expected) in [
            ("In", &["6", "7"][..], true),
            ("In", &["8"], false),
            ("NotIn", &["8"], true),
            ("NotIn", &["7"], false),
            ("Exists", &[], true),
            ("DoesNotExist", &[], false),
            ("Gt", &["6"], true),
            ("Gt", &["7"], false),
            ("Lt", &["8"], true),
            ("Lt", &["x"], false),
            ("Near", &["7"], false),
        ] {
            assert_eq!(one(asks(operator, values)), expected, "{operator} {values:?}");
        }
        let both =
            json!([{"matchExpressions": [asks("In", &["7"]), asks("In", &["8"])]}, {"matchExpressions": [asks("Exists", &[])]}]);
        assert!(may(required(&both)));
        assert!(!may(required(&json!([{}]))), "a term that asks for nothing");
        let named = |name: &str| json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}]);
        assert!(may(required(&named("node-1"))) && !may(required(&named("node-2"))));
    }
}
