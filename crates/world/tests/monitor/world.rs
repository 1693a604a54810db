//! A small cluster of pods for stories, written by hand: three storage and three log pods with volumes, two stateless ones without, one of
//! each on every node. The coordinators are the log pods, by name.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolume, PersistentVolumeClaim, Pod};
use quorate_fdb_client::{Answer, Call, Change, Commit, Failure, FoundationDb, Look, Management, Octets, Seen, Target};
use quorate_foundationdb::monitor::{Argument, MonitorConfiguration};
use quorate_world::database::{Database, Databases, mode_keys};
use quorate_world::kubelet::{Fault, KubeletSettings, Reach, Window};
use quorate_world::kubernetes::Kubernetes;
use quorate_world::monitor::MonitorSettings;
use quorate_world::{Cluster, Fdbservers};
use serde_json::{Value, json};
use tokio::time::Instant;

pub const NAMESPACE: &str = "default";
pub const PODS: [(&str, u32); 3] = [("storage", 3), ("log", 3), ("stateless", 2)];
const PATIENCE: Duration = Duration::from_secs(30);
const PROVISIONER: &str = "example.org/disk";

pub struct World {
    pub cluster: Cluster,
    pub databases: Databases,
    clock: Clock,
}

#[derive(Clone, Copy)]
struct Clock(Instant);

impl Clock {
    fn now(self) -> Timestamp {
        Timestamp::from_second(1_767_225_600).unwrap() + SignedDuration::try_from(self.0.elapsed()).unwrap()
    }
}

