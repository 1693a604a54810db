//! Birth: the first coordinators, then the database itself, each exactly once.
//!
//! The connection string is written into the status before any server is told of it, and the database is created under an id that comes
//! from the object's uid. So whoever goes on after a crash finds what was begun, and a second `configure new` finds the first.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use quorate_quorum::spread::Candidate;
use quorate_quorum::{Gate, Guard, Hold, Severity, Sighting, Step};

use super::halls::{self, Halls};
use super::{Adds, Draft, coordinators, is_ours, revival};
use crate::configuration::{Migration, engine_keys, redundancy_keys, setting_keys};
use crate::tolerance::{Copies, holds_copies};
use crate::{
    DatabaseReport, Desired, GroupCondition, PodFacts, PodPhase, ProcessClass, ProcessGroup, ProcessGroupId, Zone, objects,
    reasons,
};

/// What the database says of itself before it exists.
const NEVER_CREATED: &str = "configuration_never_created";
/// What its client says when nobody else said anything in time.
const TIMED_OUT: &str = "status_incomplete_timeout";
/// So long processes that are late are waited for, in seconds, once enough are there.
const PATIENCE_WITH_PROCESSES: f64 = 60.0;
/// With fewer than three zones in each of three halls there can be so many coordinators.
const FEWER_OVER_HALLS: usize = 5;
/// A monitor writes down what it runs as soon as it runs; one that has not done so for so long can't.
const MONITORS_SPEAK_WITHIN: SignedDuration = SignedDuration::from_secs(60);

pub(super) fn propose(draft: &mut Draft<'_>) {
    if draft.status.connection.is_none() {
        draft.status.connection = revival::connection(draft.seen);
    }
    match draft.status.connection {
        None => choose_coordinators(draft),
        Some(_) if !draft.status.configured => create(draft),
        Some(_) => {}
    }
}

/// Takes in what the database says of itself: that it exists, and how it is reached by now.
pub(super) fn learn(draft: &mut Draft<'_>) {
    let Some(report) = draft.report.filter(|report| report.available) else { return };
    if !draft.status.configured {
        draft.status.configured = true;
    }
    if let Some(connection) = report.connection.as_ref().filter(|connection| !connection.is_empty()) {
        draft.status.connection = Some(connection.clone());
    }
}

fn choose_coordinators(draft: &mut Draft<'_>) {
    let desired = &draft.seen.desired;
    let wanted = desired.coordinator_count();
    let candidates = candidates(draft);
    let eligible = draft.status.groups.values().filter(|group| desired.coordinator_priority(group.class).is_some()).count();
    let mode = desired.redundancy_mode();
    let mut chosen = coordinators::apart(Some(mode), &candidates, wanted);
    let mut survives_less = None;
    if chosen.len() < wanted && mode.spans_halls() && waited_long_enough(draft) {
        let fewer = coordinators::apart(Some(mode), &candidates, FEWER_OVER_HALLS);
        if fewer.len() == FEWER_OVER_HALLS {
            survives_less = Some(format!(
                "there are places for {FEWER_OVER_HALLS} coordinators instead of {wanted}: the database survives the loss of one hall or \
                 datacenter, but not of another zone with it, until there are three zones in each"
            ));
            chosen = fewer;
        }
    }
    let wanted = if survives_less.is_some() { FEWER_OVER_HALLS } else { wanted };
    // Those that are late are waited for, so that the choice is a good one.
    if chosen.len() < wanted || (candidates.len() < eligible && !waited_long_enough(draft)) {
        let zones: BTreeSet<&str> =
            candidates.iter().filter_map(|candidate| candidate.domains.iter().rev().nth(1)).map(String::as_str).collect();
        let halls = halls::coordinators_in_one(desired.redundancy_mode(), wanted)
            .map_or_else(String::new, |most| format!(", and at most {most} of them in one hall or datacenter"));
        let (rights, _) = silence(draft);
        let sentence =
            format!("the database is not created yet: it needs {wanted} coordinators, each in a zone of its own{halls}{rights}");
        let measured = format!("{} of {eligible} pods run, in {} zones", candidates.len(), zones.len());
        let hold = Hold::new(reasons::WAITING_FOR_COORDINATORS, &desired.name, sentence, "pods of stateful classes running");
        draft.holds.push(hold.compared(measured, format!("{wanted} in {wanted} zones")));
        return;
    }
    if let Some(survives_less) = survives_less {
        draft.notice(Severity::Warning, "TooFewCoordinators", survives_less);
    }
    let addresses: Vec<String> = chosen.iter().filter_map(|id| coordinator_address(draft, id)).collect();
    let description = desired.description.clone().unwrap_or_else(|| described(&desired.name));
    let id = desired.database_id.clone().unwrap_or_else(|| connection_id(&desired.uid));
    let connection = format!("{description}:{id}@{}", addresses.join(","));
    draft.notice(Severity::Normal, "GenerateInitialCoordinators", format!("the first coordinators are {}", addresses.join(", ")));
    draft.status.connection = Some(connection);
}

