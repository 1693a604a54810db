//! The lock of the database: taken with the first thing that needs it, kept while anything is under way, given back at rest.

use quorate_quorum::{Fence, Guard, Hold, Step};

use super::{Adds, Draft};
use crate::lock::{Standing, denied_key, key, standing};
use crate::obstacle::Obstacle;
use crate::reasons;

/// The guard of something that is done to the whole database: where a lock is used, that it is ours. Without it the hold says whose it is.
pub(super) fn guard(draft: &mut Draft<'_>, about: &str) -> Option<Guard> {
    let guard = Guard::epoch(draft.seen.epoch);
    let Some(wish) = &draft.seen.desired.lock else { return Some(guard) };
    if draft.lock.is_none() {
        let Some(report) = draft.report.and_then(|report| report.lock.as_ref()) else {
            let why = Obstacle::new("nobody knows whose it is", "no answer", "its owner's name");
            return held(draft, about, &why, "the lock being readable");
        };
        match standing(wish, report, draft.seen.now) {
            Standing::Ours { renewed, .. } => {
                let step = Adds::Lock { key: key(wish), from: report.value.clone(), to: Some(renewed.clone()) };
                draft.lock = Some(Fence { key: key(wish), value: renewed });
                let plain = Guard::epoch(draft.seen.epoch);
                // Whatever needs it comes after it.
                draft.steps.insert(0, Step::adds(step, plain, "what follows is done under the lock of the database"));
            }
            Standing::Others { owner, until } => {
                let why =
                    Obstacle::new(format!("{owner} has it until {until}"), format!("owner {owner}"), "this operator, or nobody");
                return held(draft, about, &why, &format!("{owner} giving it back, or {until}"));
            }
            Standing::Unreadable => {
                let why = Obstacle::new("what it says can't be read", "a value of another format", "a name and two times");
                return held(draft, about, &why, "the key being cleared");
            }
            Standing::Denied => {
                let sentence = format!("{about} waits: this operator may not take the lock of the database");
                let hold = Hold::new(reasons::LOCK_DENIED, about, sentence, "its name being taken off the deny list");
                draft.holds.push(hold.compared("on the deny list", "not on it"));
                return None;
            }
        }
    }
    Some(guard.and_fence(draft.lock.clone()))
}

fn held(draft: &mut Draft<'_>, about: &str, why: &Obstacle, released_by: &str) -> Option<Guard> {
    let sentence = format!("{about} waits for the lock of the database: {why}");
    draft.holds.push(Hold::new(reasons::LOCKED, about, sentence, released_by).compared(&why.measured, &why.needed));
    None
}

/// The deny list is as the object says, for the operators it names.
pub(super) fn keep_the_deny_list(draft: &mut Draft<'_>) {
    let Some(wish) = &draft.seen.desired.lock else { return };
    let Some(report) = draft.report.and_then(|report| report.lock.as_ref()) else { return };
    draft.status.denied = report.denied.iter().cloned().collect();
    let of = |denied: bool| wish.deny.iter().filter(move |(id, deny)| **deny == denied && report.denied.contains(*id) != denied);
    let deny: Vec<_> = of(true).map(|(id, _)| (denied_key(wish, id), id.clone())).collect();
    let allow: Vec<_> = of(false).map(|(id, _)| denied_key(wish, id)).collect();
    if !(deny.is_empty() && allow.is_empty()) {
        let step = Adds::DenyList { deny, allow };
        draft.steps.push(Step::adds(step, Guard::epoch(draft.seen.epoch), "the deny list of the lock is asked to be another"));
    }
}

/// At rest nobody needs it.
pub(super) fn give_back(draft: &mut Draft<'_>) {
    let Some(wish) = &draft.seen.desired.lock else { return };
    let Some(report) = draft.report.and_then(|report| report.lock.as_ref()) else { return };
    let at_rest = draft.steps.is_empty() && draft.holds.is_empty();
    if at_rest && matches!(standing(wish, report, draft.seen.now), Standing::Ours { already: true, .. }) {
        let step = Adds::Lock { key: key(wish), from: report.value.clone(), to: None };
        draft.steps.push(Step::adds(step, Guard::epoch(draft.seen.epoch), "nothing is under way"));
    }
}
