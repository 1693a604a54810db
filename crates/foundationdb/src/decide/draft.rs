//! A decision while it is being put together, and what every concern may ask of it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use jiff::SignedDuration;
use quorate_quorum::budget::{Budget, Calm};
use quorate_quorum::{Fence, Gate, Hold, Journal, JournalEntry, Notice, Permit, Reason, Severity, Wake};

use super::members::Members;
use super::roster::{Objects, Roster};
use super::{ClusterDecision, ClusterSnapshot, ClusterStatus, ClusterStep, bounce, claims, copies, revival, updates};
use crate::obstacle::Obstacle;
use crate::report::{MOST_GENERATIONS, NamedHost, bare, host, is_one_pod};
use crate::{
    DatabaseReport, GroupCondition, PodFacts, ProcessClass, ProcessGroup, ProcessGroupId, ProcessReport, Wish, objects, reasons,
    tolerance,
};

/// How often a cluster is looked at while something is under way.
pub(super) const WHILE_UNDER_WAY: SignedDuration = SignedDuration::from_secs(5);
/// How often a cluster at rest is looked at.
const AT_REST: SignedDuration = SignedDuration::from_secs(30);
/// A report that is older than this is not acted on.
pub(super) const REPORT_IS_GOOD_FOR: SignedDuration = SignedDuration::from_secs(30);
/// For this long a restart that was begun keeps another from beginning.
const RESTART_IS_SEEN_AFTER: SignedDuration = SignedDuration::from_secs(60);
/// A pod that was to be deleted and is still there as before was not: the call was lost, or whoever was to make it is.
const DELETION_IS_SEEN_AFTER: SignedDuration = SignedDuration::from_mins(2);

pub(super) struct Draft<'a> {
    pub seen: &'a ClusterSnapshot,
    pub status: ClusterStatus,
    pub steps: Vec<ClusterStep>,
    pub notices: Vec<Notice>,
    pub holds: Vec<Hold>,
    pub wake: Wake,
    pub budget: Budget,
    /// What the database says, if that is young enough to act on.
    pub report: Option<&'a DatabaseReport>,
    pub members: Members<'a>,
    pub roster: Roster<'a>,
    /// Addresses from which data is still moving away, by their hosts.
    pub moving_away: BTreeMap<&'a str, &'a str>,
    /// Hosts of the coordinators, by address and by name.
    coordinators: BTreeSet<String>,
    /// Whether some of them are known by name.
    coordinators_have_names: bool,
    /// The lock as it will be once this decision begins to be carried out, if it needs it.
    pub lock: Option<Fence>,
    /// Whether there are nodes for a class, found out once.
    places: RefCell<BTreeMap<ProcessClass, bool>>,
}

