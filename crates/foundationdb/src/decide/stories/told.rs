//! A step in a few words.

use quorate_quorum::Effect;

use crate::decide::{Adds, ClusterDecision, ClusterStep, TakesAway};
use crate::objects::annotations;
use crate::report::host;

/// What a decision does, one line for each step.
pub(super) fn told(decision: &ClusterDecision) -> Vec<String> {
    decision.steps.iter().map(told_step).collect()
}

/// What a step does.
pub(super) fn told_step(step: &ClusterStep) -> String {
    match &step.effect {
        Effect::Adds(Adds::Pod(pod)) => format!("create pod {}", named(pod.metadata.name.as_ref())),
        Effect::Adds(Adds::Claim(claim)) => format!("create claim {}", named(claim.metadata.name.as_ref())),
        Effect::Adds(Adds::Service(service)) => format!("create service {}", named(service.metadata.name.as_ref())),
        Effect::Adds(Adds::ConfigMap(_)) => "create the ConfigMap".to_owned(),
        Effect::Adds(Adds::ConfigMapAgain { .. }) => "write the ConfigMap".to_owned(),
        Effect::Adds(Adds::DisruptionBudget(_)) => "create the disruption budget".to_owned(),
        Effect::Adds(Adds::MinAvailable { min_available, .. }) => format!("keep {min_available} pods"),
        Effect::Adds(Adds::ClaimSize { name, size }) => format!("grow {name} to {size}"),
        Effect::Adds(Adds::ClaimOwner { name, owner }) => {
            format!("{} {name}", if owner.is_some() { "own" } else { "disown" })
        }
        Effect::Adds(Adds::PodTags { name, tags }) if tags.annotations.contains_key(annotations::POKED_FOR) => {
            format!("poke pod {name}")
        }
        Effect::Adds(Adds::PodTags { name, .. }) => format!("tag pod {name}"),
        Effect::Adds(Adds::ClaimTags { name, .. }) => format!("tag claim {name}"),
        Effect::Adds(Adds::ServiceTags { name, .. }) => format!("tag service {name}"),
        Effect::Adds(Adds::DisruptionBudgetTags { .. }) => "tag the disruption budget".to_owned(),
        Effect::Adds(Adds::Database { .. }) => "create the database".to_owned(),
        Effect::Adds(Adds::Configuration(keys)) => {
            format!("configure {}", keys.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
        }
        Effect::Adds(Adds::Include(places)) => format!("include {}", places.join(", ")),
        Effect::Adds(Adds::Lock { to: Some(_), .. }) => "take the lock".to_owned(),
        Effect::Adds(Adds::Lock { to: None, .. }) => "give the lock back".to_owned(),
        Effect::Adds(Adds::DenyList { .. }) => "write the deny list".to_owned(),
        Effect::TakesAway { action, .. } => match action {
            TakesAway::Pod(name) | TakesAway::PodForAnother { name, .. } => format!("delete pod {name}"),
            TakesAway::Claim(name) => format!("delete claim {name}"),
            TakesAway::Service(name) => format!("delete service {name}"),
            TakesAway::Exclude(places) => format!("exclude {}", places.join(", ")),
            TakesAway::Coordinators(addresses) => {
                let hosts = addresses.iter().map(|address| host(address).split('.').next().unwrap_or_default());
                format!("coordinators {}", hosts.collect::<Vec<_>>().join(", "))
            }
            TakesAway::Kill(addresses) => format!("restart {} servers", addresses.len()),
        },
    }
}

fn named(name: Option<&String>) -> &str {
    name.map_or("", String::as_str)
}
