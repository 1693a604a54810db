//! At the end, whatever went wrong on the way: 1, 25, 55, 57 and 59.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PodSpec};
use quorate_api::foundationdb::{FoundationDBCluster, ProcessSettings};
use quorate_foundationdb::ProcessClass;

use super::stage::{class_of, group_of};
use super::{Invariants, Stage};
use crate::view::is_ready;

impl Invariants {
    /// Each class has as many process groups as were asked for, each with a ready pod; nothing is excluded and everything is whole.
    pub(crate) fn all_is_as_asked(&mut self, stage: Stage<'_>) {
        let ids: BTreeSet<&str> = stage.groups().map(|group| group.id).collect();
        let ready: Vec<&str> =
            stage.world.pods.values().filter(|pod| is_ready(pod)).filter_map(|pod| class_of(&pod.metadata)).collect();
        for class in [ProcessClass::Storage, ProcessClass::Log, ProcessClass::Stateless] {
            let want = stage.wanted(class);
            let recorded = stage.groups().filter(|group| group.class() == Some(class)).count();
            let up = ready.iter().filter(|of| **of == class.name()).count();
            for number in [55, 57, 59] {
                self.demand(number, recorded == want && up == recorded, || {
                    format!("{want} of class {class} were asked for; {recorded} are recorded and {up} have a ready pod")
                });
            }
        }
        self.everybody_is_as_asked(stage);
        self.nothing_is_astray(&ids, stage);
        self.domains_are_filled_evenly(stage);
        let Some(database) = stage.database else { return };
        let excluded = database.excluded();
        self.demand(25, excluded.is_empty(), || format!("{excluded:?} are still excluded"));
        let missing = database.what_is_missing();
        self.demand(59, missing.is_none(), || format!("the database is not whole: {}", missing.unwrap_or_default()));
    }

    /// 59: every server has the parameters that its class was asked to have, and every pod the environment.
    fn everybody_is_as_asked(&mut self, stage: Stage<'_>) {
        let Some(cluster) = stage.cluster() else { return };
        for server in stage.database.iter().flat_map(|database| database.servers()) {
            let asked = asked_of(cluster, &server.class, |settings| settings.custom_parameters.as_ref());
            let missing = asked.into_iter().flatten().find(|parameter| !server.command_line.contains(parameter.as_str()));
            self.demand(59, missing.is_none(), || format!("{} runs without {missing:?}", server.group));
        }
        for pod in stage.world.pods.values().filter(|pod| pod.metadata.owner_references.is_some()) {
            let asked = asked_of(cluster, class_of(&pod.metadata).unwrap_or_default(), |settings| settings.pod_template.as_ref());
            let has = environment(pod.spec.as_ref());
            let asked = environment(asked.and_then(|template| template.spec.as_ref()));
            let missing = asked.difference(&has).next();
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            self.demand(59, missing.is_none(), || format!("pod {name} has not {missing:?}"));
        }
    }

    /// 55: whatever arrived late was found. Of a volume that was in nobody's hands nobody knows what is on it.
    fn nothing_is_astray(&mut self, recorded: &BTreeSet<&str>, stage: Stage<'_>) {
        let pods = stage.world.pods.values().filter(|pod| pod.metadata.owner_references.is_some());
        let pods = pods.filter_map(|pod| group_of(&pod.metadata));
        let bound = |claim: &PersistentVolumeClaim| claim.spec.as_ref().is_some_and(|spec| spec.volume_name.is_some());
        let claims = stage.world.claims.values().filter(|claim| !bound(claim));
        let claims = claims.filter_map(|claim| group_of(&claim.metadata));
        let astray = pods.chain(claims).find(|group| !recorded.contains(group.as_str()));
        self.demand(55, astray.is_none(), || format!("{} is left, and nobody knows of it", astray.map_or("", String::as_str)));
    }
}

/// What is asked of a class: what its own settings say, or else those of all.
fn asked_of<'a, T>(
    cluster: &'a FoundationDBCluster,
    class: &str,
    field: impl Fn(&'a ProcessSettings) -> Option<&'a T>,
) -> Option<&'a T> {
    let settings = |name: &str| cluster.spec.processes.as_ref().and_then(|all| all.get(name)).and_then(&field);
    settings(class).or_else(|| settings("general"))
}

/// The variables that are given a value in the containers of a pod.
fn environment(pod: Option<&PodSpec>) -> BTreeSet<(&str, &str)> {
    let variables = pod.into_iter().flat_map(|spec| &spec.containers).flat_map(|container| container.env.iter().flatten());
    variables.filter_map(|variable| Some((variable.name.as_str(), variable.value.as_deref()?))).collect()
}
