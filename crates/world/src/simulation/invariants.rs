//! What must be true at every moment, whatever goes wrong. The numbers are those of the project's list of invariants.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::{ProcessClass, labels};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use super::faults::{Arrival, Effect};
use crate::mirror::Mirror;
use crate::view::is_ready;

/// For so long an operator may act after it last held the lease.
const LEASE: Duration = Duration::from_secs(15);

/// What was seen before, to compare with.
#[derive(Default)]
pub(crate) struct Invariants {
    groups: BTreeSet<String>,
    epoch: i64,
    operators: BTreeMap<String, Known>,
    checks: BTreeMap<u32, u64>,
    broken: Option<Violation>,
}

/// What is known of an operator.
#[derive(Default)]
struct Known {
    /// When it last wrote the lease as its holder, and the epoch it then had.
    held: Option<(Instant, i64)>,
    /// Whether the object asked to be left alone when it last wrote its status.
    skipped: bool,
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

    /// Looks at the world as it is.
    pub(crate) fn look(&mut self, world: &Mirror) {
        for cluster in world.clusters.values() {
            self.groups_are_recorded_first(cluster, world);
            self.epochs_never_go_back(cluster);
            self.waiting_is_explained(cluster);
        }
    }

    /// Looks at what an operator did.
    pub(crate) fn judge(&mut self, effect: &Effect) {
        match effect {
            Effect::Sent { client, what, at } => {
                self.only_leaders_act(client, what, *at);
                self.skip_means_skip(client, what);
            }
            Effect::Done(arrival) if arrival.resource.starts_with("leases") => self.note_leadership(arrival),
            Effect::Done(arrival) if arrival.resource.starts_with("foundationdbclusters") => self.status_is_fenced(arrival),
            Effect::Done(arrival) => match (arrival.resource.as_str(), arrival.verb) {
                ("pods", "delete") => self.only_ended_pods_of_ours_go(arrival),
                ("persistentvolumeclaims", "delete") => {
                    let Arrival { client, name, .. } = arrival.as_ref();
                    self.demand(61, false, || format!("{client} deleted the volume claim {name}"));
                }
                _ => self.demand(61, true, String::new),
            },
        }
    }

    fn operator(&mut self, client: &str) -> &mut Known {
        self.operators.entry(client.to_owned()).or_default()
    }

    fn note_leadership(&mut self, arrival: &Arrival) {
        let Some(spec) = arrival.after.as_ref().map(|lease| &lease["spec"]) else { return };
        if spec["holderIdentity"] == arrival.client.as_str() {
            let epoch = spec["leaseTransitions"].as_i64().unwrap_or(0);
            self.operator(&arrival.client).held = Some((arrival.at, epoch));
        }
    }

    /// 28: nobody acts much later than it last held the lease.
    fn only_leaders_act(&mut self, client: &str, what: &str, at: Instant) {
        let held = self.operator(client).held;
        self.demand(28, held.is_some(), || format!("{client} sent {what} and never held the lease"));
        let Some((held, _)) = held else { return };
        let ago = at - held;
        self.demand(28, ago <= LEASE, || format!("{client} sent {what}, {} s after it last held the lease", ago.as_secs()));
    }

    /// 28: nobody writes a status over that of a later leadership.
    fn status_is_fenced(&mut self, arrival: &Arrival) {
        let epoch_in =
            |object: Option<&Value>| object.and_then(|object| object["status"]["quorate"]["epoch"].as_i64()).unwrap_or(0);
        let recorded = epoch_in(arrival.before.as_ref());
        let skipped = arrival.before.as_ref().is_some_and(|object| object["spec"]["skip"] == true);
        let client = arrival.client.clone();
        let known = self.operator(&client);
        known.skipped = skipped;
        if let Some((_, epoch)) = known.held {
            self.demand(28, epoch >= recorded, || format!("{client} of epoch {epoch} wrote over a status of epoch {recorded}"));
        }
    }

    /// 63: a cluster that asks to be left alone is left alone by whoever saw that it asks; what was sent before may still arrive.
    fn skip_means_skip(&mut self, client: &str, what: &str) {
        let says_so = what.contains("foundationdbclusters");
        let skipped = self.operator(client).skipped && !says_so;
        self.demand(63, !skipped, || format!("{client} sent {what} although spec.skip is set"));
    }

