//! What must be true at every moment, whatever goes wrong. The numbers are those of the project's list of invariants.
//!
//! They are held against what is so, in the API and in the database, never against what an operator believes. What the environment does
//! by itself breaks none of them; and what nobody could know yet when something was sent is held against nobody.

mod budgets;
mod coordinators;
mod data;
mod domains;
mod exclusion;
mod frame;
mod memory;
mod objects;
mod removal;
mod replacements;
mod rest;
mod stage;

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use quorate_fdb_client::{Call, Management};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::news::{Arrival, Asked, Effect};
use budgets::Restart;
use frame::Known;
use memory::Memory;
pub(crate) use stage::Stage;
use stage::{StatusWrite, groups_of};

/// So long after a recovery the configuration of a database may be changed.
const RECONFIGURED_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// What was seen before, to compare with.
#[derive(Default)]
pub(crate) struct Invariants {
    groups: BTreeMap<String, BTreeSet<String>>,
    /// Process groups of which something was made long after that was sent: they may have gone in between, and have to be found.
    made_late: BTreeSet<String>,
    /// When what was on record was lost last.
    records_lost: Option<Instant>,
    /// Who made something of a process group last, and when.
    made: BTreeMap<String, (String, Instant)>,
    epoch: i64,
    /// Connection strings that were recorded, the newest last.
    connections: Vec<String>,
    operators: BTreeMap<String, Known>,
    memory: Memory,
    /// Zones of pods that operators took down to make them again, by process group, until they serve again.
    taken_down: BTreeMap<String, String>,
    restarts: BTreeMap<String, Restart>,
    checks: BTreeMap<u32, u64>,
    broken: Option<Violation>,
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Its number.
    pub invariant: u32,
    /// What was seen.
    pub what: String,
}

impl Invariants {
    /// What is broken, if anything is.
    pub(crate) fn broken(&self) -> Option<&Violation> {
        self.broken.as_ref()
    }

    /// How often each was checked.
    pub(crate) fn checks(&self) -> &BTreeMap<u32, u64> {
        &self.checks
    }

    /// Demands that something holds; the first that does not is kept.
    pub(crate) fn demand(&mut self, invariant: u32, holds: bool, what: impl FnOnce() -> String) {
        *self.checks.entry(invariant).or_default() += 1;
        if !holds && self.broken.is_none() {
            self.broken = Some(Violation { invariant, what: what() });
        }
    }

    /// Takes in how things are, against which things that are done are held.
    pub(crate) fn remember(&mut self, stage: Stage<'_>) {
        self.memory.take_in(stage);
    }

    /// Whatever was on record is no longer, by nobody's fault but that of somebody with a keyboard. What exists has to be found again.
    pub(crate) fn records_are_lost(&mut self, stage: Stage<'_>) {
        let pods = stage.world.pods.values().filter_map(|pod| stage::group_of(&pod.metadata));
        let claims = stage.world.claims.values().filter_map(|claim| stage::group_of(&claim.metadata));
        self.made_late.extend(pods.chain(claims).cloned());
        self.groups.clear();
        self.epoch = 0;
        self.records_lost = Some(stage.now);
        // What servers were told last is the newest that anybody still knows.
        let told =
            stage.world.config_maps.values().find_map(|map| map.data.as_ref()?.get(quorate_foundationdb::objects::CLUSTER_FILE));
        if let Some(newest) = told.and_then(|told| self.connections.iter().rposition(|known| known == told)) {
            self.connections.truncate(newest + 1);
        }
    }

    /// Looks at the world as it is, after every step.
    pub(crate) fn look(&mut self, stage: Stage<'_>) {
        self.remember(stage);
        self.nothing_is_lost(stage);
        self.see_who_serves_again(stage);
    }

    /// Looks at the objects, after they changed.
    pub(crate) fn look_at_objects(&mut self, stage: Stage<'_>) {
        self.memory.take_in_objects(stage);
        for cluster in stage.world.clusters.values() {
            self.groups_are_recorded_first(cluster, stage);
            self.epochs_never_go_back(cluster);
            self.connections_never_go_back(cluster);
            self.waiting_is_explained(cluster);
            self.domains_are_true(cluster, stage);
        }
    }

    /// Looks at what an operator did.
    pub(crate) fn judge(&mut self, effect: &Effect, stage: Stage<'_>) {
        match effect {
            Effect::Sent { client, what, at } => {
                self.only_leaders_act(client, what, *at);
                self.skip_means_skip(client, what);
            }
            Effect::Done(arrival) => self.judge_write(arrival, stage),
            Effect::Asked(asked) => self.judge_call(asked, Stage { database: asked.before.as_ref(), now: asked.at, ..stage }),
            Effect::Killed(asked) => self.note_restarts(asked, stage),
        }
    }

    fn judge_write(&mut self, arrival: &Arrival, stage: Stage<'_>) {
        match (arrival.resource.as_str(), arrival.verb) {
            (lease, _) if lease.starts_with("leases") => self.note_leadership(arrival),
            (cluster, _) if cluster.starts_with("foundationdbclusters") => {
                self.status_is_fenced(arrival);
                if let Some(write) = StatusWrite::of(arrival) {
                    self.memory.take_in_groups(groups_of(&write.after), stage.now);
                    self.replacements_are_rationed(&write, stage);
                    self.exclusion_is_skipped_as_asked(&write);
                    self.domains_are_kept(&write, stage);
                }
            }
            ("pods" | "persistentvolumeclaims", "create") => self.note_creation(arrival),
            ("pods", "delete") => self.pods_go_for_a_reason(arrival, stage),
            ("persistentvolumeclaims", "delete") => self.claims_go_empty(arrival, stage),
            _ => {}
        }
    }

    fn judge_call(&mut self, asked: &Asked, stage: Stage<'_>) {
        match &asked.call {
            Call::Look(_) => {}
            Call::Kill(addresses) => {
                self.recoveries_keep_their_distance(asked, "kill servers", self.memory.uptime, stage);
                self.restarts_change_something(asked, addresses, stage);
            }
            Call::Commit(commit) => match &commit.manage {
                Some(Management::Exclude(places)) => self.exclusions_leave_enough(asked, places, stage),
                Some(Management::Include(places) | Management::IncludeBlindly(places)) => {
                    self.included_last(asked, places, stage);
                }
                Some(Management::Coordinators(addresses)) => self.coordinators_fit(asked, addresses, stage),
                Some(Management::Configure(change)) if change.new.is_some() => self.born_with_enough_zones(asked, stage),
                Some(Management::Configure(_)) => {
                    self.recoveries_keep_their_distance(asked, "change the configuration", RECONFIGURED_AFTER, stage);
                }
                _ => {}
            },
        }
    }
}
