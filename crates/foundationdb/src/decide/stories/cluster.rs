//! A tiny world: what a decision becomes when it is carried out, and what is seen of it afterwards. Pods run as soon as they are made,
//! monitors follow the ConfigMap, servers start and join; a story breaks what it is about.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use quorate_quorum::{Effect, Epoch, Journal, Sighting, Snapshot};

use super::database::{Database, Server};
use super::invariants;
use crate::decide::{Adds, ClusterDecision, ClusterSnapshot, ClusterStep, TakesAway, decide};
use crate::monitor::MonitorConfiguration;
use crate::report::{DatabaseReport, host};
use crate::{
    Automation, Buggify, ClaimFacts, ClassTemplate, ConfigMapFacts, DatabaseWish, Desired, DisruptionBudgetFacts, KubeFacts,
    Labels, NodeFacts, PodFacts, PodPhase, ProcessClass, ProcessGroup, ProcessGroupId, Recorded, Routing, ServiceFacts, Topology,
    annotations, labels, objects,
};

pub(super) const OUR_UID: &str = "cluster-uid";

/// How a report is spoilt on its way.
type Spoil = Box<dyn Fn(&mut DatabaseReport)>;

/// A cluster with everything around it.
pub(super) struct Cluster {
    pub now: Timestamp,
    pub desired: Desired,
    pub kube: KubeFacts,
    pub journal: Journal,
    pub database: Database,
    /// Nodes that pods are placed on, the emptiest of their class first.
    pub nodes: Vec<String>,
    /// Logical fault domains of pods, by their names.
    pub domains: BTreeMap<String, String>,
    /// How many pods of one class a node has room for.
    pub room: usize,
    /// Process groups whose pods find no node.
    pub unplaceable: BTreeSet<String>,
    /// Pods whose kubelets do not bring the new ConfigMap.
    pub out_of_date: BTreeSet<String>,
    /// Process groups whose servers do not start.
    pub dead: BTreeSet<String>,
    /// The database is not asked before it was created.
    pub unasked: bool,
    /// Since when the database does not answer at all.
    pub silent_since: Option<Timestamp>,
    spoil: Option<Spoil>,
    handed_out: usize,
}

pub(super) fn wish(counts: &[(ProcessClass, u32)]) -> Desired {
    let of_cluster = BTreeMap::from([(labels::CLUSTER.to_owned(), "sample".to_owned())]);
    Desired {
        name: "sample".to_owned(),
        namespace: "default".to_owned(),
        uid: OUR_UID.to_owned(),
        resource_version: "1".to_owned(),
        generation: 1,
        deleting: false,
        skip: false,
        problems: Vec::new(),
        version: "7.3.69".parse().unwrap(),
        database: DatabaseWish { storage_engine: "ssd-2".to_owned(), ..DatabaseWish::default() },
        counts: counts.iter().copied().collect(),
        servers_per_pod: BTreeMap::new(),
        prefix: None,
        topology: Topology::default(),
        distribution: None,
        coordinator_selection: BTreeMap::new(),
        seed_connection: None,
        description: None,
        database_id: None,
        image: "fdb:7.3.69".to_owned(),
        sidecar_image: "fdb:7.3.69".to_owned(),
        templates: ProcessClass::ALL.iter().map(|class| (*class, ClassTemplate::default())).collect(),
        routing: Routing { explicit_listen_address: true, ..Routing::default() },
        labels: Labels {
            matching: of_cluster.clone(),
            resource: of_cluster,
            group: vec![labels::GROUP.to_owned()],
            class: vec![labels::CLASS.to_owned()],
        },
        config_map: None,
        log_group: "sample".to_owned(),
        trusted_cas: Vec::new(),
        peer_verification_rules: String::new(),
        delete_volumes: false,
        remove: BTreeSet::new(),
        remove_without_exclusion: BTreeSet::new(),
        automation: Automation::default(),
        lock: None,
        buggify: Buggify::default(),
        fields_without_effect: Vec::new(),
        deprecated_fields: Vec::new(),
    }
}

