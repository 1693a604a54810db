//! When a world is at rest, how long it may take until then, and what is open if it takes longer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::{ProcessClass, labels, reasons};
use quorate_operator::checked_wish;
use quorate_quorum::buckets::REPLACEMENTS_IN_FLIGHT;

use super::run::World;
use super::trouble::MUCH_DATA;
use super::wishes::{FAULT_DOMAINS, SHAPE};
use crate::database::Database;
use crate::mirror::Mirror;
use crate::scenery;
use crate::view::{is_ready, label};

/// After the last fault the cluster must be as it should be within this time, and the longest wait there is.
const PATIENCE: Duration = Duration::from_secs(600);
/// A wait that Kubernetes makes.
const A_POD_STAYS_ON_A_LOST_NODE: Duration = Duration::from_secs(300);
/// Where fault domains are turned on or off, or servers per pod, copies or roles change, everybody is replaced, in up to five waves, each two
/// minutes after the recovery of the one before.
const WAVES: Duration = Duration::from_secs(5 * 120);
/// Where copies take minutes, what is to go goes one after the other, and pods are made again only then.
const COPIES: Duration = Duration::from_secs(1800);

/// How long it may take until all is as it should be.
pub(super) struct Patience {
    /// Ten minutes, and the longest wait there is.
    pub usual: Duration,
    /// With what some things take longer.
    pub most: Duration,
}

impl World {
    /// How long it may take until all is as it should be: the object says how long some things are waited for.
    pub(super) fn patience(&self) -> Patience {
        let wait = self.cluster.look(|world| {
            let wish = world.clusters.values().next().map(checked_wish);
            wish.map(|wish| wish.automation.longest_wait()).unwrap_or_default()
        });
        let usual = PATIENCE + Duration::try_from(wait).unwrap_or_default().max(A_POD_STAYS_ON_A_LOST_NODE);
        let waves = if self.faults.count(SHAPE) + self.faults.count(FAULT_DOMAINS) > 0 { WAVES } else { Duration::ZERO };
        let data = match (self.faults.count(MUCH_DATA) > 0, waves.is_zero()) {
            (false, _) => Duration::ZERO,
            (true, true) => COPIES,
            // Each wave takes minutes more.
            (true, false) => COPIES * 2,
        };
        Patience { usual, most: usual + waves + data }
    }

    /// What the status still holds, and which process groups are not as they should be.
    pub(super) fn what_is_open(&self) -> Vec<String> {
        self.cluster.look(|world| {
            let statuses = || world.clusters.values().filter_map(|cluster| cluster.status.as_ref());
            let holds = statuses().filter_map(|status| status.quorate.as_ref()?.holds.as_ref()).flatten();
            let held = holds.filter_map(|hold| serde_json::to_string(hold).ok()).map(|hold| format!("held: {hold}"));
            let groups = statuses().flat_map(|status| status.process_groups.iter().flatten());
            let open = groups.filter(|group| {
                group.removal_timestamp.is_some() || group.process_group_conditions.as_ref().is_some_and(|all| !all.is_empty())
            });
            let open = open.filter_map(|group| serde_json::to_string(group).ok()).map(|group| format!("open: {group}"));
            held.chain(open).collect()
        })
    }

    /// Whether copies that take minutes are still being made: more of them may have been asked for.
    pub(super) fn is_still_copying(&self) -> bool {
        let missing = |database: Option<&Database>| database.and_then(Database::what_is_missing).is_some();
        self.faults.count(MUCH_DATA) > 0 && self.databases.look(&scenery::known_as(), missing)
    }

    /// The newest wish is carried out and nothing is held.
    pub(super) fn is_at_rest(&self) -> bool {
        self.cluster.look(|world| {
            world.clusters.values().all(|cluster| {
                let Some(status) = &cluster.status else { return false };
                let reconciled = status.generations.as_ref().and_then(|generations| generations.reconciled);
                let holds = status.quorate.as_ref().and_then(|quorate| quorate.holds.as_ref());
                reconciled == cluster.metadata.generation
                    && holds.is_none_or(Vec::is_empty)
                    && status.reconciled_process_groups == status.desired_process_groups
                    && are_labelled_as_asked(world, cluster)
            })
        })
    }

