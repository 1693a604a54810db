//! Real processes for the pods that a kubelet says are running.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use rustix::process::Signal;
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::delivery::Delivery;
use super::folders::Folders;
use super::monitor::{Monitor, Room};
use super::names::{address, names};
use super::network::Network;
use super::seen::Seen;
use super::servers::{Launch, config_map_of, container, servers};
use crate::view::name;

/// How often it looks whether pods or config maps have changed.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The configuration a monitor works with, and the variables it knows, as it tells the operator.
const CURRENT_CONFIGURATION: &str = "foundationdb.org/launcher-current-configuration";
const ENVIRONMENT: &str = "foundationdb.org/launcher-environment";
const MONITORS_OWN: [&str; 2] = [CURRENT_CONFIGURATION, ENVIRONMENT];

/// Which pods are real, and what runs in them.
#[derive(Clone, Debug)]
pub struct RealPodsSettings {
    /// All pods of this namespace.
    pub namespace: String,
    /// The fdbserver that their monitors start.
    pub executable: PathBuf,
    /// From a change of a ConfigMap until a kubelet brings it, unless the pod changes; a real kubelet takes a minute or more.
    pub files_after: Duration,
}

/// The processes of a namespace's pods. They, their network and their folders are gone when this is dropped; after a panic, what they said is printed.
pub struct RealPods {
    state: Arc<Mutex<State>>,
    folders: Folders,
    task: JoinHandle<()>,
}

struct State {
    client: Client,
    settings: RealPodsSettings,
    /// By uid: a pod that comes back under its name is another one.
    running: BTreeMap<String, Running>,
    folders: Folders,
    // Dropped last, because it removes the folders.
    network: Network,
}

struct Running {
    pod: String,
    monitor: Monitor,
    delivery: Delivery,
}

impl RealPods {
    /// Follows the pods of a namespace from now on.
    pub fn start(client: Client, settings: RealPodsSettings) -> Result<Self> {
        let mut network = Network::new()?;
        let folder = tempfile::Builder::new().prefix("quorate-pods-").tempdir().context("making a folder for pods")?.keep();
        network.keep_folder(&folder)?;
        let folders = Folders::new(folder);
        let state = State { client, settings, running: BTreeMap::new(), folders: folders.clone(), network };
        let state = Arc::new(Mutex::new(state));
        let task = tokio::spawn(follow(Arc::clone(&state)));
        Ok(Self { state, folders, task })
    }

    /// The process id of a pod's server, if it runs.
    pub async fn process(&self, pod: &str, number: i64) -> Option<u32> {
        self.state.lock().await.find(pod)?.monitor.process(number)
    }

    /// Sends a pod's server a signal.
    pub async fn signal(&self, pod: &str, number: i64, signal: Signal) -> Result<()> {
        let state = self.state.lock().await;
        let sent = state.find(pod).is_some_and(|running| running.monitor.signal(number, signal));
        sent.then_some(()).with_context(|| format!("{pod} has no server {number}"))
    }

    /// Kills a pod's server with -9, and its monitor does not start it again: the pod still seems to run.
    pub async fn kill_for_good(&self, pod: &str, number: i64) -> Result<()> {
        let mut state = self.state.lock().await;
        let running = state.running.values_mut().find(|running| running.pod == pod);
        let killed = running.is_some_and(|running| running.monitor.kill_for_good(number));
        killed.then_some(()).with_context(|| format!("{pod} has no server {number}"))
    }

    /// The network, to cut and mend links of pods.
    pub async fn network(&self) -> impl std::ops::Deref<Target = Network> {
        MutexGuard::map(self.state.lock().await, |state| &mut state.network)
    }

    /// What the processes of every pod have said.
    pub fn output(&self) -> BTreeMap<String, String> {
        self.folders.outputs()
    }

    /// Ends all processes, and removes what was made for them.
    pub async fn end(mut self) {
        self.task.abort();
        (&mut self.task).await.ok();
        let mut state = self.state.lock().await;
        let uids: Vec<String> = state.running.keys().cloned().collect();
        for uid in uids {
            state.stop(&uid).await.ok();
        }
    }
}

impl Drop for RealPods {
    fn drop(&mut self) {
        self.task.abort();
        if std::thread::panicking() {
            for (pod, said) in self.output() {
                eprintln!("the processes of {pod} said:\n{said}");
            }
        }
    }
}