/// Something that is done to a cluster.
pub(super) type Change = fn(&mut Cluster);

impl Cluster {
    /// An object that was just created, and six empty nodes.
    pub fn new(counts: &[(ProcessClass, u32)]) -> Self {
        Self {
            now: Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1000),
            desired: wish(counts),
            kube: KubeFacts::default(),
            journal: Journal::default(),
            database: Database::default(),
            nodes: (1..=6).map(|node| format!("node-{node}")).collect(),
            domains: BTreeMap::new(),
            room: usize::MAX,
            unplaceable: BTreeSet::new(),
            out_of_date: BTreeSet::new(),
            dead: BTreeSet::new(),
            unasked: false,
            silent_since: None,
            spoil: None,
            handed_out: 0,
        }
    }

    /// A cluster that has been at rest for a long time.
    pub fn at_rest(counts: &[(ProcessClass, u32)]) -> Self {
        Self::new(counts).settled()
    }

    pub fn settled(mut self) -> Self {
        for _ in 0..60 {
            self.round(5);
        }
        self.pass(3600);
        self.round(5);
        self
    }

    /// The usual small cluster, with two copies of everything.
    pub fn usual() -> Self {
        Self::at_rest(&[(ProcessClass::Storage, 4), (ProcessClass::Log, 4), (ProcessClass::Stateless, 3)])
    }

    /// Time passes, and nobody decides anything.
    pub fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
        let pending = self.kube.pods.iter().filter(|(_, pod)| pod.node.is_none() && pod.phase == PodPhase::Pending);
        for name in pending.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.bind(&name);
        }
        self.monitors();
    }

    /// What is seen now.
    pub fn seen(&self) -> ClusterSnapshot {
        let report = || {
            let mut report = self.database.report(self.now);
            self.spoil.iter().for_each(|spoil| spoil(&mut report));
            report
        };
        let database = match self.silent_since {
            _ if self.database.coordinators.is_empty() || (self.unasked && self.database.keys.is_empty()) => Sighting::NotAsked,
            Some(since) => Sighting::Unreachable { since, why: "no answer within 10 s".to_owned() },
            None => Sighting::Seen { at: self.now, facts: report() },
        };
        let mut kube = self.kube.clone();
        kube.open_nodes = self.nodes.len();
        kube.nodes.extend(self.nodes.iter().filter(|node| !self.kube.nodes.contains_key(*node)).map(|node| {
            let labels = BTreeMap::from([("kubernetes.io/hostname".to_owned(), node.clone())]);
            (node.clone(), NodeFacts { labels, taints: BTreeSet::new(), ready: true })
        }));
        Snapshot { now: self.now, epoch: Epoch(1), desired: self.desired.clone(), kube, database, journal: self.journal.clone() }
    }

    /// What is decided now.
    pub fn decided(&self) -> ClusterDecision {
        decide(&self.seen())
    }

    /// Time passes, then one decision is made and carried out. Whatever the story, the invariants hold.
    pub fn round(&mut self, seconds: i64) -> ClusterDecision {
        self.pass(seconds);
        let seen = self.seen();
        let decision = decide(&seen);
        let broken = invariants::broken(&seen, &decision);
        assert!(broken.is_empty(), "{broken:#?}\n{}", told(&decision).join("\n"));
        self.carry_out(&decision);
        decision
    }

    /// Rounds of five seconds until something is decided.
    pub fn until(&mut self, happens: impl Fn(&ClusterDecision) -> bool) -> ClusterDecision {
        for _ in 0..5000 {
            let decision = self.round(5);
            if happens(&decision) {
                return decision;
            }
        }
        panic!("it never happened; in the end: {:#?}", self.decided().holds);
    }

    /// Rounds of five seconds, and everything that was done in them.
    pub fn rounds(&mut self, rounds: usize) -> Vec<String> {
        (0..rounds).flat_map(|_| told(&self.round(5))).collect()
    }

    /// From now on every report is spoilt like this.
    pub fn spoil(&mut self, spoil: impl Fn(&mut DatabaseReport) + 'static) {
        self.spoil = Some(Box::new(spoil));
    }

    /// From now on the database complains of this.
    pub fn complains_of(&mut self, message: &'static str) {
        self.spoil(move |report| report.messages.extend([message.to_owned()]));
    }

    pub fn unspoil(&mut self) {
        self.spoil = None;
    }

    /// A server dies and does not come back.
    pub fn kill(&mut self, id: &str) {
        self.dead.insert(id.to_owned());
        self.database.stop(&group_id(id), self.now);
    }

    pub fn pod(&mut self, id: &str) -> &mut PodFacts {
        self.kube.pods.get_mut(&format!("sample-{id}")).unwrap()
    }

    pub fn group(&self, id: &str) -> &ProcessGroup {
        &self.kube.recorded.groups[&group_id(id)]
    }

    /// Process groups that are to go.
    pub fn marked(&self) -> Vec<&str> {
        let groups = self.kube.recorded.groups.iter().filter(|(_, group)| group.removal.is_some());
        groups.map(|(id, _)| id.0.as_str()).collect()
    }

    pub fn carry_out(&mut self, decision: &ClusterDecision) {
        let status = &decision.status;
        self.kube.recorded = Recorded {
            groups: status.groups.clone(),
            last_number: status.last_number,
            epoch: status.epoch,
            reconciled: status.reconciled,
            connection: status.connection.clone(),
            configured: status.configured,
            running_version: status.running_version.clone(),
            set_aside: status.set_aside.clone(),
        };
        self.journal = status.journal.clone();
        for step in &decision.steps {
            match &step.effect {
                Effect::Adds(what) => self.add(what),
                Effect::TakesAway { action, .. } => self.take_away(action, step),
            }
        }
    }

    fn add(&mut self, what: &Adds) {
        match what {
            Adds::Pod(pod) => self.run_pod(&pod.metadata),
            Adds::Claim(claim) => {
                let (name, facts) = claim_facts(claim);
                self.kube.claims.insert(name, facts);
            }
            Adds::Service(service) => {
                let facts = ServiceFacts {
                    uid: format!("uid-{}", name(&service.metadata)),
                    resource_version: "5".to_owned(),
                    group: label(&service.metadata, labels::GROUP).map(ProcessGroupId),
                    owner: Some(OUR_UID.to_owned()),
                    address: self.desired.routing.service_per_pod.then(|| self.next_address()),
                    ports: BTreeMap::new(),
                };
                self.kube.services.insert(name(&service.metadata), facts);
            }
            Adds::ConfigMap(map) | Adds::ConfigMapAgain(map) => {
                self.kube.config_map = Some(ConfigMapFacts {
                    uid: "uid-config".to_owned(),
                    resource_version: "5".to_owned(),
                    owner: Some(OUR_UID.to_owned()),
                    data: map.data.clone().unwrap_or_default(),
                    labels: map.metadata.labels.clone().unwrap_or_default(),
                    annotations: map.metadata.annotations.clone().unwrap_or_default(),
                });
            }
            Adds::DisruptionBudget(budget) => self.set_min_available(
                budget.spec.as_ref().and_then(|spec| spec.min_available.as_ref()).map_or(0, |min| match min {
                    k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int(number) => *number,
                    k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::String(_) => 0,
                }),
            ),
            Adds::MinAvailable { min_available, .. } => self.set_min_available(*min_available),
            Adds::ClaimSize { name, size } => self.kube.claims.get_mut(name).unwrap().size = Some(size.clone()),
            Adds::ClaimOwner { name, owner } => self.kube.claims.get_mut(name).unwrap().owned = owner.is_some(),
            Adds::PodAnnotations { name, annotations } => {
                self.kube.pods.get_mut(name).unwrap().outdated_seen = annotations.get(annotations::OUTDATED_SEEN).cloned();
            }
            Adds::Database { keys, .. } | Adds::Configuration(keys) => self.database.configure(keys, self.now),
            Adds::Include(places) => self.database.include(places),
            Adds::Lock { from, to, .. } => {
                assert_eq!(&self.database.lock.value, from, "a lock is taken as it was seen");
                self.database.lock.value.clone_from(to);
            }
            Adds::DenyList { deny, allow } => {
                let denied = &mut self.database.lock.denied;
                denied.extend(deny.iter().map(|(_, name)| name.clone()));
                denied.retain(|name| !allow.iter().any(|key| key.ends_with(name.as_bytes())));
            }
        }
    }

    fn take_away(&mut self, what: &TakesAway, step: &ClusterStep) {
        let uid = step.guard.object.as_ref().map(|object| object.uid.as_str());
        match what {
            TakesAway::Pod(name) => {
                let pod = self.kube.pods.remove(name).unwrap();
                assert_eq!(uid, Some(pod.uid.as_str()), "a pod is deleted by its uid");
                self.database.stop(&pod.group.unwrap(), self.now);
            }
            TakesAway::Claim(name) => {
                let claim = self.kube.claims.remove(name).unwrap();
                assert_eq!(uid, Some(claim.uid.as_str()), "a claim is deleted by its uid");
            }
            TakesAway::Service(name) => drop(self.kube.services.remove(name).unwrap()),
            TakesAway::Exclude(places) => self.database.exclude(places, self.now),
            TakesAway::Coordinators(addresses) => self.database.change_coordinators(addresses, self.now),
            TakesAway::Kill(addresses) => {
                self.database.restart(addresses, self.now);
                self.monitors();
            }
        }
    }

    fn set_min_available(&mut self, number: i32) {
        self.kube.disruption_budget = Some(DisruptionBudgetFacts {
            uid: "uid-budget".to_owned(),
            resource_version: "5".to_owned(),
            owner: Some(OUR_UID.to_owned()),
            min_available: Some(number),
        });
    }

    fn next_address(&mut self) -> String {
        self.handed_out += 1;
        format!("10.0.{}.{}", self.handed_out / 250, self.handed_out % 250 + 1)
    }

    fn run_pod(&mut self, metadata: &ObjectMeta) {
        let (pod, group) = (name(metadata), ProcessGroupId(label(metadata, labels::GROUP).unwrap()));
        let annotation = |key: &str| metadata.annotations.as_ref().and_then(|all| all.get(key).cloned());
        let address = self.next_address();
        let environment = [
            ("FDB_PUBLIC_IP", annotation(annotations::PUBLIC_IP).unwrap_or_else(|| address.clone())),
            ("FDB_POD_IP", address),
            ("FDB_INSTANCE_ID", group.0.clone()),
            ("FDB_DNS_NAME", objects::dns_name(&self.desired, &pod)),
        ];
        let facts = PodFacts {
            uid: format!("uid-{pod}-{}", self.handed_out),
            resource_version: "5".to_owned(),
            group: Some(group),
            owner: Some(OUR_UID.to_owned()),
            phase: PodPhase::Pending,
            ready: false,
            addresses: Vec::new(),
            unschedulable: Some("0/6 nodes are available: 6 Insufficient memory.".to_owned()),
            node: None,
            asked_for: annotation(annotations::ASKED_FOR),
            rendering: annotation(annotations::RENDERING),
            active_configuration: None,
            outdated_seen: None,
            environment: environment.map(|(name, value)| (name.to_owned(), value)).into(),
            isolated: false,
            crashing: None,
            created: self.now,
            deleted_since: None,
        };
        self.kube.pods.insert(pod.clone(), facts);
        self.domains.remove(&pod);
        self.domains.extend(label(metadata, labels::DISTRIBUTION_KEY).map(|domain| (pod.clone(), domain)));
        self.bind(&pod);
    }

    /// Places a pod on the node with the fewest of its class, or of those without other logical fault domains the one with most of its
    /// own; if there is one.
    fn bind(&mut self, name: &str) {
        let group = self.kube.pods[name].group.clone().unwrap();
        let (class, domain) = (class_of(&group), self.domains.get(name));
        let of_class = |node: &String| -> Vec<Option<&String>> {
            let here = self.kube.pods.iter().filter(|(_, pod)| pod.node.as_ref() == Some(node));
            let here = here.filter(|(_, pod)| pod.group.as_ref().map(class_of) == Some(class));
            here.map(|(name, _)| self.domains.get(name)).collect()
        };
        let others = |node: &String| {
            let here = self.kube.pods.values().filter(|pod| pod.node.as_ref() == Some(node));
            here.filter(|pod| pod.group.as_ref().map(class_of).is_some_and(|other| other != class && other.is_stateful())).count()
        };
        // Whoever is kept away from others keeps others away as well.
        let fits = |node: &&String| {
            let here = of_class(node);
            if here.len() >= self.room {
                return false;
            }
            let packed = domain.is_some() || here.iter().any(Option::is_some);
            !(packed && class.is_stateful()) || here.iter().all(|other| *other == domain)
        };
        let order = |node: &&String| match domain {
            Some(_) => (usize::MAX - of_class(node).len(), others(node)),
            None => (of_class(node).len(), 0),
        };
        let node = self.nodes.iter().filter(fits).min_by_key(order).filter(|_| !self.unplaceable.contains(&group.0)).cloned();
        let zone = domain.cloned().or_else(|| node.clone()).unwrap_or_default();
        let pod = self.kube.pods.get_mut(name).unwrap();
        let Some(node) = node else { return };
        pod.environment.extend(
            [("FDB_MACHINE_ID", &node), ("FDB_ZONE_ID", &zone), ("FDB_PHYSICAL_ZONE_ID", &node)]
                .map(|(name, value)| (name.to_owned(), value.clone())),
        );
        pod.phase = PodPhase::Running;
        pod.ready = true;
        pod.addresses = vec![pod.environment["FDB_POD_IP"].clone()];
        pod.unschedulable = None;
        pod.node = Some(node);
    }

    /// Monitors take up the ConfigMap and start what is not running.
    fn monitors(&mut self) {
        let Some(map) = &self.kube.config_map else { return };
        for (name, pod) in &mut self.kube.pods {
            let Some(group) = pod.group.clone().filter(|_| pod.phase == PodPhase::Running) else { continue };
            let class = class_of(&group);
            if !self.out_of_date.contains(name) || pod.active_configuration.is_none() {
                let key = if self.domains.contains_key(name) { "-packed-json" } else { "-json" };
                pod.active_configuration = map.data.get(&format!("fdbmonitor-conf-{class}{key}")).cloned();
            }
            let Some(text) = &pod.active_configuration else { continue };
            let configuration: MonitorConfiguration = serde_json::from_str(text).unwrap();
            if configuration.run_servers == Some(false) || self.dead.contains(&group.0) {
                continue;
            }
            let server = Server {
                address: format!("{}:4501", pod.environment["FDB_PUBLIC_IP"]),
                dns_name: pod.environment["FDB_DNS_NAME"].clone(),
                class,
                zone: pod.environment["FDB_ZONE_ID"].clone(),
                host: pod.environment["FDB_MACHINE_ID"].clone(),
                arguments: configuration.command_line(&pod.environment, 1).unwrap().join(" "),
                started: self.now,
            };
            self.database.start(group, server);
        }
        self.database.begin_with(&map.data["cluster-file"]);
    }
}

