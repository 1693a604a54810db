//! A FoundationDB cluster's life on a control plane: nodes of its own, an operator for all, and somebody who watches.
//!
//! What runs in the pods, and through what the database is spoken to, is the caller's: models with [`Kubelets::start_with_servers`], or
//! real processes with the real client.

mod database;
mod side_by_side;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use quorate_fdb_client::{FoundationDb, Target, TlsIdentity};
use quorate_operator::{LeaseSettings, Operator, Settings, SystemClock};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{Case, ControlPlane, Kubelets};

pub use database::{Database, Process};
pub use side_by_side::{Story, tell};

/// How long something may take that is asked of a cluster; on an idle machine all of it is much quicker.
const PATIENCE: Duration = Duration::from_secs(240);

/// A control plane with kubelets and one operator, on which any number of clusters live.
pub struct Ground {
    control_plane: &'static ControlPlane,
    /// The kubelets of all nodes.
    pub kubelets: Kubelets,
    databases: Arc<dyn FoundationDb>,
    identity: Option<TlsIdentity>,
    _operator: JoinSet<()>,
}

impl Ground {
    /// An operator for all namespaces, which reaches databases through this.
    pub async fn new(control_plane: &'static ControlPlane, kubelets: Kubelets, databases: Arc<dyn FoundationDb>) -> Result<Self> {
        Self::with_identity(control_plane, kubelets, databases, None).await
    }

    /// The same, with an identity for databases that speak TLS.
    pub async fn with_identity(
        control_plane: &'static ControlPlane,
        kubelets: Kubelets,
        databases: Arc<dyn FoundationDb>,
        identity: Option<TlsIdentity>,
    ) -> Result<Self> {
        let client = control_plane.client().await?;
        Self::with(control_plane, kubelets, databases, identity, client).await
    }

    /// The same, with an operator that uses this client.
    pub async fn with_operator(
        control_plane: &'static ControlPlane,
        kubelets: Kubelets,
        databases: Arc<dyn FoundationDb>,
        client: Client,
    ) -> Result<Self> {
        Self::with(control_plane, kubelets, databases, None, client).await
    }

    async fn with(
        control_plane: &'static ControlPlane,
        kubelets: Kubelets,
        databases: Arc<dyn FoundationDb>,
        identity: Option<TlsIdentity>,
        client: Client,
    ) -> Result<Self> {
        let case = control_plane.case("operator").await?;
        case.install_crds()?;
        let lease = LeaseSettings::new(&case.namespace, "quorate", "one");
        let settings = Settings { namespace: None, rounds_at_once: 16, lease };
        let mut tasks = JoinSet::new();
        tasks.spawn(operate(client, Arc::clone(&databases), identity.clone(), settings));
        Ok(Self { control_plane, kubelets, databases, identity, _operator: tasks })
    }

    /// A namespace with so many nodes of its own, each in a zone of its own.
    pub async fn stage(&self, name: &str, nodes: usize) -> Result<Stage<'_>> {
        let case = self.control_plane.case(name).await?;
        let stage = Stage { ground: self, case };
        let class: DynamicObject = serde_json::from_value(Kubelets::storage_class(&stage.case.namespace))?;
        let classes = Api::<DynamicObject>::all_with(stage.case.client.clone(), &resource("storageclass"));
        classes.create(&PostParams::default(), &class).await.context("making a class of volumes")?;
        for number in 1..=nodes {
            stage.add_node(number).await?;
        }
        Ok(stage)
    }
}

/// Runs an operator, and starts another when it has lost its lease, as a Deployment does: on a busy machine it may renew it too late.
async fn operate(client: Client, databases: Arc<dyn FoundationDb>, identity: Option<TlsIdentity>, settings: Settings) {
    loop {
        let operator = Operator::new(client.clone(), Arc::new(SystemClock), Arc::clone(&databases), settings.clone());
        operator.with_identity(identity.clone()).run(CancellationToken::new()).await;
    }
}

/// One cluster, called `sample`, in a namespace of its own.
pub struct Stage<'a> {
    ground: &'a Ground,
    /// Its namespace.
    pub case: Case<'static>,
}

