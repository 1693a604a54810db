//! Pods and volume claims, as far as decisions need them.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, PodCondition};
use kube::ResourceExt;
use quorate_foundationdb::{ClaimFacts, PodFacts, PodPhase, ProcessGroupId, labels};

pub(crate) fn pod_facts(pod: &Pod) -> PodFacts {
    let status = pod.status.as_ref();
    let condition = |name: &str| -> Option<&PodCondition> {
        status
            .and_then(|status| status.conditions.as_ref())
            .and_then(|conditions| conditions.iter().find(|each| each.type_ == name))
    };
    let unschedulable = condition("PodScheduled").filter(|scheduled| scheduled.status == "False");
    PodFacts {
        uid: pod.uid().unwrap_or_default(),
        resource_version: pod.resource_version().unwrap_or_default(),
        group: group(pod),
        owner: pod.owner_references().iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone()),
        node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        phase: phase(status.and_then(|status| status.phase.as_deref())),
        ready: condition("Ready").is_some_and(|ready| ready.status == "True"),
        address: status.and_then(|status| status.pod_ip.clone()),
        created: pod.creation_timestamp().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        deleted_since: pod.metadata.deletion_timestamp.as_ref().map(|time| time.0),
        unschedulable: unschedulable.and_then(|scheduled| scheduled.message.clone()),
    }
}

pub(crate) fn claim_facts(claim: &PersistentVolumeClaim) -> ClaimFacts {
    ClaimFacts {
        uid: claim.uid().unwrap_or_default(),
        resource_version: claim.resource_version().unwrap_or_default(),
        group: group(claim),
        deleted_since: claim.metadata.deletion_timestamp.as_ref().map(|time| time.0),
    }
}

fn group(object: &impl ResourceExt) -> Option<ProcessGroupId> {
    object.labels().get(labels::GROUP).cloned().map(ProcessGroupId)
}

fn phase(text: Option<&str>) -> PodPhase {
    match text {
        None | Some("Pending") => PodPhase::Pending,
        Some("Running") => PodPhase::Running,
        Some("Succeeded") => PodPhase::Succeeded,
        Some("Failed") => PodPhase::Failed,
        Some(_) => PodPhase::Unknown,
    }
}
