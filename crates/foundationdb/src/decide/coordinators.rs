//! Coordinators: changed when one is lost, undesired or badly placed, and only while a majority of the old ones and all of the new ones
//! answer. A change costs one recovery, so everything that is wrong is put right at once, and good ones stay.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use quorate_quorum::spread::{Candidate, spread};
use quorate_quorum::{Gate, Hold, Severity, Step};

use super::members::Server;
use super::{Draft, TakesAway, birth, exclusion, failures, halls, lock, misconfigured, moves};
use crate::report::{CoordinatorReport, NamedHost, bare, host, is_one_pod, port};
use crate::{DatabaseReport, GroupCondition, PodFacts, ProcessGroup, ProcessGroupId, RedundancyMode, objects, reasons};

/// One that serves already is better than one that would have to begin.
const STAYS: i64 = 1 << 40;
/// One that goes soon is worse than either, for its place would have to be taken again.
const GOES_SOON: i64 = -(1 << 41);
/// And so is one without a name where names are asked for: it would have to be written once more when its pod was made again. But it is
/// taken where there are too few others, for their pods may wait for whole coordinators.
const NAMELESS: i64 = -(1 << 41);

/// The fewest coordinators of which one may be lost.
const FEWEST: usize = 3;
/// What lets all coordinators be that were asked for.
const MORE_ZONES: &str = "processes of eligible classes in more zones";

/// What is wrong with the coordinators.
enum Wrong {
    /// Some do not answer.
    Missing(Vec<String>),
    /// All answer, but the pod of one is deleted: it runs on where nobody reaches its kubelet, and ends for good when somebody does.
    Stranded(String),
    /// All answer, but some should be others.
    Undesired(String),
}

pub(super) fn propose(draft: &mut Draft<'_>) {
    let Some(report) = draft.report.filter(|_| draft.expects_a_database()) else { return };
    let dead: Vec<&str> = report.coordinators.iter().filter(|one| !one.reachable).map(|one| one.address.as_str()).collect();
    let all = report.coordinators.len();
    if all > 0 && all - dead.len() < majority(all) {
        let sentence = format!(
            "the majority of the coordinators is lost: {} do not answer; nothing is changed, for it could only get worse",
            dead.join(", ")
        );
        let released_by = "their pods coming back with their volumes; never delete those volumes";
        draft.notice(Severity::Warning, "CoordinatorsLost", sentence.clone());
        let hold = Hold::new(reasons::COORDINATORS_LOST, &draft.seen.desired.name, sentence, released_by);
        draft.holds.push(hold.compared(format!("{} of {all} answer", all - dead.len()), format!("at least {}", majority(all))));
        return;
    }
    if !report.is_whole() || all == 0 {
        return;
    }
    let standing = Standing::of(report);
    let Some(wrong) = standing.wrong(draft) else {
        draft.holds.extend(standing.too_few(draft));
        return;
    };
    if let Wrong::Missing(addresses) = &wrong
        && let Some((id, since)) = back_soon(draft, addresses)
    {
        let due = since + draft.seen.desired.automation.timers.recovery_before_missing_coordinator;
        if due > draft.seen.now {
            draft.wake.at(due);
            let sentence =
                format!("the coordinator of {id} does not answer; it is given time to come back before another takes its place");
            let patience = draft.seen.desired.automation.timers.recovery_before_missing_coordinator.as_secs();
            let hold = Hold::new(reasons::COORDINATORS_HELD, id.to_string(), sentence, format!("its return, or {due}"));
            draft.holds.push(hold.compared(format!("away for less than {patience} s"), format!("{patience} s")).since(since));
            return;
        }
    }
    change(draft, report, &standing, &wrong);
}