/// Who is late is waited for, but not for ever.
fn waited_long_enough(draft: &Draft<'_>) -> bool {
    let oldest = draft.seen.kube.pods.values().map(|pod| pod.created).min();
    let patience = draft.seen.desired.automation.ignore_pending_after;
    oldest.is_some_and(|oldest| draft.seen.now.duration_since(oldest) >= patience)
}

/// Process groups whose pods run and may be coordinators, with their zones as far as they are known before any server runs.
fn candidates(draft: &Draft<'_>) -> Vec<Candidate<ProcessGroupId>> {
    let desired = &draft.seen.desired;
    let candidate = |(id, group): (&ProcessGroupId, &ProcessGroup)| {
        let priority = desired.coordinator_priority(group.class).filter(|_| group.removal.is_none())?;
        let pod = draft.roster.pod(id, group.class)?;
        let runs =
            pod.phase == PodPhase::Running && pod.deleted_since.is_none() && !pod.addresses.is_empty() && is_ours(desired, pod);
        let host = runs.then(|| expected_zone(desired, id, pod, &draft.seen.kube.nodes))??;
        let zone = group.domain_key().unwrap_or(&host).to_owned();
        let mut domains = vec![host, zone];
        if desired.redundancy_mode().spans_halls() {
            domains.insert(0, halls::of_pod(desired, group.class, group.packed, pod)?);
        }
        Some(Candidate { id: id.clone(), priority, domains })
    };
    draft.status.groups.iter().filter_map(candidate).collect()
}

fn expected_zone(
    desired: &Desired,
    id: &ProcessGroupId,
    pod: &PodFacts,
    nodes: &std::collections::BTreeMap<String, crate::NodeFacts>,
) -> Option<String> {
    match &desired.topology.zone {
        // Where one zone is for all, what keeps coordinators apart is the pod.
        Zone::Cluster(_) => Some(id.to_string()),
        // Its monitor says what a variable is, before any server runs.
        Zone::Pod => match &desired.topology.zone_variable {
            Some(variable) => pod.environment.get(variable).cloned(),
            None => Some(id.to_string()),
        },
        Zone::Node { label, value_from } => {
            if let Some(variable) = value_from.as_deref().and_then(|value_from| value_from.strip_prefix('$')) {
                return pod.environment.get(variable).cloned();
            }
            let node = pod.node.as_ref()?;
            let named = nodes.get(node).and_then(|node| node.labels.get(label));
            Some(named.unwrap_or(node).clone())
        }
    }
}

/// How a coordinator of this group is written: by name where names are used, otherwise by its address; always its first server.
fn coordinator_address(draft: &Draft<'_>, id: &ProcessGroupId) -> Option<String> {
    let desired = &draft.seen.desired;
    let class = draft.status.groups.get(id)?.class;
    let host = if desired.routing.uses_names() {
        objects::dns_name(desired, &objects::pod_name(desired, class, id))
    } else {
        announced_address(draft, id)?.to_owned()
    };
    Some(objects::address(desired, &host, 1))
}

