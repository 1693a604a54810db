//! Logical fault domains: 1 to 7, 9, 64 and 65.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::{GroupCondition, ProcessClass, domain_key, labels, objects};
use quorate_operator::checked_wish;

use super::super::news::Arrival;
use super::memory::KNOWN_AFTER;
use super::replacements::is_misfit;
use super::stage::{Group, StatusWrite, group_of, groups_of, wanted};
use super::{Invariants, Stage};
use crate::database::Database;
use crate::view::ready_since;

const CLASSES: [ProcessClass; 3] = [ProcessClass::Storage, ProcessClass::Log, ProcessClass::Stateless];

impl<'a> Group<'a> {
    /// The logical fault domain it is in; none if it is in none.
    fn domain(self) -> Option<&'a str> {
        home(self.status).and_then(|(_, domain)| domain)
    }
}

/// Where the process groups of a class belong.
struct Packing {
    /// The domains in use.
    domains: BTreeSet<String>,
    /// Whether there are to be any.
    on: bool,
    wanted: usize,
}

impl Packing {
    fn of(cluster: &FoundationDBCluster, class: ProcessClass) -> Self {
        let asked = cluster.spec.distribution.as_ref().filter(|asked| asked.enabled());
        let all = asked.map_or(0, |asked| asked.desired_fault_domains(cluster.spec.redundancy_mode()));
        let quorate = cluster.status.as_ref().and_then(|status| status.quorate.as_ref());
        let aside = quorate.iter().flat_map(|quorate| quorate.set_aside.iter().flatten());
        let aside: BTreeSet<&str> = aside.map(|aside| aside.fault_domain.as_str()).collect();
        let prefix = cluster.spec.process_group_id_prefix.as_deref();
        let keys = (0..u32::try_from(all).unwrap_or(0)).map(|domain| domain_key(prefix, class, domain));
        let domains = keys.filter(|key| !aside.contains(key.as_str())).collect();
        Self { domains, on: asked.is_some(), wanted: wanted(cluster, class) }
    }

    /// The fewest and the most that a domain has at rest.
    fn band(&self) -> (usize, usize) {
        let domains = self.domains.len().max(1);
        (self.wanted / domains, self.wanted.div_ceil(domains))
    }

    /// How many each domain has, and how many are in none of them.
    fn held<'a>(&self, groups: impl Iterator<Item = Group<'a>>) -> (BTreeMap<&str, usize>, usize) {
        let mut held: BTreeMap<&str, usize> = self.domains.iter().map(|domain| (domain.as_str(), 0)).collect();
        let mut elsewhere = 0;
        for group in groups.filter(|group| self.on || group.domain().is_some()) {
            match group.domain().and_then(|domain| held.get_mut(domain)) {
                Some(count) => *count += 1,
                None => elsewhere += 1,
            }
        }
        (held, elsewhere)
    }

    /// How many have to go at least: whoever is elsewhere or above the band, or as many as must come below it beyond those that are
    /// missing anyway. Where domains are off, whoever is in one.
    fn must_go<'a>(&self, groups: impl Iterator<Item = Group<'a>>) -> usize {
        let (held, elsewhere) = self.held(groups);
        let (lo, hi) = self.band();
        let above: usize = held.values().map(|count| count.saturating_sub(hi)).sum();
        let below: usize = held.values().map(|count| lo.saturating_sub(*count)).sum();
        let live = held.values().sum::<usize>() + elsewhere;
        (above + elsewhere).max((below + live).saturating_sub(self.wanted))
    }
}

/// Whether somebody of a class was to go for the sake of the domains that a status uses.
pub(super) fn moves_are_due(before: &FoundationDBCluster, after: &FoundationDBCluster, class: ProcessClass) -> bool {
    Packing::of(after, class).must_go(live(before, class)) > 0
}

/// Whether a process group goes for another reason than its domain: it failed, or is asked to go or to be another.
fn goes_anyway(group: Group<'_>, spec: &FoundationDBCluster) -> bool {
    let lists = [&spec.spec.process_groups_to_remove, &spec.spec.process_groups_to_remove_without_exclusion];
    let asked = lists.into_iter().flatten().flatten().any(|name| name == group.id || name == "*");
    let mut failures = GroupCondition::ALL.iter().filter(|condition| condition.is_failure());
    asked || group.has(GroupCondition::IncorrectPodSpec) || failures.any(|condition| group.has(*condition))
}

