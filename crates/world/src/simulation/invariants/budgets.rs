//! Disruption is rationed: 21, 24, 26, 29 and 50.

use jiff::{SignedDuration, Timestamp};
use quorate_fdb_client::Call;

use super::super::news::{Arrival, Asked};
use super::{Invariants, Stage};
use crate::database::Server;

/// What happened since, a report of some seconds ago could not say.
pub(super) const UNKNOWN_FOR: SignedDuration = SignedDuration::from_secs(15);

/// A restart that an operator asked for.
pub(super) struct Restart {
    started: Timestamp,
    command_line: String,
    configuration: String,
}

impl Invariants {
    /// 24: what costs a recovery keeps its distance to the last one, and never comes on top of many unfinished ones.
    pub(super) fn recoveries_keep_their_distance(
        &mut self,
        asked: &Asked,
        what: &str,
        spacing: SignedDuration,
        stage: Stage<'_>,
    ) {
        let Some(database) = stage.database else { return };
        let generations = database.generations();
        self.demand(24, generations <= 10, || format!("{} wants to {what} with {generations} generations", asked.client));
        let Some(since) = database.accepting_since() else { return };
        let age = stage.time.duration_since(since);
        self.demand(24, age < UNKNOWN_FOR || age >= spacing, || {
            format!("{} wants to {what}, {} s after a recovery", asked.client, age.as_secs())
        });
    }

    /// 29: no server is restarted twice for the same configuration, nor soon after it was started.
    pub(super) fn restarts_change_something(&mut self, asked: &Asked, addresses: &[String], stage: Stage<'_>) {
        let edited = self.memory.was_edited();
        self.demand(60, edited, || format!("{} kills servers, and nobody asked for others", asked.client));
        let Some(database) = stage.database else { return };
        let configuration = configuration(stage);
        for server in database.servers().filter(|server| addresses.contains(&server.address)) {
            let uptime = stage.time.duration_since(server.started);
            let needed = self.memory.uptime;
            self.demand(24, uptime < UNKNOWN_FOR || uptime >= needed, || {
                format!("{} kills {}, which runs for {} s", asked.client, server.group, uptime.as_secs())
            });
            let again = self.restarts.get(&server.group).is_some_and(|last| {
                last.started != server.started && last.command_line == server.command_line && last.configuration == configuration
            });
            self.demand(29, !again, || format!("{} kills {} again, and nothing was changed since", asked.client, server.group));
        }
    }

    pub(super) fn note_restarts(&mut self, asked: &Asked, stage: Stage<'_>) {
        let (Call::Kill(addresses), Some(before)) = (&asked.call, &asked.before) else { return };
        let configuration = configuration(stage);
        for server in before.servers().filter(|server| addresses.contains(&server.address)) {
            let restart =
                Restart { started: server.started, command_line: server.command_line, configuration: configuration.clone() };
            self.restarts.insert(server.group, restart);
        }
    }

    /// 26, 21 and 11: pods that serve are taken down in one zone at a time, and only while everything can be read without it.
    pub(super) fn one_zone_at_a_time(&mut self, arrival: &Arrival, id: &str, stage: Stage<'_>) {
        let client = &arrival.client;
        let Some((server, _)) = self.memory.servers.get(id) else { return };
        let long = |server: &Server| stage.time.duration_since(server.started) >= UNKNOWN_FOR;
        if !stage.database.is_some_and(|database| database.servers().any(|server| server.group == id && long(&server))) {
            return;
        }
        let zone = server.zone.clone();
        let other = self.taken_down.iter().find(|(_, other)| **other != zone);
        let other = other.map(|(other, in_zone)| format!("{other} in zone {in_zone}"));
        self.demand(26, other.is_none(), || {
            format!("{client} took {id} in zone {zone} down while {} is down", other.unwrap_or_default())
        });
        let apart_from_it = stage.database.is_some_and(|database| database.is_whole_apart_from(&zone));
        let whole = !self.taken_down.is_empty() || apart_from_it || self.memory.may_be_whole(arrival.sent);
        let missing = stage.database.and_then(crate::database::Database::what_is_missing).unwrap_or_default();
        self.demand(21, whole, || {
            format!("{client} took {id} in zone {zone} down, and copies have been missing for long; now {missing}")
        });
        self.majority_stays(client, id, stage);
        let has_volume = |volume: &str| stage.database.is_some_and(|database| database.has_volume(volume));
        // Whoever has started again since, from nothing, is known to have lost it.
        let lost_it_just_now = |group: &str| self.memory.servers.get(group).is_some_and(|(last, _)| !has_volume(&last.volume));
        let down = |volume: &str| {
            self.memory.volumes.get(volume).is_none_or(|group| {
                let counts = self.memory.may_serve(group, arrival.sent) && (has_volume(volume) || lost_it_just_now(group));
                group == id || !counts || self.taken_down.contains_key(group)
            })
        };
        let unreadable = stage.database.is_some_and(|database| database.unreadable_without(down));
        self.demand(21, !unreadable, || format!("{client} took {id} down, and some data can't be read without it"));
        self.taken_down.insert(id.to_owned(), zone);
    }

    /// Forgets those that serve again, or are to go.
    pub(super) fn see_who_serves_again(&mut self, stage: Stage<'_>) {
        if self.taken_down.is_empty() {
            return;
        }
        let Some(database) = stage.database else { return };
        let running: Vec<String> = database
            .servers()
            .filter(|server| stage.time.duration_since(server.started) > SignedDuration::ZERO)
            .map(|server| server.group)
            .collect();
        let ready = |id: &str| {
            let mut pods = stage.world.pods.values().filter(|pod| pod.metadata.deletion_timestamp.is_none());
            pods.any(|pod| super::stage::group_of(&pod.metadata).is_some_and(|group| group == id))
        };
        self.taken_down
            .retain(|id, _| !(running.contains(id) && ready(id)) && stage.group(id).is_some_and(|group| !group.is_marked()));
    }
}

fn configuration(stage: Stage<'_>) -> String {
    stage.world.config_maps.values().filter_map(|map| serde_json::to_string(&map.data).ok()).collect()
}
