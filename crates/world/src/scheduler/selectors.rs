//! Label selectors: which labels an expression asks for.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::NodeSelectorRequirement;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

pub(super) type Labels = BTreeMap<String, String>;

/// A selector, ready to be asked.
#[derive(Clone, Debug)]
pub(super) enum Selector {
    /// Matches no labels at all: what a selector that is not there means.
    Nothing,
    /// Matches labels that satisfy every requirement; without any, all labels.
    All(Vec<Requirement>),
}

impl Selector {
    pub(super) fn of(selector: Option<&LabelSelector>) -> Self {
        let Some(selector) = selector else { return Self::Nothing };
        let equalities = selector.match_labels.iter().flatten().map(|(key, value)| Requirement::is(key, value));
        let expressions = selector.match_expressions.iter().flatten().map(|expression| {
            Requirement::new(&expression.key, &expression.operator, expression.values.as_deref().unwrap_or_default())
        });
        Self::All(equalities.chain(expressions).collect())
    }

    /// Every label of a service's or a node selector's map.
    pub(super) fn of_map(labels: &Labels) -> Self {
        Self::All(labels.iter().map(|(key, value)| Requirement::is(key, value)).collect())
    }

    /// The same, and one requirement more. Nothing stays nothing.
    pub(super) fn and(self, requirement: Requirement) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::All(mut requirements) => {
                requirements.push(requirement);
                Self::All(requirements)
            }
        }
    }

    pub(super) fn matches(&self, labels: Option<&Labels>) -> bool {
        match self {
            Self::Nothing => false,
            Self::All(requirements) => requirements.iter().all(|requirement| requirement.holds_for(labels)),
        }
    }

    /// Whether it asks for nothing, and so matches everything.
    pub(super) fn asks_for_nothing(&self) -> bool {
        matches!(self, Self::All(requirements) if requirements.is_empty())
    }
}

/// One expression of a selector.
#[derive(Clone, Debug)]
pub(super) struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Above,
    Below,
    /// Not one that an API server accepts; it matches nothing.
    Unknown,
}

impl Requirement {
    fn new(key: &str, operator: &str, values: &[String]) -> Self {
        let operator = match operator {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            "Gt" => Operator::Above,
            "Lt" => Operator::Below,
            _ => Operator::Unknown,
        };
        Self { key: key.to_owned(), operator, values: values.to_vec() }
    }

    /// The label has this value.
    pub(super) fn is(key: &str, value: &str) -> Self {
        Self::new(key, "In", &[value.to_owned()])
    }

    /// The label has another value, or is not there.
    pub(super) fn is_not(key: &str, value: &str) -> Self {
        Self::new(key, "NotIn", &[value.to_owned()])
    }

    fn holds_for(&self, labels: Option<&Labels>) -> bool {
        self.holds(labels.and_then(|labels| labels.get(&self.key)).map(String::as_str))
    }

    fn holds(&self, value: Option<&str>) -> bool {
        let listed = value.is_some_and(|value| self.values.iter().any(|listed| listed == value));
        match self.operator {
            Operator::In => listed,
            Operator::NotIn => !listed,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Above => self.compare(value).is_some_and(|(have, bound)| have > bound),
            Operator::Below => self.compare(value).is_some_and(|(have, bound)| have < bound),
            Operator::Unknown => false,
        }
    }

    fn compare(&self, value: Option<&str>) -> Option<(i64, i64)> {
        let [bound] = self.values.as_slice() else { return None };
        Some((value?.parse().ok()?, bound.parse().ok()?))
    }
}

/// Whether a node's label satisfies an expression of a node selector.
pub(super) fn node_expression_holds(expression: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    Requirement::new(&expression.key, &expression.operator, expression.values.as_deref().unwrap_or_default()).holds(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(operator: &str, values: &[&str]) -> Requirement {
        Requirement::new("k", operator, &values.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn every_operator_on_a_label_that_is_there_another_and_missing() {
        for (operator, values, same, other, missing) in [
            ("In", &["5"][..], true, false, false),
            ("NotIn", &["5"], false, true, true),
            ("Exists", &[], true, true, false),
            ("DoesNotExist", &[], false, false, true),
            ("Gt", &["4"], true, false, false),
            ("Lt", &["6"], true, false, false),
            ("Like", &["5"], false, false, false),
        ] {
            let expression = expression(operator, values);
            assert_eq!(expression.holds(Some("5")), same, "{operator} same");
            assert_eq!(expression.holds(Some("other")), other, "{operator} other");
            assert_eq!(expression.holds(None), missing, "{operator} missing");
        }
    }

    #[test]
    fn no_selector_matches_nothing_and_an_empty_one_everything() {
        assert!(!Selector::of(None).matches(Some(&Labels::new())));
        let empty = LabelSelector::default();
        assert!(Selector::of(Some(&empty)).matches(None));
        assert!(Selector::of(Some(&empty)).asks_for_nothing());
        assert!(!Selector::of(None).asks_for_nothing());
    }
}