/// The process group of a coordinator that went last, if it may come back under the same address: a pod that is made again is no reason
/// for a recovery.
fn back_soon(draft: &Draft<'_>, addresses: &[String]) -> Option<(ProcessGroupId, Timestamp)> {
    let desired = &draft.seen.desired;
    let missing = |address: &String| {
        let host = host(address);
        draft.status.groups.iter().find_map(|(id, group)| {
            let since = *group.conditions.get(&GroupCondition::MissingProcesses)?;
            let named = is_one_pod(&objects::dns_name(desired, &objects::pod_name(desired, group.class, id)), host);
            (named || group.addresses.iter().any(|known| known == host)).then(|| (id.clone(), since))
        })
    };
    addresses.iter().filter_map(missing).max_by_key(|(_, since)| *since)
}

const fn majority(all: usize) -> usize {
    all / 2 + 1
}

/// Every process that is or may be a coordinator.
struct Standing<'a> {
    /// Coordinators now, each with its process and group if it is one of the processes the database sees.
    now: Vec<(&'a CoordinatorReport, Option<(ProcessGroupId, Server<'a>)>)>,
    /// Where each of them is.
    hosts: Vec<NamedHost<'a>>,
    /// Who may be one. Where nothing is wrong nobody asks.
    candidates: OnceCell<BTreeMap<ProcessGroupId, (Server<'a>, i64)>>,
}

