//! Process groups that can't become what they were asked to be without a new volume or a new name: they are replaced.

use std::collections::{BTreeMap, BTreeSet};

use quorate_quorum::{Gate, Hold, Severity};

use super::roster::Objects;
use super::{Draft, claims, families, updates};
use crate::tolerance::Copies;
use crate::{
    DatabaseReport, GroupCondition, PodFacts, PodUpdate, ProcessClass, ProcessGroup, ProcessGroupId, ServiceFacts, node_fit,
    objects, quantity, reasons,
};

pub(super) fn propose(draft: &mut Draft<'_>) {
    if !draft.status.configured {
        return;
    }
    let (early, candidates): (Vec<_>, Vec<_>) = misfits(draft).into_iter().partition(|(id, _)| came_for_somebody(draft, id));
    if let Some((first, _)) = early.first() {
        let waiting: Vec<&str> = early.iter().map(|(id, _)| id.0.as_str()).collect();
        let sentence = format!("{} wait to be replaced until those are out whom they came for", waiting.join(", "));
        let hold = Hold::new(reasons::REPLACEMENT_HELD, first.to_string(), sentence, "those in flight being excluded");
        draft.holds.push(hold.compared(format!("{} came for others", early.len()), "none"));
    }
    // While nobody knows who serves, everybody may; and whoever is marked keeps the pod it has, which may be what is wrong with the database.
    if !Gate::WholeReport.passes(draft.report.is_some_and(DatabaseReport::is_whole)) {
        let Some((first, why)) = candidates.first() else { return };
        let sentence =
            format!("{first} and {} others wait to be replaced ({why}) until the database answers", candidates.len() - 1);
        let hold =
            Hold::new(reasons::REPLACEMENT_HELD, first.to_string(), sentence, "the database answering with a whole report");
        draft.holds.push(hold.compared("no whole report", "a whole report"));
        return;
    }
    let in_flight = draft.status.groups.values().filter(|group| group.is_in_flight()).count();
    let most = usize::try_from(draft.seen.desired.automation.misconfigured_at_once).unwrap_or(usize::MAX);
    let room = most.saturating_sub(in_flight);
    let mut marked = Vec::new();
    for (id, why) in candidates.iter().take(room) {
        draft.mark(id);
        marked.push(format!("{id} ({why})"));
    }
    if candidates.len() > room {
        let waiting: Vec<&str> = candidates.iter().skip(room).map(|(id, _)| id.0.as_str()).collect();
        let sentence = format!("{} wait to be replaced, because {most} may be at once", waiting.join(", "));
        let hold = Hold::new(reasons::REPLACEMENT_HELD, waiting[0], sentence, "those in flight being excluded");
        draft.holds.push(hold.compared(format!("{} in flight", in_flight + marked.len()), format!("at most {most}")));
    }
    if !marked.is_empty() {
        draft.notice(Severity::Normal, "ReplacingProcesses", format!("replacing {}", marked.join(", ")));
    }
}

/// Those that are replaced, now or when it is their turn, and why.
pub(super) fn misfits(draft: &Draft<'_>) -> Vec<(ProcessGroupId, &'static str)> {
    let volumes: BTreeMap<ProcessClass, Volume<'_>> =
        draft.classes().into_iter().map(|class| (class, Volume::of(draft, class))).collect();
    let live = draft.groups().filter(|(_, group, _)| group.removal.is_none());
    live.filter_map(|(id, group, has)| Some((id.clone(), misfit(draft, id, group, has, &volumes[&group.class])?))).collect()
}

/// Whether a group came up in the place of somebody who is not out yet. One generation follows another: if each edit had one of its own,
/// edits that follow each other would fill all nodes with groups that are to go, and leave the last one wherever there is room. One that
/// serves nobody is no generation: it may never come up as it is, and goes as soon as it is marked.
fn came_for_somebody(draft: &Draft<'_>, id: &ProcessGroupId) -> bool {
    if !updates::serves(draft, id) {
        return false;
    }
    let group = &draft.status.groups[id];
    let Some(pod) = draft.roster.pod(id, group.class) else { return false };
    let mut of_its_class = draft.status.groups.values().filter(|other| other.class == group.class && other.is_in_flight());
    of_its_class.any(|other| other.removal.is_some_and(|since| since <= pod.created))
}

/// What volumes of a class are asked to be; found out once per class, not once per volume.
struct Volume<'a> {
    asked_for: &'a str,
    size: String,
    can_be_made: bool,
}

impl<'a> Volume<'a> {
    fn of(draft: &Draft<'a>, class: ProcessClass) -> Self {
        let desired = &draft.seen.desired;
        let can_be_made = claims::missing_storage_class(draft, class).is_none();
        Self { asked_for: desired.claim_asked_for(class), size: objects::claim_size(desired, class).0, can_be_made }
    }
}

