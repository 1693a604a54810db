//! Volume claims: one for each process group whose class keeps state. They grow in place where their storage class lets them, and have an
//! owner only if they are to go with the object.

use std::collections::BTreeMap;

use quorate_quorum::{Guard, Hold, JournalEntry, Step};

use super::roster::Objects;
use super::{Adds, Draft};
use crate::tolerance::holds_copies;
use crate::{ClaimFacts, Desired, ProcessClass, ProcessGroup, ProcessGroupId, objects, quantity, reasons};

/// What a volume in place of a lost one is written down as, until the database knows what was lost with that.
pub(super) const JOURNAL: &str = "volume in place of a lost one";

pub(super) fn propose(draft: &mut Draft<'_>) {
    say_which_storage_class_is_missing(draft);
    let desired = &draft.seen.desired;
    let stateful = draft.classes().into_iter().filter(|class| class.is_stateful());
    let sizes: BTreeMap<ProcessClass, String> = stateful.map(|class| (class, objects::claim_size(desired, class).0)).collect();
    let is_well = |claim: &ClaimFacts, size: &String| {
        let fits = claim.size.as_ref().is_none_or(|has| has == size);
        claim.deleted_since.is_none() && goes_with_the_object(desired, claim) == desired.delete_volumes && fits
    };
    let concerned = |(id, group, objects): &(&ProcessGroupId, &ProcessGroup, Objects<'_>)| {
        let Some(size) = sizes.get(&group.class) else { return false };
        !objects.claim.is_some_and(|claim| is_well(claim, size)) && !draft.is_done_with(id, group)
    };
    let ids: Vec<ProcessGroupId> = draft.groups().filter(concerned).map(|(id, ..)| id.clone()).collect();
    for id in ids {
        let class = draft.status.groups[&id].class;
        match draft.roster.claim(&id, class) {
            None => create(draft, &id),
            Some(claim) => look_after(draft, &id, claim, &sizes[&class]),
        }
    }
}

/// The storage class that volumes of a class are asked to be of, where there is none of that name.
pub(super) fn missing_storage_class<'a>(draft: &Draft<'a>, class: ProcessClass) -> Option<&'a str> {
    let (asked, known) = (objects::claim_storage_class(&draft.seen.desired, class)?, draft.seen.kube.storage_classes.as_ref()?);
    (!known.contains(asked)).then_some(asked)
}

fn say_which_storage_class_is_missing(draft: &mut Draft<'_>) {
    let stateful = draft.classes().into_iter().filter(|class| class.is_stateful());
    let missing: BTreeMap<ProcessClass, &str> =
        stateful.filter_map(|class| Some((class, missing_storage_class(draft, class)?))).collect();
    for (class, missing) in missing {
        let sentence = format!(
            "volumes of class {class} are asked to be of storage class {missing}, and there is none of that name; nobody is replaced \
             for it, and new volumes wait"
        );
        let released_by = format!(
            "another storageClassName in spec.processes[].volumeClaimTemplate, or a StorageClass {missing} (also for volumes that are \
             made by hand)"
        );
        let hold = Hold::new(reasons::STORAGE_CLASS_UNKNOWN, class.name(), sentence, released_by);
        let known = draft.seen.kube.storage_classes.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "no storage class".to_owned() } else { known };
        draft.holds.push(hold.compared(known, missing));
    }
}

fn create(draft: &mut Draft<'_>, id: &ProcessGroupId) {
    let group = &draft.status.groups[id];
    let claim = Box::new(objects::claim(&draft.seen.desired, id, group));
    // Its process comes back as if nothing had happened, and for a while nobody misses the copies it had, where they were: its pod may be
    // in another zone by the time that a watch shows the claim.
    if holds_copies(group.class) && !group.addresses.is_empty() {
        let name = claim.metadata.name.clone().unwrap_or_default();
        let noted = draft.status.journal.0.get(&name).filter(|entry| entry.what == JOURNAL);
        let zone = noted.map_or_else(|| draft.zone_of(id), |entry| entry.zone.clone());
        let entry = JournalEntry { what: JOURNAL.to_owned(), uid: String::new(), zone, since: draft.seen.now };
        draft.status.journal.begin(name, entry);
    }
    draft.steps.push(Step::adds(Adds::Claim(claim), Guard::epoch(draft.seen.epoch), format!("{id} has no volume claim")));
}

/// Whether the object is among the owners of a claim; who else is, is not for us to say.
fn goes_with_the_object(desired: &Desired, claim: &ClaimFacts) -> bool {
    claim.owners.contains(&desired.uid)
}

fn look_after(draft: &mut Draft<'_>, id: &ProcessGroupId, claim: &ClaimFacts, wanted: &str) {
    let desired = &draft.seen.desired;
    let name = objects::claim_name(&objects::pod_name(desired, draft.status.groups[id].class, id));
    let guard = Guard::epoch(draft.seen.epoch).and_object(&claim.uid, &claim.resource_version);
    if let Some(since) = claim.deleted_since {
        let sentence = format!("the volume claim {name} of {id} is being deleted: its data is gone as soon as its pod is");
        let hold = Hold::new(reasons::CLAIM_TERMINATING, id.to_string(), sentence, "its replacement, or the claim being gone");
        draft.holds.push(hold.compared("a claim that is being deleted", "none of this name").since(since));
        return;
    }
    if goes_with_the_object(desired, claim) != desired.delete_volumes {
        let owner = desired.delete_volumes.then(|| Box::new(objects::owner(desired)));
        let why = if desired.delete_volumes { "volumes are to go with the object" } else { "volumes are to outlive the object" };
        draft.steps.push(Step::adds(Adds::ClaimOwner { name, owner }, guard, why));
        return;
    }
    let Some(size) = claim.size.clone() else { return };
    if quantity::is_less(wanted, &size) {
        let sentence = format!("the volume of {id} can't shrink; Kubernetes offers no way");
        let released_by = format!("asking for {size} again, or replacing {id} by processGroupsToRemove");
        draft.holds.push(Hold::new(reasons::VOLUME_CANT_SHRINK, id.to_string(), sentence, released_by).compared(size, wanted));
    } else if quantity::is_less(&size, wanted) && claim.may_grow == Some(true) {
        let why = format!("the volume of {id} is to grow from {size} to {wanted}");
        draft.steps.push(Step::adds(Adds::ClaimSize { name, size: wanted.to_owned() }, guard, why));
    } else if quantity::is_less(&size, wanted) && claim.may_grow.is_none() {
        let class = claim.storage_class.as_deref().unwrap_or("(none)");
        let sentence = format!("the volume of {id} is to grow, but nobody knows whether it can");
        let hold =
            Hold::new(reasons::STORAGE_CLASS_UNKNOWN, id.to_string(), sentence, format!("the storage class {class} existing"));
        draft.holds.push(hold.compared(size, wanted));
    }
}
