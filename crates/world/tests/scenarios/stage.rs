//! A stage: one operator, one cluster, virtual time, and nothing goes wrong but what the test does.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use quorate_operator::{Clock, LeaseSettings, Operator, Settings};
use quorate_world::database::{Database, Databases};
use quorate_world::kubelet::{Fault, KubeletSettings, Reach, Window};
use quorate_world::kubernetes::{Image, Kubernetes, Status};
use quorate_world::monitor::MonitorSettings;
use quorate_world::{Cluster, Fdbservers, scenery};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::view::View;
use super::wire::{Line, Wire};

pub const NAMESPACE: &str = scenery::NAMESPACE;
pub const CLUSTER: &str = "sample";
/// How operators call themselves, with a number.
pub const OPERATOR: &str = "operator";
/// What is expected happens within this time, or never.
const PATIENCE: Duration = Duration::from_secs(3600);
const BEGINNING: i64 = 1_767_225_600;

/// Virtual time, and how far the operator's own clock is off.
pub struct StageClock {
    started: Instant,
    off: Mutex<SignedDuration>,
}

impl StageClock {
    fn true_now(&self) -> Timestamp {
        Timestamp::from_second(BEGINNING).unwrap() + SignedDuration::try_from(self.started.elapsed()).unwrap()
    }
}

impl Clock for StageClock {
    fn now(&self) -> Timestamp {
        self.true_now() + *self.off.lock().unwrap()
    }
}

/// Every stage begins alike; most of the work is building the CRDs.
static SCENERY: LazyLock<Image> = LazyLock::new(|| {
    let kubernetes = Kubernetes::new(|| Timestamp::from_second(BEGINNING).unwrap());
    scenery::build(&kubernetes).unwrap();
    kubernetes.image()
});

pub struct Stage {
    cluster: Cluster,
    databases: Databases,
    clock: Arc<StageClock>,
    pub wire: Arc<Wire>,
    operators: Mutex<Vec<JoinHandle<()>>>,
}

/// Waits that are no more than they have to be, where waiting is not the point.
fn short_waits() -> Value {
    json!({
        "minimumUptimeSecondsForBounce": 10,
        "automationOptions": {
            "waitBetweenRemovalsSeconds": 5,
            "replacements": {"failureDetectionTimeSeconds": 120, "replacementBucket": {"enabled": false}},
            "safetyTimers": {
                "minimumRecoveryTimeForExclusion": "5s", "minimumRecoveryTimeForInclusion": "5s",
                "minimumUptimeForCoordinatorChangeWithUndesiredProcess": "5s",
                "minimumUptimeForCoordinatorChangeWithMissingProcess": "30s",
                "minimumUptimeForConfigurationChanges": "5s",
            },
        },
    })
}

impl Stage {
    /// A cluster of four storage, four log and three stateless process groups on six nodes, at rest.
    pub async fn born() -> Self {
        Self::born_as(json!({})).await
    }

    /// The same with other wishes from the beginning.
    pub async fn born_as(patch: Value) -> Self {
        let stage = Self::unborn(patch);
        stage.rest().await;
        stage
    }

    /// The same on the nodes' own disks, which no other node reaches.
    pub async fn born_on_local_disks() -> Self {
        let stage = Self::unborn_with(json!({}), Reach::Host);
        stage.rest().await;
        stage
    }

    /// The object was just created, and the operator has not seen it yet.
    pub fn unborn(patch: Value) -> Self {
        Self::unborn_with(patch, Reach::Anywhere)
    }

