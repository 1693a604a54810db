//! Automatic replacements are rationed: 20 and 50 to 54.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaimSpec};
use quorate_api::foundationdb::{BucketStatus, FoundationDBCluster};
use quorate_foundationdb::{GroupCondition, ProcessClass};

use super::domains::moves_are_due;
use super::stage::{Group, StatusWrite, group_of, groups_of, wanted};
use super::{Invariants, Stage};
use crate::scenery::TAINT;

/// Every limit is left as it is when nobody says anything.
const LIMIT: usize = 1;
/// As many of a hundred zones may be tainted while somebody is replaced for a taint; one always.
const MOST_TAINTED: usize = 10;

/// How an object wants replacements to be counted.
struct Ration {
    per_bucket: bool,
    by_fault_domain: bool,
}

/// The name under which the limit for all is shown where it counts fault domains.
const FAULT_DOMAINS: &str = "fault domains";

impl Ration {
    fn of(cluster: &FoundationDBCluster) -> Self {
        let automation = cluster.spec.automation_options.as_ref();
        let replacements = automation.and_then(|automation| automation.replacements.as_ref());
        let bucket = replacements.and_then(|replacements| replacements.replacement_bucket.as_ref());
        Self {
            per_bucket: bucket.and_then(|bucket| bucket.enabled) == Some(true),
            by_fault_domain: replacements.and_then(|replacements| replacements.fault_domain_based_replacements) == Some(true),
        }
    }

    /// The bucket of a class, in the words of the document and not in those of the operator.
    fn bucket(&self, class: ProcessClass) -> &'static str {
        match class.name() {
            _ if !self.per_bucket => "all",
            "storage" => "storage",
            "log" | "transaction" | "coordinator" => "log",
            _ => "stateless",
        }
    }

    fn names(&self) -> &'static [&'static str] {
        if self.per_bucket { &["storage", "log", "stateless"] } else { &["all"] }
    }

    /// Who is to be shown in which bucket: where fault domains are counted, everybody there as well, and instead of the one counter.
    fn shown<'a>(&self, in_flight: &BTreeMap<&'static str, BTreeSet<&'a str>>) -> BTreeMap<&'static str, BTreeSet<&'a str>> {
        let mut shown = in_flight.clone();
        if self.by_fault_domain {
            let everybody = in_flight.values().flatten().copied().collect();
            shown.remove("all");
            shown.insert(FAULT_DOMAINS, everybody);
        }
        shown
    }

    /// Who is in flight, by bucket.
    fn in_flight<'a>(&self, cluster: &'a FoundationDBCluster) -> BTreeMap<&'static str, BTreeSet<&'a str>> {
        let mut in_flight: BTreeMap<_, _> = self.names().iter().map(|name| (*name, BTreeSet::new())).collect();
        for group in groups_of(cluster).filter(|group| group.is_in_flight()) {
            let bucket = group.class().map_or("all", |class| self.bucket(class));
            in_flight.entry(bucket).or_default().insert(group.id);
        }
        in_flight
    }
}