/// Looks again and again. What fails is tried again at the next look, as a kubelet does.
async fn follow(state: Arc<Mutex<State>>) {
    let mut last = String::new();
    loop {
        let looked = state.lock().await.look().await;
        let problem = looked.err().map(|error| format!("{error:#}")).unwrap_or_default();
        if problem != last && !problem.is_empty() {
            eprintln!("pods as processes: {problem}");
        }
        last = problem;
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

impl State {
    fn find(&self, pod: &str) -> Option<&Running> {
        self.running.values().find(|running| running.pod == pod)
    }

    async fn look(&mut self) -> Result<()> {
        let seen = Seen::list(&self.client, &self.settings.namespace).await?;
        let live: BTreeMap<&str, &Pod> = seen.pods.values().filter_map(|pod| Some((uid_of_live(pod)?, pod))).collect();
        // Those that ended come first: a successor may have their name, and their volume.
        let gone: Vec<String> = self.running.keys().filter(|uid| !live.contains_key(uid.as_str())).cloned().collect();
        for uid in gone {
            self.stop(&uid).await?;
        }
        self.folders.forget_volumes(&seen.volumes)?;
        self.network.name(&names(live.values().copied()))?;
        let mut problems = Vec::new();
        for (uid, pod) in live {
            if let Err(error) = self.attend(uid, pod, &seen).await {
                problems.push(format!("{}: {error:#}", name(&pod.metadata)));
            }
        }
        anyhow::ensure!(problems.is_empty(), "{}", problems.join("; "));
        Ok(())
    }

    /// Starts a pod if it is new, and gives its monitor the configuration of now.
    async fn attend(&mut self, uid: &str, pod: &Pod, seen: &Seen) -> Result<()> {
        let config_map = config_map_of(pod).and_then(|name| seen.config_maps.get(name)).context("there is no config map")?;
        if !self.running.contains_key(uid) {
            self.start(uid, pod, config_map, seen)?;
        }
        let node = pod.spec.as_ref().and_then(|spec| seen.nodes.get(spec.node_name.as_ref()?));
        if let Some(running) = self.running.get_mut(uid) {
            running.delivery.look(pod, config_map, &MONITORS_OWN, self.settings.files_after, Instant::now());
            self.folders.refresh(pod, &running.delivery.delivered)?;
            running.monitor.accept(servers(pod, &running.delivery.delivered, node)?);
            if let Some(launch) = running.monitor.launch() {
                self.annotate(pod, &launch).await?;
            }
        }
        Ok(())
    }

    fn start(&mut self, uid: &str, pod: &Pod, config_map: &ConfigMap, seen: &Seen) -> Result<()> {
        let container = container(pod).context("the pod has no container")?;
        let binds = self.folders.prepare(pod, container, seen)?;
        let address = address(pod).context("the pod has no IPv4 address")?;
        let delivery = Delivery::first(pod, config_map, &MONITORS_OWN);
        let pod = name(&pod.metadata).to_owned();
        let namespace = self.network.join(&pod, address)?.namespace;
        let output = self.folders.output(uid, &pod);
        let room = Room { executable: self.settings.executable.clone(), namespace, binds, output };
        self.running.insert(uid.to_owned(), Running { pod, monitor: Monitor::new(room), delivery });
        Ok(())
    }

    async fn stop(&mut self, uid: &str) -> Result<()> {
        let Some(running) = self.running.remove(uid) else { return Ok(()) };
        running.monitor.end().await;
        self.network.leave(&running.pod)?;
        fs::remove_dir_all(self.folders.of_pod(uid)).context("removing the folder of a pod")
    }

    /// Tells the operator what the monitor works with.
    async fn annotate(&self, pod: &Pod, launch: &Launch) -> Result<()> {
        let mut variables = launch.referenced.clone();
        let folder = self.settings.executable.parent().unwrap_or(Path::new("/"));
        variables.insert("BINARY_DIR".to_owned(), folder.display().to_string());
        let variables = serde_json::to_string(&variables).context("writing a pod's environment")?;
        let annotations = pod.metadata.annotations.iter().flatten();
        let said: BTreeMap<&str, &str> = annotations.map(|(key, value)| (key.as_str(), value.as_str())).collect();
        if said.get(CURRENT_CONFIGURATION) == Some(&launch.configuration.as_str()) && said.get(ENVIRONMENT) == Some(&&*variables)
        {
            return Ok(());
        }
        let says = json!({"metadata": {"uid": pod.metadata.uid, "annotations": {
            CURRENT_CONFIGURATION: launch.configuration, ENVIRONMENT: variables,
        }}});
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.settings.namespace);
        let patched = pods.patch(name(&pod.metadata), &PatchParams::default(), &Patch::Merge(&says)).await;
        patched.map(drop).context("saying in annotations what the monitor works with")
    }
}

/// The uid of a pod whose containers run.
fn uid_of_live(pod: &Pod) -> Option<&str> {
    let runs = pod.status.as_ref()?.phase.as_deref() == Some("Running") && address(pod).is_some();
    let uid = pod.metadata.uid.as_deref()?;
    (runs && pod.metadata.deletion_timestamp.is_none()).then_some(uid)
}
