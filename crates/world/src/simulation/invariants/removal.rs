//! Process groups go empty: 19, 20 and 61.

use std::time::Duration;

use quorate_foundationdb::{GroupCondition, ProcessClass};

use super::super::news::Arrival;
use super::objects::ARRIVES_AFTER;
use super::stage::{Group, group_in};
use super::{Invariants, Stage};

impl Invariants {
    /// 61 and 19: a volume claim goes only with a process group that is to go, and with nothing on it, unless a user asked for that.
    pub(super) fn claims_go_empty(&mut self, arrival: &Arrival, stage: Stage<'_>) {
        let Arrival { client, name, before, .. } = arrival;
        let Some(claim) = before else { return };
        if claim["metadata"]["deletionTimestamp"].is_string() {
            return;
        }
        let group = stage.group(group_in(claim));
        let to_go = group.is_some_and(Group::is_marked) || self.was_to_go(group_in(claim), arrival);
        self.demand(61, to_go, || format!("{client} deleted the volume claim {name}, whose process group is not to go"));
        let volume = claim["spec"]["volumeName"].as_str().unwrap_or_default();
        if let Some(group) = group {
            self.goes_empty(arrival, volume, group, stage);
        }
    }

    /// Whether a process group was on record as one that is to go when something was sent, and what was on record has been lost since.
    pub(super) fn was_to_go(&self, id: &str, arrival: &Arrival) -> bool {
        self.records_lost.is_some_and(|lost| arrival.at < lost + ARRIVES_AFTER) && self.memory.was_marked(id, arrival.sent)
    }

    /// 19: a process group goes when nothing is left on it, or when a user asked for it to go as it is. Even then no coordinator goes.
    pub(super) fn goes_empty(&mut self, arrival: &Arrival, volume: &str, group: Group<'_>, stage: Stage<'_>) {
        let (Arrival { client, name, sent, .. }, Some(database)) = (arrival, stage.database) else { return };
        let of_others = self.memory.volumes.iter().filter(|(_, id)| *id == group.id).map(|(volume, _)| volume.as_str());
        let needed = of_others.chain([volume]).find_map(|volume| database.needs(volume)).filter(|_| !group.is_skipped());
        self.demand(19, needed.is_none(), || format!("{client} deleted {name}, and {}", needed.unwrap_or_default()));
        // Somebody else may have made it one since.
        let coordinates = database.coordinates_on(volume) && self.memory.coordinators_are_known(*sent);
        self.demand(19, !coordinates, || format!("{client} deleted {name}, and a coordinator keeps its state on it"));
    }

    /// 20: a process group begins to go only while the database answers, unless it was found empty, keeps nothing, and makes room.
    pub(super) fn goes_while_the_database_answers(&mut self, arrival: &Arrival, group: Group<'_>, stage: Stage<'_>) {
        let conditions = group.status.process_group_conditions.iter().flatten();
        let begun = conditions
            .filter(|one| one.type_.as_deref() == Some(GroupCondition::ResourcesTerminating.name()))
            .filter_map(|one| one.timestamp)
            .any(|since| stage.time.as_second() - since > 5);
        if begun || group.is_skipped() || makes_room(group, stage) {
            return;
        }
        let everything = arrival.saw_everything;
        self.demand(20, everything, || {
            format!("{} deleted {} by a report without storage servers", arrival.client, arrival.name)
        });
        if arrival.at - arrival.sent < Duration::from_secs(1) {
            let known = self.memory.may_be_available(arrival.sent);
            self.demand(20, known, || {
                format!("{} deleted {}, and the database has not been available for long", arrival.client, arrival.name)
            });
        }
    }
}

/// Whether a process group was found empty, keeps nothing by its class, and somebody who does keep something finds no node.
fn makes_room(group: Group<'_>, stage: Stage<'_>) -> bool {
    let is_stateful = |group: Group<'_>| group.class().is_some_and(ProcessClass::is_stateful);
    let waits = |other: Group<'_>| is_stateful(other) && other.has(GroupCondition::PodPending);
    group.status.exclusion_timestamp.is_some() && !is_stateful(group) && stage.groups().any(waits)
}
