//! Pods and records: 55, 56 and 60.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::GroupCondition;

use super::super::news::Arrival;
use super::stage::{group_in, group_of, groups_of};
use super::{Invariants, Stage};

/// A delete may arrive a minute after it was sent, and what it was sent for may have been taken back meanwhile.
pub(super) const ARRIVES_AFTER: Duration = Duration::from_secs(90);

/// A create is late if it arrives so long after it was sent.
const LATE: Duration = Duration::from_secs(5);

impl Invariants {
    /// 56 and 60: an operator deletes a pod of its own if it has ended, if its process group is to go, or if a user asked for another
    /// one; however stale its view was, and however often it was started again.
    pub(super) fn pods_go_for_a_reason(&mut self, arrival: &Arrival, stage: Stage<'_>) {
        let Arrival { client, name, before, .. } = arrival;
        let Some(pod) = before else { return };
        let ours = pod["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
        self.demand(56, ours, || format!("{client} deleted pod {name}, which belongs to somebody else"));
        let ago = SignedDuration::try_from(stage.now - arrival.sent).unwrap_or_default();
        let made = pod["metadata"]["creationTimestamp"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
        self.demand(56, made.is_none_or(|made| made <= stage.time - ago), || {
            format!("{client} deleted pod {name}, which was not there yet when that was sent, {} s before", ago.as_secs())
        });
        let phase = pod["status"]["phase"].as_str().unwrap_or_default();
        let going = pod["metadata"]["deletionTimestamp"].is_string();
        if !ours || going || matches!(phase, "Failed" | "Succeeded") {
            return;
        }
        let id = group_in(pod);
        let group = stage.group(id);
        // It may have been forgotten in the moment in which its pod is gone.
        self.demand(56, group.is_some() || self.memory.was_recorded(id, arrival.sent) || self.was_to_go(id, arrival), || {
            format!("{client} deleted pod {name}, and nobody has recorded {id}")
        });
        let Some(group) = group else { return };
        let lately = self.memory.outdated.get(id).is_some_and(|last| *last + ARRIVES_AFTER >= stage.now);
        let outdated = (lately || group.has(GroupCondition::IncorrectPodSpec)) && self.memory.was_edited();
        // Who is marked while a delete is on its way was to get another pod, and keeps its volume. A mark may be lost with the status.
        if group.is_marked() && self.memory.was_marked(id, arrival.sent) || !outdated && self.was_to_go(id, arrival) {
            let server = self.memory.servers.get(id).map(|(server, _)| server.volume.clone());
            self.goes_empty(arrival, &server.unwrap_or_default(), group, stage);
            self.goes_while_the_database_answers(arrival, group, stage);
            return;
        }
        for number in [56, 60] {
            self.demand(number, outdated, || format!("{client} deleted pod {name}, which was {phase} and as it was asked to be"));
        }
        self.one_zone_at_a_time(arrival, id, stage);
    }

    /// What arrives long after it was sent may be of somebody who is gone by then; the operator has to find it, and to record it then. So it
    /// has to where what was on record was lost, and nobody has told it yet.
    pub(super) fn note_creation(&mut self, arrival: &Arrival) {
        let Some(made) = &arrival.after else { return };
        self.made.insert(group_in(made).to_owned(), (arrival.client.clone(), arrival.at));
        let nobody_knows = self.records_lost.is_some_and(|lost| arrival.at < lost + ARRIVES_AFTER);
        if nobody_knows || arrival.at - arrival.sent >= LATE {
            self.made_late.insert(group_in(made).to_owned());
        }
    }

    /// 55: whatever exists was recorded before it was made, so that a crash in between can neither lose nor double it; and it is
    /// forgotten only when neither its objects nor its exclusions are left.
    pub(super) fn groups_are_recorded_first(&mut self, cluster: &FoundationDBCluster, stage: Stage<'_>) {
        let recorded: BTreeMap<String, BTreeSet<String>> =
            groups_of(cluster).map(|group| (group.id.to_owned(), group.addresses().collect())).collect();
        let ours = stage.world.pods.values().filter(|pod| pod.metadata.owner_references.is_some());
        let pods = ours.filter_map(|pod| group_of(&pod.metadata));
        let claims = stage.world.claims.values().filter_map(|claim| group_of(&claim.metadata));
        let made: BTreeSet<&String> = pods.chain(claims).collect();
        for group in made.into_iter().filter(|group| !self.made_late.contains(*group)).collect::<Vec<_>>() {
            self.demand(55, recorded.contains_key(group), || format!("{group} exists and was not recorded"));
        }
        let before = std::mem::take(&mut self.groups);
        for (group, addresses) in before.iter().filter(|(group, _)| !recorded.contains_key(*group)) {
            let excluded = stage.database.map_or_else(Vec::new, crate::database::Database::excluded);
            let left = excluded
                .into_iter()
                .find(|place| place.strip_prefix("locality_instance_id:") == Some(group.as_str()) || addresses.contains(place));
            self.demand(55, left.is_none(), || {
                format!("{group} is forgotten, and {} is still excluded", left.unwrap_or_default())
            });
        }
        self.groups = recorded;
    }
}
