//! At the end, whatever went wrong on the way: 1, 25, 55, 57 and 59.

use std::collections::BTreeSet;

use quorate_foundationdb::ProcessClass;

use super::stage::group_of;
use super::{Invariants, Stage};
use crate::view::is_ready;

impl Invariants {
    /// Each class has as many process groups as were asked for, each with a ready pod; nothing is excluded and everything is whole.
    pub(crate) fn all_is_as_asked(&mut self, stage: Stage<'_>) {
        let ids: BTreeSet<&str> = stage.groups().map(|group| group.id).collect();
        let ready: BTreeSet<&String> =
            stage.world.pods.values().filter(|pod| is_ready(pod)).filter_map(|pod| group_of(&pod.metadata)).collect();
        for class in [ProcessClass::Storage, ProcessClass::Log, ProcessClass::Stateless] {
            let want = stage.wanted(class);
            let recorded = ids.iter().filter(|id| id.starts_with(class.name())).count();
            let up = ready.iter().filter(|id| id.starts_with(class.name())).count();
            for number in [55, 57, 59] {
                self.demand(number, recorded == want && up == recorded, || {
                    format!("{want} of class {class} were asked for; {recorded} are recorded and {up} have a ready pod")
                });
            }
        }
        self.domains_are_filled_evenly(stage);
        let Some(database) = stage.database else { return };
        let excluded = database.excluded();
        self.demand(25, excluded.is_empty(), || format!("{excluded:?} are still excluded"));
        let missing = database.what_is_missing();
        self.demand(59, missing.is_none(), || format!("the database is not whole: {}", missing.unwrap_or_default()));
    }
}