impl World {
    /// Three nodes, and nothing on them.
    pub fn empty() -> Self {
        let clock = Clock(Instant::now());
        let kubernetes = Kubernetes::new(move || clock.now());
        let room = json!({"cpu": "16", "memory": "64Gi", "pods": "110"});
        for number in 1..=3 {
            let name = node(number);
            let labels = json!({"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": format!("zone-{number}")});
            let made = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
            let mut made = kubernetes.create_value(made).unwrap();
            made["status"] = json!({"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]});
            kubernetes.update_status_value(made).unwrap();
        }
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "disk"},
            "provisioner": PROVISIONER, "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Retain",
        });
        kubernetes.create_value(class).unwrap();
        let provisioners = BTreeMap::from([(PROVISIONER.to_owned(), Reach::Anywhere)]);
        let databases = Databases::new(move || clock.now());
        let servers = Fdbservers::new(databases.clone(), 7, MonitorSettings::default());
        let settings = KubeletSettings { provisioners, ..KubeletSettings::default() };
        Self { cluster: Cluster::new(kubernetes, settings).with_servers(servers), databases, clock }
    }

    /// All pods of the cluster `sample` with their ConfigMap, for ten seconds.
    pub async fn with_pods() -> Self {
        let world = Self::empty();
        world.add_config_map("sample", &connection());
        world.add_all_pods("sample");
        world.pass(10.0).await;
        world
    }

    /// The same with a database of double redundancy, and everything at rest.
    pub async fn with_database() -> Self {
        let world = Self::with_pods().await;
        world.create_database().await.unwrap();
        world.pass(70.0).await;
        world
    }

    pub fn kubernetes(&self) -> &Kubernetes {
        &self.cluster.kubernetes
    }

    pub fn add_config_map(&self, cluster: &str, connection: &str) {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{cluster}-config"), "namespace": NAMESPACE},
            "data": config_data(connection),
        });
        self.kubernetes().create_value(map).unwrap();
    }

    /// Changes what the ConfigMap says.
    pub fn edit_config_map(&self, change: impl FnOnce(&mut BTreeMap<String, String>)) {
        let mut map: ConfigMap = self.kubernetes().get(NAMESPACE, "sample-config").unwrap();
        change(map.data.as_mut().unwrap());
        self.kubernetes().update(&map).unwrap();
    }

    /// Changes the configuration of a class in the ConfigMap.
    pub fn configure(&self, class: &str, change: impl FnOnce(&mut MonitorConfiguration)) {
        self.edit_config_map(|data| {
            let text = data.get_mut(&key(class)).unwrap();
            let mut configuration: MonitorConfiguration = serde_json::from_str(text).unwrap();
            change(&mut configuration);
            *text = serde_json::to_string(&configuration).unwrap();
        });
    }

    pub fn add_all_pods(&self, cluster: &str) {
        for (class, count) in PODS {
            for number in 1..=count {
                self.add_pod(cluster, class, number);
            }
        }
    }

    /// A pod, and its claim if there is none.
    pub fn add_pod(&self, cluster: &str, class: &str, number: u32) {
        self.add_changed_pod(cluster, class, number, |_| {});
    }

    /// A pod that is a little different.
    pub fn add_changed_pod(&self, cluster: &str, class: &str, number: u32, change: impl FnOnce(&mut Value)) {
        let name = format!("{cluster}-{class}-{number}");
        if class != "stateless" && self.kubernetes().get::<PersistentVolumeClaim>(NAMESPACE, &format!("{name}-data")).is_err() {
            let claim = json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": format!("{name}-data"), "namespace": NAMESPACE},
                "spec": {"storageClassName": "disk", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            });
            self.kubernetes().create_value(claim).unwrap();
        }
        let mut made = pod(cluster, class, number);
        change(&mut made);
        self.kubernetes().create_value(made).unwrap();
    }

    pub fn pod(&self, name: &str) -> Pod {
        self.kubernetes().get(NAMESPACE, name).unwrap()
    }

    /// Deletes a pod and waits until it is gone.
    pub async fn remove_pod(&self, name: &str) {
        self.kubernetes().delete::<Pod>(NAMESPACE, name, None).unwrap();
        self.pass(5.0).await;
        assert!(self.kubernetes().get::<Pod>(NAMESPACE, name).is_err());
    }

    pub fn annotation(&self, pod: &str, key: &str) -> Option<String> {
        self.pod(pod).metadata.annotations?.remove(key)
    }

    /// Writes an annotation on a pod, or takes it away.
    pub fn annotate(&self, name: &str, key: &str, value: Option<&str>) {
        let mut pod = self.pod(name);
        let annotations = pod.metadata.annotations.get_or_insert_default();
        match value {
            Some(value) => annotations.insert(key.to_owned(), value.to_owned()),
            None => annotations.remove(key),
        };
        self.kubernetes().update(&pod).unwrap();
    }

    pub fn address(&self, pod: &str) -> String {
        format!("{}:4501", self.pod(pod).status.unwrap().pod_ip.unwrap())
    }

    /// The name of the volume behind a pod's claim.
    pub fn volume(&self, pod: &str) -> String {
        let claim: PersistentVolumeClaim = self.kubernetes().get(NAMESPACE, &format!("{pod}-data")).unwrap();
        claim.spec.unwrap().volume_name.unwrap()
    }

    /// The disk of a pod is gone, although the pod uses it: somebody takes away what protects it.
    pub fn lose_volume(&self, pod: &str) {
        let name = self.volume(pod);
        self.kubernetes().delete::<PersistentVolume>("", &name, None).unwrap();
        let mut volume: PersistentVolume = self.kubernetes().get("", &name).unwrap();
        volume.metadata.finalizers = None;
        self.kubernetes().update(&volume).unwrap();
        assert!(self.kubernetes().get::<PersistentVolume>("", &name).is_err());
    }

    /// Nothing is heard of a node from now on.
    pub fn lose_node(&self, number: u32, keeps_running: bool) {
        let during = Window { from: self.now(), until: None };
        let lost = Fault::NodeLost { node: node(number), during, keeps_running };
        self.cluster.change_settings(|settings| settings.faults.push(lost));
    }

    /// Every node is back.
    pub fn find_nodes(&self) {
        let now = self.now();
        self.cluster.change_settings(|settings| {
            for fault in &mut settings.faults {
                if let Fault::NodeLost { during, .. } = fault {
                    during.until = Some(now);
                }
            }
        });
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lets time pass.
    pub async fn pass(&self, seconds: f64) {
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        loop {
            let wake = self.cluster.settle(self.now()).map(|wake| {
                let rest = Duration::try_from(wake.duration_since(self.now())).unwrap_or_default();
                Instant::now() + rest.max(Duration::from_millis(1))
            });
            if Instant::now() >= until {
                return;
            }
            tokio::time::sleep_until(wake.map_or(until, |wake| wake.min(until))).await;
        }
    }

    pub async fn call(&self, cluster: &str, call: Call) -> Result<Answer, Failure> {
        let target = Target {
            cluster: format!("{NAMESPACE}/{cluster}"),
            connection: connection(),
            version: "7.3.69".to_owned(),
            tls: None,
        };
        self.databases.call(&target, call, PATIENCE).await
    }

    pub async fn create_database(&self) -> Result<Answer, Failure> {
        let keys = mode_keys("double").unwrap().into_iter().map(|(key, value)| (key, Octets(value))).collect();
        let change = Change { new: Some("0123456789abcdef".repeat(2)), keys };
        self.call("sample", Call::Commit(Commit { manage: Some(Management::Configure(change)), ..Commit::default() })).await
    }

    /// The database is asked to restart the servers of pods.
    pub async fn kill(&self, pods: &[&str]) {
        let addresses = pods.iter().map(|pod| self.address(pod)).collect();
        assert_eq!(self.call("sample", Call::Kill(addresses)).await, Ok(Answer::Killed(true)));
    }

    /// `status json`.
    pub async fn status_of(&self, cluster: &str) -> Value {
        match self.call(cluster, Call::Look(Look::default())).await {
            Ok(Answer::Seen(Seen { status, .. })) => serde_json::from_slice(&status.0).unwrap(),
            other => panic!("no status: {other:?}"),
        }
    }

    pub async fn status(&self) -> Value {
        self.status_of("sample").await
    }

    /// What the status says of a process, with its id.
    pub async fn process(&self, address: &str) -> Option<(String, Value)> {
        let status = self.status().await;
        let processes = status["cluster"]["processes"].as_object().cloned().unwrap_or_default();
        processes.into_iter().find(|(_, process)| process["address"] == address)
    }

    /// The command line of the server of a pod.
    pub async fn command_line(&self, pod: &str) -> String {
        let (_, process) = self.process(&self.address(pod)).await.unwrap();
        process["command_line"].as_str().unwrap().to_owned()
    }

    pub async fn is_available(&self) -> bool {
        self.status().await["client"]["database_status"]["available"] == true
    }

    /// What is really so.
    pub fn truth<T>(&self, ask: impl FnOnce(&mut Database) -> T) -> T {
        self.databases.with(&format!("{NAMESPACE}/sample"), ask).unwrap()
    }

    /// Whether a server runs in a pod that has an address.
    pub fn runs(&self, pod: &str) -> bool {
        let address = self.address(pod);
        self.truth(|database| database.runs(&address))
    }
}

