//! What the real kube-scheduler makes of a case.
//!
//! Nodes belong to no namespace, so one case at a time has the control plane: it brings its nodes and takes them away again.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use quorate_world::scheduler::SELECTED_NODE;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::task::JoinHandle;

use super::case::{Case, Objects, Outcome};

/// How long the control plane may take for anything; it takes a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a wrong answer is given to become right, which it does when the scheduler had not yet seen all there is.
const SECOND_THOUGHTS: Duration = Duration::from_secs(10);

/// The outcome of each step.
pub async fn run(client: &Client, case: &Case, namespace: &str) -> Vec<Outcome> {
    let objects = case.objects(namespace);
    let heartbeats = Heartbeats::start(client.clone(), objects.nodes.iter().map(ResourceExt::name_any).collect());
    set_up(client, &objects, namespace).await;
    let mut outcomes = Vec::new();
    let mut pods = objects.pods.clone();
    for step in &case.place {
        let pod = step.pod.object(namespace);
        create(&Api::namespaced(client.clone(), &pod.namespace().unwrap()), &pod).await;
        outcomes.push(outcome(client, &pod, &step.expected()).await);
        pods.push(pod);
    }
    for pod in &pods {
        remove::<Pod>(&Api::namespaced(client.clone(), &pod.namespace().unwrap()), &pod.name_any()).await;
    }
    take_down(client, &objects, namespace).await;
    drop(heartbeats);
    outcomes
}

async fn set_up(client: &Client, objects: &Objects, namespace: &str) {
    create_all(&Api::<Namespace>::all(client.clone()), &objects.namespaces).await;
    create_all(&Api::<StorageClass>::all(client.clone()), &objects.classes).await;
    create_volumes(client, objects, namespace).await;
    create_all(&Api::<Service>::namespaced(client.clone(), namespace), &objects.services).await;
    create_all(&Api::<Node>::all(client.clone()), &objects.nodes).await;
    settle(client, objects, namespace).await;
    for node in &objects.nodes {
        scheduler_knows(client, node).await;
    }
    for pod in &objects.pods {
        create(&Api::namespaced(client.clone(), &pod.namespace().unwrap()), pod).await;
    }
}

/// Claims first, then the volumes that are bound to them, by uid; so nobody has to find them for each other, which takes seconds.
async fn create_volumes(client: &Client, objects: &Objects, namespace: &str) {
    let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), namespace);
    let volumes = Api::<PersistentVolume>::all(client.clone());
    let mut uids = BTreeMap::new();
    for claim in &objects.claims {
        // A claim that says it is bound before its volume exists would be taken for lost.
        let unbound =
            PersistentVolumeClaim { metadata: ObjectMeta { annotations: None, ..claim.metadata.clone() }, ..claim.clone() };
        uids.insert(claim.name_any(), create(&claims, &unbound).await.uid());
    }
    for volume in &objects.volumes {
        let mut volume = volume.clone();
        if let Some(reference) = volume.spec.as_mut().and_then(|spec| spec.claim_ref.as_mut()) {
            reference.uid = uids[reference.name.as_deref().unwrap()].clone();
        }
        create(&volumes, &volume).await;
    }
    for claim in objects.claims.iter().filter(|claim| !claim.annotations().is_empty()) {
        let bound = json!({"metadata": {"annotations": claim.annotations()}});
        claims.patch(&claim.name_any(), &PatchParams::default(), &Patch::Merge(&bound)).await.unwrap();
    }
}

/// Until the controllers did their part: new nodes lose the taint they are born with, volumes and claims find their phase.
async fn settle(client: &Client, objects: &Objects, namespace: &str) {
    let nodes = Api::<Node>::all(client.clone());
    let volumes = Api::<PersistentVolume>::all(client.clone());
    let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), namespace);
    for node in &objects.nodes {
        eventually(&nodes, &node.name_any(), |now| !taint_keys(now).iter().any(|key| key.ends_with("/not-ready"))).await;
    }
    for volume in &objects.volumes {
        let phase = volume.status.as_ref().unwrap().phase.clone();
        eventually(&volumes, &volume.name_any(), |now| now.status.as_ref().is_some_and(|status| status.phase == phase)).await;
    }
    for claim in &objects.claims {
        let phase = claim.status.as_ref().unwrap().phase.clone();
        eventually(&claims, &claim.name_any(), |now| now.status.as_ref().is_some_and(|status| status.phase == phase)).await;
    }
}

/// Until the scheduler has seen a node as it is: it places a pod on it that tolerates what the case says and nothing else.
async fn scheduler_knows(client: &Client, node: &Node) {
    let name = node.name_any();
    let mut tolerated = taint_keys(node);
    tolerated.push("node.kubernetes.io/unschedulable".to_owned());
    let tolerations: Vec<_> = tolerated.iter().map(|key| json!({"key": key, "operator": "Exists"})).collect();
    let on_it = json!({"key": "metadata.name", "operator": "In", "values": [name]});
    let canary: Pod = serde_json::from_value(json!({
        "metadata": {"name": format!("canary-{name}"), "namespace": "default"},
        "spec": {
            "containers": [{"name": "main", "image": "example.com/main"}],
            "tolerations": tolerations,
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [on_it]}]}}},
        },
    }))
    .unwrap();
    let pods = Api::<Pod>::namespaced(client.clone(), "default");
    create(&pods, &canary).await;
    eventually(&pods, &canary.name_any(), |now| node_name(now).is_some()).await;
    remove(&pods, &canary.name_any()).await;
}

