//! The ConfigMap: the cluster file and what monitors start servers with. What others added to it stays.

use quorate_quorum::{Gate, Guard, Hold, Step};

use super::{Adds, Draft};
use crate::objects::Tags;
use crate::{objects, reasons};

pub(super) fn propose(draft: &mut Draft<'_>) {
    let seen = draft.seen;
    let desired = &seen.desired;
    let kinds = draft.status.groups.values().map(|group| (group.class, group.packed));
    let mut wanted = desired.config_map(draft.status.connection.as_deref(), kinds);
    let guard = Guard::epoch(seen.epoch);
    let Some(existing) = &seen.kube.config_map else {
        draft.steps.push(Step::adds(Adds::ConfigMap(Box::new(wanted)), guard, "the cluster has no ConfigMap"));
        return;
    };
    if !Gate::OnlyOurPods.passes(existing.owner.as_deref() == Some(&desired.uid)) {
        let name = objects::config_map_name(desired);
        let sentence = format!("the ConfigMap {name} belongs to somebody else, so it is not changed and no server starts");
        let released_by = "the other ConfigMap being renamed or deleted";
        let owner = existing.owner.as_deref().map_or_else(|| "no owner".to_owned(), |uid| format!("owner {uid}"));
        let hold = Hold::new(reasons::CONFIG_MAP_NOT_OURS, &name, sentence, released_by);
        draft.holds.push(hold.compared(owner, format!("owner {}", desired.uid)));
        return;
    }
    let data = wanted.data.get_or_insert_default();
    let differs = |wanted: &std::collections::BTreeMap<String, String>, is: &std::collections::BTreeMap<String, String>| {
        wanted.iter().any(|(key, value)| is.get(key) != Some(value))
    };
    let labels = wanted.metadata.labels.get_or_insert_default();
    let annotations = wanted.metadata.annotations.get_or_insert_default();
    let outdated: Vec<&str> =
        data.iter().filter(|(key, value)| existing.data.get(*key) != Some(*value)).map(|(key, _)| key.as_str()).collect();
    let given = |labels, annotations| Tags::found_among(Some(labels), Some(annotations));
    let back = given(&existing.labels, &existing.annotations).change_to(&given(labels, annotations)).without_value();
    let mislabelled = back != Tags::default() || differs(labels, &existing.labels) || differs(annotations, &existing.annotations);
    if outdated.is_empty() && !mislabelled {
        return;
    }
    let why = format!(
        "the ConfigMap says otherwise in {}",
        if outdated.is_empty() { "its labels".to_owned() } else { outdated.join(", ") }
    );
    for (wanted, is) in
        [(&mut *data, &existing.data), (&mut *labels, &existing.labels), (&mut *annotations, &existing.annotations)]
    {
        for (key, value) in is {
            wanted.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    labels.retain(|key, _| !back.labels.contains_key(key));
    annotations.retain(|key, _| !back.annotations.contains_key(key));
    let guard = guard.and_object(&existing.uid, &existing.resource_version);
    draft.steps.push(Step::adds(Adds::ConfigMapAgain { map: Box::new(wanted), back }, guard, why));
}
