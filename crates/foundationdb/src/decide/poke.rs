//! Pokes: a changed ConfigMap reaches a pod's files within a minute or so, and at once if the pod itself changes, for then its kubelet looks
//! after it. So a pod is annotated where its files are waited for: by a birth, and by a restart that needs every monitor to have them.
//!
//! A poke is a write for each pod. The existing operator's annotation says when it was poked, which its monitor reads as a number; one of our
//! own names the content it is about, so a pod is poked once for it. If that is too early for its kubelet, the usual minute is waited.

use std::collections::BTreeMap;

use quorate_quorum::{Effect, Guard, Step};

use super::{Adds, Draft, bounce, is_ours, tags};
use crate::objects::{Tags, annotations};
use crate::{GroupCondition, PodPhase, objects};

/// A birth of more pods than this is not hastened: it waits for its pods for longer than for its kubelets, and would cost a write for each.
const HASTENED_BIRTH: usize = 50;

pub(super) fn propose(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    let Some(map) = &seen.kube.config_map else { return };
    // What is about to change again is waited for by nobody.
    let changes = draft.steps.iter().any(|step| matches!(step.effect, Effect::Adds(Adds::ConfigMapAgain { .. })));
    if changes || !is_waited_for(draft) {
        return;
    }
    let mut steps = Vec::new();
    for (id, group) in &draft.status.groups {
        // A pod that is to be made again gets its files then.
        let has = |condition| group.conditions.contains_key(&condition);
        if !has(GroupCondition::IncorrectConfigMap)
            || has(GroupCondition::IncorrectPodSpec)
            || !bounce::takes_part(draft, id, group)
        {
            continue;
        }
        let name = objects::pod_name(&seen.desired, group.class, id);
        let runs =
            |pod: &crate::PodFacts| pod.phase == PodPhase::Running && pod.deleted_since.is_none() && is_ours(&seen.desired, pod);
        let Some(pod) = seen.kube.pods.get(&name).filter(|pod| runs(pod)) else { continue };
        let Some(content) = objects::monitor_digest(&map.data, group.class, group.packed) else { continue };
        if pod.poked_for.as_ref() == Some(&content) {
            continue;
        }
        let guard = Guard::epoch(seen.epoch).and_object(&pod.uid, &pod.resource_version);
        let annotations = BTreeMap::from([
            (annotations::POKED_FOR.to_owned(), Some(content)),
            (annotations::OUTDATED_SEEN.to_owned(), Some(seen.now.as_second().to_string())),
        ]);
        let tags = tags::with_its_node(Tags { annotations, ..Tags::default() }, pod);
        let why = format!("the monitor of {id} has an older configuration than the ConfigMap");
        steps.push(Step::adds(Adds::PodTags { name, tags }, guard, why));
    }
    draft.steps.extend(steps);
}

/// Whether something waits for the files: a birth that is small enough, or servers that are to be restarted together.
fn is_waited_for(draft: &Draft<'_>) -> bool {
    if draft.status.configured {
        draft.seen.desired.automation.kill_processes
    } else {
        draft.status.groups.len() <= HASTENED_BIRTH
    }
}