pub fn node(number: u32) -> String {
    format!("node-{number}")
}

/// The key of a class in the ConfigMap.
pub fn key(class: &str) -> String {
    format!("fdbmonitor-conf-{class}-json")
}

/// The logs coordinate, by their names.
pub fn connection() -> String {
    let coordinators = [1, 2, 3].map(|number| format!("sample-log-{number}.sample.default.svc.cluster.local:4501"));
    format!("sample:abcdefgh@{}", coordinators.join(","))
}

fn config_data(connection: &str) -> BTreeMap<String, String> {
    let classes = PODS.map(|(class, _)| (key(class), serde_json::to_string(&configuration(class)).unwrap()));
    classes.into_iter().chain([("cluster-file".to_owned(), connection.to_owned())]).collect()
}

fn configuration(class: &str) -> MonitorConfiguration {
    let from =
        |prefix: &str, variable: &str| Argument::concatenated([Argument::literal(prefix), Argument::environment(variable)]);
    let arguments = vec![
        Argument::literal("--cluster_file=/var/fdb/data/fdb.cluster"),
        Argument::literal("--seed_cluster_file=/var/dynamic-conf/fdb.cluster"),
        Argument::concatenated([
            Argument::literal("--public_address=["),
            Argument::environment("FDB_PUBLIC_IP"),
            Argument::literal("]:"),
            Argument::port(2, 4499),
        ]),
        Argument::literal(format!("--class={class}")),
        Argument::concatenated([Argument::literal("--datadir=/var/fdb/data/"), Argument::process_number()]),
        from("--locality_instance_id=", "FDB_INSTANCE_ID"),
        from("--locality_machineid=", "FDB_MACHINE_ID"),
        from("--locality_zoneid=", "FDB_ZONE_ID"),
        from("--locality_dns_name=", "FDB_DNS_NAME"),
    ];
    MonitorConfiguration { version: "7.3.69".to_owned(), run_servers: None, arguments }
}

fn pod(cluster: &str, class: &str, number: u32) -> Value {
    let name = format!("{cluster}-{class}-{number}");
    let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let data = if class == "stateless" {
        json!({"name": "data", "emptyDir": {}})
    } else {
        json!({"name": "data", "persistentVolumeClaim": {"claimName": format!("{name}-data")}})
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"foundationdb.org/fdb-cluster-name": cluster}},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": node(number)},
            "containers": [{
                "name": "foundationdb", "image": "foundationdb/fdb-kubernetes-monitor:7.3.69",
                "args": ["--input-dir", "/var/dynamic-conf", "--log-path", "/var/log/fdb-trace-logs/monitor.log"],
                "env": [
                    field("FDB_PUBLIC_IP", "status.podIP"),
                    field("FDB_MACHINE_ID", "spec.nodeName"),
                    field("FDB_ZONE_ID", "spec.nodeName"),
                    {"name": "FDB_INSTANCE_ID", "value": format!("{class}-{number}")},
                    {"name": "FDB_DNS_NAME", "value": format!("{name}.{cluster}.default.svc.cluster.local")},
                ],
                "volumeMounts": [
                    {"name": "data", "mountPath": "/var/fdb/data"},
                    {"name": "config-map", "mountPath": "/var/dynamic-conf"},
                ],
            }],
            "volumes": [data, {"name": "config-map", "configMap": {"name": format!("{cluster}-config"), "items": [
                {"key": key(class), "path": "config.json"}, {"key": "cluster-file", "path": "fdb.cluster"},
            ]}}],
        },
    })
}
