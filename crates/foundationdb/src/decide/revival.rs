//! Revival: what is left of an earlier life of the cluster is taken up again, and never overwritten.
//!
//! A status can be lost, and an object can be deleted and made again while its volumes stay. Whoever then began anew would give new names
//! to old disks, or make a second database beside the first. So process groups are read back from the objects that carry their names, and
//! the connection from our own ConfigMap or from the user; if nobody knows it, nothing is done and that is said.
//!
//! And what was sent may arrive when its sender is gone, and its process group removed and forgotten. Such a stray serves the database
//! like any other: it is recorded as one that is to go, so that it is drained before it goes.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use quorate_quorum::{Hold, JournalEntry, Severity};

use super::{ClusterSnapshot, Draft, is_ours};
use crate::objects::{self, CLUSTER_FILE};
use crate::obstacle::Obstacle;
use crate::tolerance::DATABASE_KNOWS_AFTER;
use crate::{Desired, ProcessClass, ProcessGroup, ProcessGroupId, reasons};

/// What the journal calls a stray that was seen.
pub(super) const JOURNAL: &str = "seen astray";
/// What it calls a status that was read back.
pub const READ_BACK: &str = "read back";
/// What that is written down under; no object has such a name.
const THE_STATUS: &str = "the status";

/// No process group has such a number, which could not be counted on from.
const HIGHEST_NUMBER: i64 = 1 << 40;

/// For so long a stray may be one that only a lagging watch still shows.
const SURELY_THERE_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// What keeps a cluster from beginning: volumes of a database that nobody knows the way to, or a status that was lost before the watches
/// have shown what it was about.
pub(super) fn obstacle(seen: &ClusterSnapshot) -> Option<Hold> {
    let unseen = seen.kube.unseen.iter().next();
    if let Some(first) = unseen.filter(|_| seen.kube.recorded.groups.is_empty()) {
        let number = seen.kube.unseen.len();
        let sentence =
            format!("nothing is recorded, and {number} objects that were made a moment ago are not seen yet, such as {first}");
        let hold = Hold::new(
            reasons::WAITING_FOR_PROCESSES,
            &seen.desired.name,
            sentence,
            "the watches showing them, within two minutes",
        );
        return Some(hold.compared(format!("{number} not seen"), "0"));
    }
    let claims = &seen.kube.claims;
    let volumes = claims.len();
    let first = claims.keys().next()?;
    if !seen.kube.recorded.groups.is_empty() || connection(seen).is_some() {
        return None;
    }
    let sentence = format!(
        "there are {volumes} volume claims of an earlier cluster of this name, such as {first}; their database is not overwritten"
    );
    let released_by = "spec.seedConnectionString with the connection string of that database, or deleting the claims if it is not wanted any more";
    let hold = Hold::new(reasons::VOLUMES_OF_AN_EARLIER_LIFE, &seen.desired.name, sentence, released_by);
    Some(hold.compared(format!("{volumes} volume claims"), "none, or a connection string"))
}

/// The connection string that is known from elsewhere than the status. What servers were told of last is newer than what the object was
/// made with: its coordinators may all be gone.
pub(super) fn connection(seen: &ClusterSnapshot) -> Option<String> {
    let ours = seen.kube.config_map.as_ref().filter(|map| map.owner.as_deref() == Some(&seen.desired.uid));
    let written = ours.and_then(|map| map.data.get(CLUSTER_FILE)).filter(|text| !text.is_empty());
    seen.kube.recorded.connection.clone().or_else(|| written.cloned()).or_else(|| seen.desired.seed_connection.clone())
}

/// Reads process groups back from their objects: all if the status knows of none, and strays.
pub(super) fn propose(draft: &mut Draft<'_>) {
    if draft.status.groups.is_empty() {
        read_all_back(draft);
    } else if !draft.roster.has_everything() {
        take_strays_in(draft);
    }
}

fn read_all_back(draft: &mut Draft<'_>) {
    let (kube, desired) = (&draft.seen.kube, &draft.seen.desired);
    let pods = kube.pods.iter().filter(|(_, pod)| is_ours(desired, pod));
    let pods =
        pods.filter_map(|(name, pod)| Some((known_by(desired, pod.group.as_ref()?, name, str::to_owned)?, pod.domain.clone())));
    let claims = kube.claims.iter();
    let claims = claims.filter_map(|(name, claim)| {
        Some((known_by(desired, claim.group.as_ref()?, name, objects::claim_name)?, claim.domain.clone()))
    });
    for (id, domain) in pods.chain(claims) {
        if let Some(group) = found(id, domain) {
            draft.status.last_number = draft.status.last_number.max(id.number().unwrap_or(0));
            draft.status.groups.entry(id.clone()).or_insert(group);
        }
    }
    if !draft.status.groups.is_empty() {
        let since = draft.seen.now;
        let entry = JournalEntry { what: READ_BACK.to_owned(), uid: String::new(), zone: String::new(), since };
        draft.status.journal.begin(THE_STATUS, entry);
        let note = format!("{} process groups were found again by their objects", draft.status.groups.len());
        draft.notice(Severity::Warning, "ProcessGroupsFoundAgain", note);
    }
}

/// Whether the status was read back so lately that nobody knows who served and is missing: with it went every address, and whether there
/// ever was a database.
pub(super) fn is_read_back(draft: &Draft<'_>) -> bool {
    draft.status.journal.0.contains_key(THE_STATUS)
}

