//! Steps in words, for logs and for the sentences about what failed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use quorate_foundationdb::decide::{Adds, ClusterStep, TakesAway};
use quorate_foundationdb::objects::Tags;
use quorate_quorum::Effect;

pub(super) fn described(step: &ClusterStep) -> String {
    match &step.effect {
        Effect::Adds(adds) => added(adds),
        Effect::TakesAway { action, .. } => taken_away(action),
    }
}

fn added(adds: &Adds) -> String {
    let named = |metadata: &ObjectMeta| metadata.name.clone().unwrap_or_default();
    match adds {
        Adds::Pod(pod) => format!("creating pod {}", named(&pod.metadata)),
        Adds::Claim(claim) => format!("creating volume claim {}", named(&claim.metadata)),
        Adds::Service(service) => format!("creating service {}", named(&service.metadata)),
        Adds::ConfigMap(map) => format!("creating ConfigMap {}", named(&map.metadata)),
        Adds::ConfigMapAgain { map, .. } => format!("bringing ConfigMap {} up to date", named(&map.metadata)),
        Adds::DisruptionBudget(budget) => format!("creating disruption budget {}", named(&budget.metadata)),
        Adds::MinAvailable { name, min_available } => {
            format!("setting minAvailable of disruption budget {name} to {min_available}")
        }
        Adds::ClaimSize { name, size } => format!("growing volume claim {name} to {size}"),
        Adds::ClaimOwner { name, owner: Some(_) } => format!("making volume claim {name} go with its cluster"),
        Adds::ClaimOwner { name, owner: None } => format!("making volume claim {name} outlive its cluster"),
        Adds::PodTags { name, tags } => format!("setting {} of pod {name}", keys(tags)),
        Adds::ClaimTags { name, tags } => format!("setting {} of volume claim {name}", keys(tags)),
        Adds::ServiceTags { name, tags } => format!("setting {} of service {name}", keys(tags)),
        Adds::DisruptionBudgetTags { name, tags } => format!("setting {} of disruption budget {name}", keys(tags)),
        Adds::Database { id, .. } => format!("creating the database under id {id}"),
        Adds::Configuration(keys) => {
            format!("configuring {} in the database", keys.keys().cloned().collect::<Vec<_>>().join(", "))
        }
        Adds::Lock { to: Some(_), .. } => "taking the lock of the database".to_owned(),
        Adds::Lock { to: None, .. } => "giving the lock of the database back".to_owned(),
        Adds::DenyList { deny, allow } => {
            let denied: Vec<&str> = deny.iter().map(|(_, operator)| operator.as_str()).collect();
            format!("denying the lock to {} operators ({}) and allowing it to {}", deny.len(), denied.join(", "), allow.len())
        }
        Adds::Include(places) => format!("including {} in the database", places.join(", ")),
    }
}

fn keys(Tags { labels, annotations }: &Tags) -> String {
    labels.keys().chain(annotations.keys()).map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn taken_away(action: &TakesAway) -> String {
    match action {
        TakesAway::Pod(name) => format!("deleting pod {name}"),
        TakesAway::PodForAnother { name, .. } => format!("making pod {name} again"),
        TakesAway::Claim(name) => format!("deleting volume claim {name}"),
        TakesAway::Service(name) => format!("deleting service {name}"),
        TakesAway::Exclude(places) => format!("excluding {} from the database", places.join(", ")),
        TakesAway::Coordinators(addresses) => format!("making {} the coordinators", addresses.join(", ")),
        TakesAway::Kill(addresses) => format!("restarting the servers {}", addresses.join(", ")),
    }
}