impl Invariants {
    /// 20: an automatic replacement begins only while the database is available. 50: and while its bucket has room; 52: where there are no
    /// buckets, while the one counter has. 54: where fault domains are counted, all of them are in one; and nobody is replaced for a taint
    /// while many zones are tainted.
    pub(super) fn replacements_are_rationed(&mut self, write: &StatusWrite<'_>, stage: Stage<'_>) {
        let StatusWrite { arrival, before, after } = write;
        let ration = Ration::of(before);
        let marked_before = |id: &str| groups_of(before).any(|group| group.id == id && group.is_marked());
        let fresh = groups_of(after).filter(|group| group.is_marked() && !marked_before(group.id));
        let fresh = fresh.filter(|group| !is_misfit(*group, before, stage));
        let automatic: Vec<Group<'_>> = fresh.filter(|group| is_automatic(*group, before, after)).collect();
        // Who was found empty by the same look at the database is no longer in flight.
        let still = ration.in_flight(after);
        let in_flight = |bucket: &str| {
            let still = still.get(bucket).into_iter().flatten();
            still.filter(|id| groups_of(before).any(|group| group.id == **id && group.is_in_flight())).count()
        };
        for group in &automatic {
            let (client, id) = (&arrival.client, group.id);
            let known = self.memory.may_be_available(arrival.sent);
            self.demand(20, known, || format!("{client} replaces {id}, and the database has not been available for long"));
            if goes_for_a_taint(*group) {
                let (tainted, all) = tainted_zones(after, stage);
                let most = (all * MOST_TAINTED / 100).max(1);
                // Whose pods have come to other nodes since they were seen may seem to be in more zones.
                let tainted = tainted.min(tainted_nodes(stage));
                self.demand(54, tainted <= most, || format!("{client} replaces {id}, and {tainted} of {all} zones are tainted"));
            }
            let Some(bucket) = group.class().map(|class| ration.bucket(class)) else { continue };
            let begin = automatic.iter().filter(|one| one.class().is_some_and(|class| ration.bucket(class) == bucket)).count();
            let used = in_flight(bucket);
            if Self::is_waited_for(*group, write, stage) {
                continue;
            }
            if ration.per_bucket || !ration.by_fault_domain {
                let number = if ration.per_bucket { 50 } else { 52 };
                self.demand(number, used + begin <= LIMIT, || {
                    format!("{client} replaces {id}: {used} replacements are in flight and {begin} begin")
                });
            }
            if ration.by_fault_domain {
                // Where everybody is by the same look at the world: a pod may just have come to another host.
                let going =
                    still.values().flatten().filter(|id| groups_of(before).any(|one| one.id == **id && one.is_in_flight()));
                let going = going.copied().chain(automatic.iter().map(|one| one.id)).collect::<BTreeSet<&str>>();
                let going = groups_of(after).filter(|one| going.contains(one.id));
                // Where one is that has not served since its status was lost, only a watch says, which may be behind.
                let is_known =
                    |one: &Group<'_>| one.status.logical_fault_domain == Some(true) || one.status.fault_domain.is_some();
                let going = going.filter(is_known);
                let domains: BTreeSet<String> = going.map(|one| zone(one, stage).unwrap_or_else(|| one.id.to_owned())).collect();
                self.demand(54, domains.len() <= LIMIT, || format!("{client} replaces {id}, and {domains:?} are in flight then"));
            }
        }
        self.buckets_are_shown(&ration, after);
    }

    /// Whether some are in flight and wait for a dead one that was to serve before they go: they are of its class, or go together with those
    /// that are, and none of them is excluded.
    fn is_waited_for(group: Group<'_>, StatusWrite { before, after, .. }: &StatusWrite<'_>, stage: Stage<'_>) -> bool {
        let excluded = stage.database.map_or_else(Vec::new, crate::database::Database::excluded);
        let is_excluded = |id: &str| excluded.iter().any(|place| place.strip_prefix("locality_instance_id:") == Some(id));
        let ration = Ration::of(before);
        let bucket = |group: Group<'_>| group.class().map(|class| ration.bucket(class));
        let still = |one: &Group<'_>| groups_of(after).any(|now| now.id == one.id && now.is_in_flight());
        let shares =
            |one: &Group<'_>| one.is_in_flight() && still(one) && (ration.by_fault_domain || bucket(*one) == bucket(group));
        let is_storage = |one: &Group<'_>| one.class() == Some(ProcessClass::Storage);
        let goes_with_it = |one: &Group<'_>| is_storage(one) == is_storage(&group);
        // A server that runs and knows only coordinators of long ago is as good as dead, and so is one that somebody has excluded.
        let serves_nobody = [GroupCondition::MissingProcesses, GroupCondition::ProcessIsMarkedAsExcluded];
        serves_nobody.into_iter().any(|condition| group.has(condition))
            && groups_of(before).any(|one| shares(&one) && one.class() == group.class())
            && groups_of(before).filter(shares).all(|one| goes_with_it(&one) && !is_excluded(one.id))
    }

    /// 51: each class has its bucket, and each bucket is shown with who is in it, and how many that are. 53: nobody waits for a bucket that has room.
    fn buckets_are_shown(&mut self, ration: &Ration, after: &FoundationDBCluster) {
        let Some(quorate) = after.status.as_ref().and_then(|status| status.quorate.as_ref()) else { return };
        let Some(buckets) = &quorate.buckets else { return };
        let in_flight = ration.in_flight(after);
        let expected = ration.shown(&in_flight);
        let shown: BTreeMap<&str, BTreeSet<&str>> =
            buckets.iter().map(|one| (one.bucket.as_str(), one.held_by.iter().map(String::as_str).collect())).collect();
        self.demand(51, shown == expected, || format!("{shown:?} are shown in the buckets, and {expected:?} are in flight"));
        for BucketStatus { bucket, used, limit, held_by } in buckets {
            let groups = i64::try_from(held_by.len()).unwrap_or(i64::MAX);
            // Several may share a domain, and only the operator knows on which host.
            let fits = if bucket == FAULT_DOMAINS { (groups.min(1)..=groups).contains(used) } else { *used == groups };
            let fits = fits && usize::try_from(*limit) == Ok(LIMIT);
            self.demand(51, fits, || format!("{bucket} is shown as {used}/{limit}, and {held_by:?} are in it"));
        }
        if ration.by_fault_domain {
            return;
        }
        for hold in quorate.holds.iter().flatten().filter(|hold| hold.reason == "ReplacementsInFlight") {
            let class = groups_of(after).find(|group| group.id == hold.about).and_then(Group::class);
            let used = class.and_then(|class| in_flight.get(ration.bucket(class))).map_or(0, BTreeSet::len);
            self.demand(53, used >= LIMIT, || format!("{} waits, and {used} are in its bucket", hold.about));
        }
    }
}

