//! Revival: what is left of an earlier life of the cluster is taken up again, and never overwritten.
//!
//! A status can be lost, and an object can be deleted and made again while its volumes stay. Whoever then began anew would give new names
//! to old disks, or make a second database beside the first. So process groups are read back from the objects that carry their names, and
//! the connection from our own ConfigMap or from the user; if nobody knows it, nothing is done and that is said.

use quorate_quorum::{Hold, Severity};

use super::{ClusterSnapshot, Draft, is_ours};
use crate::objects::CLUSTER_FILE;
use crate::{ProcessClass, ProcessGroup, ProcessGroupId, reasons};

/// What keeps a cluster from beginning: volumes of a database that nobody knows the way to.
pub(super) fn obstacle(seen: &ClusterSnapshot) -> Option<Hold> {
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
    Some(Hold::new(reasons::VOLUMES_OF_AN_EARLIER_LIFE, &seen.desired.name, sentence, released_by))
}

/// The connection string that is known from elsewhere than the status.
pub(super) fn connection(seen: &ClusterSnapshot) -> Option<String> {
    let ours = seen.kube.config_map.as_ref().filter(|map| map.owner.as_deref() == Some(&seen.desired.uid));
    let written = ours.and_then(|map| map.data.get(CLUSTER_FILE)).filter(|text| !text.is_empty());
    seen.kube.recorded.connection.clone().or_else(|| seen.desired.seed_connection.clone()).or_else(|| written.cloned())
}

/// Reads process groups back from their objects, if the status knows of none.
pub(super) fn propose(draft: &mut Draft<'_>) {
    if !draft.status.groups.is_empty() {
        return;
    }
    let kube = &draft.seen.kube;
    let pods = kube.pods.values().filter(|pod| is_ours(&draft.seen.desired, pod)).filter_map(|pod| pod.group.clone());
    let claims = kube.claims.values().filter_map(|claim| claim.group.clone());
    let found: Vec<(ProcessGroupId, ProcessClass)> =
        pods.chain(claims).filter_map(|id| Some((id.clone(), class_of(&id)?))).collect();
    for (id, class) in found {
        draft.status.last_number = draft.status.last_number.max(id.number().unwrap_or(0));
        draft.status.groups.entry(id).or_insert_with(|| ProcessGroup::new(class));
    }
    if !draft.status.groups.is_empty() {
        let note = format!("{} process groups were found again by their objects", draft.status.groups.len());
        draft.notice(Severity::Warning, "ProcessGroupsFoundAgain", note);
    }
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