impl Stage<'_> {
    /// The name of a node, by its number from 1.
    pub fn node(&self, number: usize) -> String {
        format!("{}-{number}", self.case.namespace)
    }

    /// One more node.
    pub async fn add_node(&self, number: usize) -> Result<()> {
        let name = self.node(number);
        self.ground.kubelets.add_node(&name, &name).await?;
        let nodes = Api::<DynamicObject>::all_with(self.case.client.clone(), &resource("node"));
        let label = json!({"metadata": {"labels": {"stage": self.case.namespace}}});
        nodes.patch(&name, &PatchParams::default(), &Patch::Merge(&label)).await.context("labelling a node")?;
        Ok(())
    }

    /// Makes the cluster; what is said here goes over a small one with short waits.
    pub async fn create(&self, spec: &Value) {
        let mut whole = self.small();
        merge(&mut whole, spec);
        let object = json!({
            "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
            "metadata": {"name": "sample"}, "spec": whole,
        });
        let object: DynamicObject = serde_json::from_value(object).expect("a cluster");
        self.api("fdb").create(&PostParams::default(), &object).await.expect("the cluster is accepted");
    }

    /// Three storage, three log and two stateless pods on this stage's nodes.
    fn small(&self) -> Value {
        json!({
            "version": "7.3.63",
            "databaseConfiguration": {"redundancy_mode": "double", "storage_engine": "ssd-2"},
            "processCounts": {"storage": 3, "log": 3, "stateless": 2, "cluster_controller": -1},
            "minimumUptimeSecondsForBounce": 5,
            "automationOptions": {
                "waitBetweenRemovalsSeconds": 1,
                "ignoreMissingProcessesSeconds": 5,
                "podUpdateStrategy": "Delete",
                "replacements": {"failureDetectionTimeSeconds": 20, "maxConcurrentReplacements": 3},
                "safetyTimers": {
                    "minimumRecoveryTimeForExclusion": "1s",
                    "minimumRecoveryTimeForInclusion": "1s",
                    "minimumRequiredUptimeForCcBounce": "1s",
                    "minimumUptimeForCoordinatorChangeWithUndesiredProcess": "1s",
                    "minimumUptimeForCoordinatorChangeWithMissingProcess": "1s",
                    "minimumUptimeForConfigurationChanges": "1s",
                    "minimumAgeForTerminalPodDeletion": "1s",
                },
            },
            "processes": {"general": {
                "podTemplate": {"spec": {"containers": [], "nodeSelector": {"stage": self.case.namespace}}},
                "volumeClaimTemplate": {"spec": {
                    "storageClassName": self.case.namespace,
                    "resources": {"requests": {"storage": "16Gi"}},
                }},
            }},
        })
    }

    /// Changes what the cluster shall be.
    pub async fn change(&self, spec: &Value) {
        let change = json!({"spec": spec});
        self.api("fdb").patch("sample", &PatchParams::default(), &Patch::Merge(&change)).await.expect("the change is accepted");
    }

    /// Everything of a kind, by name, as JSON.
    pub async fn list(&self, kind: &str) -> Vec<Value> {
        let listed = self.api(kind).list(&ListParams::default()).await;
        let objects = listed.map(|list| list.items).unwrap_or_default().into_iter();
        objects.map(|object| serde_json::to_value(object).expect("an object is JSON")).collect()
    }

    /// An object, if it is there.
    pub async fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let object = self.api(kind).get_opt(name).await.ok()??;
        Some(serde_json::to_value(object).expect("an object is JSON"))
    }

    /// Deletes an object.
    pub async fn delete(&self, kind: &str, name: &str) {
        self.api(kind).delete(name, &DeleteParams::default()).await.expect("it can be deleted");
    }

    /// The names of the pods that run and are ready.
    pub async fn ready_pods(&self) -> Vec<String> {
        self.list("pod").await.iter().filter(|pod| is_ready(pod)).map(name_of).collect()
    }

    /// The names of everything of a kind.
    pub async fn names(&self, kind: &str) -> Vec<String> {
        self.list(kind).await.iter().map(name_of).collect()
    }

    /// The cluster object.
    pub async fn cluster(&self) -> Value {
        self.get("fdb", "sample").await.unwrap_or_default()
    }

    /// The database, as its clients see it.
    pub async fn database(&self) -> Database {
        let cluster = self.cluster().await;
        let connection = cluster["status"]["connectionString"].as_str().unwrap_or_default().to_owned();
        let tls = self.ground.identity.clone().filter(|_| connection.ends_with(":tls"));
        let cluster = format!("{}/sample", self.case.namespace);
        Database::new(Arc::clone(&self.ground.databases), Target { cluster, connection, version: "7.3.63".to_owned(), tls })
    }

    /// Waits until all that is asked for is carried out, and the database is whole.
    pub async fn settled(&self) {
        self.until("all that was asked for to be carried out", async || {
            let cluster = self.cluster().await;
            let (generation, status) = (&cluster["metadata"]["generation"], &cluster["status"]);
            let health = &status["health"];
            generation.is_i64()
                && status["generations"]["reconciled"] == *generation
                && health["available"] == true
                && health["fullReplication"] == true
                && health["healthy"] == true
        })
        .await;
    }

    /// Waits until something holds.
    pub async fn until(&self, what: &str, holds: impl AsyncFn() -> bool) {
        let start = Instant::now();
        while !holds().await {
            if start.elapsed() > PATIENCE {
                let status = self.cluster().await["status"].clone();
                let pods = self.ready_pods().await;
                panic!("{}: waited in vain for {what}; ready are {pods:?}; {status:#}", self.case.namespace);
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    /// Waits until a pod is not where it was: another of its name runs, or none.
    pub async fn until_made_again(&self, pod: &str, before: &Value) {
        self.until(&format!("{pod} to be made again"), async || {
            self.get("pod", pod).await.is_some_and(|now| is_ready(&now) && now["metadata"]["uid"] != before["metadata"]["uid"])
        })
        .await;
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.case.client.clone(), &self.case.namespace, &resource(kind))
    }
}

/// The name of an object.
pub fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
        && pod["metadata"]["deletionTimestamp"].is_null()
}

fn resource(kind: &str) -> ApiResource {
    match kind {
        "fdb" => ApiResource::erase::<quorate_api::foundationdb::FoundationDBCluster>(&()),
        "pod" => ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&()),
        "pvc" => ApiResource::erase::<k8s_openapi::api::core::v1::PersistentVolumeClaim>(&()),
        "service" => ApiResource::erase::<k8s_openapi::api::core::v1::Service>(&()),
        "configmap" => ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&()),
        "pdb" => ApiResource::erase::<k8s_openapi::api::policy::v1::PodDisruptionBudget>(&()),
        "node" => ApiResource::erase::<k8s_openapi::api::core::v1::Node>(&()),
        "storageclass" => ApiResource::erase::<k8s_openapi::api::storage::v1::StorageClass>(&()),
        other => panic!("no story has asked for {other} yet"),
    }
}

/// Puts one document over another.
fn merge(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                merge(under.entry(key).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}
