//! The disruption budget: how many pods others may evict now, which is as many zones as the database can do without.

use quorate_quorum::{Gate, Guard, Step};

use super::{Adds, Draft, is_ours};
use crate::{PodFacts, objects};

pub(super) fn propose(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    // Kubernetes counts whoever is well, if it is to stay or not: an empty one that is still there must not pay for one that serves.
    let is_well = |pod: &PodFacts| is_ours(&seen.desired, pod) && pod.ready && pod.deleted_since.is_none();
    let there = seen.kube.pods.values().filter(|pod| is_well(pod)).count();
    let to_stay = draft.status.groups.values().filter(|group| !group.may_go()).count();
    let pods = i32::try_from(there.max(to_stay)).unwrap_or(i32::MAX);
    let wanted = pods.saturating_sub(may_be_evicted(draft));
    let guard = Guard::epoch(seen.epoch);
    match &seen.kube.disruption_budget {
        None => {
            let budget = Box::new(objects::disruption_budget(&seen.desired, wanted));
            draft.steps.push(Step::adds(Adds::DisruptionBudget(budget), guard, "nothing keeps pods from being evicted together"));
        }
        Some(budget) if !Gate::OnlyOurPods.passes(budget.owner.as_deref() == Some(&seen.desired.uid)) => {}
        Some(budget) if budget.min_available == Some(wanted) => {
            let given = objects::resource_tags(&seen.desired);
            if budget.given != given {
                let guard = guard.and_object(&budget.uid, &budget.resource_version);
                let (name, tags) = (seen.desired.name.clone(), budget.given.change_to(&given));
                let why = "the disruption budget is asked to have other labels";
                draft.steps.push(Step::adds(Adds::DisruptionBudgetTags { name, tags }, guard, why));
            }
        }
        Some(budget) => {
            let guard = guard.and_object(&budget.uid, &budget.resource_version);
            let name = seen.desired.name.clone();
            let why = format!("{} of {pods} pods may be evicted at once", pods - wanted);
            draft.steps.push(Step::adds(Adds::MinAvailable { name, min_available: wanted }, guard, why));
        }
    }
}

/// None while anything is missing: an eviction then would be one too many.
fn may_be_evicted(draft: &Draft<'_>) -> i32 {
    let touched = !draft.budget.is_untouched() || !draft.status.journal.0.is_empty();
    if !draft.status.configured || touched || draft.not_whole().is_some() {
        return 0;
    }
    let own = draft.seen.desired.redundancy_mode().fault_tolerance();
    let said = draft.report.and_then(|report| report.tolerance).map_or(0, |tolerance| tolerance.data.min(tolerance.availability));
    i32::try_from(said.clamp(0, i64::from(own))).unwrap_or(0)
}
