//! Exclusions leave enough: 10, 16, 20, 21, 22, 23, 25 and 27.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::SignedDuration;
use quorate_foundationdb::{GroupCondition, ProcessClass};
use tokio::time::Instant;

use super::super::news::Asked;
use super::stage::{StatusWrite, class_of, groups_of};
use super::{Invariants, Stage};
use crate::database::Server;
use crate::view::is_ready;

/// So long after its start a server may not be known: it says who it is after five seconds, and an answer may take twenty and show how
/// things were in its middle.
const NAMELESS_FOR: SignedDuration = SignedDuration::from_secs(20);

/// A watch may be so far behind.
const WATCHES_LAG: Duration = Duration::from_secs(60);

impl Invariants {
    /// Everything that an exclusion must leave as it is.
    pub(super) fn exclusions_leave_enough(&mut self, asked: &Asked, places: &[String], stage: Stage<'_>) {
        let Some(database) = stage.database else { return };
        let client = &asked.client;
        let known = self.memory.may_be_available(asked.at);
        self.demand(20, known, || format!("{client} excludes {places:?}, and the database has not been available for long"));
        self.demand(20, asked.saw_everything, || format!("{client} excludes {places:?} by a report without storage servers"));
        let servers: Vec<Server> = database.servers().collect();
        let meant = |server: &Server| places.iter().any(|place| server.is_meant_by(place));
        let going: Vec<&Server> = servers.iter().filter(|server| meant(server) && !server.excluded).collect();
        if self.memory.coordinators_are_known(asked.at) {
            let coordinator = going.iter().find(|server| server.coordinates);
            self.demand(11, coordinator.is_none(), || {
                format!("{client} excludes {}, which is a coordinator", coordinator.map_or("", |server| &server.group))
            });
        }
        // Who has just started is in no report yet, and who is in none is excluded as dead.
        let known = |server: &&Server| stage.time.duration_since(server.started) >= NAMELESS_FOR;
        let going: Vec<&Server> = going.into_iter().filter(known).collect();
        self.enough_serve_on(asked, &going, &meant, stage);
        self.enough_zones_are_left(asked, &going, &meant, stage);
        if going.iter().any(|server| server.class != ProcessClass::Storage.name()) {
            self.recoveries_keep_their_distance(asked, "exclude", SignedDuration::from_secs(120), stage);
        }
        self.transaction_system_goes_together(asked, places, stage);
    }

    /// 22: as many of a class serve on as are asked for. 10: so whoever moves to another fault domain has a successor that serves.
    fn enough_serve_on(&mut self, asked: &Asked, going: &[&Server], meant: &dyn Fn(&Server) -> bool, stage: Stage<'_>) {
        for class in [ProcessClass::Storage, ProcessClass::Log, ProcessClass::Stateless] {
            let going: Vec<&str> =
                going.iter().filter(|server| server.class == class.name()).map(|server| server.group.as_str()).collect();
            if going.is_empty() {
                continue;
            }
            let left = self.left(asked.at, stage, meant).filter(|server| server.class == class.name()).count();
            let wanted = self.memory.wanted(class, asked.at);
            for number in [10, 22] {
                self.demand(number, left >= wanted, || {
                    format!("{} excludes {}, which serve: {left} of {wanted} are left", asked.client, going.join(", "))
                });
            }
        }
    }