fn claim_facts(claim: &k8s_openapi::api::core::v1::PersistentVolumeClaim) -> (String, ClaimFacts) {
    let size = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.requests.as_ref()?.get("storage"));
    let facts = ClaimFacts {
        uid: format!("uid-{}", name(&claim.metadata)),
        resource_version: "5".to_owned(),
        group: label(&claim.metadata, labels::GROUP).map(ProcessGroupId),
        deleted_since: None,
        asked_for: claim.metadata.annotations.as_ref().and_then(|all| all.get(annotations::ASKED_FOR).cloned()),
        size: size.map(|size| size.0.clone()),
        storage_class: Some("standard".to_owned()),
        may_grow: Some(true),
        owned: claim.metadata.owner_references.is_some(),
        lost: false,
    };
    (name(&claim.metadata), facts)
}

fn name(metadata: &ObjectMeta) -> String {
    metadata.name.clone().unwrap()
}

fn label(metadata: &ObjectMeta, key: &str) -> Option<String> {
    metadata.labels.as_ref()?.get(key).cloned()
}

pub(super) fn group_id(id: &str) -> ProcessGroupId {
    ProcessGroupId(id.to_owned())
}

/// The class of a group, by its name.
pub(super) fn class_of(id: &ProcessGroupId) -> ProcessClass {
    let stem = id.0.rsplit_once('-').unwrap().0;
    *ProcessClass::ALL.iter().find(|class| stem.ends_with(class.name())).unwrap()
}