    /// Too few hosts have processes for all copies or all coordinators, and nothing else is waited for. Where pods land is for the
    /// scheduler to say; one that had no other choice at the time is not moved by anybody but its user.
    pub(super) fn is_short_of_zones(&self) -> bool {
        let replicas = self.databases.look(&scenery::known_as(), |database| database.and_then(Database::replicas));
        let Some((storage, log)) = replicas else { return false };
        self.cluster.look(|world| {
            let Some(cluster) = world.clusters.values().next() else { return false };
            let holds = cluster.status.iter().filter_map(|status| status.quorate.as_ref()?.holds.as_ref()).flatten();
            let groups = || cluster.status.iter().flat_map(|status| status.process_groups.iter().flatten());
            let goes = |id: &str| {
                let mut groups = groups();
                groups.any(|group| group.removal_timestamp.is_some() && group.process_group_id.as_deref() == Some(id))
            };
            // Who is to go and finds no node goes with the others.
            let holds = holds.filter(|hold| hold.reason != reasons::POD_PENDING.0 || !goes(&hold.about));
            let waited_for: BTreeSet<&str> = holds.map(|hold| hold.reason.as_str()).collect();
            let hosts = hosts(world, cluster);
            let of = |classes: &[ProcessClass]| {
                classes.iter().filter_map(|class| hosts.get(class)).flatten().collect::<BTreeSet<_>>().len()
            };
            let for_copies = of(&[ProcessClass::Storage]) < storage || of(&[ProcessClass::Log]) < log;
            let wish = checked_wish(cluster);
            let eligible: Vec<ProcessClass> =
                hosts.keys().copied().filter(|class| wish.coordinator_priority(*class).is_some()).collect();
            let for_coordinators = of(&eligible) < wish.coordinator_count();
            let for_domains =
                wish.distribution.is_some_and(|distribution| distribution.required) && finds_no_host_for_its_domain(world);
            let waits_for = |reason: quorate_quorum::Reason| waited_for.contains(reason.0);
            let is_short = [
                (reasons::TOO_FEW_ZONES, for_copies),
                (reasons::NOT_ENOUGH_COORDINATORS, for_coordinators),
                (reasons::TOO_FEW_HOSTS, for_domains),
            ];
            // Who waits for one that can't go is not held up by anything else.
            let others_wait = [
                reasons::EXCLUDED_TOGETHER,
                reasons::COORDINATOR_GOES_FIRST,
                reasons::MOVES_HELD,
                reasons::REPLACEMENT_HELD,
                REPLACEMENTS_IN_FLIGHT,
                reasons::RESTART_HELD,
            ];
            // Whose pods find no host is no successor of anybody, and stays pending.
            let without_hosts = [reasons::POD_PENDING, reasons::NO_HEADROOM].into_iter().filter(|_| for_domains);
            let others_wait: Vec<_> = others_wait.into_iter().chain(without_hosts).collect();
            let is_explained = |reason: &str| {
                others_wait.iter().any(|other| other.0 == reason) || is_short.iter().any(|(short, _)| short.0 == reason)
            };
            is_short.iter().any(|(reason, _)| waits_for(*reason))
                && is_short.iter().all(|(reason, so)| *so || !waits_for(*reason))
                && waited_for.iter().all(|reason| is_explained(reason))
        })
    }
}

/// Whether a pod of a logical fault domain is on no host, and each host has another pod of its class that keeps it off.
fn finds_no_host_for_its_domain(world: &Mirror) -> bool {
    let of = |pod: &Pod, key: &str| label(&pod.metadata, key).map(str::to_owned);
    let host = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    world.pods.values().filter(|pod| host(pod).is_none()).any(|pod| {
        let Some(domain) = of(pod, labels::DISTRIBUTION_KEY) else { return false };
        let keeps_off = |other: &&Pod| {
            of(other, labels::CLASS) == of(pod, labels::CLASS) && of(other, labels::DISTRIBUTION_KEY).as_deref() != Some(&*domain)
        };
        let taken: BTreeSet<String> = world.pods.values().filter(keeps_off).filter_map(host).collect();
        world.nodes.keys().all(|(_, node)| taken.contains(node))
    })
}

/// Whether every pod has the labels of its template.
fn are_labelled_as_asked(world: &Mirror, cluster: &FoundationDBCluster) -> bool {
    let settings = |class: &str| cluster.spec.processes.as_ref().and_then(|all| all.get(class)?.pod_template.as_ref());
    let ours = world.pods.values().filter(|pod| pod.metadata.owner_references.is_some());
    ours.map(|pod| &pod.metadata).all(|metadata| {
        let class = label(metadata, labels::CLASS).unwrap_or_default();
        let template = settings(class).or_else(|| settings("general"));
        let mut asked =
            template.into_iter().flat_map(|template| template.metadata.iter()).flat_map(|of| of.labels.iter()).flatten();
        asked.all(|(key, value)| label(metadata, key) == Some(value.as_str()))
    })
}

/// The hosts on which process groups that are to stay are ready, by class.
fn hosts<'a>(world: &'a Mirror, cluster: &FoundationDBCluster) -> BTreeMap<ProcessClass, BTreeSet<&'a str>> {
    let groups = cluster.status.iter().flat_map(|status| status.process_groups.iter().flatten());
    let stay: BTreeSet<&str> =
        groups.filter(|group| group.removal_timestamp.is_none()).filter_map(|group| group.process_group_id.as_deref()).collect();
    let mut hosts: BTreeMap<ProcessClass, BTreeSet<&str>> = BTreeMap::new();
    let stays = |pod: &&Pod| is_ready(pod) && label(&pod.metadata, labels::GROUP).is_some_and(|group| stay.contains(group));
    for pod in world.pods.values().filter(stays) {
        let class = label(&pod.metadata, labels::CLASS).and_then(|class| class.parse().ok());
        let host = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        if let (Some(class), Some(host)) = (class, host) {
            hosts.entry(class).or_default().insert(host);
        }
    }
    hosts
}
