//! Who plays in a chapter: the cluster object, its pods, its database and whoever uses it.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use quorate_api::foundationdb::{
    BucketStatus, FoundationDBCluster, FoundationDBClusterSpec, FoundationDBClusterStatus, ProcessGroupStatus,
};
use quorate_fdb_client::{Answer, Call, Commit, Expectation, FoundationDb, OWN_KEYS, Octets, Target, Write};
use quorate_world::Stage;
use quorate_world::database::Database;
use quorate_world::kubelet::{Fault, Window};
use quorate_world::kubernetes::Status;
use quorate_world::scenery::{CLUSTER as NAME, NAMESPACE};
use serde_json::Value;

/// The cluster of every chapter.
pub(super) const CLUSTER: &str = "
apiVersion: apps.foundationdb.org/v1beta2
kind: FoundationDBCluster
metadata:
  name: sample
  namespace: default
spec:
  version: 7.3.69
  databaseConfiguration:
    redundancy_mode: double
    storage_engine: ssd-2
  processCounts:
    storage: 4
    log: 4
    stateless: 3
  minimumUptimeSecondsForBounce: 60
  automationOptions:
    replacements:
      failureDetectionTimeSeconds: 180
";

/// Everybody who is on the stage.
#[derive(Clone, Copy)]
pub(super) struct Cast<'a>(pub(super) &'a Stage);