/// What a decision does, one line for each step.
pub(super) fn told(decision: &ClusterDecision) -> Vec<String> {
    let tell = |step: &ClusterStep| match &step.effect {
        Effect::Adds(Adds::Pod(pod)) => format!("create pod {}", name(&pod.metadata)),
        Effect::Adds(Adds::Claim(claim)) => format!("create claim {}", name(&claim.metadata)),
        Effect::Adds(Adds::Service(service)) => format!("create service {}", name(&service.metadata)),
        Effect::Adds(Adds::ConfigMap(_)) => "create the ConfigMap".to_owned(),
        Effect::Adds(Adds::ConfigMapAgain(_)) => "write the ConfigMap".to_owned(),
        Effect::Adds(Adds::DisruptionBudget(_)) => "create the disruption budget".to_owned(),
        Effect::Adds(Adds::MinAvailable { min_available, .. }) => format!("keep {min_available} pods"),
        Effect::Adds(Adds::ClaimSize { name, size }) => format!("grow {name} to {size}"),
        Effect::Adds(Adds::ClaimOwner { name, owner }) => {
            format!("{} {name}", if owner.is_some() { "own" } else { "disown" })
        }
        Effect::Adds(Adds::PodAnnotations { name, .. }) => format!("annotate pod {name}"),
        Effect::Adds(Adds::Database { .. }) => "create the database".to_owned(),
        Effect::Adds(Adds::Configuration(keys)) => {
            format!("configure {}", keys.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
        }
        Effect::Adds(Adds::Include(places)) => format!("include {}", places.join(", ")),
        Effect::Adds(Adds::Lock { to: Some(_), .. }) => "take the lock".to_owned(),
        Effect::Adds(Adds::Lock { to: None, .. }) => "give the lock back".to_owned(),
        Effect::Adds(Adds::DenyList { .. }) => "write the deny list".to_owned(),
        Effect::TakesAway { action, .. } => match action {
            TakesAway::Pod(name) => format!("delete pod {name}"),
            TakesAway::Claim(name) => format!("delete claim {name}"),
            TakesAway::Service(name) => format!("delete service {name}"),
            TakesAway::Exclude(places) => format!("exclude {}", places.join(", ")),
            TakesAway::Coordinators(addresses) => {
                let hosts = addresses.iter().map(|address| host(address).split('.').next().unwrap_or_default());
                format!("coordinators {}", hosts.collect::<Vec<_>>().join(", "))
            }
            TakesAway::Kill(addresses) => format!("restart {} servers", addresses.len()),
        },
    };
    decision.steps.iter().map(tell).collect()
}

/// Why nothing more is done.
pub(super) fn codes(decision: &ClusterDecision) -> Vec<&'static str> {
    decision.holds.iter().map(|hold| hold.reason.0).collect()
}