    /// 56 and 60: an operator deletes a pod only if it has ended by itself and is ours, however stale its view was and however often
    /// it was started again.
    fn only_ended_pods_of_ours_go(&mut self, arrival: &Arrival) {
        let Arrival { client, name, before, .. } = arrival;
        let Some(pod) = before else { return };
        let phase = pod["status"]["phase"].as_str().unwrap_or_default();
        let going = pod["metadata"]["deletionTimestamp"].is_string();
        let ended = matches!(phase, "Failed" | "Succeeded");
        for number in [56, 60] {
            self.demand(number, ended || going, || format!("{client} deleted pod {name}, which was {phase}"));
        }
        let ours = pod["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
        self.demand(56, ours, || format!("{client} deleted pod {name}, which belongs to somebody else"));
    }

    /// 55: whatever exists was recorded before it was made, so that a crash in between can neither lose nor double it.
    fn groups_are_recorded_first(&mut self, cluster: &FoundationDBCluster, world: &Mirror) {
        let recorded: BTreeSet<String> = cluster
            .status
            .iter()
            .flat_map(|status| status.process_groups.iter().flatten())
            .filter_map(|group| group.process_group_id.clone())
            .collect();
        let pods = world.pods.values().filter_map(|pod| group_of(&pod.metadata));
        let made: BTreeSet<&String> = pods.chain(world.claims.values().filter_map(|claim| group_of(&claim.metadata))).collect();
        for group in made {
            self.demand(55, recorded.contains(group), || format!("{group} exists and was not recorded"));
        }
        let before = std::mem::take(&mut self.groups);
        for group in &before {
            self.demand(55, recorded.contains(group), || format!("{group} was recorded and is forgotten"));
        }
        self.groups = recorded;
    }

    /// 28: an operator that lost its leadership changes nothing: the epoch in the status never goes back.
    fn epochs_never_go_back(&mut self, cluster: &FoundationDBCluster) {
        let quorate = cluster.status.as_ref().and_then(|status| status.quorate.as_ref());
        let epoch = quorate.and_then(|quorate| quorate.epoch).unwrap_or(0);
        let before = self.epoch;
        self.demand(28, epoch >= before, || format!("the epoch went from {before} back to {epoch}"));
        self.epoch = epoch.max(before);
    }

    /// 62: a cluster that is not as it should be says why, or is being worked on.
    fn waiting_is_explained(&mut self, cluster: &FoundationDBCluster) {
        let Some(status) = &cluster.status else { return };
        let progressing = status.conditions.iter().flatten().find(|condition| condition.type_ == "Progressing");
        let complete = status.reconciled_process_groups == status.desired_process_groups;
        let said = progressing.is_some_and(|condition| condition.status == "True");
        let held = status.quorate.as_ref().and_then(|quorate| quorate.holds.as_ref()).is_some_and(|holds| !holds.is_empty());
        self.demand(62, complete || said || held, || {
            "process groups are missing, and the status neither names a reason nor says that it is being worked on".to_owned()
        });
    }

    /// At the end, whatever went wrong on the way: each class has as many process groups as were asked for, each with a ready pod.
    /// 55, 57 and 59: crashes, missed events and wishes that were taken back leave no trace.
    pub(crate) fn all_is_as_asked(&mut self, world: &Mirror) {
        for cluster in world.clusters.values() {
            let groups = cluster.status.iter().flat_map(|status| status.process_groups.iter().flatten());
            let ids: BTreeSet<&String> = groups.filter_map(|group| group.process_group_id.as_ref()).collect();
            let ready: BTreeSet<&String> =
                world.pods.values().filter(|pod| is_ready(pod)).filter_map(|pod| group_of(&pod.metadata)).collect();
            let counts = cluster.spec.process_counts.as_ref();
            for class in [ProcessClass::Storage, ProcessClass::Log, ProcessClass::Stateless] {
                let want = counts.and_then(|counts| counts.of(class)).unwrap_or(0);
                let have = |ids: &BTreeSet<&String>| ids.iter().filter(|id| id.starts_with(class.name())).count();
                let (recorded, up) = (have(&ids), have(&ready));
                let fits = i32::try_from(recorded) == Ok(want) && up == recorded;
                for number in [55, 57, 59] {
                    self.demand(number, fits, || {
                        format!("{want} of class {class} were asked for; {recorded} are recorded and {up} have a ready pod")
                    });
                }
            }
        }
    }
}

fn group_of(metadata: &ObjectMeta) -> Option<&String> {
    metadata.labels.as_ref()?.get(labels::GROUP)
}
