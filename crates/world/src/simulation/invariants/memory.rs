//! What was so a while ago. An operator acts on a report that is some seconds old; what happened since is held against nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::SignedDuration;
use quorate_foundationdb::{GroupCondition, ProcessClass};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::stage::{Group, Stage};
use crate::database::{Running, Server};

/// A report is good for thirty seconds, and a call takes some more.
pub(super) const KNOWN_AFTER: Duration = Duration::from_secs(45);

/// What was so, and when it was so last.
#[derive(Default)]
pub(super) struct Memory {
    /// The first server of each process group, and when it ran last.
    pub(super) servers: BTreeMap<String, (Server, Instant)>,
    /// Whose volume is whose, of all servers.
    pub(super) volumes: BTreeMap<String, String>,
    /// When a server of each process group was last not excluded.
    included: BTreeMap<String, Instant>,
    /// When commits were accepted last.
    pub(super) available: Option<Instant>,
    /// When nothing was missing last: every copy, every log and every coordinator was there.
    pub(super) whole: Option<Instant>,
    /// When the pod of a process group was last known to be asked to be another.
    pub(super) outdated: BTreeMap<String, Instant>,
    /// Since when a process group is to go.
    marked: BTreeMap<String, Instant>,
    /// Who is on record.
    recorded: BTreeSet<String>,
    /// Who was, and until when.
    recorded_until: BTreeMap<String, Instant>,
    /// Process groups that a user ever asked to be removed at once.
    pub(super) asked_away: BTreeSet<String>,
    /// How long servers must run before they are restarted.
    pub(super) uptime: SignedDuration,
    /// What pods and servers were ever asked to be.
    processes: Vec<Value>,
    /// The fewest that were asked for of a class lately.
    wanted: BTreeMap<ProcessClass, Vec<(usize, Instant)>>,
    connection: Option<(String, Instant)>,
}

impl Memory {
    pub(super) fn take_in(&mut self, stage: Stage<'_>) {
        let Some(database) = stage.database else { return };
        if database.available() {
            self.available = Some(stage.now);
        }
        if database.looks_whole() {
            self.whole = Some(stage.now);
        }
        let connection = database.connection();
        if self.connection.as_ref().is_none_or(|(known, _)| *known != connection) {
            self.connection = Some((connection, stage.now));
        }
        let mut running: Vec<Running<'_>> = database.running().collect();
        // The first server stands for its pod. Somebody may have made another one of it a coordinator by hand.
        running.sort_by(|one, other| other.address().cmp(one.address()));
        let coordinating: BTreeSet<&str> =
            running.iter().filter(|server| server.coordinates()).map(|server| server.group()).collect();
        for server in &running {
            self.take_in_server(server, coordinating.contains(server.group()), stage.now);
        }
    }

    fn take_in_server(&mut self, server: &Running<'_>, coordinates: bool, now: Instant) {
        let excluded = server.is_excluded();
        if !excluded {
            match self.included.get_mut(server.group()) {
                Some(last) => *last = now,
                None => drop(self.included.insert(server.group().to_owned(), now)),
            }
        }
        match self.servers.get_mut(server.group()) {
            Some((known, last)) if server.is(known) => {
                (known.excluded, known.coordinates, *last) = (excluded, coordinates, now);
            }
            _ => {
                let server = Server { coordinates, ..server.server() };
                self.volumes.insert(server.volume.clone(), server.group.clone());
                self.servers.insert(server.group.clone(), (server, now));
            }
        }
    }

    pub(super) fn take_in_objects(&mut self, stage: Stage<'_>) {
        let Some(cluster) = stage.cluster() else { return };
        self.uptime = SignedDuration::try_from(cluster.spec.minimum_uptime_for_bounce()).unwrap_or_default();
        self.asked_away.extend(cluster.spec.process_groups_to_remove_without_exclusion.iter().flatten().cloned());
        let spec = &cluster.spec;
        let processes =
            json!([without_labels(json!(spec.processes)), spec.storage_servers_per_pod, spec.log_servers_per_pod, spec.routing]);
        if self.processes.last() != Some(&processes) {
            self.processes.push(processes);
        }
        self.take_in_groups(stage.groups(), stage.now);
        for class in [ProcessClass::Storage, ProcessClass::Log, ProcessClass::Stateless] {
            let wanted = stage.wanted(class);
            let known = self.wanted.entry(class).or_default();
            if known.last().is_none_or(|(last, _)| *last != wanted) {
                known.push((wanted, stage.now));
            }
        }
    }

