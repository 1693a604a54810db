//! Who gets a host first. Pods of different logical fault domains keep each other off their hosts, and so do those of a domain and those of
//! none. When many are lost at once while process groups move between them, those who come would take every host, and those who go, with
//! the data, or the coordinators would find none: then the database would be down for ever. So the others wait a moment for these.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use quorate_quorum::Hold;

use super::Draft;
use crate::{GroupCondition, PodFacts, ProcessClass, ProcessGroupId, objects, reasons};

/// So long a pod waits for others to find their hosts. It is a preference: who finds no host at all holds nobody up.
const OTHERS_COME_FIRST_FOR: SignedDuration = SignedDuration::from_secs(60);

/// Who comes before whom when many pods are made: the scheduler takes them in this order, and there may not be room for all. Without
/// coordinators and data there is no database, and what keeps nothing is needed by nobody who has it elsewhere. Those who come have nothing yet,
/// and find their hosts in the order of their names, class by class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precedence {
    Coordinates,
    GoesWithData,
    KeepsData,
    Comes,
    KeepsNothing,
    Goes,
}

/// The precedence of a process group.
pub(super) fn of(draft: &Draft<'_>, id: &ProcessGroupId) -> Precedence {
    let group = &draft.status.groups[id];
    match (group.removal.is_some(), group.class.is_stateful()) {
        _ if draft.is_coordinator(id) => Precedence::Coordinates,
        (false, _) if !draft.has_run(id, group) => Precedence::Comes,
        (true, true) if !group.may_go() => Precedence::GoesWithData,
        (false, true) => Precedence::KeepsData,
        (false, false) => Precedence::KeepsNothing,
        (true, _) => Precedence::Goes,
    }
}

/// The logical fault domains, or none, of those who are on no host for now, and are coordinators, or are to go and not empty.
pub(super) struct Homeless(BTreeMap<ProcessClass, BTreeSet<Option<String>>>);

impl Homeless {
    pub(super) fn of(draft: &Draft<'_>) -> Self {
        let is_on_a_host = |pod: &PodFacts| pod.node.is_some() && pod.deleted_since.is_none();
        let mut homeless: BTreeMap<_, BTreeSet<Option<String>>> = BTreeMap::new();
        let apart = draft.groups().filter(|(_, group, _)| objects::domains_must_be_apart(group.class));
        for (id, group, _) in apart.filter(|(_, _, found)| !found.pod.is_some_and(is_on_a_host)) {
            let goes = group.removal.is_some() && !group.addresses.is_empty() && !draft.is_done_with(id, group);
            if goes || draft.is_coordinator(id) {
                homeless.entry(group.class).or_default().insert(group.domain_key().map(str::to_owned));
            }
        }
        Self(homeless)
    }

    /// Why a pod is not made yet, if it would take the host of one of these.
    pub(super) fn come_first(&self, draft: &Draft<'_>, id: &ProcessGroupId) -> Option<Hold> {
        let group = &draft.status.groups[id];
        let other = self.0.get(&group.class)?.iter().find(|domain| domain.as_deref() != group.domain_key())?;
        let since = *group.conditions.get(&GroupCondition::MissingPod)?;
        let due = since + OTHERS_COME_FIRST_FOR;
        if group.removal.is_some() || due <= draft.seen.now || draft.is_coordinator(id) {
            return None;
        }
        let place = other.as_ref().map_or_else(|| "no fault domain".to_owned(), |domain| format!("fault domain {domain}"));
        let sentence = format!(
            "the pod of {id} is made a moment later: {} process groups of {place} are coordinators, or are to go and not empty, and need their hosts first",
            group.class
        );
        let hold = Hold::new(reasons::POD_HELD, id.to_string(), sentence, format!("their pods having hosts, or {due}"));
        let waited = draft.seen.now.duration_since(since).as_secs();
        Some(hold.compared(format!("{waited} s"), format!("{} s", OTHERS_COME_FIRST_FOR.as_secs())).since(since))
    }
}
