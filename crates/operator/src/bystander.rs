//! The operator without hands: it takes in objects as watches would bring them and says what it would do. Nothing is asked and nothing is
//! written, so it serves whoever has objects but no API to act on: measurements, and plans for what is in a file.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Node, PersistentVolumeClaim, Pod};
use quorate_api::foundationdb::{FoundationDBCluster, FoundationDBClusterStatus};
use quorate_foundationdb::decide::{ClusterDecision, ClusterSnapshot};
use quorate_foundationdb::{DatabaseReport, KubeFacts, decide};
use quorate_quorum::{Epoch, Shared, Sighting};

use crate::ClusterKey;
use crate::foundationdb::shown_status;
use crate::foundationdb::{
    checked_wish, claim_facts, config_map_facts, node_facts, pod_facts, recorded_journal, recorded_status,
};
use crate::index::{Change, ClusterObject, Facts, Index, Kind};
use crate::watches::{any_cluster, object_change, owning_cluster};

/// An operator that only looks.
#[derive(Debug, Default)]
pub struct Bystander {
    index: Index,
}

/// An object that is watched.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "Kubernetes' own words")]
pub enum Watched {
    Cluster(Box<FoundationDBCluster>),
    Pod(Box<Pod>),
    Claim(Box<PersistentVolumeClaim>),
    ConfigMap(Box<ConfigMap>),
    Node(Box<Node>),
}

impl Bystander {
    /// Takes in an object and names the clusters it concerns.
    pub fn see(&mut self, object: Watched) -> BTreeSet<ClusterKey> {
        self.index.apply(change(object))
    }

    /// Takes in a whole list of pods, as after a watch that broke: what is not in it is gone.
    pub fn see_all_pods(&mut self, pods: impl IntoIterator<Item = Pod>) {
        self.index.apply(Change::ListBegins(Kind::Pods));
        for pod in pods {
            self.see(Watched::Pod(Box::new(pod)));
        }
        self.index.apply(Change::ListEnds(Kind::Pods));
    }

    /// What would be done for a cluster now, and the status that would be written; nothing if there is no such cluster.
    pub fn plan(
        &self,
        key: &ClusterKey,
        now: Timestamp,
        database: Sighting<Shared<DatabaseReport>>,
    ) -> Option<(ClusterDecision, FoundationDBClusterStatus)> {
        let seen = self.snapshot(key, now, database)?;
        let decision = decide(&seen);
        let status = self.index.get(key)?.object.as_ref()?.status.as_ref();
        let shown = shown_status(status, &decision, &seen.desired, now);
        Some((decision, shown))
    }

    /// Everything that a decision about a cluster depends on, now; nothing if there is no such cluster.
    pub fn snapshot(
        &self,
        key: &ClusterKey,
        now: Timestamp,
        database: Sighting<Shared<DatabaseReport>>,
    ) -> Option<ClusterSnapshot> {
        let known = self.index.get(key)?;
        let object = known.object.as_ref()?;
        let status = object.status.as_ref();
        // Storage classes are not shown to it.
        let kube = KubeFacts { recorded: recorded_status(status), storage_classes: None, ..self.index.facts(known, object) };
        let journal = recorded_journal(status);
        let epoch = kube.recorded.epoch.max(Epoch(1));
        // It carries out nothing, so no clock can mislead it into anything.
        let steady_since = Timestamp::UNIX_EPOCH;
        Some(ClusterSnapshot { now, steady_since, epoch, desired: checked_wish(object).into(), kube, database, journal })
    }
}

fn change(object: Watched) -> Change {
    match object {
        Watched::Cluster(cluster) => {
            let namespace = cluster.metadata.namespace.clone().unwrap_or_default();
            let key = ClusterKey { namespace, name: cluster.metadata.name.clone().unwrap_or_default() };
            Change::Cluster(key, Box::new(ClusterObject::Present(Arc::from(cluster))))
        }
        Watched::Pod(pod) => object_change(Kind::Pods, any_cluster, |pod| Facts::Pod(pod_facts(pod)), pod.as_ref(), true),
        Watched::Claim(claim) => {
            object_change(Kind::Claims, any_cluster, |claim| Facts::Claim(claim_facts(claim)), claim.as_ref(), true)
        }
        Watched::ConfigMap(map) => {
            object_change(Kind::ConfigMaps, owning_cluster, |map| Facts::ConfigMap(config_map_facts(map)), map.as_ref(), true)
        }
        Watched::Node(node) => Change::Node(node.metadata.name.clone().unwrap_or_default(), Some(Box::new(node_facts(*node)))),
    }
}