impl<'a> Draft<'a> {
    pub(super) fn begin(seen: &'a ClusterSnapshot) -> Self {
        let recorded = &seen.kube.recorded;
        // Only what is under way is looked for.
        let pods = seen.kube.pods.values().filter(|_| !seen.journal.0.is_empty());
        let pods: BTreeMap<&str, &PodFacts> = pods.map(|pod| (pod.uid.as_str(), &**pod)).collect();
        let report = seen.database.fresh(seen.now, REPORT_IS_GOOD_FOR).map(Deref::deref);
        // Counted from our own clock on: when a pod was made, the API server's clock says.
        let comes_back = |name: &str, entry: &JournalEntry| {
            let lasts = seen.lasted(entry.since) < seen.desired.automation.ignore_pending_after;
            entry.what == updates::JOURNAL && lasts && seen.kube.pods.get(name).is_none_or(|pod| !pod.ready)
        };
        let under_way = |name: &str, entry: &JournalEntry| {
            if entry.what == claims::JOURNAL || entry.what == revival::READ_BACK {
                return !report.is_some_and(|report| tolerance::database_knows(report, seen.lasted(entry.since)));
            }
            if entry.what == copies::JOURNAL {
                return copies::may_be_missing(report, seen.desired.redundancy_mode());
            }
            if entry.what == revival::JOURNAL {
                return seen.kube.pods.contains_key(name) || seen.kube.claims.contains_key(name);
            }
            let lasted = seen.lasted(entry.since);
            let restart = entry.what == bounce::JOURNAL && lasted < RESTART_IS_SEEN_AFTER;
            let ends = |pod: &&PodFacts| pod.deleted_since.is_some() || lasted < DELETION_IS_SEEN_AFTER;
            restart || pods.get(entry.uid.as_str()).is_some_and(ends) || comes_back(name, entry)
        };
        let journal = seen.journal.without_what_ended(under_way);
        let status = ClusterStatus {
            observed_generation: seen.desired.generation,
            reconciled: recorded.reconciled,
            epoch: seen.epoch.max(recorded.epoch),
            groups: recorded.groups.clone(),
            last_number: recorded.last_number,
            journal,
            desired_groups: seen.desired.counts.values().map(|count| *count as usize).sum(),
            connection: recorded.connection.clone(),
            configured: recorded.configured,
            running_version: recorded.running_version.clone(),
            set_aside: recorded.set_aside.clone(),
            ..ClusterStatus::default()
        };
        let coordinators = coordinators(revival::connection(seen).as_deref(), report);
        Self {
            seen,
            steps: Vec::new(),
            notices: Vec::new(),
            holds: Vec::new(),
            wake: Wake::default(),
            budget: Budget::default(),
            report,
            members: Members::new(report),
            roster: Roster::of(seen),
            moving_away: moving_away(report),
            coordinators_have_names: coordinators.iter().any(|host| NamedHost::of(host).is_name()),
            coordinators,
            lock: None,
            places: RefCell::default(),
            status,
        }
    }

    /// One zone may be disrupted at a time, by whomever. Counted from how everything is now: a pod that was deleted a moment ago is no
    /// longer in the journal, and its processes may still be listed.
    pub(super) fn zone_budget(&self) -> Budget {
        let automation = &self.seen.desired.automation;
        let lasts = |since: jiff::Timestamp, patience: SignedDuration| self.seen.now.duration_since(since) < patience;
        // A pod or volume that is stuck on its way out fails sooner than it is left out of account; what it takes along is missing by itself.
        let is_left_out = |group: &ProcessGroup| {
            let since = group.conditions.get(&GroupCondition::ResourcesTerminating);
            since.is_some_and(|since| !lasts(*since, automation.ignore_terminating_after))
        };
        let counts = |group: &ProcessGroup, condition: GroupCondition, since: jiff::Timestamp| {
            let patience = match condition {
                GroupCondition::PodFailing | GroupCondition::MissingPvc if is_left_out(group) => return false,
                GroupCondition::PodPending => automation.ignore_pending_after,
                GroupCondition::ResourcesTerminating => automation.ignore_terminating_after,
                GroupCondition::MissingPod
                | GroupCondition::MissingPvc
                | GroupCondition::PodFailing
                | GroupCondition::MissingProcesses => SignedDuration::MAX,
                _ => return false,
            };
            lasts(since, patience)
        };
        // A pod that was just made serves nobody yet, although the database still lists the server of the one before it.
        let starts = |pod: Option<&PodFacts>| {
            pod.is_some_and(|pod| !pod.ready && self.seen.now.duration_since(pod.created) < automation.ignore_pending_after)
        };
        // Who is to go and is not empty serves as before; without its pod for a moment, its copies are missing, and with its volume for long.
        let is_missed = |group: &ProcessGroup, pod: Option<&PodFacts>| {
            let lately = |condition, patience| group.conditions.get(&condition).is_some_and(|since| lasts(*since, patience));
            let is_gone = lately(GroupCondition::MissingPod, automation.ignore_pending_after)
                || lately(GroupCondition::PodFailing, automation.ignore_pending_after)
                || lately(GroupCondition::ResourcesTerminating, automation.ignore_terminating_after);
            group.goes_with_copies() && (is_gone || starts(pod))
        };
        // A pod that is asked to be another has the servers it was made with, if not those it is asked to have.
        let only_outdated = |id: &ProcessGroupId, group: &ProcessGroup, condition: GroupCondition| {
            condition == GroupCondition::MissingProcesses
                && group.conditions.contains_key(&GroupCondition::IncorrectPodSpec)
                && !self.members.of(id, group).is_empty()
        };
        let down: Vec<String> = self
            .groups()
            .filter(|(id, group, objects)| {
                let mut conditions = group.conditions.iter();
                let fails = conditions
                    .any(|(condition, since)| counts(group, *condition, *since) && !only_outdated(id, group, *condition));
                // Who never ran is missed by nobody.
                let live = group.removal.is_none() && (fails || starts(objects.pod));
                !group.addresses.is_empty() && (live || is_missed(group, objects.pod))
            })
            .map(|(id, ..)| self.zone_of(id))
            .collect();
        // More than copies allow for go for nobody's asking.
        let most = self.seen.desired.redundancy_mode().fault_tolerance().max(1);
        let at_most = automation.most_unavailable_zones.map_or(1, |zones| zones.clamp(1, most) as usize);
        let zones = self.status.journal.0.values().map(|entry| entry.zone.as_str()).filter(|zone| !zone.is_empty());
        Budget::of_zones(at_most, zones.chain(down.iter().map(String::as_str)))
    }

