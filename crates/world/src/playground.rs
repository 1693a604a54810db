//! The world in real time, with its API on a loopback port: six nodes in three zones, the operator, and a small cluster, which is a model
//! or made of real processes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, Pod};
use quorate_fdb_client::FoundationDb;
use quorate_operator::{Clock, LeaseSettings, Operator, Settings, Shown, SystemClock};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::database::Databases;
use crate::kubelet::{KubeletSettings, Reach};
use crate::kubernetes::{Kubernetes, serve};
use crate::monitor::MonitorSettings;
use crate::processes::{RealPods, RealPodsSettings};
use crate::scenery::{self, NAMESPACE};
use crate::view::{is_ready, name, node_of};
use crate::{Cluster, Fdbservers};

/// How often the world looks whether somebody did something.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long a kubelet takes to bring a changed ConfigMap to a pod that does not change.
const FILES_AFTER: Duration = Duration::from_mins(1);

/// A running playground; it ends when it is dropped.
pub struct Playground {
    /// Where the API listens.
    pub address: std::net::SocketAddr,
    /// What the operator shows of itself.
    pub shown: Arc<Shown>,
    kubernetes: Kubernetes,
    tasks: JoinSet<()>,
    real: Option<RealPods>,
}

/// What a database of real processes is made with.
pub struct RealPrograms {
    /// The fdbserver that pods run.
    pub fdbserver: PathBuf,
    /// Its version.
    pub version: String,
    /// The client that the operator speaks to it through.
    pub client: Arc<dyn FoundationDb>,
}

impl Playground {
    /// Starts it on a free loopback port, with a model of FoundationDB.
    pub async fn start() -> Result<Self> {
        let databases = Databases::new(|| SystemClock.now());
        let servers = Fdbservers::new(databases.clone(), 0, MonitorSettings::default());
        Self::begin(&scenery::sample(), Some(servers), Arc::new(databases)).await
    }

    /// Starts it on a free loopback port, with pods that are real processes in network namespaces.
    pub async fn start_real(programs: RealPrograms) -> Result<Self> {
        let RealPrograms { fdbserver: executable, version, client } = programs;
        let mut cluster = scenery::sample();
        cluster["spec"]["version"] = version.into();
        // The operator is outside of the pods' hosts files, so coordinators have addresses.
        cluster["spec"]["routing"] = json!({"useDNSInClusterFile": false});
        let mut playground = Self::begin(&cluster, None, client).await?;
        let settings = RealPodsSettings { namespace: NAMESPACE.to_owned(), executable, files_after: FILES_AFTER };
        playground.real = Some(RealPods::start(playground.kubernetes.client(NAMESPACE), settings)?);
        Ok(playground)
    }

    async fn begin(cluster: &Value, servers: Option<Fdbservers>, databases: Arc<dyn FoundationDb>) -> Result<Self> {
        let kubernetes = Kubernetes::new(|| SystemClock.now());
        scenery::build_with(&kubernetes, cluster).map_err(|status| anyhow::anyhow!("building the playground: {status:?}"))?;
        // What charts/quorate/files/database-pods.yaml gives to the pods of the examples; here nobody asks what it may do.
        let account =
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "fdb-kubernetes", "namespace": NAMESPACE}});
        kubernetes.create_value(account).map_err(|status| anyhow::anyhow!("building the playground: {status:?}"))?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("looking for a free loopback port")?;
        let address = listener.local_addr().context("reading the port")?;
        let provisioners = BTreeMap::from([(scenery::PROVISIONER.to_owned(), Reach::Anywhere)]);
        let settings = KubeletSettings { provisioners, ..KubeletSettings::default() };
        let mut cluster = Cluster::new(kubernetes.clone(), settings);
        if let Some(servers) = servers {
            cluster = cluster.with_servers(servers);
        }
        let settings =
            Settings { namespace: None, rounds_at_once: 4, lease: LeaseSettings::new(NAMESPACE, "quorate", "playground") };
        let client = kubernetes.client_of("operator", NAMESPACE);
        let operator = Operator::new(client, Arc::new(SystemClock), databases, settings);
        let shown = operator.shown();
        let mut tasks = JoinSet::new();
        let api = kubernetes.clone();
        tasks.spawn(async move {
            // It serves until the playground ends.
            let _ = serve(listener, api).await;
        });
        tasks.spawn(live(cluster));
        tasks.spawn(operator.run(CancellationToken::new()));
        Ok(Self { address, shown, kubernetes, tasks, real: None })
    }

    /// Ends it, and every process of its pods.
    pub async fn end(mut self) {
        self.tasks.shutdown().await;
        if let Some(real) = self.real {
            real.end().await;
        }
    }

    /// How many pods are ready, of how many.
    pub fn ready_pods(&self) -> (usize, usize) {
        let pods: Vec<Pod> = self.kubernetes.list("").unwrap_or_default();
        (pods.iter().filter(|pod| is_ready(pod)).count(), pods.len())
    }

    /// Every node with its pods, and whether they are ready; pods without a node come last.
    pub fn pods_by_node(&self) -> BTreeMap<String, Vec<(String, bool)>> {
        let nodes: Vec<Node> = self.kubernetes.list("").unwrap_or_default();
        let mut by_node: BTreeMap<String, Vec<(String, bool)>> =
            nodes.into_iter().filter_map(|node| Some((node.metadata.name?, Vec::new()))).collect();
        let pods: Vec<Pod> = self.kubernetes.list("").unwrap_or_default();
        for pod in pods {
            let node = node_of(&pod).map_or_else(|| "~ no node".to_owned(), str::to_owned);
            by_node.entry(node).or_default().push((name(&pod.metadata).to_owned(), is_ready(&pod)));
        }
        by_node
    }

    /// A kubeconfig for kubectl.
    pub fn kubeconfig(&self) -> String {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "playground",
            "clusters": [{"name": "playground", "cluster": {"server": format!("http://{}", self.address)}}],
            "contexts": [{"name": "playground", "context": {"cluster": "playground", "namespace": NAMESPACE}}],
        })
        .to_string()
    }
}

/// Controllers, scheduler and kubelets work when something was written, and when their time has come.
async fn live(cluster: Cluster) {
    loop {
        // Looking costs nothing where nothing is due.
        cluster.settle(SystemClock.now());
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