    fn unborn_with(patch: Value, reach: Reach) -> Self {
        let started = Instant::now();
        let clock = Arc::new(StageClock { started, off: Mutex::new(SignedDuration::ZERO) });
        let time = Arc::clone(&clock);
        let kubernetes = Kubernetes::from_image(&SCENERY, move || time.true_now());
        let wire = Arc::new(Wire::default());
        kubernetes.intercept(Arc::clone(&wire) as Arc<_>);
        let time = Arc::clone(&clock);
        let databases = Databases::new(move || time.true_now());
        let servers = Fdbservers::new(databases.clone(), 7, MonitorSettings::default());
        let provisioners = BTreeMap::from([(scenery::PROVISIONER.to_owned(), reach)]);
        let settings = KubeletSettings { provisioners, ..KubeletSettings::default() };
        let cluster = Cluster::new(kubernetes, settings).with_servers(servers);
        let stage = Self { cluster, databases, clock, wire, operators: Mutex::default() };
        stage.apply(short_waits());
        stage.apply(patch);
        stage.start_operator();
        stage
    }

    /// Starts one more operator.
    pub fn start_operator(&self) {
        let mut operators = self.operators.lock().unwrap();
        let name = format!("{OPERATOR}-{}", operators.len());
        let lease = LeaseSettings::new(NAMESPACE, "quorate", name.clone());
        let settings = Settings { namespace: None, rounds_at_once: 4, lease };
        let client = self.kubernetes().client_of(&name, NAMESPACE);
        let line = Line { operator: name, databases: self.databases.clone(), wire: Arc::clone(&self.wire) };
        let operator = Operator::new(client, Arc::clone(&self.clock) as Arc<_>, Arc::new(line), settings);
        operators.push(tokio::spawn(operator.run(CancellationToken::new())));
    }

    /// All operators die where they stand, and a new one starts.
    pub fn restart_operator(&self) {
        for (number, operator) in self.operators.lock().unwrap().iter().enumerate() {
            operator.abort();
            self.wire.bury(&format!("{OPERATOR}-{number}"));
        }
        self.kubernetes().end_watches(|watch| watch.client.starts_with(OPERATOR));
        self.start_operator();
    }

    pub fn kubernetes(&self) -> &Kubernetes {
        &self.cluster.kubernetes
    }

