//! Nodes and kubelets for a real control plane: the world's kubelet, driven over a client.
//!
//! A control plane has its own controllers for claims, taints and evictions. So of what the model would do, only that is written which on
//! a real cluster a kubelet, a volume provisioner or a resizer writes.

mod objects;
mod ours;
mod writes;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::api::PostParams;
use kube::{Api, Client};
use quorate_world::kubelet::{self, Change, Fault, KubeletSettings, Reach, Window};
use quorate_world::scenery::PROVISIONER;
use quorate_world::{Fdbservers, Listed, ListedServers};
use serde_json::json;
use tokio::task::JoinSet;

use writes::{annotate, apply, renew_lease};

/// How often it looks whether something has changed.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Several times within the time after which the harness's control plane takes a node for lost.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// The kubelets of all nodes of a control plane; there is one of these per control plane. They end when this is dropped.
pub struct Kubelets {
    client: Client,
    settings: Arc<Mutex<KubeletSettings>>,
    servers: Servers,
    _tasks: JoinSet<()>,
}

/// What runs in the pods of FoundationDB clusters, if they are models.
type Servers = Arc<Mutex<Option<ListedServers>>>;

impl Kubelets {
    /// Starts them: pods run and are ready as soon as they are bound and their claims have volumes.
    pub fn start(client: Client) -> Self {
        Self::start_with(client, None)
    }

    /// Starts them, and the pods of FoundationDB clusters run the model's servers.
    pub fn start_with_servers(client: Client, servers: Fdbservers) -> Self {
        Self::start_with(client, Some(ListedServers::new(servers)))
    }

    fn start_with(client: Client, servers: Option<ListedServers>) -> Self {
        let settings = KubeletSettings {
            start: SignedDuration::ZERO,
            readiness: SignedDuration::ZERO,
            provisioners: BTreeMap::from([(PROVISIONER.to_owned(), Reach::Anywhere)]),
            ..KubeletSettings::default()
        };
        let settings = Arc::new(Mutex::new(settings));
        let servers = Arc::new(Mutex::new(servers));
        let mut tasks = JoinSet::new();
        tasks.spawn(work(client.clone(), Arc::clone(&settings), Arc::clone(&servers)));
        tasks.spawn(heartbeats(client.clone(), Arc::clone(&settings)));
        Self { client, settings, servers, _tasks: tasks }
    }

    /// Changes how kubelets behave, or what goes wrong. A node that is lost sends no more heartbeats.
    pub fn change_settings(&self, change: impl FnOnce(&mut KubeletSettings)) {
        change(&mut lock(&self.settings));
    }

    /// Does something to the model's servers in the pods, if there are any.
    pub fn servers<T>(&self, act: impl FnOnce(&mut Fdbservers) -> T) -> Option<T> {
        lock(&self.servers).as_mut().map(|servers| act(servers.servers()))
    }

    /// Adds a node with room for many pods.
    pub async fn add_node(&self, name: &str, zone: &str) -> Result<()> {
        let adding = || format!("adding the node {name}");
        let node = json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}},
        });
        let nodes: Api<Node> = Api::all(self.client.clone());
        let node: Node = serde_json::from_value(node).with_context(adding)?;
        let mut node = nodes.create(&PostParams::default(), &node).await.with_context(adding)?;
        let room = json!({"cpu": "64", "memory": "256Gi", "pods": "110"});
        node.status = serde_json::from_value(json!({"capacity": room, "allocatable": room})).with_context(adding)?;
        // The node's own controllers write it at the same time; what is retried is the first status, not a decision.
        for _ in 0..10 {
            match nodes.replace_status(name, &PostParams::default(), &node).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.is_conflict() => {
                    let seen = nodes.get(name).await.with_context(adding)?;
                    node.metadata = seen.metadata;
                }
                Err(error) => return Err(error).with_context(adding),
            }
        }
        anyhow::bail!("the node {name} was written by others all the time")
    }

    /// The class of volumes that the kubelets' provisioner makes.
    pub fn storage_class(name: &str) -> serde_json::Value {
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": PROVISIONER, "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Delete",
            "allowVolumeExpansion": true,
        })
    }
}

/// Looks, writes what is ours to write, and looks again. What fails is decided again at the next look.
async fn work(client: Client, settings: Arc<Mutex<KubeletSettings>>, servers: Servers) {
    let mut last = String::new();
    loop {
        let problem = look(&client, &settings, &servers).await.err().map(|error| format!("{error}")).unwrap_or_default();
        if problem != last && !problem.is_empty() {
            eprintln!("kubelets: {problem}");
        }
        last = problem;
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn look(client: &Client, settings: &Mutex<KubeletSettings>, servers: &Mutex<Option<ListedServers>>) -> kube::Result<()> {
    let listed = objects::list(client).await?;
    let mut first = Ok(());
    let mut note = |answer: kube::Result<()>| match answer {
        // Somebody else has written or deleted it since it was read.
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => {}
        answer => first = std::mem::replace(&mut first, Ok(())).and(answer),
    };
    let due = due(&listed, &lock(settings));
    for change in due {
        note(apply(client, change).await);
    }
    let annotated = lock(servers).as_mut().map(|servers| servers.step(Timestamp::now(), listed, &lock(settings)));
    for pod in annotated.into_iter().flatten() {
        note(annotate(client, &pod).await);
    }
    first
}

/// What is ours to write by now.
fn due(listed: &Listed, settings: &KubeletSettings) -> Vec<Change> {
    let view = listed.view();
    let (changes, _) = kubelet::next(Timestamp::now(), &view, settings);
    changes.into_iter().filter(|change| ours::ours(change, &view)).collect()
}

async fn heartbeats(client: Client, settings: Arc<Mutex<KubeletSettings>>) {
    loop {
        if let Ok(nodes) = objects::nodes(&client).await {
            let now = Timestamp::now();
            let heard = |node: &&String| !is_lost(&lock(&settings), node, now);
            let heard: Vec<&String> = nodes.iter().filter(heard).collect();
            for node in heard {
                renew_lease(&client, node, now).await.ok();
            }
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
}

fn is_lost(settings: &KubeletSettings, name: &str, now: Timestamp) -> bool {
    let during = |window: &Window| window.from <= now && window.until.is_none_or(|until| now < until);
    settings
        .faults
        .iter()
        .any(|fault| matches!(fault, Fault::NodeLost { node, during: window, .. } if node == name && during(window)))
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