fn misfit(
    draft: &Draft<'_>,
    id: &ProcessGroupId,
    group: &ProcessGroup,
    has: Objects<'_>,
    wanted: &Volume<'_>,
) -> Option<&'static str> {
    let desired = &draft.seen.desired;
    if !id.has_prefix(desired.prefix.as_deref(), group.class) {
        return Some("the prefix of process groups changed");
    }
    // One that serves nobody yet needs no successor: its pod is made again, or edits that follow each other would pile them up.
    let outdated = group.conditions.contains_key(&GroupCondition::IncorrectPodSpec) && updates::serves(draft, id);
    if outdated && is_replaced(draft, id, group.class) {
        return Some("its pod is asked to be another");
    }
    if has_another_address(draft, has.service) {
        return Some("the address of its service is of another family");
    }
    if group.class.is_stateful()
        && let Some(claim) = has.claim
    {
        // A typing error is put right without anybody having gone for it.
        if !wanted.can_be_made {
            return None;
        }
        if claim.asked_for.as_ref().is_some_and(|asked| *asked != wanted.asked_for) {
            return Some("its volume is asked to be another");
        }
        let grows = claim.size.as_deref().is_some_and(|size| quantity::is_less(size, &wanted.size));
        if grows && claim.may_grow == Some(false) {
            return Some("its volume is to grow, and its storage class does not let it");
        }
    }
    None
}

/// Whether a changed pod template gives this group a successor, instead of another pod.
pub(super) fn is_replaced(draft: &Draft<'_>, id: &ProcessGroupId, class: ProcessClass) -> bool {
    let desired = &draft.seen.desired;
    // A fault that a user injects is to be met, not to be got out of the way.
    let may_stay = desired.buggify.concerns(id);
    has_other_servers(draft, id, class)
        || has_another_address(draft, draft.roster.objects(id, class).service)
        || is_where_it_may_not_be(draft, id, class)
        || ((replaces_pods(desired.automation.pod_update, class) || asks_for_more(draft, id, class)) && !may_stay)
}

/// Each server of a pod has its own copies in the volume. With fewer servers nobody would serve what the others hold, and nobody would
/// miss it either; so its data moves away while it still has them all.
fn has_other_servers(draft: &Draft<'_>, id: &ProcessGroupId, class: ProcessClass) -> bool {
    let pod = draft.roster.pod(id, class);
    class.is_stateful() && pod.is_some_and(|pod| pod.servers != draft.seen.desired.servers_per_pod(class))
}

/// A pod that is made again would be on another node, and a volume that is bound to its host or its zone does not follow. Which ones do is not
/// known here, so its data moves away while it still has it. What too few nodes are like may be a typing error, or nodes that are still to come, and
/// nobody is marked for good: then the first zone waits for a node.
fn is_where_it_may_not_be(draft: &Draft<'_>, id: &ProcessGroupId, class: ProcessClass) -> bool {
    let asked = || draft.seen.desired.templates.get(&class)?.pod.spec.as_ref();
    let node = || {
        let name = draft.roster.pod(id, class)?.node.as_deref()?;
        Some((name, draft.seen.kube.nodes.get(name)?))
    };
    class.is_stateful()
        && asked().zip(node()).is_some_and(|(asked, (name, node))| !node_fit::may_be_on(asked, name, node))
        && draft.has_places_for(class, || has_places_for(draft, class))
}

/// Whether the nodes that a class may be on, and that take pods, are in as many zones as its copies need.
fn has_places_for(draft: &Draft<'_>, class: ProcessClass) -> bool {
    let desired = &draft.seen.desired;
    let copies = Copies::of(desired.redundancy_mode());
    let needed = match class {
        ProcessClass::Storage => copies.storage,
        ProcessClass::Log | ProcessClass::Transaction => copies.log,
        _ => 1,
    };
    let Some(asked) = desired.templates.get(&class).and_then(|template| template.pod.spec.as_ref()) else { return true };
    let mut zones = BTreeSet::new();
    for (name, node) in draft.seen.kube.open_nodes.iter().filter(|(name, node)| node_fit::may_be_on(asked, name, node)) {
        let zone = desired.topology.zone.label().and_then(|label| node.labels.get(label));
        zones.insert(zone.unwrap_or(name));
        if zones.len() >= needed as usize {
            return true;
        }
    }
    false
}

/// A service keeps its address for life, and somebody may be known by it.
fn has_another_address(draft: &Draft<'_>, service: Option<&ServiceFacts>) -> bool {
    let service = service.filter(|_| draft.seen.desired.routing.service_per_pod);
    service.is_some_and(|service| families::is_of_another_family(draft.seen, service))
}

/// A pod that asks for more than before may no longer fit where its volume is; its user may want it replaced for that.
fn asks_for_more(draft: &Draft<'_>, id: &ProcessGroupId, class: ProcessClass) -> bool {
    let desired = &draft.seen.desired;
    let pod = || draft.roster.pod(id, class);
    let grew = |pod: &PodFacts| objects::requests(desired, class).grew_since(pod.requests);
    desired.automation.replace_when_resources_grow && pod().is_some_and(grew)
}

/// Whether a changed pod template means a new process group: for the transaction system that costs one recovery for all of them
/// together, while making the pods again costs one for each zone.
fn replaces_pods(strategy: PodUpdate, class: ProcessClass) -> bool {
    match strategy {
        PodUpdate::Replace => true,
        PodUpdate::ReplaceTransactionSystem => {
            class != ProcessClass::Storage && class != ProcessClass::Test && class != ProcessClass::Tester
        }
        PodUpdate::Delete => false,
    }
}