/// The address that the servers of a process group announce, by what is known of its pod or its service.
pub(super) fn announced_address<'a>(draft: &Draft<'a>, id: &ProcessGroupId) -> Option<&'a str> {
    let (desired, kube) = (&draft.seen.desired, &draft.seen.kube);
    let name = objects::pod_name(desired, draft.status.groups.get(id)?.class, id);
    if desired.routing.service_per_pod {
        return kube.services.get(&name)?.address.as_deref();
    }
    kube.pods.get(&name)?.announced_address()
}

/// A description may have letters, digits and underscores only.
fn described(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

/// 32 letters and digits that belong to this object and to no other, the same whenever they are asked for.
fn connection_id(uid: &str) -> String {
    const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    let mut id = String::new();
    for turn in 0..32_u8 {
        for byte in uid.bytes().chain([turn]) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        id.push(char::from(ALPHABET[usize::try_from((state >> 20) % 62).unwrap_or(0)]));
    }
    id
}

/// The id under which a database is created: 16 bytes in hex, from the uid as well.
fn creation_id(uid: &str) -> String {
    connection_id(uid).bytes().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// A database that nobody has created says so only after half a minute (33 s, every time, with 7.3.63), and says nothing of its
/// processes then. So it is not asked before it was created: what the pods' monitors say is enough, and creating does no harm to one
/// that exists.
fn create(draft: &mut Draft<'_>) {
    let desired = &draft.seen.desired;
    if desired.seed_connection.is_some() {
        return;
    }
    let lost = draft.addresses_of_nobody();
    if lost.len() * 2 > desired.coordinator_count() {
        let sentence = format!(
            "the database was not created yet, and can't be: its coordinators are written by the addresses {}, and no pod has them any more",
            lost.join(", ")
        );
        let released_by =
            "deleting the object and creating it again; routing.useDNSInClusterFile writes names, which outlive pods";
        let hold = Hold::new(reasons::COORDINATORS_LOST, &desired.name, sentence, released_by);
        let measured = format!("{} addresses of nobody", lost.len());
        draft.holds.push(hold.compared(measured, format!("at most {}", desired.coordinator_count() / 2)));
        return;
    }
    // A status that was lost knew whether there is a database; without it, only the coordinators do.
    let nobody_could_have = draft.seen.database == Sighting::NotAsked && !revival::is_read_back(draft);
    let known = match draft.report {
        None if nobody_could_have => "nobody has created the database yet",
        Some(report) if was_never_created(report) => "the coordinators have no record of a database",
        Some(report) if report.available => return,
        None if draft.seen.database != Sighting::NotAsked => return,
        _ => {
            let sentence = "whether the database exists is not known yet: its coordinators have not said so";
            let released_by = "a report that says so; one of a database that was never created takes up to a minute";
            let hold = Hold::new(reasons::WAITING_FOR_PROCESSES, &desired.name, sentence, released_by);
            draft.holds.push(hold.compared("coordinators that say nothing of a database", "their word"));
            return;
        }
    };
    if let Some(hold) = too_few_processes(draft) {
        draft.holds.push(hold);
        return;
    }
    let mut keys = redundancy_keys(desired.redundancy_mode());
    keys.extend(engine_keys(&desired.database.storage_engine).unwrap_or_default());
    keys.extend(setting_keys(&desired.database.settings));
    keys.extend(desired.database.migration.map(Migration::keys).unwrap_or_default());
    let id = creation_id(&desired.uid);
    let why = format!("{known}; it is created as {}", desired.redundancy_mode());
    draft.notice(Severity::Normal, "ConfiguringDatabase", why.clone());
    draft.steps.push(Step::adds(Adds::Database { id, keys }, Guard::epoch(draft.seen.epoch), why));
}

/// Whether the coordinators have no record of a database. Where the report of such a one does not arrive in time, only its client's part
/// does: all coordinators answer, and nobody else does. Creating one then does no harm: if it exists, it says so.
fn was_never_created(report: &DatabaseReport) -> bool {
    let says_so = report.recovery.as_ref().is_some_and(|recovery| recovery.name == NEVER_CREATED);
    let says_nothing = report.recovery.is_none() && report.processes.is_empty() && report.messages.contains(TIMED_OUT);
    let all_answer = !report.coordinators.is_empty() && report.coordinators.iter().all(|one| one.reachable);
    says_so || (says_nothing && all_answer)
}

/// A database that is created with too few processes is accepted, and stays down.
fn too_few_processes(draft: &Draft<'_>) -> Option<Hold> {
    let desired = &draft.seen.desired;
    let copies = Copies::of(desired.redundancy_mode());
    let there = match draft.report.filter(|report| !report.processes.is_empty()) {
        Some(report) => joined(draft, report),
        None => started(draft),
    };
    let kinds = [("storage", there.storage_zones, copies.storage), ("log or storage", there.log_zones, copies.log)];
    let lacking = kinds.into_iter().find(|(_, zones, needed)| *zones < *needed as usize);
    if Gate::EnoughZonesAtBirth.passes(lacking.is_none() && there.long_enough) {
        return too_few_halls(draft);
    }
    let processes = format!("{} of {} processes", there.processes, there.of);
    let (what, measured, threshold) = match lacking {
        Some((kind, zones, needed)) => (
            format!("{} needs {kind} processes in {needed} zones", desired.redundancy_mode()),
            format!("{processes}, {kind} in {zones} zones"),
            format!("all of them, {kind} in {needed} zones"),
        ),
        None => ("processes that are late are waited for".to_owned(), processes, "all of them".to_owned()),
    };
    let (rights, released_by) = silence(draft);
    let released_by = released_by.unwrap_or("processes joining their coordinators");
    let sentence = format!("the database is not created yet: {what}{rights}");
    let hold = Hold::new(reasons::WAITING_FOR_PROCESSES, &desired.name, sentence, released_by);
    Some(hold.compared(measured, threshold))
}

/// A mode that spans halls or datacenters finds no place for anything before three of them are there, and could not be changed then either.
fn too_few_halls(draft: &Draft<'_>) -> Option<Hold> {
    let mode = draft.seen.desired.redundancy_mode();
    if !mode.spans_halls() {
        return None;
    }
    let joined = draft.report.filter(|report| !report.processes.is_empty());
    let halls = joined.map_or_else(|| halls_of_started(draft), |report| Halls::of_report(report, mode));
    let (measured, needed) = halls.lack(mode)?;
    let sentence =
        format!("the database is not created yet: {mode} needs storage or log processes in three halls or datacenters");
    let released_by =
        "customParameters that give processes three of them, as locality_data_hall=$NAME; or another redundancy_mode";
    let hold = Hold::new(reasons::WAITING_FOR_PROCESSES, &draft.seen.desired.name, sentence, released_by);
    Some(hold.compared(measured, needed))
}

/// The halls or datacenters of those who have started their servers.
fn halls_of_started(draft: &Draft<'_>) -> Halls {
    let desired = &draft.seen.desired;
    let mut halls = Halls::default();
    for (id, group, pod) in have_started(draft).into_iter().filter(|(_, group, _)| holds_copies(group.class)) {
        let zone = expected_zone(desired, id, pod, &draft.seen.kube.nodes);
        if let (Some(hall), Some(zone)) = (halls::of_pod(desired, group.class, group.packed, pod), zone) {
            halls.add(hall, zone);
        }
    }
    halls
}

/// What is said of monitors that write nothing down, and what would make them.
fn silence(draft: &Draft<'_>) -> (String, Option<&'static str>) {
    let (silent, within) = (without_a_word(draft), MONITORS_SPEAK_WITHIN.as_secs());
    if silent == 0 {
        return (String::new(), None);
    }
    let rights = format!(
        "; the monitors of {silent} running pods have said nothing for {within} s: may their service account patch pods?"
    );
    (
        rights,
        Some("monitors writing on their pods what they run, for which their service account needs get, watch and patch on pods"),
    )
}

/// Pods that run and whose monitors have written nothing down for so long that they are not allowed to.
fn without_a_word(draft: &Draft<'_>) -> usize {
    let runs =
        |pod: &&PodFacts| pod.phase == PodPhase::Running && pod.deleted_since.is_none() && is_ours(&draft.seen.desired, pod);
    let is_silent = |pod: &&PodFacts| {
        let age = draft.seen.now.duration_since(pod.created);
        pod.active_configuration.is_none() && pod.environment.is_empty() && age >= MONITORS_SPEAK_WITHIN
    };
    draft.groups().filter_map(|(_, _, objects)| objects.pod).filter(runs).filter(is_silent).count()
}

/// Who is there to make up a new database.
struct There {
    processes: usize,
    of: usize,
    /// How many zones there are of storage processes.
    storage_zones: usize,
    /// How many zones there are of those that can hold a log: storage processes can too, if only in need.
    log_zones: usize,
    /// All are there, or those that are missing were waited for.
    long_enough: bool,
}

/// Those that have joined, as the database says.
fn joined(draft: &Draft<'_>, report: &DatabaseReport) -> There {
    let ready = draft.seen.kube.pods.values().filter(|pod| pod.ready && pod.deleted_since.is_none()).count();
    let longest = report.processes.values().filter_map(|process| process.uptime).fold(0.0, f64::max);
    let processes = report.processes.len();
    There {
        processes,
        of: ready,
        storage_zones: report.zones(|process| process.class == Some(ProcessClass::Storage)),
        log_zones: report.zones(|process| process.class.is_some_and(holds_copies)),
        long_enough: processes >= ready || longest >= PATIENCE_WITH_PROCESSES,
    }
}

fn live<'a>(draft: &'a Draft<'_>) -> impl Iterator<Item = (&'a ProcessGroupId, &'a ProcessGroup)> {
    draft.status.groups.iter().filter(|(_, group)| group.removal.is_none())
}

/// Those whose monitors say that they follow a configuration with coordinators in it, and so have started their servers.
fn have_started<'a>(draft: &'a Draft<'_>) -> Vec<(&'a ProcessGroupId, &'a ProcessGroup, &'a PodFacts)> {
    let pod = |id: &ProcessGroupId, group: &ProcessGroup| {
        let pod = draft.roster.pod(id, group.class)?;
        let follows = pod.active_configuration.is_some() && !group.conditions.contains_key(&GroupCondition::IncorrectConfigMap);
        Some(pod).filter(|pod| pod.ready && pod.deleted_since.is_none() && follows && is_ours(&draft.seen.desired, pod))
    };
    live(draft).filter_map(|(id, group)| Some((id, group, pod(id, group)?))).collect()
}