impl Invariants {
    /// What every status says of domains, against the one before it.
    pub(super) fn domains_are_kept(&mut self, StatusWrite { arrival, before, after }: &StatusWrite<'_>, stage: Stage<'_>) {
        if before.spec.distribution.is_none() {
            let packed = groups_of(after).find(|group| group.domain().is_some());
            self.demand(9, packed.is_none(), || {
                format!("{:?} is in a logical fault domain, and nobody asked for any", packed.map(|group| group.id))
            });
            return;
        }
        self.nobody_changes_its_domain(arrival, before, after);
        for class in CLASSES {
            self.new_ones_are_placed(arrival, class, before, after);
            self.few_move(arrival, class, before, after, stage);
        }
    }

    /// 4: who was made for a domain stays in it, and who was made for none never gets one.
    fn nobody_changes_its_domain(&mut self, arrival: &Arrival, before: &FoundationDBCluster, after: &FoundationDBCluster) {
        let was: BTreeMap<&str, Option<&str>> =
            before.status.iter().flat_map(|status| status.process_groups.iter().flatten()).filter_map(home).collect();
        for (id, is) in after.status.iter().flat_map(|status| status.process_groups.iter().flatten()).filter_map(home) {
            let Some(was) = was.get(id) else { continue };
            self.demand(4, *was == is, || format!("{} moves {id} from {was:?} to {is:?}", arrival.client));
        }
    }

    /// 2: nobody is put into a domain that is full. 9: there are domains where they are asked for, and nowhere else.
    /// 65: as many of them stay in use as the redundancy mode needs.
    fn new_ones_are_placed(
        &mut self,
        arrival: &Arrival,
        class: ProcessClass,
        before: &FoundationDBCluster,
        after: &FoundationDBCluster,
    ) {
        let (client, packing) = (&arrival.client, Packing::of(after, class));
        let (used, needed) = (packing.domains.len(), after.spec.redundancy_mode().minimum_fault_domains() as usize);
        // A user may just have asked for a mode that needs more of them than are in use.
        let used_before = Packing::of(before, class).domains.len();
        self.demand(65, !packing.on || used >= needed.min(used_before), || {
            format!("{client} uses {used} fault domains of class {class}, and {needed} are needed")
        });
        let (held, _) = packing.held(live(after, class));
        let (_, full) = packing.band();
        // Whoever ever had a pod or a volume was put somewhere before, and is only recorded again.
        let known = |id: &str| self.made.contains_key(id) || groups_of(before).any(|group| group.id == id);
        let fresh: Vec<Group<'_>> = live(after, class).filter(|group| !known(group.id)).collect();
        for group in fresh {
            let (id, domain) = (group.id, group.domain());
            self.demand(9, domain.is_some() == packing.on, || format!("{client} puts {id} into {domain:?}"));
            let inside = domain.and_then(|domain| held.get(domain)).copied();
            self.demand(2, !packing.on || inside.is_some_and(|inside| inside <= full), || {
                format!("{client} puts {id} into {domain:?}, which has {inside:?} then; it is full with {full}")
            });
        }
    }

