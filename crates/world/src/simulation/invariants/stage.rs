//! What the invariants look at: the objects of the API and the database, as they are and not as anybody sees them.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use quorate_api::foundationdb::{FoundationDBCluster, ProcessGroupStatus};
use quorate_foundationdb::{GroupCondition, ProcessClass, labels};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use super::super::news::Arrival;
use crate::database::Database;
use crate::mirror::Mirror;

/// The world at one moment.
#[derive(Clone, Copy)]
pub(crate) struct Stage<'a> {
    pub(crate) world: &'a Mirror,
    pub(crate) database: Option<&'a Database>,
    /// The world's time, which no jump of the operators' clocks concerns.
    pub(crate) time: Timestamp,
    pub(crate) now: Instant,
}

impl<'a> Stage<'a> {
    /// The cluster; a world has one.
    pub(super) fn cluster(self) -> Option<&'a FoundationDBCluster> {
        self.world.clusters.values().next()
    }

    /// Every process group that is recorded.
    pub(super) fn groups(self) -> impl Iterator<Item = Group<'a>> {
        self.cluster().into_iter().flat_map(groups_of)
    }

    pub(super) fn group(self, id: &str) -> Option<Group<'a>> {
        self.groups().find(|group| group.id == id)
    }

    /// How many process groups of a class are asked for.
    pub(super) fn wanted(self, class: ProcessClass) -> usize {
        self.cluster().map_or(0, |cluster| wanted(cluster, class))
    }

    /// Whether a pod or a claim of a process group exists.
    pub(super) fn has_objects(self, id: &str) -> bool {
        let mut of_pods = self.world.pods.values().filter(|pod| pod.metadata.owner_references.is_some()).map(|pod| &pod.metadata);
        let mut of_claims = self.world.claims.values().map(|claim| &claim.metadata);
        let ours = |metadata: &ObjectMeta| group_of(metadata).is_some_and(|group| group == id);
        of_pods.any(ours) || of_claims.any(ours)
    }
}

/// A status that an operator wrote, and the object before and after it.
pub(super) struct StatusWrite<'a> {
    pub(super) arrival: &'a Arrival,
    pub(super) before: FoundationDBCluster,
    pub(super) after: FoundationDBCluster,
}

impl<'a> StatusWrite<'a> {
    pub(super) fn of(arrival: &'a Arrival) -> Option<Self> {
        let read = |object: &Option<Arc<Value>>| FoundationDBCluster::deserialize(object.as_deref()?).ok();
        Some(Self { arrival, before: read(&arrival.before)?, after: read(&arrival.after)? })
    }
}

/// How many process groups of a class an object asks for.
pub(super) fn wanted(cluster: &FoundationDBCluster, class: ProcessClass) -> usize {
    let asked = cluster.spec.process_counts.as_ref().and_then(|counts| counts.of(class));
    asked.and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
}

/// The process groups an object has recorded.
pub(super) fn groups_of(cluster: &FoundationDBCluster) -> impl Iterator<Item = Group<'_>> {
    let groups = cluster.status.iter().flat_map(|status| status.process_groups.iter().flatten());
    groups.filter_map(|status| Some(Group { id: status.process_group_id.as_deref()?, status }))
}

/// A process group as it is recorded.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    pub(super) id: &'a str,
    pub(super) status: &'a ProcessGroupStatus,
}

impl Group<'_> {
    pub(super) fn class(self) -> Option<ProcessClass> {
        self.status.process_class.as_deref().and_then(|class| class.parse().ok())
    }

    pub(super) fn is_marked(self) -> bool {
        self.status.removal_timestamp.is_some()
    }

    pub(super) fn is_skipped(self) -> bool {
        self.status.exclusion_skipped == Some(true)
    }

    /// Marked, and its data is not known to be elsewhere.
    pub(super) fn is_in_flight(self) -> bool {
        self.is_marked() && self.status.exclusion_timestamp.is_none() && !self.is_skipped()
    }

    pub(super) fn has(self, condition: GroupCondition) -> bool {
        let mut conditions = self.status.process_group_conditions.iter().flatten();
        conditions.any(|one| one.type_.as_deref() == Some(condition.name()))
    }

    pub(super) fn addresses(self) -> impl Iterator<Item = String> {
        self.status.addresses.clone().unwrap_or_default().into_iter()
    }
}

/// The process group an object belongs to.
pub(super) fn group_of(metadata: &ObjectMeta) -> Option<&String> {
    metadata.labels.as_ref()?.get(labels::GROUP)
}

/// The class of the processes of an object.
pub(super) fn class_of(metadata: &ObjectMeta) -> Option<&str> {
    metadata.labels.as_ref()?.get(labels::CLASS).map(String::as_str)
}

/// The process group an object belongs to, before anybody has read it.
pub(super) fn group_in(object: &Value) -> &str {
    object["metadata"]["labels"][labels::GROUP].as_str().unwrap_or_default()
}