fn started(draft: &Draft<'_>) -> There {
    let seen = draft.seen;
    let started = have_started(draft);
    let zones = |counts: fn(ProcessClass) -> bool| {
        let (mut hosts, mut zones) = (BTreeSet::new(), BTreeSet::new());
        for (id, group, pod) in started.iter().filter(|(_, group, _)| counts(group.class)) {
            if let Some(host) = expected_zone(&seen.desired, id, pod, &seen.kube.nodes) {
                zones.insert(group.domain_key().unwrap_or(&host).to_owned());
                hosts.insert(host);
            }
        }
        // As everywhere, the fewer of hosts and logical zones count.
        hosts.len().min(zones.len())
    };
    let of = live(draft).count();
    There {
        processes: started.len(),
        of,
        storage_zones: zones(|class| class == ProcessClass::Storage),
        log_zones: zones(holds_copies),
        long_enough: started.len() == of || waited_long_enough(draft),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_belong_to_the_object_and_stay_the_same() {
        let id = connection_id("6f1c");
        assert_eq!(id.len(), 32);
        assert_eq!(id, connection_id("6f1c"));
        assert_ne!(id, connection_id("6f1d"));
        assert!(id.chars().all(|letter| letter.is_ascii_alphanumeric()));
        assert_eq!(creation_id("6f1c").len(), 32);
    }

    #[test]
    fn a_description_has_no_dashes() {
        assert_eq!(described("my-cluster.7"), "my_cluster_7");
    }
}