    /// 3 and 5: whoever goes for the sake of domains had to, with nobody counted who goes anyway, and fewer are left to go by as many.
    /// 64: no more are on their way at once than a domain has; but those who can't go before others are elsewhere wait for the moves.
    fn few_move(
        &mut self,
        arrival: &Arrival,
        class: ProcessClass,
        before: &FoundationDBCluster,
        after: &FoundationDBCluster,
        stage: Stage<'_>,
    ) {
        let (client, packing) = (&arrival.client, Packing::of(after, class));
        let stays = |id: &str| live(after, class).any(|group| group.id == id);
        let goes_anyway = |id: &str| {
            // Who was asked to go as it is may be forgotten in the same moment.
            let mut known = of_class(after, class).chain(of_class(before, class));
            known.any(|group| group.id == id && (goes_anyway(group, before) || is_misfit(group, before, stage)))
        };
        let concerns = |group: &Group<'_>| packing.on || group.domain().is_some();
        let moving: Vec<&str> = live(before, class)
            .filter(|group| concerns(group) && !stays(group.id) && !goes_anyway(group.id))
            .map(|group| group.id)
            .collect();
        if moving.is_empty() {
            return;
        }
        let counted = || live(before, class).filter(|group| stays(group.id) || moving.contains(&group.id));
        let (had, left) = (packing.must_go(counted()), packing.must_go(live(after, class)));
        for number in [3, 5] {
            self.demand(number, left + moving.len() <= had, || {
                format!("{client} moves {moving:?} of class {class}: {had} had to go, and {left} have to go now")
            });
        }
        if objects::domains_must_be_apart(class) {
            let surplus = live(before, class).count().saturating_sub(packing.wanted);
            // With domains off it is what a domain still has, by the one status or the other: between them somebody may have gone.
            let filled = if packing.on {
                vec![(packing.wanted, packing.domains.len())]
            } else {
                vec![packed(before, class), packed(after, class)]
            };
            let most = filled.into_iter().map(|(groups, domains)| groups.div_ceil(domains.max(1))).fold(1, usize::max) + surplus;
            let in_flight: Vec<&str> =
                of_class(after, class).filter(|group| group.is_in_flight()).map(|group| group.id).collect();
            let wait_for_moves = moving.len() <= most && are_crowded(before, class, stage);
            self.demand(64, moving.len() <= surplus || in_flight.len() <= most || wait_for_moves, || {
                format!("{client} moves {moving:?} of class {class}: {in_flight:?} are on their way at once, and {most} may be")
            });
        }
    }

    /// 6: a pod's label and its variable, and the zone of the servers that run in it, are the domain that is recorded.
    /// 7: no host has pods of two domains of a class that keeps something, nor any beside those of no domain.
    pub(super) fn domains_are_true(&mut self, cluster: &FoundationDBCluster, stage: Stage<'_>) {
        if cluster.spec.distribution.is_none() {
            return;
        }
        let domains: BTreeMap<&str, Option<&str>> =
            cluster.status.iter().flat_map(|status| status.process_groups.iter().flatten()).filter_map(home).collect();
        let mut on_hosts: BTreeMap<(&str, &str), BTreeMap<Option<&str>, &str>> = BTreeMap::new();
        // Pods of an object that is gone go as well, and have a name that is given again.
        let is_its = |pod: &&Pod| {
            let mut owners = pod.metadata.owner_references.iter().flatten();
            owners.any(|owner| Some(&owner.uid) == cluster.metadata.uid.as_ref())
        };
        for pod in stage.world.pods.values().filter(is_its) {
            let Some((id, domain)) = group_of(&pod.metadata).and_then(|id| domains.get_key_value(id.as_str())) else { continue };
            let label = pod.metadata.labels.as_ref().and_then(|labels| labels.get(labels::DISTRIBUTION_KEY)).map(String::as_str);
            let containers = pod.spec.iter().flat_map(|spec| spec.containers.iter());
            let zone = containers
                .filter(|container| container.name == objects::MAIN_CONTAINER)
                .flat_map(|container| container.env.iter().flatten())
                .find(|variable| variable.name == objects::ZONE_ID)
                .and_then(|variable| variable.value.as_deref());
            self.demand(6, label == *domain && (domain.is_none() || zone == *domain), || {
                format!("{id} is recorded in {domain:?}; its pod is labelled {label:?} and its variable says {zone:?}")
            });
            let class = cluster_class(cluster, id).filter(|class| objects::domains_must_be_apart(*class));
            let host = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            let ended = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            if let (Some(class), Some(host)) = (class, host)
                && !matches!(ended, Some("Failed" | "Succeeded"))
            {
                on_hosts.entry((host, class.name())).or_default().insert(label, id);
            }
        }
        for ((host, class), domains) in on_hosts {
            self.demand(7, domains.len() == 1, || format!("{host} has {domains:?} of class {class}"));
        }
        let others: BTreeSet<&String> =
            stage.world.pods.values().filter(|pod| !is_its(pod)).filter_map(|pod| group_of(&pod.metadata)).collect();
        let servers = stage.database.iter().flat_map(|database| database.servers());
        for server in servers.filter(|server| !others.contains(&server.group)) {
            let Some(Some(domain)) = domains.get(server.group.as_str()) else { continue };
            self.demand(6, server.zone == *domain, || format!("{} of {domain} runs in zone {}", server.group, server.zone));
        }
    }

