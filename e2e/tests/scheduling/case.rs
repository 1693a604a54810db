//! A scheduling case: a cluster in few words, pods to place in order, and what is expected of each.

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service, Taint};
use k8s_openapi::api::storage::v1::StorageClass;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

type Labels = BTreeMap<String, String>;

/// A case as its file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The file's name.
    #[serde(skip)]
    pub name: String,
    /// What the case shows, in a sentence.
    pub about: String,
    /// Parts of pods that several use, by YAML's own references.
    #[serde(default, rename = "parts")]
    _parts: Value,
    #[serde(default)]
    namespaces: BTreeMap<String, Labels>,
    nodes: Vec<NodeWords>,
    #[serde(default)]
    classes: Vec<ClassWords>,
    #[serde(default)]
    volumes: Vec<VolumeWords>,
    #[serde(default)]
    claims: Vec<ClaimWords>,
    #[serde(default)]
    services: BTreeMap<String, Labels>,
    #[serde(default)]
    running: Vec<PodWords>,
    /// What is to be placed, in order.
    pub place: Vec<Step>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeWords {
    name: String,
    zone: Option<String>,
    #[serde(default)]
    labels: Labels,
    #[serde(default)]
    taints: Vec<Taint>,
    #[serde(default)]
    cordoned: bool,
    #[serde(default = "four_cpus")]
    cpu: String,
    #[serde(default = "sixteen_gibibytes")]
    memory: String,
    #[serde(default = "usual_pods")]
    pods: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassWords {
    name: String,
    #[serde(default)]
    waits: bool,
    #[serde(default)]
    zones: Vec<String>,
    /// Whether its volumes are made by hand only.
    #[serde(default)]
    by_hand: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VolumeWords {
    name: String,
    class: String,
    zone: Option<String>,
    node: Option<String>,
    #[serde(default = "ten_gibibytes")]
    size: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimWords {
    name: String,
    class: String,
    /// The volume it is bound to.
    volume: Option<String>,
    #[serde(default = "one_gibibyte")]
    size: String,
}

/// A pod in few words.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodWords {
    /// Its name.
    pub name: String,
    namespace: Option<String>,
    #[serde(default)]
    labels: Labels,
    node: Option<String>,
    cpu: Option<String>,
    memory: Option<String>,
    #[serde(default)]
    claims: Vec<String>,
    #[serde(default)]
    spec: Value,
}

/// A pod to place, and what is expected.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The pod.
    pub pod: PodWords,
    /// The node it goes to.
    on: Option<String>,
    /// What is said when it goes nowhere.
    refused: Option<String>,
}

/// What a scheduler made of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    On(String),
    Refused(String),
}

impl Step {
    pub fn expected(&self) -> Outcome {
        match (&self.on, &self.refused) {
            (Some(node), None) => Outcome::On(node.clone()),
            (None, Some(message)) => Outcome::Refused(message.split_whitespace().collect::<Vec<_>>().join(" ")),
            _ => panic!("pod {} is expected either `on` a node or `refused`", self.pod.name),
        }
    }
}

/// A case's objects, complete, in one namespace or with names that start with it.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub namespaces: Vec<Namespace>,
    pub nodes: Vec<Node>,
    pub classes: Vec<StorageClass>,
    pub volumes: Vec<PersistentVolume>,
    pub claims: Vec<PersistentVolumeClaim>,
    pub services: Vec<Service>,
    pub pods: Vec<Pod>,
}

impl Case {
    /// Every case in a folder, by name.
    pub fn all(folder: &Path) -> Vec<Self> {
        let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
        files.sort();
        files.iter().map(|file| Self::read(file)).collect()
    }

    fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap();
        let mut case: Self = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        case.name = file.file_stem().unwrap().to_string_lossy().into_owned();
        case
    }

    /// What there is before anything is placed.
    pub fn objects(&self, namespace: &str) -> Objects {
        Objects {
            namespaces: self.namespaces.iter().map(|(name, labels)| other_namespace(namespace, name, labels)).collect(),
            nodes: self.nodes.iter().map(NodeWords::object).collect(),
            classes: self.classes.iter().map(ClassWords::object).collect(),
            volumes: self.volumes.iter().map(|volume| volume.object(self.claim_of(&volume.name), namespace)).collect(),
            claims: self.claims.iter().map(|claim| claim.object(namespace)).collect(),
            services: self.services.iter().map(|(name, selector)| service(namespace, name, selector)).collect(),
            pods: self.running.iter().map(|pod| pod.object(namespace)).collect(),
        }
    }

    fn claim_of(&self, volume: &str) -> Option<&ClaimWords> {
        self.claims.iter().find(|claim| claim.volume.as_deref() == Some(volume))
    }
}

