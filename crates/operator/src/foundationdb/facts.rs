//! Kubernetes' objects, as far as decisions need them: the rest is dropped as soon as it was read.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ConfigMap, ContainerStatus, Node, PersistentVolumeClaim, Pod, PodCondition, PodStatus, Service,
};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use quorate_foundationdb::objects::{Requests, Tags, servers_in};
use quorate_foundationdb::{
    ClaimFacts, ConfigMapFacts, DisruptionBudgetFacts, NodeFacts, PodFacts, PodPhase, ProcessGroupId, ServiceFacts, annotations,
    labels,
};

/// The digest of what was asked for.
const ASKED_FOR: &str = "quorate.io/asked-for";
/// The digest of how it was rendered.
const RENDERING: &str = "quorate.io/rendering";
/// Where the monitor writes the configuration it runs with.
const CURRENT_CONFIGURATION: &str = "foundationdb.org/launcher-current-configuration";
/// Where the monitor writes its environment, as a JSON map.
const ENVIRONMENT: &str = "foundationdb.org/launcher-environment";
/// Set by a human who wants a pod's servers stopped and the pod kept.
const ISOLATE: &str = "foundationdb.org/isolate-process-group";

pub(crate) fn pod_facts(pod: &Pod) -> PodFacts {
    let status = pod.status.as_ref();
    let condition = |name: &str| -> Option<&PodCondition> {
        status
            .and_then(|status| status.conditions.as_ref())
            .and_then(|conditions| conditions.iter().find(|each| each.type_ == name))
    };
    let unschedulable = condition("PodScheduled").filter(|scheduled| scheduled.status == "False");
    let environment = annotation(pod, ENVIRONMENT).and_then(|text| serde_json::from_str(&text).ok());
    PodFacts {
        uid: pod.uid().unwrap_or_default(),
        resource_version: pod.resource_version().unwrap_or_default(),
        group: group(pod),
        domain: pod.labels().get(labels::DISTRIBUTION_KEY).cloned(),
        owner: owner(pod),
        node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        phase: phase(status.and_then(|status| status.phase.as_deref())),
        ready: condition("Ready").is_some_and(|ready| ready.status == "True"),
        addresses: status.map(addresses).unwrap_or_default(),
        family: annotation(pod, annotations::IP_FAMILY).and_then(|family| family.parse().ok()).filter(|family| *family != 0),
        asked_for: annotation(pod, ASKED_FOR),
        rendering: annotation(pod, RENDERING),
        given: Tags::found(&pod.metadata),
        active_configuration: annotation(pod, CURRENT_CONFIGURATION).map(Into::into),
        poked_for: annotation(pod, annotations::POKED_FOR),
        environment: environment.unwrap_or_default(),
        requests: pod.spec.as_ref().map(Requests::of).unwrap_or_default(),
        servers: pod.spec.as_ref().map_or(1, servers_in),
        isolated: annotation(pod, ISOLATE).is_some_and(|value| value == "true"),
        crashing: status.and_then(crashing),
        created: pod.creation_timestamp().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        deleted_since: pod.metadata.deletion_timestamp.as_ref().map(|time| time.0),
        unschedulable: unschedulable.and_then(|scheduled| scheduled.message.clone()),
    }
}

/// All addresses, or the one there was before pods had several.
fn addresses(status: &PodStatus) -> Vec<String> {
    let all: Vec<_> = status.pod_ips.iter().flatten().map(|address| address.ip.clone()).collect();
    if all.is_empty() { status.pod_ip.iter().cloned().collect() } else { all }
}

/// The first container that waits because it crashed, or because its image can't be had.
fn crashing(status: &PodStatus) -> Option<String> {
    let crashes = |container: &&ContainerStatus| {
        let waiting = container.state.as_ref().and_then(|state| state.waiting.as_ref());
        let reason = waiting.and_then(|waiting| waiting.reason.as_deref());
        let last = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
        matches!(reason, Some("CrashLoopBackOff" | "ImagePullBackOff" | "ErrImagePull"))
            || (waiting.is_some() && last.is_some_and(|ended| ended.exit_code != 0))
    };
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    containers.into_iter().find(crashes).map(|container| container.name.clone())
}

