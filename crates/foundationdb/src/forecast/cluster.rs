//! A cluster and what surrounds it, carried forward: what a decision becomes when it is carried out, and what is seen of it afterwards.
//! Pods run as soon as they are made and find a node, monitors follow the ConfigMap, servers start and join.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use quorate_quorum::{Effect, Epoch, Journal, Sighting, Snapshot};

use super::database::{Database, Server};
use crate::decide::{Adds, ClusterDecision, ClusterSnapshot, ClusterStep, TakesAway, decide};
use crate::monitor::MonitorConfiguration;
use crate::objects::Tags;
use crate::report::DatabaseReport;
use crate::{
    ClaimFacts, ConfigMapFacts, Desired, DisruptionBudgetFacts, KubeFacts, NodeFacts, PodFacts, PodPhase, ProcessClass,
    ProcessGroupId, Recorded, ServiceFacts, annotations, labels, objects,
};

/// How a report is spoilt on its way; stories do that.
type Spoil = Box<dyn Fn(&mut DatabaseReport)>;

/// A cluster with everything around it.
pub(crate) struct Cluster {
    pub now: Timestamp,
    /// Since when its clock has gone steadily.
    pub steady_since: Timestamp,
    pub desired: Desired,
    pub kube: KubeFacts,
    pub journal: Journal,
    pub database: Database,
    /// Nodes that pods are placed on, the emptiest of their class first.
    pub nodes: Vec<String>,
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
    pub spoil: Option<Spoil>,
    handed_out: usize,
}

impl Cluster {
    /// An object that was just created, and these empty nodes.
    pub fn of(desired: Desired, now: Timestamp, nodes: Vec<String>) -> Self {
        Self {
            now,
            steady_since: Timestamp::UNIX_EPOCH,
            desired,
            kube: KubeFacts::default(),
            journal: Journal::default(),
            database: Database::default(),
            nodes,
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
            None => Sighting::Seen { at: self.now, facts: report().into() },
        };
        let mut kube = self.kube.clone();
        let facts = |name: &String| self.kube.nodes.get(name).cloned().unwrap_or_else(|| node_facts(name));
        let open = self.nodes.iter().map(|name| (name.clone(), facts(name).into()));
        kube.open_nodes = open.collect::<BTreeMap<_, _>>().into();
        // As in a real one, a decision knows the others only as places for pods.
        let in_use: BTreeSet<&String> = self.kube.pods.values().filter_map(|pod| pod.node.as_ref()).collect();
        let there = |name: &&String| self.kube.nodes.contains_key(*name) || self.nodes.contains(name);
        kube.nodes = in_use.into_iter().filter(there).map(|name| (name.clone(), facts(name))).collect();
        Snapshot {
            now: self.now,
            steady_since: self.steady_since,
            epoch: Epoch(1),
            desired: self.desired.clone().into(),
            kube,
            database,
            journal: self.journal.clone(),
        }
    }

