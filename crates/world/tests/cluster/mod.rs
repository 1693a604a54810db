//! A cluster for stories: it holds objects, applies what the kubelet model writes, and lets time pass.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use quorate_world::ClusterView;
use quorate_world::kubelet::{Change, KubeletSettings, next};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Everything is in this namespace.
pub const NAMESPACE: &str = "test";

#[derive(Default)]
pub struct Cluster {
    /// Seconds since the story began.
    pub second: i64,
    pub settings: KubeletSettings,
    pub nodes: BTreeMap<String, Node>,
    pub pods: BTreeMap<String, Pod>,
    pub claims: BTreeMap<String, PersistentVolumeClaim>,
    pub volumes: BTreeMap<String, PersistentVolume>,
    pub classes: BTreeMap<String, StorageClass>,
    made: u32,
}

/// An instant of the story.
pub fn at(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
}

pub fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

impl Cluster {
    pub fn add_node(&mut self, name: &str, zone: &str) {
        let labels = json!({"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone});
        self.nodes.insert(name.to_owned(), object(json!({"metadata": {"name": name, "labels": labels}})));
    }

    /// A pod that is bound to a node already.
    pub fn add_pod(&mut self, name: &str, node: &str, claims: &[&str]) {
        let uid = self.new_uid();
        let volumes: Vec<_> =
            claims.iter().map(|claim| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}})).collect();
        let pod = json!({
            "metadata": {"namespace": NAMESPACE, "name": name, "uid": uid},
            "spec": {"nodeName": node, "containers": [{"name": "main", "image": "example.com/main"}], "volumes": volumes},
        });
        self.pods.insert(name.to_owned(), object(pod));
    }

    pub fn add_class(&mut self, name: &str, class: Value) {
        let mut class = class;
        class["metadata"] = json!({"name": name});
        self.classes.insert(name.to_owned(), object(class));
    }

    pub fn add_claim(&mut self, name: &str, class: &str, selected_node: Option<&str>) {
        let uid = self.new_uid();
        let annotations = selected_node.map(|node| json!({"volume.kubernetes.io/selected-node": node}));
        let claim = json!({
            "metadata": {"namespace": NAMESPACE, "name": name, "uid": uid, "annotations": annotations},
            "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        });
        self.claims.insert(name.to_owned(), object(claim));
    }

    /// What `kubectl delete pod` does.
    pub fn delete_pod(&mut self, name: &str, grace: i64) {
        let now = self.second;
        let pod = self.pods.get_mut(name).unwrap();
        pod.metadata.deletion_timestamp = Some(Time(at(now + grace)));
        pod.metadata.deletion_grace_period_seconds = Some(grace);
    }

    /// What `kubectl delete pvc` does.
    pub fn delete_claim(&mut self, name: &str) {
        let now = self.second;
        self.claims.get_mut(name).unwrap().metadata.deletion_timestamp = Some(Time(at(now)));
        self.claims.retain(|_, claim| !is_gone(&claim.metadata));
    }

    /// Lets time pass, and everything happen that is due meanwhile.
    pub fn run_until(&mut self, second: i64) {
        for _ in 0..10_000 {
            let (changes, wake) = self.look();
            let due = wake.map(|wake| wake.duration_since(at(0)).as_secs());
            if !changes.is_empty() {
                for change in changes {
                    self.apply(change);
                }
            } else if let Some(due) = due.filter(|due| *due <= second) {
                self.second = due;
            } else {
                self.second = second;
                return;
            }
        }
        panic!("the cluster does not come to rest");
    }

    fn look(&self) -> (Vec<Change>, Option<Timestamp>) {
        let view = ClusterView::default()
            .with_nodes(self.nodes.values())
            .with_pods(self.pods.values())
            .with_claims(self.claims.values())
            .with_volumes(self.volumes.values())
            .with_classes(self.classes.values());
        let (changes, wake) = next(at(self.second), &view, &self.settings);
        assert_eq!((changes.clone(), wake), next(at(self.second), &view, &self.settings), "a second look says something else");
        let objects: BTreeSet<_> = changes.iter().map(subject).collect();
        assert_eq!(objects.len(), changes.len(), "an object is changed twice in one look: {changes:?}");
        assert!(wake.is_none_or(|wake| wake > at(self.second)), "the next look is not in the future");
        (changes, wake)
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::PodStatus(pod) => drop(self.pods.insert(key(&pod.metadata), *pod)),
            Change::DeletePod { name, grace_seconds: Some(0), .. } => drop(self.pods.remove(&name)),
            Change::DeletePod { name, grace_seconds, .. } => self.delete_pod(&name, grace_seconds.unwrap_or(30)),
            Change::Node(node) | Change::NodeStatus(node) => drop(self.nodes.insert(key(&node.metadata), *node)),
            Change::Claim(claim) | Change::ClaimStatus(claim) => {
                self.claims.insert(key(&claim.metadata), *claim);
                self.claims.retain(|_, claim| !is_gone(&claim.metadata));
            }
            Change::CreateVolume(volume) => {
                let previous = self.volumes.insert(key(&volume.metadata), *volume);
                assert!(previous.is_none(), "a volume was made twice");
            }
            Change::Volume(volume) | Change::VolumeStatus(volume) => drop(self.volumes.insert(key(&volume.metadata), *volume)),
            Change::DeleteVolume { name, .. } => drop(self.volumes.remove(&name)),
        }
    }

    fn new_uid(&mut self) -> String {
        self.made += 1;
        format!("uid-{}", self.made)
    }

    /// Whether a pod's condition is True, and since which second it is as it is.
    pub fn condition(&self, pod: &str, type_: &str) -> (bool, i64) {
        let conditions = self.pods[pod].status.as_ref().unwrap().conditions.as_ref().unwrap();
        let condition = conditions.iter().find(|condition| condition.type_ == type_).unwrap();
        let since = condition.last_transition_time.as_ref().unwrap().0.duration_since(at(0)).as_secs();
        (condition.status == "True", since)
    }

    /// What a pod's only container is doing, and how often it was started again.
    pub fn container(&self, pod: &str) -> (String, i32) {
        let status = &self.pods[pod].status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0];
        let state = status.state.as_ref().unwrap();
        let words = match (&state.running, &state.waiting, &state.terminated) {
            (Some(running), ..) => {
                let since = running.started_at.as_ref().unwrap().0.duration_since(at(0)).as_secs();
                format!("running since {since}")
            }
            (_, Some(waiting), _) => {
                let message = waiting.message.as_deref().and_then(|message| message.split(" restarting").next());
                format!("{} {}", waiting.reason.as_deref().unwrap(), message.unwrap_or_default())
            }
            (.., Some(ended)) => format!("ended with {}", ended.exit_code),
            _ => "unknown".to_owned(),
        };
        (words.trim().to_owned(), status.restart_count)
    }

    pub fn phase(&self, pod: &str) -> &str {
        self.pods[pod].status.as_ref().unwrap().phase.as_deref().unwrap()
    }

    pub fn claim_phase(&self, claim: &str) -> Option<&str> {
        self.claims[claim].status.as_ref()?.phase.as_deref()
    }

    pub fn taints(&self, node: &str) -> Vec<String> {
        let taints = self.nodes[node].spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        taints.map(|taint| format!("{}:{}", taint.key.rsplit('/').next().unwrap(), taint.effect)).collect()
    }
}

fn key(metadata: &ObjectMeta) -> String {
    metadata.name.clone().unwrap()
}

fn is_gone(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_some() && metadata.finalizers.as_ref().is_none_or(Vec::is_empty)
}

fn subject(change: &Change) -> String {
    match change {
        Change::PodStatus(pod) => format!("pod {}", key(&pod.metadata)),
        Change::DeletePod { name, .. } => format!("pod {name}"),
        Change::Node(node) | Change::NodeStatus(node) => format!("node {}", key(&node.metadata)),
        Change::Claim(claim) | Change::ClaimStatus(claim) => format!("claim {}", key(&claim.metadata)),
        Change::CreateVolume(volume) | Change::Volume(volume) | Change::VolumeStatus(volume) => {
            format!("volume {}", key(&volume.metadata))
        }
        Change::DeleteVolume { name, .. } => format!("volume {name}"),
    }
}
