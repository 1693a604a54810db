//! How each process group is: what is missing, failing or other than it was asked to be, and since when.
//!
//! Only what is known is judged. A report that can't be had, or that lists nobody, changes nothing of what is recorded: silence is no
//! evidence that something is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quorate_quorum::Wake;

use super::members::Server;
use super::roster::Objects;
use super::{Draft, is_ours};
use crate::monitor::CommandLine;
use crate::report::host;
use crate::wish::{Document, Given};
use crate::{ClaimFacts, GroupCondition, PodFacts, PodPhase, ProcessClass, ProcessGroup, ProcessGroupId, objects};

pub(super) fn observe(draft: &mut Draft<'_>) {
    let mut monitors = Monitors::of(draft);
    let (mut groups, mut wake) = (std::mem::take(&mut draft.status.groups), std::mem::take(&mut draft.wake));
    let mut roster = draft.roster.in_order();
    for (id, group) in &mut groups {
        let objects = roster.objects(id, group.class);
        of_objects(draft, &mut monitors, id, group, objects);
        of_its_node(draft, group, objects.pod, &mut wake);
        of_processes(draft, &monitors, id, group, objects.pod);
    }
    (draft.status.groups, draft.wake) = (groups, wake);
}

/// What the monitors of each kind of pod are asked to follow.
struct Monitors<'a>(BTreeMap<Kind, Monitor<'a>>);

/// A class, and whether in logical fault domains.
type Kind = (ProcessClass, bool);

/// What a monitor is asked to follow.
struct Monitor<'a> {
    document: &'a Document,
    /// What was last found to say the same. Most pods share it, and it is long.
    same: Option<Arc<str>>,
}

impl Monitor<'_> {
    fn is_followed_by(&mut self, active: &Arc<str>) -> bool {
        if self.same.as_ref().is_some_and(|same| Arc::ptr_eq(same, active)) {
            return true;
        }
        let follows = **active == *self.document.text;
        if follows {
            self.same = Some(Arc::clone(active));
        }
        follows
    }
}

impl<'a> Monitors<'a> {
    fn of(draft: &Draft<'a>) -> Self {
        let (desired, connection) = (&draft.seen.desired, draft.status.connection.as_deref());
        let kinds: BTreeSet<Kind> = draft.status.groups.values().map(|group| (group.class, group.packed)).collect();
        let monitor =
            |(class, packed)| ((class, packed), Monitor { document: desired.document(class, packed, connection), same: None });
        Self(kinds.into_iter().map(monitor).collect())
    }
}

/// Whether what there is of a group has the labels and annotations that it was given.
fn is_had_by(given: &Given, pod: Option<&PodFacts>, claim: Option<&ClaimFacts>) -> bool {
    pod.is_none_or(|pod| pod.given == given.pod) && claim.is_none_or(|claim| claim.given == given.claim)
}

fn of_objects(
    draft: &Draft<'_>,
    monitors: &mut Monitors<'_>,
    id: &ProcessGroupId,
    group: &mut ProcessGroup,
    Objects { pod, claim, service }: Objects<'_>,
) {
    let (desired, now, class) = (&draft.seen.desired, draft.seen.now, group.class);
    let pod = pod.filter(|pod| is_ours(desired, pod));
    let outdated = pod.is_some_and(|pod| pod.asked_for.as_deref() != Some(&*desired.pod_asked_for(class, id)));
    let mislabelled = !is_had_by(desired.given(class), pod, claim);
    let monitor = monitors.0.get_mut(&(class, group.packed));
    let active = pod.and_then(|pod| pod.active_configuration.as_ref()).filter(|_| group.removal.is_none());
    let unsynced = active.is_some_and(|active| monitor.is_none_or(|monitor| !monitor.is_followed_by(active)));
    // Its node or its kubelet has failed, and its processes may go on reporting as if nothing were the matter.
    let stuck = pod.and_then(|pod| pod.deleted_since).is_some_and(|since| since + desired.automation.pod_failed_after <= now);
    let terminating =
        pod.is_some_and(|pod| pod.deleted_since.is_some()) || claim.is_some_and(|claim| claim.deleted_since.is_some());
    let holds = [
        (GroupCondition::MissingPod, pod.is_none()),
        // One that is being deleted stays only until its pod is gone: what is on it can't be kept.
        (GroupCondition::MissingPvc, class.is_stateful() && claim.is_none_or(|claim| claim.deleted_since.is_some())),
        (GroupCondition::MissingService, desired.routing.service_per_pod && service.is_none()),
        (GroupCondition::PodPending, pod.is_some_and(|pod| pod.phase == PodPhase::Pending && pod.node.is_none())),
        (GroupCondition::PodFailing, stuck || pod.is_some_and(is_failing)),
        (GroupCondition::ResourcesTerminating, terminating),
        (GroupCondition::IncorrectPodSpec, outdated),
        (GroupCondition::IncorrectPodMetadata, mislabelled && group.removal.is_none()),
        (GroupCondition::IncorrectConfigMap, unsynced),
    ];
    for (condition, holds) in holds {
        group.note(condition, holds, now);
    }
    let addresses = || pod.into_iter().flat_map(|pod| &pod.addresses).chain(service.and_then(|service| service.address.as_ref()));
    if !addresses().eq(&group.addresses) {
        group.reached_at(addresses().cloned().collect());
    }
    // A group that is to go is not asked to be anything else any more, unless it can't run as it is: the database may need what is on it.
    if group.removal.is_some() && !pod.is_some_and(PodFacts::cannot_run) {
        group.note(GroupCondition::IncorrectPodSpec, false, now);
    }
}