impl NodeWords {
    fn object(&self) -> Node {
        let mut labels = self.labels.clone();
        labels.insert("kubernetes.io/hostname".to_owned(), self.name.clone());
        labels.extend(self.zone.iter().map(|zone| ("topology.kubernetes.io/zone".to_owned(), zone.clone())));
        let room = json!({"cpu": self.cpu, "memory": self.memory, "pods": self.pods.to_string()});
        object(json!({
            "metadata": {"name": self.name, "labels": labels},
            "spec": {"taints": self.taints, "unschedulable": self.cordoned},
            "status": {
                "capacity": room,
                "allocatable": room,
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            },
        }))
    }
}

impl ClassWords {
    fn object(&self) -> StorageClass {
        let topologies = (!self.zones.is_empty())
            .then(|| json!([{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": self.zones}]}]));
        object(json!({
            "metadata": {"name": self.name},
            "provisioner": if self.by_hand { "kubernetes.io/no-provisioner" } else { "example.com/volumes" },
            "volumeBindingMode": if self.waits { "WaitForFirstConsumer" } else { "Immediate" },
            "allowedTopologies": topologies,
        }))
    }
}

impl VolumeWords {
    fn object(&self, claim: Option<&ClaimWords>, namespace: &str) -> PersistentVolume {
        let place = match (&self.zone, &self.node) {
            (Some(zone), None) => Some(("topology.kubernetes.io/zone", zone)),
            (None, Some(node)) => Some(("kubernetes.io/hostname", node)),
            _ => None,
        };
        let affinity = place.map(|(key, value)| {
            let expression = json!({"key": key, "operator": "In", "values": [value]});
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}})
        });
        let claim = claim.map(|claim| json!({"namespace": namespace, "name": claim.name}));
        object(json!({
            "metadata": {"name": self.name},
            "spec": {
                "capacity": {"storage": self.size},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": self.class,
                "persistentVolumeReclaimPolicy": "Retain",
                "csi": {"driver": "example.com", "volumeHandle": self.name},
                "nodeAffinity": affinity,
                "claimRef": claim,
            },
            "status": {"phase": if claim.is_some() { "Bound" } else { "Available" }},
        }))
    }
}

impl ClaimWords {
    fn object(&self, namespace: &str) -> PersistentVolumeClaim {
        let bound = self.volume.is_some();
        object(json!({
            "metadata": {
                "name": self.name,
                "namespace": namespace,
                "annotations": if bound { json!({"pv.kubernetes.io/bind-completed": "yes"}) } else { json!({}) },
            },
            "spec": {
                "storageClassName": self.class,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": self.size}},
                "volumeName": self.volume,
            },
            "status": {"phase": if bound { "Bound" } else { "Pending" }},
        }))
    }
}

impl PodWords {
    /// The pod, complete; its spec has one container unless it says otherwise.
    pub fn object(&self, namespace: &str) -> Pod {
        let namespace = self.namespace.as_ref().map_or(namespace.to_owned(), |name| format!("{namespace}-{name}"));
        let mut requests = serde_json::Map::new();
        requests.extend(self.cpu.iter().map(|cpu| ("cpu".to_owned(), json!(cpu))));
        requests.extend(self.memory.iter().map(|memory| ("memory".to_owned(), json!(memory))));
        let mut spec = json!({
            "containers": [{"name": "main", "image": "example.com/main", "resources": {"requests": requests}}],
            "terminationGracePeriodSeconds": 0,
            "nodeName": self.node,
            "volumes": self.claims.iter().map(|claim| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}})).collect::<Vec<_>>(),
        });
        for (key, value) in self.spec.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        object(json!({"metadata": {"name": self.name, "namespace": namespace, "labels": self.labels}, "spec": spec}))
    }
}

/// A namespace beside the case's own; its name starts with that one's.
fn other_namespace(prefix: &str, name: &str, labels: &Labels) -> Namespace {
    object(json!({"metadata": {"name": format!("{prefix}-{name}"), "labels": labels}}))
}

fn service(namespace: &str, name: &str, selector: &Labels) -> Service {
    object(json!({
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": selector, "clusterIP": "None", "ports": [{"port": 4500}]},
    }))
}

fn object<T: DeserializeOwned>(value: Value) -> T {
    let text = value.to_string();
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn four_cpus() -> String {
    "4".to_owned()
}

fn sixteen_gibibytes() -> String {
    "16Gi".to_owned()
}

fn ten_gibibytes() -> String {
    "10Gi".to_owned()
}

fn one_gibibyte() -> String {
    "1Gi".to_owned()
}

fn usual_pods() -> u32 {
    110
}