/// Whether the class lets volumes grow is for the index to say, which knows the classes.
pub(crate) fn claim_facts(claim: &PersistentVolumeClaim) -> ClaimFacts {
    let spec = claim.spec.as_ref();
    let requests = spec.and_then(|spec| spec.resources.as_ref()).and_then(|resources| resources.requests.as_ref());
    ClaimFacts {
        uid: claim.uid().unwrap_or_default(),
        resource_version: claim.resource_version().unwrap_or_default(),
        group: group(claim),
        domain: claim.labels().get(labels::DISTRIBUTION_KEY).cloned(),
        deleted_since: claim.metadata.deletion_timestamp.as_ref().map(|time| time.0),
        asked_for: annotation(claim, ASKED_FOR),
        servers: annotation(claim, annotations::SERVERS).and_then(|servers| servers.parse().ok()).filter(|servers| *servers > 0),
        given: Tags::found(&claim.metadata),
        size: requests.and_then(|requests| requests.get("storage")).map(|size| size.0.clone()),
        storage_class: spec.and_then(|spec| spec.storage_class_name.clone()).filter(|name| !name.is_empty()),
        may_grow: None,
        owners: claim.owner_references().iter().map(|owner| owner.uid.clone()).collect(),
        bound: spec.is_some_and(|spec| spec.volume_name.as_ref().is_some_and(|name| !name.is_empty())),
        placed: annotation(claim, annotations::SELECTED_NODE).is_some(),
        lost: claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Lost"),
    }
}

pub(crate) fn service_facts(service: &Service) -> ServiceFacts {
    let spec = service.spec.as_ref();
    let ports = spec.and_then(|spec| spec.ports.as_ref()).into_iter().flatten();
    ServiceFacts {
        uid: service.uid().unwrap_or_default(),
        resource_version: service.resource_version().unwrap_or_default(),
        group: group(service),
        owner: owner(service),
        // A headless service says "None", one that has no address yet says nothing.
        address: spec.and_then(|spec| spec.cluster_ip.clone()).filter(|address| !address.is_empty() && address != "None"),
        families: spec.and_then(|spec| spec.ip_families.clone()).unwrap_or_default(),
        ports: ports.map(|port| (port.name.clone().unwrap_or_default(), port.port)).collect(),
        given: Tags::found(&service.metadata),
    }
}

pub(crate) fn config_map_facts(map: &ConfigMap) -> ConfigMapFacts {
    ConfigMapFacts {
        uid: map.uid().unwrap_or_default(),
        resource_version: map.resource_version().unwrap_or_default(),
        owner: owner(map),
        data: map.data.clone().unwrap_or_default(),
        labels: map.labels().clone(),
        annotations: map.annotations().clone(),
    }
}

pub(crate) fn budget_facts(budget: &PodDisruptionBudget) -> DisruptionBudgetFacts {
    let min_available = budget.spec.as_ref().and_then(|spec| spec.min_available.as_ref());
    DisruptionBudgetFacts {
        uid: budget.uid().unwrap_or_default(),
        resource_version: budget.resource_version().unwrap_or_default(),
        owner: owner(budget),
        min_available: min_available.and_then(|value| match value {
            IntOrString::Int(number) => Some(*number),
            IntOrString::String(_) => None,
        }),
        given: Tags::found(&budget.metadata),
    }
}

pub(crate) fn node_facts(node: Node) -> NodeFacts {
    let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
    let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
    NodeFacts {
        created: node.metadata.creation_timestamp.map(|time| time.0),
        labels: node.metadata.labels.unwrap_or_default(),
        taints: taints.into_iter().map(|taint| taint.key).collect(),
        ready: conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True"),
    }
}

fn annotation(object: &impl ResourceExt, name: &str) -> Option<String> {
    object.annotations().get(name).cloned()
}