    /// 1 and 65: at rest every domain in use holds as many as it should, nobody is anywhere else, and enough are in use.
    pub(super) fn domains_are_filled_evenly(&mut self, stage: Stage<'_>) {
        let Some(cluster) = stage.cluster() else { return };
        for class in CLASSES {
            let packing = Packing::of(cluster, class);
            let (used, needed) = (packing.domains.len(), cluster.spec.redundancy_mode().minimum_fault_domains() as usize);
            self.demand(65, !packing.on || used >= needed, || {
                format!("{used} fault domains of class {class} are in use, and {needed} are needed")
            });
            let (held, elsewhere) = packing.held(live(cluster, class));
            let (lo, hi) = packing.band();
            self.demand(1, elsewhere == 0 && held.values().all(|inside| (lo..=hi).contains(inside)), || {
                format!("{} of class {class}: {held:?}, and {elsewhere} elsewhere", packing.wanted)
            });
        }
    }
}

/// Whether those of a class that stay are known to be ready on fewer hosts than there are copies, or those of all classes on fewer than there
/// are to be coordinators. Who became ready a moment ago may still be waited for.
fn are_crowded(cluster: &FoundationDBCluster, class: ProcessClass, stage: Stage<'_>) -> bool {
    let Some((storage, log)) = stage.database.and_then(Database::replicas) else { return false };
    let hosts = |classes: &[ProcessClass]| {
        let stay: BTreeSet<&str> = classes.iter().flat_map(|class| live(cluster, *class)).map(|group| group.id).collect();
        let is_known = |pod: &&Pod| {
            let ready = ready_since(pod).map(|since| stage.time.duration_since(since));
            ready.is_some_and(|ready| ready >= SignedDuration::try_from(KNOWN_AFTER).unwrap_or_default())
        };
        let ours = stage.world.pods.values().filter(|pod| pod.metadata.owner_references.is_some());
        let stay = ours.filter(is_known).filter(|pod| group_of(&pod.metadata).is_some_and(|id| stay.contains(id.as_str())));
        stay.filter_map(|pod| pod.spec.as_ref()?.node_name.as_deref()).collect::<BTreeSet<_>>().len()
    };
    let wish = checked_wish(cluster);
    let eligible: Vec<ProcessClass> = CLASSES.into_iter().filter(|class| wish.coordinator_priority(*class).is_some()).collect();
    hosts(&[class]) < if class == ProcessClass::Storage { storage } else { log } || hosts(&eligible) < wish.coordinator_count()
}

/// A process group and its domain.
fn home(group: &quorate_api::foundationdb::ProcessGroupStatus) -> Option<(&str, Option<&str>)> {
    let domain = group.fault_domain.as_deref().filter(|_| group.logical_fault_domain == Some(true));
    Some((group.process_group_id.as_deref()?, domain))
}

fn cluster_class(cluster: &FoundationDBCluster, id: &str) -> Option<ProcessClass> {
    groups_of(cluster).find(|group| group.id == id).and_then(Group::class)
}

fn of_class(cluster: &FoundationDBCluster, class: ProcessClass) -> impl Iterator<Item = Group<'_>> {
    groups_of(cluster).filter(move |group| group.class() == Some(class))
}

fn live(cluster: &FoundationDBCluster, class: ProcessClass) -> impl Iterator<Item = Group<'_>> {
    of_class(cluster, class).filter(|group| !group.is_marked())
}

/// How many of a class are in domains or on their way out of one, and in how many.
fn packed(cluster: &FoundationDBCluster, class: ProcessClass) -> (usize, usize) {
    let domains: Vec<&str> =
        of_class(cluster, class).filter(|group| !group.is_marked() || group.is_in_flight()).filter_map(Group::domain).collect();
    (domains.len(), domains.iter().collect::<BTreeSet<_>>().len())
}
