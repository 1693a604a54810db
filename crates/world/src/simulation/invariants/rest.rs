//! At the end, whatever went wrong on the way: 1, 25, 55, 57 and 59.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
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
        self.nothing_is_astray(&ids, stage);
        self.domains_are_filled_evenly(stage);
        let Some(database) = stage.database else { return };
        let excluded = database.excluded();
        self.demand(25, excluded.is_empty(), || format!("{excluded:?} are still excluded"));
        let missing = database.what_is_missing();
        self.demand(59, missing.is_none(), || format!("the database is not whole: {}", missing.unwrap_or_default()));
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
