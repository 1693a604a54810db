//! Where a story happens: a Kubernetes API with nodes, and real processes for the pods of one namespace.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use quorate_e2e::{ControlPlane, Kubelets};
use quorate_world::kubelet::{KubeletSettings, Reach};
use quorate_world::kubernetes::Kubernetes;
use quorate_world::processes::{RealPods, RealPodsSettings};
use quorate_world::{Cluster, scenery};
use tokio::task::JoinSet;

use crate::database::{Database, programs, version};
use crate::objects::{self, INSTANCES};

/// What a monitor says of the configuration it works with.
const CURRENT_CONFIGURATION: &str = "foundationdb.org/launcher-current-configuration";
/// The coordinator; it stays where it is in every story.
const COORDINATOR: &str = "log-4";

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Stage {
    pub pods: RealPods,
    client: Client,
    namespace: String,
    class: String,
    _kubelets: Option<Kubelets>,
    _tasks: JoinSet<()>,
}

impl Stage {
    /// On a real API server, with real controllers and a real scheduler.
    pub async fn on_a_control_plane(name: &str) -> Self {
        let case = ControlPlane::shared().case(name).await.unwrap();
        let kubelets = Kubelets::start(case.client.clone());
        let class = case.namespace.clone();
        let object: StorageClass = serde_json::from_value(Kubelets::storage_class(&class)).unwrap();
        Api::all(case.client.clone()).create(&PostParams::default(), &object).await.unwrap();
        for zone in ["a", "b", "c"] {
            kubelets.add_node(&format!("{}-{zone}", case.namespace), zone).await.unwrap();
        }
        Self::with(case.client.clone(), &case.namespace, &class, Some(kubelets), JoinSet::new()).await
    }

    /// On the embedded API, with everything around it.
    pub async fn embedded() -> Self {
        let kubernetes = Kubernetes::new(Timestamp::now);
        scenery::build(&kubernetes).unwrap();
        let provisioners = BTreeMap::from([(scenery::PROVISIONER.to_owned(), Reach::Anywhere)]);
        let cluster = Cluster::new(kubernetes.clone(), KubeletSettings { provisioners, ..KubeletSettings::default() });
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                cluster.settle(Timestamp::now());
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        let client = kubernetes.client(scenery::NAMESPACE);
        Self::with(client, scenery::NAMESPACE, "network", None, tasks).await
    }

    /// With the pods of the sample; nothing runs in them yet, because there is no coordinator.
    async fn with(client: Client, namespace: &str, class: &str, kubelets: Option<Kubelets>, tasks: JoinSet<()>) -> Self {
        let executable = programs().unwrap().join("fdbserver");
        let settings = RealPodsSettings { namespace: namespace.to_owned(), executable, files_after: Duration::ZERO };
        let pods = RealPods::start(client.clone(), settings).unwrap();
        let stage =
            Self { pods, client, namespace: namespace.to_owned(), class: class.to_owned(), _kubelets: kubelets, _tasks: tasks };
        let config_map = objects::config_map(&version(&programs().unwrap()), None, &[]);
        stage.config_maps().create(&PostParams::default(), &config_map).await.unwrap();
        for instance in INSTANCES {
            let claims: Api<PersistentVolumeClaim> = Api::namespaced(stage.client.clone(), namespace);
            claims.create(&PostParams::default(), &objects::claim(instance, &stage.class)).await.unwrap();
            stage.create_pod(instance).await;
        }
        stage
    }

    /// Gives the pods a coordinator, so that their servers start.
    pub async fn database(&self) -> Database {
        for pod in INSTANCES {
            self.configuration_when(pod, |_| true).await;
        }
        assert_eq!(self.pods.process(COORDINATOR, 1).await, None, "without a coordinator nothing is started");
        self.configure(&[]).await;
        Database::new(&self.connection().await)
    }

    /// The configuration with these arguments added.
    pub async fn configure(&self, more: &[&str]) {
        let config_map = objects::config_map(&version(&programs().unwrap()), Some(&self.connection().await), more);
        self.config_maps().replace("sample-config", &PostParams::default(), &config_map).await.unwrap();
    }

    async fn connection(&self) -> String {
        format!("sample:sample@{}:4501", self.address(COORDINATOR).await.unwrap())
    }

    pub async fn create_pod(&self, instance: &str) {
        self.api().create(&PostParams::default(), &objects::pod(instance)).await.unwrap();
    }

    /// Deletes a pod and waits until it is gone.
    pub async fn delete_pod(&self, pod: &str) {
        self.api().delete(pod, &DeleteParams::default()).await.unwrap();
        let start = Instant::now();
        while self.api().get_opt(pod).await.unwrap().is_some() {
            assert!(start.elapsed() < PATIENCE, "{pod} does not go");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until the monitor of a pod works with a configuration like this.
    pub async fn configuration_when(&self, pod: &str, holds: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !self.annotation(pod, CURRENT_CONFIGURATION).await.is_some_and(|said| holds(&said)) {
            assert!(start.elapsed() < PATIENCE, "the monitor of {pod} does not get there");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    pub async fn address(&self, pod: &str) -> Option<String> {
        self.api().get(pod).await.unwrap().status?.pod_ip
    }

    pub async fn annotation(&self, pod: &str, key: &str) -> Option<String> {
        self.api().get(pod).await.unwrap().metadata.annotations?.remove(key)
    }

    pub async fn end(self) {
        self.pods.end().await;
    }

    fn api(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}