/// A pod that runs or should, and does not serve.
fn is_failing(pod: &PodFacts) -> bool {
    match pod.phase {
        PodPhase::Failed | PodPhase::Succeeded | PodPhase::Unknown => true,
        PodPhase::Running => !pod.ready,
        PodPhase::Pending => pod.crashing.is_some(),
    }
}

/// Taints that the user named count once they have lasted.
fn of_its_node(draft: &Draft<'_>, group: &mut ProcessGroup, pod: Option<&PodFacts>, wake: &mut Wake) {
    let replacements = &draft.seen.desired.automation.replacements;
    let pod = pod.filter(|pod| !replacements.taints.is_empty() && is_ours(&draft.seen.desired, pod));
    let name = pod.and_then(|pod| pod.node.as_ref());
    let node = name.and_then(|node| draft.seen.kube.nodes.get(node));
    let lasts = |taint: &String| replacements.taints.get(taint).or_else(|| replacements.taints.get("*")).copied();
    let shortest = node.and_then(|node| node.taints.iter().filter_map(lasts).min());
    let now = draft.seen.now;
    group.note(GroupCondition::NodeTaintDetected, shortest.is_some(), now);
    let since = group.conditions.get(&GroupCondition::NodeTaintDetected);
    let lasted = since.zip(shortest).map(|(since, needed)| *since + needed);
    group.note(GroupCondition::NodeTaintReplacing, lasted.is_some_and(|due| due <= now), now);
    if let Some(due) = lasted.filter(|due| *due > now) {
        wake.at(due);
    }
}

fn of_processes(
    draft: &Draft<'_>,
    monitors: &Monitors<'_>,
    id: &ProcessGroupId,
    group: &mut ProcessGroup,
    pod: Option<&PodFacts>,
) {
    let Draft { seen, status, members, report, .. } = draft;
    let Some(report) = report.filter(|report| status.configured && !report.processes.is_empty()) else { return };
    let now = seen.now;
    let mut servers = members.of(id, group);
    let is_earlier = |server: &Server<'_>| pod.is_some_and(|pod| is_of_an_earlier_pod(*server, pod, group));
    if group.removal.is_none() && servers.iter().any(is_earlier) {
        servers.to_mut().retain(|server| !is_earlier(server));
    }
    // One that is to have another number is not missing any of those it was made with.
    let wanted = pod.map_or_else(|| draft.servers_of(id, group.class), |pod| pod.servers) as usize;
    // A coordinator that does not answer is as good as gone, although a dead process is listed for some seconds more.
    let mute = servers.iter().any(|server| report.is_mute_coordinator(server.address, server.process));
    group.note(GroupCondition::MissingProcesses, mute || servers.len() < wanted.max(1), now);
    let complains =
        |server: &Server<'_>| server.process.messages.iter().any(|message| message == "io_error" || message == "io_timeout");
    group.note(GroupCondition::ProcessHasIoError, servers.iter().any(complains), now);
    let excluded = servers.iter().any(|server| server.process.excluded == Some(true));
    group.note(GroupCondition::ProcessIsMarkedAsExcluded, group.removal.is_none() && excluded && report.is_whole(), now);
    if group.removal.is_some() {
        group.reached_at(servers.iter().map(|server| host(server.address).to_owned()).collect());
    }
    if !group.packed
        && let Some(zone) = servers.iter().rev().find_map(|server| server.process.zone.as_ref())
        && group.fault_domain.as_ref() != Some(zone)
    {
        group.fault_domain = Some(zone.clone());
    }
    let line = monitors.0.get(&(group.class, group.packed)).and_then(|monitor| monitor.document.line.as_ref());
    let started_otherwise = pod
        .zip(line)
        .is_some_and(|(pod, line)| group.removal.is_none() && servers.iter().any(|server| starts_otherwise(*server, pod, line)));
    group.note(GroupCondition::IncorrectCommandLine, started_otherwise, now);
}

/// A dead process is listed for some seconds. If its pod was made again meanwhile, it must not stand for the one that is to come: its
/// address is not the one that the monitor of the new pod gives to its servers.
fn is_of_an_earlier_pod(server: Server<'_>, pod: &PodFacts, group: &ProcessGroup) -> bool {
    let host = host(server.address);
    match pod.environment.get(objects::PUBLIC_IP) {
        Some(public) => public != host && !public.split(',').any(|address| address.trim() == host),
        None => !group.addresses.is_empty() && !group.addresses.iter().any(|address| address == host),
    }
}

/// Whether a server was started with other arguments than its monitor would start it with now. What is not known is not wrong.
fn starts_otherwise(server: Server<'_>, pod: &PodFacts, line: &CommandLine) -> bool {
    let Some((_, arguments)) = server.process.command_line.as_deref().and_then(|line| line.split_once(' ')) else { return false };
    let Some(number) = process_number(server.address) else { return false };
    line.is(&pod.environment, number, arguments) == Some(false)
}

/// The number of a process in its pod, by its port: 4501 and 4500 are the first, then every second one.
fn process_number(address: &str) -> Option<i64> {
    let port: i64 = crate::report::port(crate::report::bare(address)).parse().ok()?;
    Some((port - 4498) / 2).filter(|number| *number >= 1)
}