    pub fn view(&self) -> View<'_> {
        View(self)
    }

    /// Changes the spec: what the patch says, `null` for nothing.
    pub fn apply(&self, patch: Value) {
        self.try_apply(patch).unwrap();
    }

    /// The same, where the API may refuse it.
    pub fn try_apply(&self, patch: Value) -> Result<(), Status> {
        let mut object = self.view().object();
        merge(&mut object["spec"], patch);
        self.kubernetes().update_value(object).map(drop)
    }

    /// Does something to the database, or asks what is really so.
    pub fn truth<T>(&self, act: impl FnOnce(&mut Database) -> T) -> T {
        self.databases.with(&format!("{NAMESPACE}/{CLUSTER}"), act).unwrap()
    }

    /// How often the database recovered; each time its generation grows by two.
    pub fn recoveries(&self) -> i64 {
        self.view().report()["cluster"]["generation"].as_i64().unwrap_or(0) / 2
    }

    /// What the operator has written and asked for so far, if it contains this.
    pub fn writes(&self, containing: &str) -> Vec<String> {
        self.wire.story().into_iter().filter(|line| line.contains(containing)).collect()
    }

    /// Lets time pass.
    pub async fn pass(&self, seconds: u64) {
        let until = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < until {
            self.go_on(until).await;
        }
    }

    /// Lets time pass until something is so.
    pub async fn until(&self, what: &str, is_so: impl Fn(View<'_>) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self.view()) {
            assert!(Instant::now() < deadline, "not seen: {what}\n{}", self.told());
            self.go_on(deadline).await;
        }
    }

    /// Lets time pass until all is as it was asked to be, and every server has said so; nothing was lost on the way.
    pub async fn rest(&self) {
        for _ in 0..100 {
            self.until("everything at rest", |view: super::view::View<'_>| view.is_at_rest()).await;
            self.pass(10).await;
            if self.view().is_at_rest() {
                break;
            }
        }
        assert!(self.view().is_at_rest(), "it comes to rest and does not stay there\n{}", self.told());
        assert_eq!(self.truth(|database| database.data_lost().map(|lost| lost.to_string())), None, "{}", self.told());
    }

    /// For a while nothing happens: what is so stays so.
    pub async fn stays(&self, what: &str, seconds: u64, is_so: impl Fn(View<'_>) -> bool) {
        let until = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < until {
            assert!(is_so(self.view()), "not any more: {what}\n{}", self.told());
            self.go_on(until).await;
        }
    }

    /// Lets the world do what it has to do, up to the next moment at which anything happens.
    async fn go_on(&self, until: Instant) {
        let now = self.clock.true_now();
        let wake = self.cluster.settle(now).map(|wake| {
            let rest = wake.duration_since(now).max(SignedDuration::ZERO);
            Instant::now() + Duration::try_from(rest).unwrap_or_default().max(Duration::from_millis(1))
        });
        if self.wire.has_quota() {
            self.wire.there_are_pods(self.kubernetes().list_values("v1", "Pod", NAMESPACE).unwrap().len());
        }
        if self.wire.has_died() {
            self.restart_operator();
        }
        tokio::select! {
            biased;
            () = self.wire.happened.notified() => {}
            () = self.databases.killed() => {}
            () = tokio::time::sleep_until(wake.map_or(until, |wake| wake.min(until))) => {}
        }
    }

    /// What a reader of a failed test needs.
    fn told(&self) -> String {
        let view = self.view();
        let story = self.wire.story();
        let last = &story[story.len().saturating_sub(25)..];
        let groups: Vec<String> = view
            .groups()
            .iter()
            .map(|(id, group)| format!("{id}{} {:?}", if group.going { " (to go)" } else { "" }, group.conditions))
            .collect();
        format!(
            "{} s after the beginning\nholds:\n  {}\nprocess groups:\n  {}\nthe operator's last writes:\n  {}",
            self.clock.started.elapsed().as_secs(),
            view.sentences().join("\n  "),
            groups.join("\n  "),
            last.join("\n  ")
        )
    }
}

/// What happens to the cluster.
impl Stage {
    /// The name of a process group's pod.
    pub fn pod_name(&self, group: &str) -> String {
        self.view().pod(group).unwrap()["metadata"]["name"].as_str().unwrap().to_owned()
    }

    /// A user deletes the pod of a process group.
    pub fn kill(&self, group: &str) {
        self.kubernetes().delete::<Pod>(NAMESPACE, &self.pod_name(group), None).unwrap();
    }

    /// A user deletes the pod, and it does not go, for somebody has put a finalizer on it.
    pub fn stick(&self, group: &str) {
        let mut pod: Pod = self.kubernetes().get(NAMESPACE, &self.pod_name(group)).unwrap();
        pod.metadata.finalizers.get_or_insert_default().push("example.org/stuck".to_owned());
        self.kubernetes().update(&pod).unwrap();
        self.kill(group);
    }

    /// The finalizer is taken off.
    pub fn unstick(&self, group: &str) {
        let mut pod: Pod = self.kubernetes().get(NAMESPACE, &self.pod_name(group)).unwrap();
        pod.metadata.finalizers = None;
        self.kubernetes().update(&pod).unwrap();
    }

    /// The servers of a process group reach nobody any more, although its pod runs.
    pub fn part(&self, group: &str) {
        for process in self.view().processes(group) {
            self.truth(|database| database.stop_process(process["address"].as_str().unwrap()));
        }
    }

    /// The servers of a parted process group are back.
    pub fn rejoin(&self, group: &str) {
        let pod = self.pod_name(group);
        let now = self.clock.true_now();
        self.cluster.servers(|servers| servers.crash(NAMESPACE, &pod, 1, now));
    }

    /// From now on pods that start have an address of each family.
    pub fn give_pods_two_addresses(&self) {
        self.cluster.change_settings(|settings| settings.dual_stack = true);
    }

    /// Nothing is heard of nodes from now on; they lost power, or only touch.
    pub fn lose_nodes(&self, nodes: &[&str], keeps_running: bool) {
        let during = Window { from: self.clock.true_now(), until: None };
        self.cluster.change_settings(|settings| {
            for node in nodes {
                settings.faults.push(Fault::NodeLost { node: (*node).to_owned(), during, keeps_running });
            }
        });
    }

    /// Every node is back.
    pub fn find_nodes(&self) {
        let now = self.clock.true_now();
        self.cluster.change_settings(|settings| {
            for fault in &mut settings.faults {
                if let Fault::NodeLost { during, .. } = fault {
                    during.until = Some(now);
                }
            }
        });
    }

    /// The node of a process group.
    pub fn node(&self, group: &str) -> String {
        self.view().pod(group).unwrap()["spec"]["nodeName"].as_str().unwrap().to_owned()
    }

    /// Changes every node.
    pub fn change_nodes(&self, change: impl Fn(&mut Node)) {
        for mut node in self.kubernetes().list::<Node>("").unwrap() {
            change(&mut node);
            self.kubernetes().update(&node).unwrap();
        }
    }

    /// Another node as those there are, with a label.
    pub fn add_node(&self, name: &str, label: (&str, &str)) {
        let like = self.kubernetes().list::<Node>("").unwrap().remove(0);
        let mut labels = like.metadata.labels.clone().unwrap_or_default();
        labels.insert("kubernetes.io/hostname".to_owned(), name.to_owned());
        labels.insert(label.0.to_owned(), label.1.to_owned());
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
        let mut node = self.kubernetes().create_value(node).unwrap();
        node["status"] = serde_json::to_value(&like.status).unwrap();
        self.kubernetes().update_status_value(node).unwrap();
    }

    /// No node takes new pods, or all do again.
    pub fn cordon(&self, cordoned: bool) {
        self.change_nodes(|node| node.spec.get_or_insert_default().unschedulable = cordoned.then_some(true));
    }

    /// Writes an annotation on the pod of a process group.
    pub fn annotate(&self, group: &str, key: &str, value: Option<&str>) {
        let mut pod: Pod = self.kubernetes().get(NAMESPACE, &self.pod_name(group)).unwrap();
        let annotations = pod.metadata.annotations.get_or_insert_default();
        match value {
            Some(value) => annotations.insert(key.to_owned(), value.to_owned()),
            None => annotations.remove(key),
        };
        self.kubernetes().update(&pod).unwrap();
    }

    /// From now on the operator sees objects of these kinds as they are at this moment, whatever becomes of them.
    pub fn stop_the_news(&self, kinds: &[&str]) {
        self.wire.be_late(kinds);
    }

    /// Everything that the operator has not heard of arrives.
    pub fn bring_the_news(&self) {
        self.wire.be_late(&[]);
        for (watch, _) in self.kubernetes().watches() {
            self.kubernetes().release(watch.id, usize::MAX);
        }
    }

    /// The operator's clock is off by so many seconds from now on.
    pub fn set_clock_off(&self, seconds: i64) {
        *self.clock.off.lock().unwrap() = SignedDuration::from_secs(seconds);
    }

    pub fn databases(&self) -> &Databases {
        &self.databases
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.operators.lock().unwrap().iter().for_each(JoinHandle::abort);
    }
}

/// A JSON merge patch.
fn merge(into: &mut Value, patch: Value) {
    match (into, patch) {
        (Value::Object(fields), Value::Object(changes)) => {
            for (key, change) in changes {
                if change.is_null() {
                    fields.remove(&key);
                } else {
                    merge(fields.entry(key).or_insert(Value::Null), change);
                }
            }
        }
        (into, Value::Object(changes)) => {
            *into = json!({});
            merge(into, Value::Object(changes));
        }
        (into, patch) => *into = patch,
    }
}