    /// Whether there are nodes for a class; whoever asks first finds out.
    pub(super) fn has_places_for(&self, class: ProcessClass, find: impl FnOnce() -> bool) -> bool {
        *self.places.borrow_mut().entry(class).or_insert_with(find)
    }

    /// Every process group, with what Kubernetes has of it.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&ProcessGroupId, &ProcessGroup, Objects<'a>)> {
        let mut roster = self.roster.in_order();
        self.status.groups.iter().map(move |(id, group)| (id, group, roster.objects(id, group.class)))
    }

    /// The classes there are process groups of.
    pub(super) fn classes(&self) -> BTreeSet<ProcessClass> {
        self.status.groups.values().map(|group| group.class).collect()
    }

    /// Process groups of a class that are not to go.
    pub(super) fn live(&self, class: ProcessClass) -> impl Iterator<Item = (&ProcessGroupId, &ProcessGroup)> {
        self.status.groups.iter().filter(move |(_, group)| group.class == class && group.removal.is_none())
    }

    /// How many of each class are not to go.
    pub(super) fn live_counts(&self) -> BTreeMap<ProcessClass, usize> {
        let mut counts = BTreeMap::new();
        for group in self.status.groups.values().filter(|group| group.removal.is_none()) {
            *counts.entry(group.class).or_default() += 1;
        }
        counts
    }

    /// Marks a process group to go, and says whether it was not yet. A mark is never taken back.
    pub(super) fn mark(&mut self, id: &ProcessGroupId) -> bool {
        let now = self.seen.now;
        let Some(group) = self.status.groups.get_mut(id).filter(|group| group.removal.is_none()) else { return false };
        group.removal = Some(now);
        true
    }

    /// The zone of a process group: what the database said, or the node it is on.
    pub(super) fn zone_of(&self, id: &ProcessGroupId) -> String {
        let group = &self.status.groups[id];
        let node = || self.roster.pod(id, group.class)?.node.clone();
        group.fault_domain.clone().or_else(node).unwrap_or_default()
    }

    /// Where a process group really is: its zone, or for one in a logical fault domain the host that carries it.
    pub(super) fn physical_zone(&self, id: &ProcessGroupId, group: &ProcessGroup) -> Option<String> {
        if !group.packed {
            return group.fault_domain.clone();
        }
        let seen = self.members.of(id, group).iter().find_map(|server| server.process.physical_zone.clone());
        seen.or_else(|| self.zone_of_its_node(id, group))
    }

    fn zone_of_its_node(&self, id: &ProcessGroupId, group: &ProcessGroup) -> Option<String> {
        let node = self.roster.pod(id, group.class)?.node.as_ref()?;
        let label = self.seen.desired.topology.zone.label()?;
        let named = self.seen.kube.nodes.get(node).and_then(|node| node.labels.get(label));
        Some(named.unwrap_or(node).clone())
    }

    /// What a process group may fail together with. Of one that is nowhere as far as is known nobody can say that, so it counts by itself.
    pub(super) fn fails_as(&self, id: &ProcessGroupId, group: &ProcessGroup) -> String {
        self.physical_zone(id, group).or_else(|| self.zone_of_its_node(id, group)).unwrap_or_else(|| id.to_string())
    }

    /// Whether there should be a database: it was created, or the one that was asked for is somebody else's or an earlier object's.
    pub(super) fn expects_a_database(&self) -> bool {
        self.status.configured || self.seen.desired.seed_connection.is_some()
    }

    /// Whether coordinators are known by addresses that go with their pods, so that nobody finds those who get other pods.
    pub(super) fn coordinators_go_with_their_pods(&self) -> bool {
        let is_address = |host: &String| host.parse::<std::net::IpAddr>().is_ok();
        !self.seen.desired.routing.service_per_pod && self.coordinators.iter().any(is_address)
    }

    /// Addresses by which coordinators are known and that no pod has any more.
    pub(super) fn addresses_of_nobody(&self) -> Vec<&str> {
        let pods = || self.seen.kube.pods.values().flat_map(|pod| &pod.addresses);
        let of_nobody = |host: &&String| host.parse::<std::net::IpAddr>().is_ok() && !pods().any(|address| address == *host);
        if self.seen.desired.routing.service_per_pod {
            return vec![];
        }
        self.coordinators.iter().filter(of_nobody).map(String::as_str).collect()
    }

    /// How many zones there are.
    pub(super) fn zones(&self) -> usize {
        self.status.groups.values().filter_map(|group| group.fault_domain.as_deref()).collect::<BTreeSet<_>>().len()
    }

    /// Whether a process group has a coordinator, as far as anybody knows: by the report, and by the connection string alone.
    pub(super) fn is_coordinator(&self, id: &ProcessGroupId) -> bool {
        let Some(group) = self.status.groups.get(id) else { return false };
        let by_name = || {
            let name = objects::dns_name(&self.seen.desired, &objects::pod_name(&self.seen.desired, group.class, id));
            self.coordinators.iter().any(|host| is_one_pod(host, &name))
        };
        let by_report = self.report.is_some_and(|report| {
            self.members.of(id, group).iter().any(|server| report.is_coordinator(server.address, server.process))
        });
        by_report
            || (self.coordinators_have_names && by_name())
            || group.addresses.iter().any(|address| self.coordinators.contains(address))
    }

    /// Whether nobody else keeps the database, as far as anybody knows: all who are listed are of this object, and all coordinators are. Who
    /// belongs to it and has just started has not said so yet; who never says so may be anybody's.
    pub(super) fn is_alone(&self) -> bool {
        let Some(report) = self.report else { return false };
        let prefix = self.seen.desired.prefix.as_deref();
        let recorded = self.status.groups.values().flat_map(|group| group.addresses.iter().map(String::as_str));
        let pods = self.seen.kube.pods.values().flat_map(|pod| pod.addresses.iter().map(String::as_str));
        let addresses: BTreeSet<&str> = recorded.chain(pods).collect();
        let is_ours = |(address, process): (&String, &ProcessReport)| match (&process.group, process.class) {
            (Some(group), Some(class)) => self.status.groups.contains_key(group) || group.has_prefix(prefix, class),
            (Some(group), None) => self.status.groups.contains_key(group),
            (None, _) => process.has_just_started() || addresses.contains(host(address)),
        };
        let is_named = |coordinator: &str| {
            let mut groups = self.status.groups.iter();
            groups.any(|(id, group)| {
                let pod = objects::pod_name(&self.seen.desired, group.class, id);
                is_one_pod(coordinator, &objects::dns_name(&self.seen.desired, &pod))
            })
        };
        let coordinates_for_us = |at: &String| addresses.contains(at.as_str()) || NamedHost::of(at).is_name() && is_named(at);
        report.processes.iter().all(is_ours) && self.coordinators.iter().all(coordinates_for_us)
    }

    /// Whether a process group ever ran, as far as anybody knows: it was seen somewhere, or its volume was made for the node of its pod, whatever
    /// is on record. Some volumes are made before there is a pod.
    pub(super) fn has_run(&self, id: &ProcessGroupId, group: &ProcessGroup) -> bool {
        let was_placed = || self.roster.claim(id, group.class).is_some_and(|claim| claim.bound && claim.placed);
        !group.addresses.is_empty() || was_placed()
    }

    /// Whether a group's pod is on its way out by our own doing, whatever a report or a watch still shows.
    pub(super) fn is_being_made_again(&self, id: &ProcessGroupId, class: ProcessClass) -> bool {
        let Journal(begun) = &self.status.journal;
        !begun.is_empty() && begun.contains_key(&objects::pod_name(&self.seen.desired, class, id))
    }

    /// How many servers the pod of a group has, or would get.
    pub(super) fn servers_of(&self, id: &ProcessGroupId, class: ProcessClass) -> u32 {
        let made_for = self.roster.claim(id, class).and_then(|claim| claim.servers);
        made_for.unwrap_or_else(|| self.seen.desired.servers_per_pod(class))
    }

    /// What a group's pod and service are made by. Each server has its own data on the volume; with fewer of them nobody would serve what the
    /// others had. So whatever is asked for now, a volume gets as many as it was made for, until a successor has taken over.
    pub(super) fn wish_for(&self, id: &ProcessGroupId, class: ProcessClass) -> Cow<'a, Wish> {
        let (wish, servers) = (&self.seen.desired, self.servers_of(id, class));
        if servers == wish.servers_per_pod(class) {
            return Cow::Borrowed(wish);
        }
        let mut wish = wish.clone();
        wish.servers_per_pod.insert(class, servers);
        Cow::Owned(wish)
    }

    /// Whether nothing is made any more for a group: its data is elsewhere, and what the database would not find without it is, too.
    pub(super) fn is_done_with(&self, id: &ProcessGroupId, group: &ProcessGroup) -> bool {
        group.may_go() && !self.is_coordinator(id)
    }

    /// Whether the zone of a process group is under maintenance.
    pub(super) fn is_under_maintenance(&self, id: &ProcessGroupId, group: &ProcessGroup) -> bool {
        self.report
            .and_then(|report| report.maintenance_zone.as_ref())
            .is_some_and(|zone| group.fault_domain.as_ref() == Some(zone))
            || self.members.of(id, group).iter().any(|server| server.process.under_maintenance)
    }

    /// Whether a group without a process in the report really has none. A report that is not whole proves nobody's absence, and a
    /// process that just started, at an address nobody has heard of yet, may be anybody's.
    pub(super) fn knows_who_is_gone(&self) -> bool {
        self.report.is_some_and(DatabaseReport::is_whole) && !self.members.has_strangers(&self.status.groups)
    }

    /// What is missing to take a whole zone down for a while, if anything.
    pub(super) fn not_whole(&self) -> Option<Obstacle> {
        let Some(report) = self.report else { return Some(Obstacle::no_answer()) };
        if self.members.are_still_joining() {
            return Some(Obstacle::new("some processes have just started", "processes that have not said who they are", "none"));
        }
        let lost = tolerance::lost(&self.status.groups, report, |since| self.seen.lasted(since));
        let zones = lost.into_iter().map(|id| self.zone_of(id)).collect();
        let missing = tolerance::missing_for_a_disruption(report, self.seen.desired.redundancy_mode(), &zones);
        missing.or_else(|| copies::missing(self)).or_else(|| revival::missing(self))
    }

    /// Asks for a permit to do what costs a recovery; without one the hold says why.
    pub(super) fn recover(&mut self, about: &str, what: &str, spacing: SignedDuration, reason: Reason) -> Option<Permit> {
        let report = self.report?;
        let since = report
            .seconds_since_recovery()
            .map(|seconds| SignedDuration::try_from_secs_f64(seconds).unwrap_or(SignedDuration::MAX));
        let calm = Calm { since, generations: report.active_generations(), most_generations: MOST_GENERATIONS };
        let spacing = if Gate::RecoverySpacing.stands() { spacing } else { SignedDuration::ZERO };
        match self.budget.recover(what, &calm, spacing) {
            Ok(permit) => Some(permit),
            Err(refusal) => {
                if let Some(since) = since.filter(|since| *since < spacing) {
                    self.wake.at(self.seen.now + (spacing - since));
                }
                let generation = report.generation.map_or_else(
                    || "the last recovery".to_owned(),
                    |generation| format!("the recovery to generation {generation}"),
                );
                let sentence = format!("{what} only {}", refusal.when(&generation));
                let (measured, needed) = refusal.compared();
                self.holds.push(Hold::new(reason, about, sentence, refusal.released_by()).compared(measured, needed));
                None
            }
        }
    }

    pub(super) fn notice(&mut self, severity: Severity, reason: &'static str, note: impl Into<String>) {
        self.notices.push(Notice { severity, reason, note: note.into() });
    }

    pub(super) fn finish(mut self) -> ClusterDecision {
        for failure in &self.seen.kube.failures {
            let released_by = "the next attempt, if what it says was put right";
            let hold = Hold::new(reasons::STEP_FAILED, &self.seen.desired.name, failure.clone(), released_by);
            self.holds.push(hold.compared("1 attempt that failed", "none"));
        }
        // A new database calls itself unhealthy for half a minute; nobody should wait for longer than that to hear that it is well.
        let at_rest = self.steps.is_empty() && self.holds.is_empty() && self.status.healthy != Some(false);
        let next = if at_rest { AT_REST } else { WHILE_UNDER_WAY };
        self.wake.at(self.seen.now + next);
        self.holds.sort_by(|a, b| (&a.about, a.reason).cmp(&(&b.about, b.reason)));
        quorate_quorum::Decision {
            steps: self.steps,
            status: self.status,
            notices: self.notices,
            holds: self.holds,
            wake: self.wake,
        }
    }
}

fn moving_away(report: Option<&DatabaseReport>) -> BTreeMap<&str, &str> {
    let addresses = report.into_iter().flat_map(|report| report.exclusions_in_progress.iter().flatten());
    addresses.map(|address| (host(address), address.as_str())).collect()
}

/// The hosts of all coordinators: those of the connection strings that are recorded and reported, and those the database names. After
/// somebody has changed them by hand, one of these may be older than another.
fn coordinators(connection: Option<&str>, report: Option<&DatabaseReport>) -> BTreeSet<String> {
    let connections = connection.into_iter().chain(report.and_then(|report| report.connection.as_deref()));
    let written = connections.filter_map(|connection| connection.split_once('@')).flat_map(|(_, addresses)| addresses.split(','));
    let named = report.into_iter().flat_map(|report| &report.coordinators).map(|one| one.address.as_str());
    written.chain(named).filter(|address| !address.is_empty()).map(|address| host(bare(address)).to_owned()).collect()
}