/// Whether its node being tainted is all that a process group is replaced for.
fn goes_for_a_taint(group: Group<'_>) -> bool {
    let fails = |condition: &GroupCondition| condition.is_failure() && group.has(*condition);
    GroupCondition::ALL.iter().copied().filter(fails).eq([GroupCondition::NodeTaintReplacing])
}

/// Where a process group is: its zone, or its host where fault domains are logical.
fn zone(group: Group<'_>, stage: Stage<'_>) -> Option<String> {
    let pods = || stage.world.pods.values().filter(|pod| group_of(&pod.metadata).is_some_and(|id| id == group.id));
    let host = || pods().find_map(|pod| pod.spec.as_ref()?.node_name.clone());
    if group.status.logical_fault_domain == Some(true) { host() } else { group.status.fault_domain.clone().or_else(host) }
}

/// How many zones have process groups with a tainted node, and how many there are.
fn tainted_zones(cluster: &FoundationDBCluster, stage: Stage<'_>) -> (usize, usize) {
    let zones = |groups: Vec<Group<'_>>| groups.into_iter().filter_map(|group| zone(group, stage)).collect::<BTreeSet<_>>().len();
    let tainted = groups_of(cluster).filter(|group| group.has(GroupCondition::NodeTaintDetected));
    (zones(tainted.collect()), zones(groups_of(cluster).collect()))
}

/// How many nodes have the taint.
fn tainted_nodes(stage: Stage<'_>) -> usize {
    let has = |node: &&Node| node.spec.iter().flat_map(|spec| spec.taints.iter().flatten()).any(|taint| taint.key == TAINT);
    stage.world.nodes.values().filter(has).count()
}

/// Whether a process group is asked to have another name or another volume.
pub(super) fn is_misfit(group: Group<'_>, cluster: &FoundationDBCluster, stage: Stage<'_>) -> bool {
    let prefix = cluster.spec.process_group_id_prefix.as_deref().filter(|prefix| !prefix.is_empty());
    let class = group.class().map_or("", ProcessClass::name);
    let named = prefix.map_or_else(|| format!("{class}-"), |prefix| format!("{prefix}-{class}-"));
    let template = cluster.spec.processes.as_ref().and_then(|processes| processes.get("general")?.volume_claim_template.as_ref());
    let asked = template.and_then(|template| template.spec.as_ref()).and_then(size);
    let claims = stage.world.claims.values().filter(|claim| group_of(&claim.metadata).is_some_and(|id| id == group.id));
    let mut sizes = claims.filter_map(|claim| size(claim.spec.as_ref()?));
    !group.id.starts_with(&named) || asked.is_some_and(|asked| sizes.any(|has| has != asked))
}

fn size(claim: &PersistentVolumeClaimSpec) -> Option<&str> {
    let asked = claim.resources.as_ref()?.requests.as_ref()?;
    asked.get("storage").map(|size| size.0.as_str())
}

/// Whether a process group was marked because it failed: it was known before, nobody asked for it, there are not too many, its pod is as
/// it should be, and nobody of its class is to go to another fault domain.
fn is_automatic(group: Group<'_>, before: &FoundationDBCluster, after: &FoundationDBCluster) -> bool {
    let lists = [&before.spec.process_groups_to_remove, &before.spec.process_groups_to_remove_without_exclusion];
    let asked = lists.into_iter().flatten().flatten().any(|name| name == group.id || name == "*");
    let class = group.class().unwrap_or(ProcessClass::Storage);
    let live = groups_of(before).filter(|one| one.class() == Some(class) && !one.is_marked()).count();
    let outdated = group.has(GroupCondition::IncorrectPodSpec);
    let known = groups_of(before).any(|one| one.id == group.id);
    known && !asked && live <= wanted(before, class) && !outdated && !moves_are_due(before, after, class)
}
