//! The disruption budget: how many pods must stay when somebody else drains nodes.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::metadata;
use crate::Desired;

/// One budget for all pods of the cluster. It counts pods, because a percentage needs an owner with a scale.
pub fn disruption_budget(desired: &Desired, min_available: i32) -> PodDisruptionBudget {
    let mut metadata = metadata::cluster_metadata(desired, desired.name.clone(), None);
    metadata.owner_references = Some(vec![metadata::owner(desired)]);
    let selector = LabelSelector { match_labels: Some(metadata::cluster_selector(desired)), match_expressions: None };
    let spec = PodDisruptionBudgetSpec {
        min_available: Some(IntOrString::Int(min_available)),
        selector: Some(selector),
        ..PodDisruptionBudgetSpec::default()
    };
    PodDisruptionBudget { metadata, spec: Some(spec), status: None }
}