impl Cast<'_> {
    /// Creates the cluster object, or changes what is said in it.
    pub(super) fn merge(self, change: &Value) -> Result<(), Status> {
        let kubernetes = self.0.kubernetes();
        let Ok(mut object) = kubernetes.get_value("apps.foundationdb.org/v1beta2", "FoundationDBCluster", NAMESPACE, NAME) else {
            return kubernetes.create_value(change.clone()).map(drop);
        };
        merge(&mut object, change);
        kubernetes.update_value(object).map(drop)
    }

    pub(super) fn object(self) -> FoundationDBCluster {
        // Every chapter begins by applying it.
        self.0
            .kubernetes()
            .get(NAMESPACE, NAME)
            .unwrap_or_else(|_| FoundationDBCluster::new(NAME, FoundationDBClusterSpec::default()))
    }

    pub(super) fn status(self) -> FoundationDBClusterStatus {
        self.object().status.unwrap_or_default()
    }

    /// The newest wish is carried out, nothing is held, the database is available.
    pub(super) fn is_at_rest(self) -> bool {
        let object = self.object();
        let Some(status) = object.status else { return false };
        let reconciled = status.generations.as_ref().and_then(|generations| generations.reconciled);
        let holds = status.quorate.as_ref().and_then(|quorate| quorate.holds.as_ref());
        reconciled == object.metadata.generation
            && holds.is_none_or(Vec::is_empty)
            && status.reconciled_process_groups == status.desired_process_groups
            && self.available()
            && self.pods().len() == status.process_groups.map_or(0, |groups| groups.len())
    }

    /// Why nothing more is done, in the operator's own words.
    pub(super) fn held(self) -> String {
        let holds = self.status().quorate.and_then(|quorate| quorate.holds).unwrap_or_default();
        let sentences: Vec<String> = holds.iter().take(3).map(|hold| format!("{}: {}", hold.reason, hold.sentence)).collect();
        if sentences.is_empty() { "nothing is held".to_owned() } else { format!("held: {}", sentences.join("; ")) }
    }

    /// The reasons for which something about this process group is held.
    pub(super) fn held_for(self, group: &str) -> Vec<String> {
        let holds = self.status().quorate.and_then(|quorate| quorate.holds).unwrap_or_default();
        holds.into_iter().filter(|hold| hold.about == group).map(|hold| hold.reason).collect()
    }

    pub(super) fn buckets(self) -> Vec<BucketStatus> {
        self.status().quorate.and_then(|quorate| quorate.buckets).unwrap_or_default()
    }

    /// The buckets in one line.
    pub(super) fn buckets_in_words(self) -> String {
        let words = self.buckets().into_iter().map(|bucket| {
            let who = if bucket.held_by.is_empty() { String::new() } else { format!(" ({})", bucket.held_by.join(", ")) };
            format!("{} {}/{}{who}", bucket.bucket, bucket.used, bucket.limit)
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// The process groups by name.
    pub(super) fn groups(self) -> BTreeMap<String, ProcessGroupStatus> {
        let groups = self.status().process_groups.unwrap_or_default();
        groups.into_iter().filter_map(|group| Some((group.process_group_id.clone()?, group))).collect()
    }

    /// Whether a process group is marked to go, or gone already.
    pub(super) fn is_being_replaced(self, group: &str) -> bool {
        self.groups().get(group).is_none_or(|group| group.removal_timestamp.is_some())
    }

    pub(super) fn pods(self) -> Vec<Pod> {
        self.0.kubernetes().list(NAMESPACE).unwrap_or_default()
    }

    /// The last process group of a class, which is no coordinator if it can be helped.
    pub(super) fn last_of(self, class: &str) -> String {
        let of_class = |(_, group): &(String, ProcessGroupStatus)| group.process_class.as_deref() == Some(class);
        let mut names: Vec<(bool, String)> =
            self.groups().into_iter().filter(of_class).map(|(name, group)| (!self.is_coordinator(&name, &group), name)).collect();
        names.sort();
        names.pop().map(|(_, name)| name).unwrap_or_default()
    }

    /// The process group of some coordinator.
    pub(super) fn a_coordinator(self) -> String {
        let found = self.groups().into_iter().find(|(name, group)| self.is_coordinator(name, group));
        found.map(|(name, _)| name).unwrap_or_default()
    }

    /// Whether the connection string names it, by its pod or by its address.
    fn is_coordinator(self, name: &str, group: &ProcessGroupStatus) -> bool {
        let connection = self.status().connection_string.unwrap_or_default();
        let by_name = connection.contains(&format!("{}.", Self::pod_of(name)));
        by_name || group.addresses.iter().flatten().any(|address| connection.contains(&format!("{address}:")))
    }

    /// The pod of a process group.
    pub(super) fn pod_of(group: &str) -> String {
        format!("{NAME}-{group}")
    }

    /// The servers of a process group crash from now on, whenever they are started.
    pub(super) fn fail(self, group: &str) {
        let crashes = Fault::ContainerCrashLoops {
            namespace: NAMESPACE.to_owned(),
            pod: Self::pod_of(group),
            container: "foundationdb".to_owned(),
            during: self.since_now(),
            runs_for: jiff::SignedDuration::from_millis(100),
            exit_code: 1,
        };
        self.0.cluster.change_settings(|settings| settings.faults.push(crashes));
    }

    pub(super) fn since_now(self) -> Window {
        Window { from: self.0.now(), until: None::<Timestamp> }
    }

    /// Asks the model of the database what is really so.
    pub(super) fn database<T>(self, ask: impl FnOnce(&mut Database) -> T) -> Option<T> {
        self.0.databases.with(&format!("{NAMESPACE}/{NAME}"), ask)
    }

    pub(super) fn available(self) -> bool {
        self.database(|database| database.available()) == Some(true)
    }

    /// How many recoveries there were so far.
    pub(super) fn recoveries(self) -> u64 {
        self.database(|database| database.recoveries()).unwrap_or_default()
    }

    /// A client of the database writes a key.
    pub(super) async fn write(self, key: &str, value: &str) -> bool {
        self.commit(Commit { writes: vec![Write::Set(own(key), value.into())], ..Commit::default() }).await
    }

    /// A client of the database finds a key as it was written.
    pub(super) async fn reads(self, key: &str, value: &str) -> bool {
        self.commit(Commit { expect: vec![Expectation::Key(own(key), Some(value.into()))], ..Commit::default() }).await
    }

    async fn commit(self, commit: Commit) -> bool {
        let connection = self.status().connection_string.unwrap_or_default();
        let cluster = format!("{NAMESPACE}/{NAME}");
        let target = Target { cluster, connection, version: "7.3.69".to_owned(), tls: None };
        let answer = self.0.databases.call(&target, Call::Commit(commit), Duration::from_secs(10)).await;
        answer == Ok(Answer::Committed)
    }
}

fn own(key: &str) -> Octets {
    Octets([OWN_KEYS, key.as_bytes()].concat())
}

/// What is said takes the place of what was; what is not said stays.
fn merge(object: &mut Value, change: &Value) {
    match (object, change) {
        (Value::Object(object), Value::Object(change)) => {
            for (key, value) in change {
                merge(object.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (object, change) => *object = change.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_says_only_what_is_new() {
        let mut object = json!({"spec": {"version": "1", "counts": {"log": 3}}});
        merge(&mut object, &json!({"spec": {"counts": {"storage": 4}}}));
        assert_eq!(object, json!({"spec": {"version": "1", "counts": {"log": 3, "storage": 4}}}));
    }
}