/// What nobody knows for a while after a status was read back: whatever vanished before, the database alone can miss.
pub(super) fn missing(draft: &Draft<'_>) -> Option<Obstacle> {
    let entry = draft.status.journal.0.get(THE_STATUS)?;
    let knows_after = DATABASE_KNOWS_AFTER.as_secs();
    let because = format!(
        "the status was lost and read back at {}; {knows_after} s after that, without a recovery, the database knows who is missing",
        entry.since
    );
    Some(Obstacle::new(because, format!("less than {knows_after} s"), format!("{knows_after} s without recovery")))
}

/// A process group as its objects tell of it.
fn found(id: &ProcessGroupId, domain: Option<String>) -> Option<ProcessGroup> {
    Some(ProcessGroup { packed: domain.is_some(), fault_domain: domain, ..ProcessGroup::new(class_of(id)?) })
}

/// The process group an object is labelled with, if it has the name that an object of it has. A label alone says nothing: whoever copies an
/// object copies its labels.
fn known_by<'a>(
    desired: &Desired,
    id: &'a ProcessGroupId,
    name: &str,
    after_its_pod: fn(&str) -> String,
) -> Option<&'a ProcessGroupId> {
    let class = class_of(id)?;
    let named = after_its_pod(&objects::pod_name(desired, class, id));
    let in_order =
        id.number().is_some_and(|number| (1..HIGHEST_NUMBER).contains(&number) && id.0.ends_with(&format!("-{number}")));
    (name == named && in_order).then_some(id)
}

/// An object of a process group that nobody has recorded.
struct Stray<'a> {
    name: &'a str,
    uid: &'a str,
    id: &'a ProcessGroupId,
    domain: Option<&'a String>,
}

/// Whoever is astray for long is recorded as one that is to go. Of a claim that has a volume and no pod nobody knows what is on it: it
/// stays, and that is said.
fn take_strays_in(draft: &mut Draft<'_>) {
    let (kube, desired) = (&draft.seen.kube, &draft.seen.desired);
    // Whoever has the name of a recorded one is that one, whatever its label says.
    let recorded: BTreeSet<String> =
        draft.status.groups.iter().map(|(id, group)| objects::pod_name(desired, group.class, id)).collect();
    let mut strays = Vec::new();
    for (name, pod) in kube.pods.iter().filter(|(name, pod)| is_ours(desired, pod) && !recorded.contains(*name)) {
        let id = pod.group.as_ref().and_then(|id| known_by(desired, id, name, str::to_owned));
        strays.extend(id.map(|id| Stray { name, uid: &pod.uid, id, domain: pod.domain.as_ref() }));
    }
    let mut unknown = Vec::new();
    for (name, claim) in kube.claims.iter().filter(|(_, claim)| claim.deleted_since.is_none()) {
        let Some(id) = claim.group.as_ref().and_then(|id| known_by(desired, id, name, objects::claim_name)) else { continue };
        let is_recorded = class_of(id).is_some_and(|class| recorded.contains(&objects::pod_name(desired, class, id)));
        if is_recorded || strays.iter().any(|stray| stray.id == id) {
            continue;
        }
        if claim.bound {
            unknown.push((name, id));
        } else {
            strays.push(Stray { name, uid: &claim.uid, id, domain: claim.domain.as_ref() });
        }
    }
    for (claim, id) in unknown {
        let sentence =
            format!("volume claim {claim} is of {id}, which is not known here; it stays, for nobody knows what is on it");
        let hold = Hold::new(reasons::UNKNOWN_VOLUME, claim, sentence, "deleting the claim if it is not wanted any more");
        draft.holds.push(hold.compared("a volume that nobody recorded", "none"));
    }
    for stray in strays {
        take_in(draft, &stray);
    }
}

fn take_in(draft: &mut Draft<'_>, stray: &Stray<'_>) {
    let (now, name) = (draft.seen.now, stray.name);
    let noted = draft.status.journal.0.get(name).filter(|entry| entry.what == JOURNAL && entry.uid == stray.uid);
    let since = noted.map_or(now, |entry| entry.since);
    if noted.is_none() {
        let entry = JournalEntry { what: JOURNAL.to_owned(), uid: stray.uid.to_owned(), zone: String::new(), since };
        draft.status.journal.begin(name, entry);
    }
    let due = since + SURELY_THERE_AFTER;
    let answers = draft.report.is_some_and(|report| report.is_whole() && report.available);
    if due > now || !answers {
        let sentence =
            format!("{name} is of {}, which is not known here; it is recorded, drained and removed if it stays", stray.id);
        let patience = SURELY_THERE_AFTER.as_secs();
        let hold = Hold::new(reasons::STRAY, name, sentence, format!("{due}, with the database answering"));
        draft.holds.push(hold.compared("seen, and on no record", format!("{patience} s of that, and a report")).since(since));
        if due > now {
            draft.wake.at(due);
        }
        return;
    }
    let Some(group) = found(stray.id, stray.domain.cloned()) else { return };
    draft.status.groups.insert(stray.id.clone(), ProcessGroup { removal: Some(now), ..group });
    draft.status.last_number = draft.status.last_number.max(stray.id.number().unwrap_or(0));
    draft.status.journal.0.remove(name);
    let note = format!("{name} is of {}, which nobody had recorded; it is drained and removed", stray.id);
    draft.notice(Severity::Warning, "StrayTakenIn", note);
}

/// The class in a name such as `dc1-grv_proxy-7`.
fn class_of(id: &ProcessGroupId) -> Option<ProcessClass> {
    let (stem, _) = id.0.rsplit_once('-')?;
    stem.rsplit('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_read_from_a_name() {
        let class = |text: &str| class_of(&ProcessGroupId(text.into()));
        assert_eq!(class("dc1-grv_proxy-7"), Some(ProcessClass::GrvProxy));
        assert_eq!(class("log-1"), Some(ProcessClass::Log));
        assert_eq!((class("log"), class("x-disk-1")), (None, None));
    }
}