    /// Who is asked to be another and who is to go, by a status that may be written over in the same moment.
    pub(super) fn take_in_groups<'a>(&mut self, groups: impl Iterator<Item = Group<'a>>, now: Instant) {
        let before = std::mem::take(&mut self.recorded);
        for group in groups {
            self.recorded.insert(group.id.to_owned());
            if group.has(GroupCondition::IncorrectPodSpec) {
                self.outdated.insert(group.id.to_owned(), now);
            }
            if group.is_marked() {
                self.marked.entry(group.id.to_owned()).or_insert(now);
            }
        }
        let forgotten = before.into_iter().filter(|id| !self.recorded.contains(id));
        self.recorded_until.extend(forgotten.map(|id| (id, now)));
    }

    /// Whether a process group was on record at that time or has been since.
    pub(super) fn was_recorded(&self, id: &str, at: Instant) -> bool {
        self.recorded.contains(id) || self.recorded_until.get(id).is_some_and(|until| *until >= at)
    }

    /// Whether a process group was to go at that time.
    pub(super) fn was_marked(&self, id: &str, at: Instant) -> bool {
        self.marked.get(id).is_some_and(|since| *since <= at)
    }

    /// Whether anybody ever asked for other pods or servers than at first. Other labels need no other pods.
    pub(super) fn was_edited(&self) -> bool {
        self.processes.len() > 1
    }

    /// The fewest of a class that an operator may hold for wanted at that time: watches may be a minute late.
    pub(super) fn wanted(&self, class: ProcessClass, at: Instant) -> usize {
        let known = self.wanted.get(&class).map_or(&[][..], Vec::as_slice);
        let was_late = |next: Option<&(usize, Instant)>| next.is_none_or(|(_, since)| at < *since + Duration::from_secs(90));
        let current = known.iter().enumerate().filter(|(position, _)| was_late(known.get(position + 1)));
        current.map(|(_, (wanted, _))| *wanted).min().unwrap_or(0)
    }

    /// Whether a process group may be held for not excluded by who sent something at that time: others exclude as well.
    pub(super) fn may_be_included(&self, group: &str, at: Instant) -> bool {
        self.included.get(group).is_some_and(|last| *last + KNOWN_AFTER >= at)
    }

    /// Whether a process group may be held for serving by who sent something at that time.
    pub(super) fn may_serve(&self, group: &str, at: Instant) -> bool {
        self.servers.get(group).is_some_and(|(_, last)| *last + KNOWN_AFTER >= at)
    }

    /// The servers that may be held for running by who sent something at that time.
    pub(super) fn serving(&self, at: Instant) -> impl Iterator<Item = &Server> {
        self.servers.values().filter(move |(_, last)| *last + KNOWN_AFTER >= at).map(|(server, _)| server)
    }

    /// Whether the database may be held for available by who sent something at that time.
    pub(super) fn may_be_available(&self, at: Instant) -> bool {
        self.available.is_some_and(|last| last + KNOWN_AFTER >= at)
    }

    /// Whether everything may be held for whole by who sent something at that time.
    pub(super) fn may_be_whole(&self, at: Instant) -> bool {
        self.whole.is_some_and(|last| last + KNOWN_AFTER >= at)
    }

    /// Whether the coordinators have been who they are for long enough to be known.
    pub(super) fn coordinators_are_known(&self, at: Instant) -> bool {
        self.connection.as_ref().is_some_and(|(_, since)| *since + KNOWN_AFTER <= at)
    }
}

/// What is asked of processes, but for the labels and annotations of their pods and claims.
fn without_labels(mut processes: Value) -> Value {
    for settings in processes.as_object_mut().into_iter().flat_map(|all| all.values_mut()).filter_map(Value::as_object_mut) {
        for template in settings.values_mut().filter_map(Value::as_object_mut) {
            template.remove("metadata");
        }
        settings.retain(|_, template| template.as_object().is_none_or(|template| !template.is_empty()));
    }
    processes
}