    /// Servers that may be held for running and not excluded, without those that are meant. Operators exclude by locality, and know what
    /// they did; who excludes an address does so by hand, and a moment later that is not known.
    fn left<'a>(&'a self, at: Instant, stage: Stage<'_>, meant: &'a dyn Fn(&Server) -> bool) -> impl Iterator<Item = &'a Server> {
        let excluded = stage.database.map_or_else(Vec::new, crate::database::Database::excluded);
        self.memory.serving(at).filter(move |server| {
            let known = |place: &&String| place.starts_with("locality_") || !self.memory.may_be_included(&server.group, at);
            !meant(server) && !excluded.iter().filter(known).any(|place| server.is_meant_by(place))
        })
    }

    /// 21: enough zones are left to hold all copies, of data and of logs.
    fn enough_zones_are_left(&mut self, asked: &Asked, going: &[&Server], meant: &dyn Fn(&Server) -> bool, stage: Stage<'_>) {
        let Some((storage, log)) = stage.database.and_then(crate::database::Database::replicas) else { return };
        for (class, needed) in [(ProcessClass::Storage, storage), (ProcessClass::Log, log)] {
            if !going.iter().any(|server| server.class == class.name()) {
                continue;
            }
            let left = || self.left(asked.at, stage, meant).filter(|server| server.class == class.name());
            let zones: BTreeSet<&str> = left().map(|server| server.zone.as_str()).collect();
            let hosts: BTreeSet<&str> = left().map(|server| server.physical_zone.as_str()).collect();
            let left = zones.len().min(hosts.len());
            self.demand(21, left >= needed, || {
                format!("{} excludes processes of class {class}: {left} zones are left for {needed} copies", asked.client)
            });
        }
    }

    /// 23: of the transaction system all go that are to go, or none; unless somebody who was to come does not come for so long that
    /// nobody would ever go, or one is the last with data, without which the database refuses to be.
    fn transaction_system_goes_together(&mut self, asked: &Asked, places: &[String], stage: Stage<'_>) {
        let covered = |id: &str| places.iter().any(|place| place.strip_prefix("locality_instance_id:") == Some(id));
        let others = || stage.groups().filter(|group| group.class().is_some_and(|class| class != ProcessClass::Storage));
        let excluded = stage.database.map_or_else(Vec::new, crate::database::Database::excluded);
        let is_excluded = |id: &str| excluded.iter().any(|place| place.strip_prefix("locality_instance_id:") == Some(id));
        let is_stuck = |group: super::stage::Group<'_>| {
            !group.is_marked() && (group.has(GroupCondition::MissingPod) || group.has(GroupCondition::PodPending))
        };
        if !others().any(|group| covered(group.id)) || stage.groups().any(is_stuck) {
            return;
        }
        let with_data = stage.database.map_or_else(Vec::new, |database| database.groups_with_data(NAMELESS_FOR).collect());
        let has_data = |id: &str| with_data.contains(&id);
        let is_last_with_data =
            |id: &str| has_data(id) && !with_data.iter().any(|other| *other != id && !covered(other) && !is_excluded(other));
        let left_behind = |id: &str| !covered(id) && !is_excluded(id) && !is_last_with_data(id);
        let alone = others().find(|group| group.is_in_flight() && left_behind(group.id));
        self.demand(23, alone.is_none(), || {
            format!("{} excludes {places:?}, and {} is to go as well", asked.client, alone.map_or("", |group| group.id))
        });
    }

    /// 25: a place may be used again only when neither pod nor claim of its process group is left. What arrives later nobody foresees, and
    /// what another operator made within the last minute a watch may not have shown yet.
    pub(super) fn included_last(&mut self, asked: &Asked, places: &[String], stage: Stage<'_>) {
        for place in places {
            let group = place.strip_prefix("locality_instance_id:").unwrap_or_default();
            let unseen = |(client, at): &(String, Instant)| *client != asked.client && asked.at - *at < WATCHES_LAG;
            let unseen = self.made.get(group).is_some_and(unseen) || self.made_late.contains(group);
            let there = stage.has_objects(group) && !unseen;
            self.demand(25, !there, || format!("{} includes {place}, and {group} still has a pod or a claim", asked.client));
        }
    }

    /// 27: exclusion is skipped only where a user asked for it, or where there was never an address.
    pub(super) fn exclusion_is_skipped_as_asked(&mut self, write: &StatusWrite<'_>) {
        for group in groups_of(&write.after).filter(|group| group.is_skipped()) {
            let asked = self.memory.asked_away.contains(group.id) || group.addresses().next().is_none();
            self.demand(27, asked, || format!("{} removes {} without exclusion", write.arrival.client, group.id));
        }
    }

    /// 16 and 21: a database is created when storage is in as many zones as it makes copies, and logs have as many to go to, be it those of
    /// storage. A pod that is ready is about to have its server, and one that had it a moment ago may be held for having it.
    pub(super) fn born_with_enough_zones(&mut self, asked: &Asked, stage: Stage<'_>) {
        let copies = stage.cluster().map_or(1, |cluster| cluster.spec.redundancy_mode().minimum_fault_domains() as usize);
        let zones = |counts: &dyn Fn(&str) -> bool| {
            let serving = self.memory.serving(asked.at).filter(|server| counts(&server.class));
            let serving = serving.map(|server| server.physical_zone.as_str());
            let ready = stage.world.pods.values().filter(|pod| class_of(&pod.metadata).is_some_and(counts) && is_ready(pod));
            let nodes = ready.filter_map(|pod| pod.spec.as_ref()?.node_name.as_deref());
            serving.chain(nodes).collect::<BTreeSet<_>>().len()
        };
        let storage = ProcessClass::Storage.name();
        let (of_storage, of_any) =
            (zones(&|class| class == storage), zones(&|class| class == storage || class == ProcessClass::Log.name()));
        self.demand(21, of_storage >= copies && of_any >= copies, || {
            format!("{} creates the database, with storage in {of_storage} zones for {copies} copies", asked.client)
        });
    }
}