impl<'a> Standing<'a> {
    fn of(report: &'a DatabaseReport) -> Self {
        let mut now: Vec<(&CoordinatorReport, Option<(ProcessGroupId, Server<'a>)>)> =
            report.coordinators.iter().map(|one| (one, None)).collect();
        let hosts: Vec<NamedHost<'a>> = report.coordinators.iter().map(|one| NamedHost::of(host(&one.address))).collect();
        for (address, process) in &report.processes {
            let (Some(group), server) = (&process.group, Server { address, process }) else { continue };
            if let Some((one, known)) = position(&hosts, server).map(|found| &mut now[found])
                && port(bare(&one.address)) == port(bare(address))
                && known.as_ref().is_none_or(|(known, _)| known <= group)
            {
                *known = Some((group.clone(), server));
            }
        }
        Self { now, hosts, candidates: OnceCell::new() }
    }

    fn among(&self, draft: &Draft<'a>) -> &BTreeMap<ProcessGroupId, (Server<'a>, i64)> {
        self.candidates.get_or_init(|| {
            let mut candidates = BTreeMap::new();
            for (id, server) in draft.members.named() {
                let priority = draft.status.groups.get(id).and_then(|group| eligible(draft, id, group, server));
                // One that does not answer as a coordinator now would not answer after a change either.
                let answers = position(&self.hosts, server).is_none_or(|found| self.now[found].0.reachable);
                if let Some(priority) = priority.filter(|_| is_first(server.address) && answers) {
                    candidates.insert(id.clone(), (server, priority));
                }
            }
            candidates
        })
    }

    fn wrong(&self, draft: &Draft<'a>) -> Option<Wrong> {
        let missing: Vec<String> =
            self.now.iter().filter(|(one, _)| !one.reachable).map(|(one, _)| one.address.clone()).collect();
        if !missing.is_empty() {
            return Some(Wrong::Missing(missing));
        }
        let stranded = self.now.iter().filter_map(|(_, process)| Some(&process.as_ref()?.0)).find(|id| is_stranded(draft, id));
        if let Some(id) = stranded {
            return Some(Wrong::Stranded(format!("{id} is deleted and may end at any moment")));
        }
        let desired = &draft.seen.desired;
        let by_name = desired.routing.uses_names();
        let (mut zones, mut logical) = (BTreeSet::new(), BTreeSet::new());
        let most = self.spanned(draft).and_then(|mode| halls::coordinators_in_one(mode, self.now.len())).unwrap_or(usize::MAX);
        let mut halls: BTreeMap<&str, usize> = BTreeMap::new();
        for (one, process) in &self.now {
            // Whoever is nobody of ours may be a peer's; only our own are judged.
            let Some((id, server)) = process else { continue };
            if draft.status.groups.get(id).is_some_and(|group| is_undesired(draft, group, *server)) {
                return Some(Wrong::Undesired(format!("{id} should no longer be a coordinator")));
            }
            if server.process.physical().is_some_and(|zone| !zones.insert(zone)) {
                return Some(Wrong::Undesired(format!("{id} shares its zone with another")));
            }
            let in_its_hall = server.process.hall_of(desired.redundancy_mode()).map(|hall| halls.entry(hall).or_default());
            if in_its_hall.is_some_and(|many| std::mem::replace(many, *many + 1) >= most) && self.could_be_spread(draft) {
                return Some(Wrong::Undesired(format!("{id} shares its hall or datacenter with {most} others")));
            }
            if server.process.zone.as_deref().is_some_and(|zone| !logical.insert(zone)) && self.could_all_differ(draft) {
                return Some(Wrong::Undesired(format!("{id} shares its logical fault domain with another")));
            }
            if by_name && server.process.dns_name.is_some() && bare(&one.address).parse::<std::net::SocketAddr>().is_ok() {
                return Some(Wrong::Undesired(format!("{id} is written by its address, and names are asked for")));
            }
            let is_another_name = |name: &str| name != host(&one.address) && is_one_pod(name, host(&one.address));
            if by_name && server.process.dns_name.as_deref().is_some_and(is_another_name) {
                return Some(Wrong::Undesired(format!("{id} is written by a name of another domain")));
            }
            if !by_name && bare(&one.address).parse::<std::net::SocketAddr>().is_err() {
                return Some(Wrong::Undesired(format!("{id} is written by its name, and addresses are asked for")));
            }
        }
        let wanted = desired.coordinator_count();
        (self.now.len() < wanted && self.zones(draft) >= wanted || self.now.len() > wanted)
            .then(|| Wrong::Undesired(format!("there are {}, and {wanted} are wanted", self.now.len())))
    }

    /// Nothing is wrong with those there are, but they tolerate less than was asked for, and there are no places for more.
    fn too_few(&self, draft: &Draft<'a>) -> Option<Hold> {
        let desired = &draft.seen.desired;
        let wanted = desired.coordinator_count();
        if self.now.len() >= wanted {
            return None;
        }
        let places = self.zones(draft);
        (places < wanted).then(|| {
            let sentence =
                format!("there are {} coordinators, and {wanted} are wanted, which need {wanted} zones", self.now.len());
            let hold = Hold::new(reasons::NOT_ENOUGH_COORDINATORS, &desired.name, sentence, MORE_ZONES);
            hold.compared(format!("{places} zones"), wanted)
        })
    }

    /// The mode over whose halls or datacenters coordinators are spread. Until the database is in it, some processes may not name theirs yet,
    /// and it must not be without coordinators for that.
    fn spanned(&self, draft: &Draft<'a>) -> Option<RedundancyMode> {
        let mode = draft.seen.desired.redundancy_mode();
        let is = draft.report.and_then(|report| report.configuration.as_ref()?.redundancy_mode.as_deref());
        let all_name_one = || self.among(draft).values().all(|(server, _)| server.process.hall_of(mode).is_some());
        (mode.spans_halls() && (is == Some(mode.name()) || all_name_one())).then_some(mode)
    }

    /// Whether there are enough places for every coordinator to be alone in its logical fault domain as well.
    fn could_all_differ(&self, draft: &Draft<'a>) -> bool {
        let wanted = draft.seen.desired.coordinator_count();
        alone_in_both(self.spanned(draft), &self.candidates(draft, |_| 0), wanted).is_some()
    }

    /// Whether there are places for all of them in halls or datacenters that differ enough.
    fn could_be_spread(&self, draft: &Draft<'a>) -> bool {
        let wanted = draft.seen.desired.coordinator_count();
        alone_on_hosts(self.spanned(draft), &self.candidates(draft, |_| 0), wanted).len() == wanted
    }

    /// Everybody who may be one, with its host and its zone.
    fn candidates(&self, draft: &Draft<'a>, bonus: impl Fn(&ProcessGroupId) -> i64) -> Vec<Candidate<ProcessGroupId>> {
        let spanned = self.spanned(draft);
        let candidate = |(id, (server, priority)): (&ProcessGroupId, &(Server<'a>, i64))| {
            let mut domains = vec![server.process.physical()?.to_owned(), server.process.zone.clone()?];
            if let Some(mode) = spanned {
                domains.insert(0, server.process.hall_of(mode)?.to_owned());
            }
            Some(Candidate { id: id.clone(), priority: priority + bonus(id), domains })
        };
        self.among(draft).iter().filter_map(candidate).collect()
    }

    fn zones(&self, draft: &Draft<'a>) -> usize {
        self.among(draft).values().filter_map(|(server, _)| server.process.physical()).collect::<BTreeSet<_>>().len()
    }

    /// How many coordinators would tolerate more losses than those that are good now, where there are places for so few only. One alone
    /// tolerates none. Where another object has some of them there are places as well, of which nothing is known while it is away.
    fn fewer_that_tolerate_more(&self, draft: &Draft<'a>, places: usize) -> Option<usize> {
        if !draft.is_alone() {
            return None;
        }
        let fewer = if places.is_multiple_of(2) { places.saturating_sub(1) } else { places };
        let stays = |id: &ProcessGroupId, server: Server<'a>| {
            draft.status.groups.get(id).is_none_or(|group| !is_undesired(draft, group, server))
        };
        let is_good = |(one, process): &&(&CoordinatorReport, Option<(ProcessGroupId, Server<'a>)>)| {
            one.reachable && process.as_ref().is_none_or(|(id, server)| stays(id, *server))
        };
        let good = self.now.iter().filter(is_good).count();
        (fewer >= FEWEST && fewer.div_ceil(2) + majority(self.now.len()) > good + 1).then_some(fewer)
    }

    fn is_now(&self, id: &ProcessGroupId) -> bool {
        self.now.iter().any(|(_, process)| process.as_ref().is_some_and(|(now, _)| now == id))
    }
}

/// Which of the coordinators is named as a server is, by address or by name: the last of them, if several are.
fn position(hosts: &[NamedHost<'_>], server: Server<'_>) -> Option<usize> {
    let address = host(server.address);
    hosts.iter().rposition(|one| one.is(address) || server.process.dns_name.as_deref().is_some_and(|name| one.is(name)))
}

/// Whether a coordinator that answers should no longer be one. Whether its pod is ready says nothing about that: where kubelets are cut
/// off from the API, every pod of theirs stops being ready, and serves as before.
fn is_undesired(draft: &Draft<'_>, group: &ProcessGroup, server: Server<'_>) -> bool {
    let process = server.process;
    let goes = group.removal.is_some() || process.excluded == Some(true) || process.under_maintenance;
    goes || draft.seen.desired.coordinator_priority(group.class).is_none()
}

/// Whether a coordinator is of a process group that is to go, and whose pod went or is about to.
fn is_stranded(draft: &Draft<'_>, id: &ProcessGroupId) -> bool {
    let group = draft.status.groups.get(id).filter(|group| group.removal.is_some());
    group.is_some_and(|group| draft.roster.pod(id, group.class).is_none_or(|pod| pod.deleted_since.is_some()))
}

/// Whether a server may become a coordinator, and how gladly it is taken.
fn eligible(draft: &Draft<'_>, id: &ProcessGroupId, group: &ProcessGroup, server: Server<'_>) -> Option<i64> {
    let desired = &draft.seen.desired;
    let priority = desired.coordinator_priority(group.class)?;
    let process = server.process;
    let fit = group.removal.is_none() && process.excluded == Some(false) && !process.under_maintenance && process.zone.is_some();
    let nameless = desired.routing.uses_names() && process.dns_name.is_none();
    // A name is where its pod is; an address may be that of a pod that is gone, in a report that still lists it.
    let by_address = nameless || !desired.routing.uses_names();
    let is_there = || birth::announced_address(draft, id).is_some_and(|address| address == host(server.address));
    let pod = draft.roster.pod(id, group.class)?;
    let goes = draft.is_being_made_again(id, group.class);
    let may = Gate::EligibleCoordinators.passes(fit) && pod.ready && pod.deleted_since.is_none() && !goes;
    let may = may && (!by_address || is_there()) && is_of_its_pod(draft, id, pod, server);
    may.then_some(priority + if nameless { NAMELESS } else { 0 })
}

/// Whether a report speaks of a server that is where its pod is now. One that has just died is listed for some seconds more, on the host
/// it had; its pod may be on another one by then.
fn is_of_its_pod(draft: &Draft<'_>, id: &ProcessGroupId, pod: &PodFacts, server: Server<'_>) -> bool {
    let address = host(server.address);
    let of_its_service = || birth::announced_address(draft, id) == Some(address);
    pod.addresses.iter().any(|own| own == address) || of_its_service()
}

/// Each on a host of its own, and in a zone of its own if there are enough: with logical fault domains those are two things.
pub(super) fn apart(
    spanned: Option<RedundancyMode>,
    candidates: &[Candidate<ProcessGroupId>],
    wanted: usize,
) -> Vec<ProcessGroupId> {
    alone_in_both(spanned, candidates, wanted).unwrap_or_else(|| alone_on_hosts(spanned, candidates, wanted))
}

/// Each alone on its host and in its zone, if so many can be.
fn alone_in_both(
    spanned: Option<RedundancyMode>,
    candidates: &[Candidate<ProcessGroupId>],
    wanted: usize,
) -> Option<Vec<ProcessGroupId>> {
    Some(spread(candidates, wanted, &limits(spanned, wanted, 2))).filter(|chosen| chosen.len() == wanted)
}

fn alone_on_hosts(
    spanned: Option<RedundancyMode>,
    candidates: &[Candidate<ProcessGroupId>],
    wanted: usize,
) -> Vec<ProcessGroupId> {
    spread(candidates, wanted, &limits(spanned, wanted, 1))
}

/// How many may share a hall or datacenter, where a mode spans them; and one for each of so many senses of a zone.
fn limits(spanned: Option<RedundancyMode>, wanted: usize, senses: usize) -> Vec<usize> {
    let in_one = spanned.and_then(|mode| halls::coordinators_in_one(mode, wanted));
    in_one.into_iter().chain(std::iter::repeat_n(1, senses)).collect()
}

/// Who are to be the coordinators: rather those that are it now, and rather nobody who moves, fails or is replaced soon. How far apart they
/// are goes before.
fn chosen<'a>(draft: &Draft<'a>, standing: &Standing<'a>, wanted: usize) -> Vec<ProcessGroupId> {
    let moving = draft.classes().into_iter().flat_map(|class| moves::leaving(draft, class));
    let replaced = misconfigured::misfits(draft).into_iter().map(|(id, _)| id);
    let failing =
        draft.status.groups.iter().filter(|(id, group)| failures::is_failing(draft, id, group)).map(|(id, _)| id.clone());
    let leaving: BTreeSet<ProcessGroupId> = moving.chain(replaced).chain(failing).collect();
    let stays = |id: &ProcessGroupId| if standing.is_now(id) { STAYS } else { 0 };
    let lasts = |id: &ProcessGroupId| stays(id) + if leaving.contains(id) { GOES_SOON } else { 0 };
    let lasting = standing.candidates(draft, lasts);
    let spanned = standing.spanned(draft);
    let without_regard = || alone_in_both(spanned, &standing.candidates(draft, stays), wanted);
    alone_in_both(spanned, &lasting, wanted).or_else(without_regard).unwrap_or_else(|| alone_on_hosts(spanned, &lasting, wanted))
}

/// Whether the coordinators are to change, and those who stay are on too few hosts for them, whether they answer now or not. Whoever this
/// very decision lets go still counts: its successor is to come. So does, as a host of its own, whoever is nowhere yet as far as is known,
/// until it has found no node for long.
pub(super) fn lack_zones<'a>(draft: &Draft<'a>, report: &'a DatabaseReport) -> bool {
    let desired = &draft.seen.desired;
    let stays = |group: &ProcessGroup| group.removal.is_none() && desired.coordinator_priority(group.class).is_some();
    let patience = exclusion::patience_with_pending(draft);
    // One that has just come is where its pod is, before the database says where that is.
    let node = |id: &ProcessGroupId, group: &ProcessGroup| draft.roster.pod(id, group.class)?.node.clone();
    let mut hosts = BTreeSet::new();
    let mut nowhere_yet = 0;
    for (id, group) in draft.seen.kube.recorded.groups.iter().filter(|(_, group)| stays(group)) {
        match draft.physical_zone(id, group).or_else(|| node(id, group)) {
            Some(host) => drop(hosts.insert(host)),
            None if exclusion::has_no_node_for(draft, group, patience) => {}
            None => nowhere_yet += 1,
        }
    }
    hosts.len() + nowhere_yet < desired.coordinator_count() && Standing::of(report).wrong(draft).is_some()
}

fn is_first(address: &str) -> bool {
    matches!(port(bare(address)), "4500" | "4501")
}

fn change<'a>(draft: &mut Draft<'a>, report: &DatabaseReport, standing: &Standing<'a>, wrong: &Wrong) {
    let desired = &draft.seen.desired;
    let timers = desired.automation.timers;
    let (why, spacing) = match wrong {
        Wrong::Missing(addresses) => {
            (format!("{} does not answer", addresses.join(", ")), timers.recovery_before_missing_coordinator)
        }
        Wrong::Stranded(why) => (why.clone(), timers.recovery_before_missing_coordinator),
        Wrong::Undesired(why) => (why.clone(), timers.recovery_before_undesired_coordinator),
    };
    let wanted = desired.coordinator_count();
    let mut chosen = chosen(draft, standing, wanted);
    let mut count = wanted;
    if chosen.len() < wanted
        && let Some(fewer) = standing.fewer_that_tolerate_more(draft, chosen.len())
    {
        chosen = self::chosen(draft, standing, fewer);
        count = fewer;
    }
    if chosen.len() < count {
        let sentence = format!("the coordinators are to be changed ({why}), but {wanted} need {wanted} zones");
        let hold = Hold::new(reasons::NOT_ENOUGH_COORDINATORS, &desired.name, sentence, MORE_ZONES);
        draft.holds.push(hold.compared(format!("{} zones", chosen.len()), wanted));
        return;
    }
    let addresses: Vec<String> = chosen.iter().map(|id| written(draft, standing.among(draft)[id].0)).collect();
    let same = |address: &String| report.coordinators.iter().any(|one| bare(&one.address) == bare(address));
    if addresses.len() == report.coordinators.len() && addresses.iter().all(same) {
        return;
    }
    let Some(permit) =
        draft.recover(&desired.name, &format!("the coordinators change ({why})"), spacing, reasons::COORDINATORS_HELD)
    else {
        return;
    };
    let Some(guard) = lock::guard(draft, &draft.seen.desired.name) else { return };
    draft.notice(Severity::Normal, "ChangingCoordinators", format!("{why}; the coordinators become {}", addresses.join(", ")));
    draft.steps.push(Step::takes_away(TakesAway::Coordinators(addresses), permit, guard, why));
}

/// How a coordinator is written: by name where names are used.
fn written(draft: &Draft<'_>, server: Server<'_>) -> String {
    let desired = &draft.seen.desired;
    match server.process.dns_name.as_deref().filter(|_| desired.routing.uses_names()) {
        Some(name) => objects::address(desired, name, 1),
        None => server.address.to_owned(),
    }
}
