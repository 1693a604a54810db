//! A tiny world to tell stories in: the one of forecasts, in which a story breaks what it is about.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::invariants;
use crate::decide::{ClusterDecision, decide};
use crate::report::DatabaseReport;
use crate::{
    Automation, Buggify, ClassTemplate, DatabaseWish, Desired, Labels, PodFacts, ProcessClass, ProcessGroup, Routing, Topology,
    labels,
};

pub(super) use super::told::told;
pub(super) use crate::forecast::cluster::{Cluster, class_of, group_id};

pub(super) const OUR_UID: &str = "cluster-uid";

pub(super) fn wish(counts: &[(ProcessClass, u32)]) -> Desired {
    let of_cluster = BTreeMap::from([(labels::CLUSTER.to_owned(), "sample".to_owned())]);
    Desired {
        name: "sample".to_owned(),
        namespace: "default".to_owned(),
        uid: OUR_UID.to_owned(),
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
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1000);
        Self::of(wish(counts), now, (1..=6).map(|node| format!("node-{node}")).collect())
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

    /// Somebody wrote down that a pod is about to be made again; nothing else shows it yet.
    pub fn goes(&mut self, id: &str) {
        let (uid, zone) = (self.pod(id).uid.clone(), self.pod(id).node.clone().unwrap_or_default());
        let entry = quorate_quorum::JournalEntry { what: "made again".to_owned(), uid, zone, since: self.now };
        self.journal.begin(format!("sample-{id}"), entry);
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
}

/// Why nothing more is done.
pub(super) fn codes(decision: &ClusterDecision) -> Vec<&'static str> {
    decision.holds.iter().map(|hold| hold.reason.0).collect()
}