    /// What is decided now.
    pub fn decided(&self) -> ClusterDecision {
        decide(&self.seen())
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

    pub(super) fn add(&mut self, what: &Adds) {
        match what {
            Adds::Pod(pod) => self.run_pod(pod),
            Adds::Claim(claim) => {
                let (name, mut facts) = claim_facts(claim, self.group_of(&claim.metadata));
                // A volume is made where its pod is.
                (facts.bound, facts.placed) = (false, false);
                self.kube.claims.insert(name, facts.into());
            }
            Adds::Service(service) => {
                let facts = ServiceFacts {
                    uid: format!("uid-{}", name(&service.metadata)),
                    resource_version: "5".to_owned(),
                    group: self.group_of(&service.metadata),
                    owner: Some(self.desired.uid.clone()),
                    address: match service.spec.as_ref().and_then(|spec| spec.cluster_ip.clone()) {
                        Some(asked) => Some(asked).filter(|asked| asked != "None"),
                        None => Some(self.next_address()),
                    },
                    families: families(service),
                    ports: BTreeMap::new(),
                    given: Tags::found(&service.metadata),
                };
                self.kube.services.insert(name(&service.metadata), facts);
            }
            Adds::ConfigMap(map) | Adds::ConfigMapAgain { map, .. } => {
                self.kube.config_map = Some(ConfigMapFacts {
                    uid: "uid-config".to_owned(),
                    resource_version: "5".to_owned(),
                    owner: Some(self.desired.uid.clone()),
                    data: map.data.clone().unwrap_or_default(),
                    labels: map.metadata.labels.clone().unwrap_or_default(),
                    annotations: map.metadata.annotations.clone().unwrap_or_default(),
                });
            }
            Adds::DisruptionBudget(budget) => {
                let min_available = budget.spec.as_ref().and_then(|spec| spec.min_available.as_ref());
                self.kube.disruption_budget = Some(DisruptionBudgetFacts {
                    uid: "uid-budget".to_owned(),
                    resource_version: "5".to_owned(),
                    owner: Some(self.desired.uid.clone()),
                    min_available: min_available.map(|min| match min {
                        IntOrString::Int(number) => *number,
                        IntOrString::String(_) => 0,
                    }),
                    given: Tags::found(&budget.metadata),
                });
            }
            Adds::MinAvailable { min_available, .. } => {
                if let Some(budget) = &mut self.kube.disruption_budget {
                    budget.min_available = Some(*min_available);
                }
            }
            Adds::ClaimSize { name, size } => {
                if let Some(claim) = self.kube.claims.get_mut(name) {
                    claim.size = Some(size.clone());
                }
            }
            Adds::ClaimOwner { name, owner } => {
                if let Some(claim) = self.kube.claims.get_mut(name) {
                    let ours = &self.desired.uid;
                    claim.owners.retain(|owner| owner != ours);
                    claim.owners.extend(owner.iter().map(|owner| owner.uid.clone()));
                }
            }
            Adds::PodTags { name, tags } => {
                if let Some(pod) = self.kube.pods.get_mut(name) {
                    let poked_for = tags.annotations.get(annotations::POKED_FOR).cloned().flatten();
                    pod.poked_for = poked_for.or_else(|| pod.poked_for.take());
                    pod.given.apply(tags);
                }
            }
            Adds::ClaimTags { name, tags } => {
                if let Some(claim) = self.kube.claims.get_mut(name) {
                    claim.given.apply(tags);
                }
            }
            Adds::ServiceTags { name, tags } => {
                if let Some(service) = self.kube.services.get_mut(name) {
                    service.given.apply(tags);
                }
            }
            Adds::DisruptionBudgetTags { tags, .. } => {
                if let Some(budget) = &mut self.kube.disruption_budget {
                    budget.given.apply(tags);
                }
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
            TakesAway::Pod(name) | TakesAway::PodForAnother { name, .. } => {
                let Some(pod) = self.kube.pods.remove(name) else { return };
                assert_eq!(uid, Some(pod.uid.as_str()), "a pod is deleted by its uid");
                if let Some(group) = &pod.group {
                    self.database.stop(group, self.now);
                }
            }
            TakesAway::Claim(name) => {
                let Some(claim) = self.kube.claims.remove(name) else { return };
                assert_eq!(uid, Some(claim.uid.as_str()), "a claim is deleted by its uid");
            }
            TakesAway::Service(name) => drop(self.kube.services.remove(name)),
            TakesAway::Exclude(places) => self.database.exclude(places, self.now),
            TakesAway::Coordinators(addresses) => self.database.change_coordinators(addresses, self.now),
            TakesAway::Kill(addresses) => {
                self.database.restart(addresses, self.now);
                self.monitors();
            }
        }
    }

    /// The process group an object is labelled with.
    pub(super) fn group_of(&self, metadata: &ObjectMeta) -> Option<ProcessGroupId> {
        let key = self.desired.labels.group.first().map_or(labels::GROUP, String::as_str);
        label(metadata, key).map(ProcessGroupId)
    }

    fn next_address(&mut self) -> String {
        self.handed_out += 1;
        format!("10.0.{}.{}", self.handed_out / 250, self.handed_out % 250 + 1)
    }

    pub(super) fn run_pod(&mut self, pod: &Pod) {
        let metadata = &pod.metadata;
        let requests = pod.spec.as_ref().map(objects::Requests::of).unwrap_or_default();
        let servers = pod.spec.as_ref().map_or(1, objects::servers_in);
        let Some(group) = self.group_of(metadata) else { return };
        let pod = name(metadata);
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
            domain: label(metadata, labels::DISTRIBUTION_KEY),
            owner: Some(self.desired.uid.clone()),
            phase: PodPhase::Pending,
            ready: false,
            addresses: Vec::new(),
            unschedulable: Some("0/6 nodes are available: 6 Insufficient memory.".to_owned()),
            node: None,
            family: annotation(annotations::IP_FAMILY).and_then(|family| family.parse().ok()).filter(|family| *family != 0),
            asked_for: annotation(annotations::ASKED_FOR),
            rendering: annotation(annotations::RENDERING),
            given: objects::Tags::found(metadata),
            active_configuration: None,
            poked_for: None,
            environment: environment.map(|(name, value)| (name.to_owned(), value)).into(),
            requests,
            servers,
            isolated: false,
            crashing: None,
            created: self.now,
            deleted_since: None,
        };
        self.kube.pods.insert(pod.clone(), facts.into());
        self.bind(&pod);
    }

    /// Places a pod on the node with the fewest of its class, or of those without other logical fault domains the one with most of its
    /// own; if there is one.
    pub(super) fn bind(&mut self, name: &str) {
        let Some(pod) = self.kube.pods.get(name) else { return };
        let Some(group) = pod.group.clone() else { return };
        let (class, domain) = (class_of(&group), pod.domain.as_ref());
        let of_class = |node: &String| -> Vec<Option<&String>> {
            let here = self.kube.pods.values().filter(|pod| pod.node.as_ref() == Some(node));
            let here = here.filter(|pod| pod.group.as_ref().map(class_of) == Some(class));
            here.map(|pod| pod.domain.as_ref()).collect()
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
        if let Some(node) = node {
            self.put_on(name, &node);
        }
    }

    /// A pod runs on a node.
    pub(super) fn put_on(&mut self, name: &str, node: &str) {
        let Some(pod) = self.kube.pods.get_mut(name) else { return };
        let zone = pod.domain.clone().unwrap_or_else(|| node.to_owned());
        pod.environment.extend(
            [("FDB_MACHINE_ID", node), ("FDB_ZONE_ID", &zone), ("FDB_PHYSICAL_ZONE_ID", node)]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        pod.phase = PodPhase::Running;
        pod.ready = true;
        pod.addresses = vec![pod.environment["FDB_POD_IP"].clone()];
        pod.unschedulable = None;
        pod.node = Some(node.to_owned());
        if let Some(claim) = self.kube.claims.get_mut(&objects::claim_name(name)) {
            (claim.bound, claim.placed) = (true, true);
        }
    }

    /// Monitors take up the ConfigMap and start what is not running.
    pub(super) fn monitors(&mut self) {
        let Some(map) = &self.kube.config_map else { return };
        for (name, pod) in &mut self.kube.pods {
            let Some(group) = pod.group.clone().filter(|_| pod.phase == PodPhase::Running) else { continue };
            let class = class_of(&group);
            if !self.out_of_date.contains(name) || pod.active_configuration.is_none() {
                let key = if pod.domain.is_some() { "-packed-json" } else { "-json" };
                pod.active_configuration =
                    map.data.get(&format!("fdbmonitor-conf-{class}{key}")).map(|text| text.as_str().into());
            }
            let Some(text) = &pod.active_configuration else { continue };
            let Ok(configuration) = serde_json::from_str::<MonitorConfiguration>(text) else { continue };
            if configuration.run_servers == Some(false) || self.dead.contains(&group.0) {
                continue;
            }
            let Ok(arguments) = configuration.command_line(&pod.environment, 1) else { continue };
            let server = Server {
                address: format!("{}:4501", pod.environment["FDB_PUBLIC_IP"]),
                dns_name: pod.environment["FDB_DNS_NAME"].clone(),
                class,
                zone: pod.environment["FDB_ZONE_ID"].clone(),
                host: pod.environment["FDB_MACHINE_ID"].clone(),
                arguments: arguments.join(" "),
                version: configuration.version.clone(),
                started: self.now,
            };
            self.database.start(group, server);
        }
        if let Some(connection) = map.data.get(objects::CLUSTER_FILE) {
            self.database.begin_with(connection);
        }
    }
}

/// A node that is well.
pub(super) fn node_facts(name: &str) -> NodeFacts {
    let labels = BTreeMap::from([("kubernetes.io/hostname".to_owned(), name.to_owned())]);
    NodeFacts { labels, ready: true, ..NodeFacts::default() }
}

pub(super) fn claim_facts(claim: &PersistentVolumeClaim, group: Option<ProcessGroupId>) -> (String, ClaimFacts) {
    let size = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.requests.as_ref()?.get("storage"));
    let annotation = |name: &str| claim.metadata.annotations.as_ref().and_then(|all| all.get(name).cloned());
    let facts = ClaimFacts {
        uid: format!("uid-{}", name(&claim.metadata)),
        resource_version: "5".to_owned(),
        group,
        domain: label(&claim.metadata, labels::DISTRIBUTION_KEY),
        deleted_since: None,
        asked_for: annotation(annotations::ASKED_FOR),
        servers: annotation(annotations::SERVERS).and_then(|servers| servers.parse().ok()),
        given: objects::Tags::found(&claim.metadata),
        size: size.map(|size| size.0.clone()),
        storage_class: Some("standard".to_owned()),
        may_grow: Some(true),
        owners: claim.metadata.owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect(),
        bound: true,
        placed: true,
        lost: false,
    };
    (name(&claim.metadata), facts)
}

/// What a service asked for, or what most clusters begin with.
pub(super) fn families(service: &Service) -> Vec<String> {
    let asked = service.spec.as_ref().and_then(|spec| spec.ip_families.clone());
    asked.unwrap_or_else(|| vec!["IPv4".to_owned()])
}

fn name(metadata: &ObjectMeta) -> String {
    metadata.name.clone().unwrap_or_default()
}

fn label(metadata: &ObjectMeta, key: &str) -> Option<String> {
    metadata.labels.as_ref()?.get(key).cloned()
}

#[cfg(test)]
pub(crate) fn group_id(id: &str) -> ProcessGroupId {
    ProcessGroupId(id.to_owned())
}

/// The class of a group, by its name.
pub(crate) fn class_of(id: &ProcessGroupId) -> ProcessClass {
    let stem = id.0.rsplit_once('-').map_or("", |(stem, _)| stem);
    ProcessClass::ALL.iter().copied().find(|class| stem.ends_with(class.name())).unwrap_or(ProcessClass::Stateless)
}