/// What became of a pod: its node, the node its volumes are to be made for, or what the scheduler says.
async fn outcome(client: &Client, pod: &Pod, expected: &Outcome) -> Outcome {
    let namespace = pod.namespace().unwrap();
    let pods = Api::<Pod>::namespaced(client.clone(), &namespace);
    let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), &namespace);
    let start = Instant::now();
    let mut last = None;
    loop {
        let now = pods.get(&pod.name_any()).await.unwrap();
        let selected = claims.list(&ListParams::default()).await.unwrap().items.into_iter().find_map(|claim| {
            let mounted = now.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
            let mut mounted = mounted.filter_map(|volume| volume.persistent_volume_claim.as_ref());
            let ours = mounted.any(|volume| volume.claim_name == claim.name_any());
            claim.annotations().get(SELECTED_NODE).filter(|_| ours).cloned()
        });
        let placed = node_name(&now).map(str::to_owned).or(selected).map(Outcome::On);
        let seen = placed.or_else(|| refusal(&now).map(Outcome::Refused));
        let decided = seen.is_some() && (seen.as_ref() == Some(expected) || start.elapsed() > SECOND_THOUGHTS);
        if let (true, Some(seen)) = (decided, &seen) {
            return seen.clone();
        }
        last = seen.or(last);
        assert!(start.elapsed() < PATIENCE, "nothing became of pod {}: {last:?}", pod.name_any());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn refusal(pod: &Pod) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled = conditions.iter().find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")?;
    scheduled.message.clone()
}

async fn take_down(client: &Client, objects: &Objects, namespace: &str) {
    for service in &objects.services {
        remove::<Service>(&Api::namespaced(client.clone(), namespace), &service.name_any()).await;
    }
    for claim in &objects.claims {
        remove::<PersistentVolumeClaim>(&Api::namespaced(client.clone(), namespace), &claim.name_any()).await;
    }
    for volume in &objects.volumes {
        remove::<PersistentVolume>(&Api::all(client.clone()), &volume.name_any()).await;
    }
    for class in &objects.classes {
        remove::<StorageClass>(&Api::all(client.clone()), &class.name_any()).await;
    }
    for node in &objects.nodes {
        remove::<Node>(&Api::all(client.clone()), &node.name_any()).await;
    }
}

/// Renews the nodes' leases, without which the controller manager would take them for lost. Ends when dropped.
struct Heartbeats(JoinHandle<()>);

impl Heartbeats {
    fn start(client: Client, nodes: Vec<String>) -> Self {
        let leases = Api::<Lease>::namespaced(client, "kube-node-lease");
        Self(tokio::spawn(async move {
            loop {
                for node in &nodes {
                    let spec = LeaseSpec {
                        holder_identity: Some(node.clone()),
                        lease_duration_seconds: Some(40),
                        renew_time: Some(MicroTime(Timestamp::now())),
                        ..LeaseSpec::default()
                    };
                    let metadata = ObjectMeta { name: Some(node.clone()), ..ObjectMeta::default() };
                    let lease = Lease { metadata, spec: Some(spec) };
                    let renewal = json!({"spec": lease.spec});
                    if leases.patch(node, &PatchParams::default(), &Patch::Merge(&renewal)).await.is_err() {
                        leases.create(&PostParams::default(), &lease).await.ok();
                    }
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }))
    }
}

impl Drop for Heartbeats {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn taint_keys(node: &Node) -> Vec<String> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    taints.iter().map(|taint| taint.key.clone()).collect()
}

fn node_name(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

async fn create_all<T>(api: &Api<T>, objects: &[T])
where
    T: Clone + Debug + DeserializeOwned + Resource + Serialize,
{
    for object in objects {
        create(api, object).await;
    }
}

async fn create<T>(api: &Api<T>, object: &T) -> T
where
    T: Clone + Debug + DeserializeOwned + Resource + Serialize,
{
    let name = object.meta().name.as_deref().unwrap_or_default();
    let created = api.create(&PostParams::default(), object).await;
    created.unwrap_or_else(|error| panic!("creating {name}: {error}"))
}

/// Deletes an object at once and waits until it is gone.
async fn remove<T>(api: &Api<T>, name: &str)
where
    T: Clone + Debug + DeserializeOwned + Resource,
{
    let start = Instant::now();
    api.delete(name, &DeleteParams::default().grace_period(0)).await.ok();
    while api.get_opt(name).await.unwrap().is_some() {
        assert!(start.elapsed() < PATIENCE, "{name} is still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn eventually<T>(api: &Api<T>, name: &str, holds: impl Fn(&T) -> bool)
where
    T: Clone + Debug + DeserializeOwned,
{
    let start = Instant::now();
    loop {
        let object = api.get(name).await.unwrap();
        if holds(&object) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "still waiting for {object:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