fn owner(object: &impl ResourceExt) -> Option<String> {
    object.owner_references().iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    fn object<K: DeserializeOwned>(value: Value) -> K {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_pod_says_what_its_monitor_wrote_on_it() {
        let pod = pod_facts(&object(json!({
            "metadata": {"annotations": {
                ASKED_FOR: "a", RENDERING: "r", CURRENT_CONFIGURATION: "{}", ENVIRONMENT: r#"{"FDB_ZONE_ID": "n1"}"#, ISOLATE: "true",
            }},
            "status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]},
        })));
        assert_eq!((pod.asked_for.as_deref(), pod.rendering.as_deref(), pod.isolated), (Some("a"), Some("r"), true));
        assert_eq!((pod.active_configuration.as_deref(), pod.environment["FDB_ZONE_ID"].as_str()), (Some("{}"), "n1"));
        assert_eq!(pod.addresses, ["10.0.0.1", "fd00::1"]);
        assert_eq!(pod_facts(&object(json!({"metadata": {}, "status": {"podIP": "10.0.0.1"}}))).addresses, ["10.0.0.1"]);
    }

    #[test]
    fn an_object_says_what_its_user_gave_to_it() {
        let metadata = json!({
            "labels": {"team": "green", "of-others": "x"},
            "annotations": {annotations::GIVEN: r#"{"labels":["team"],"annotations":["gone"]}"#, annotations::IP_FAMILY: "6"},
        });
        let given = Tags {
            labels: [("team".to_owned(), Some("green".to_owned()))].into(),
            annotations: [("gone".to_owned(), None)].into(),
        };
        let pod = pod_facts(&object(json!({"metadata": metadata})));
        assert_eq!((&pod.given, pod.family), (&given, Some(6)));
        assert_eq!(claim_facts(&object(json!({"metadata": metadata}))).given, given);
        let nothing =
            pod_facts(&object(json!({"metadata": {"annotations": {annotations::GIVEN: "?", annotations::IP_FAMILY: "0"}}})));
        assert_eq!((nothing.given, nothing.family), (Tags::default(), None));
    }

    #[test]
    fn the_first_container_that_crashes_is_named() {
        let with = |main: Value, sidecar: Value| {
            pod_facts(&object(json!({"metadata": {}, "status": {"containerStatuses": [
                {"name": "foundationdb", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": main},
                {"name": "sidecar", "image": "", "imageID": "", "ready": false, "restartCount": 1, "state": sidecar,
                 "lastState": {"terminated": {"exitCode": 1}}},
            ]}})))
            .crashing
        };
        let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
        let running = json!({"running": {}});
        assert_eq!(with(running.clone(), running.clone()), None);
        assert_eq!(with(waiting("ContainerCreating"), running.clone()), None);
        assert_eq!(with(waiting("ImagePullBackOff"), running.clone()).as_deref(), Some("foundationdb"));
        assert_eq!(with(running, waiting("PodInitializing")).as_deref(), Some("sidecar"), "it ended badly and waits");
    }

    #[test]
    fn a_claim_says_its_size_and_whether_its_volume_is_lost() {
        let claim = claim_facts(&object(json!({
            "metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}]},
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "16Gi"}}}, "status": {"phase": "Lost"},
        })));
        assert_eq!((claim.size.as_deref(), claim.storage_class.as_deref()), (Some("16Gi"), Some("fast")));
        assert_eq!((claim.owners, claim.lost, claim.may_grow), (vec!["u".to_owned()], true, None));
    }

    #[test]
    fn a_headless_service_has_no_address() {
        let address = |ip: &str| {
            service_facts(&object(
                json!({"metadata": {}, "spec": {"clusterIP": ip, "ipFamilies": ["IPv6"], "ports": [{"name": "tls", "port": 4500}]}}),
            ))
        };
        assert_eq!((address("None").address, address("None").families), (None, vec!["IPv6".to_owned()]));
        let with_address = address("10.96.0.7");
        assert_eq!((with_address.address.as_deref(), with_address.ports["tls"]), (Some("10.96.0.7"), 4500));
    }

    #[test]
    fn a_node_is_its_labels_its_taints_and_whether_it_is_ready() {
        let node = node_facts(object(json!({
            "metadata": {"labels": {"zone": "a"}}, "spec": {"taints": [{"key": "gone", "effect": "NoExecute"}]},
            "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]},
        })));
        assert_eq!((node.labels["zone"].as_str(), node.taints.contains("gone"), node.ready), ("a", true, false));
    }

    #[test]
    fn a_budget_in_percent_has_no_number() {
        let min = |value: Value| budget_facts(&object(json!({"metadata": {}, "spec": {"minAvailable": value}}))).min_available;
        assert_eq!((min(json!(3)), min(json!("50%"))), (Some(3), None));
    }
}
