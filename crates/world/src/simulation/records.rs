//! What is on record is lost: the object with everything it said, or its status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use quorate_api::foundationdb::{FoundationDBCluster, FoundationDBClusterStatus};
use quorate_fdb_client::Management;
use quorate_foundationdb::ProcessGroupId;

use super::hands::Insistence;
use super::invariants::Invariants;
use super::run::World;
use super::trouble::Repair;
use crate::database::Database;
use crate::scenery::{CLUSTER, NAMESPACE, known_as};

/// So long after it was on record nobody remembers who excluded something, and somebody looks and lifts it.
const SOMEBODY_LOOKS_AFTER: u64 = 120;

impl World {
    /// Somebody deletes the object. Its pods go with it, and its volumes stay.
    pub(super) fn delete_the_object(&mut self, seconds: u64) {
        let Some(object) = self.born_object() else { return };
        self.faults.fault("object made again", format!("somebody deletes the object, and makes it again after {seconds} s"));
        self.cluster.kubernetes.delete::<FoundationDBCluster>(NAMESPACE, CLUSTER, None).ok();
        self.repair_in(seconds, Repair::MakeObjectAgain(Box::new(object)));
        self.forget_records(seconds);
    }

    /// As it was, with the way to its database.
    pub(super) fn make_the_object_again(&mut self, mut object: FoundationDBCluster) {
        object.metadata =
            ObjectMeta { name: object.metadata.name, namespace: object.metadata.namespace, ..ObjectMeta::default() };
        object.status = None;
        // Whoever makes it again wants it to be looked after.
        object.spec.skip = None;
        object.spec.seed_connection_string = self.databases.look(&known_as(), |database| database.map(Database::connection));
        self.faults.tell("somebody makes the object again");
        self.cluster.kubernetes.create(&object).ok();
        self.on_stage(Invariants::records_are_lost);
    }

    /// Somebody writes an empty status.
    pub(super) fn lose_the_status(&mut self) {
        let Some(mut object) = self.born_object() else { return };
        self.faults.fault("status lost", "somebody writes an empty status");
        object.status = Some(FoundationDBClusterStatus::default());
        self.cluster.kubernetes.update_status(&object).ok();
        self.forget_records(0);
    }

    /// The object, if its database was ever created.
    fn born_object(&self) -> Option<FoundationDBCluster> {
        let born = self.databases.look(&known_as(), |database| database.and_then(Database::replicas)).is_some();
        self.cluster.kubernetes.get(NAMESPACE, CLUSTER).ok().filter(|_| born)
    }

    fn forget_records(&mut self, seconds: u64) {
        self.on_stage(Invariants::records_are_lost);
        let excluded = self.databases.look(&known_as(), |database| database.map(Database::excluded)).unwrap_or_default();
        for place in excluded {
            self.repair_in(seconds + SOMEBODY_LOOKS_AFTER, Repair::Include(place));
        }
        self.repair_in(seconds + SOMEBODY_LOOKS_AFTER, Repair::IncludeWhatNobodyRemembers);
    }

    /// What was decided by the record may have been excluded right after that was lost.
    pub(super) fn include_what_nobody_remembers(&mut self) {
        let excluded = self.databases.look(&known_as(), |database| database.map(Database::excluded)).unwrap_or_default();
        let object: Option<FoundationDBCluster> = self.cluster.kubernetes.get(NAMESPACE, CLUSTER).ok();
        let groups = object.and_then(|object| object.status?.process_groups).unwrap_or_default();
        let is_known = |place: &String| {
            let mut groups = groups.iter();
            groups.any(|group| {
                let id = group.process_group_id.clone().unwrap_or_default();
                ProcessGroupId(id).locality() == *place || group.addresses.iter().flatten().any(|address| address == place)
            })
        };
        for place in excluded.into_iter().filter(|place| !is_known(place)) {
            self.by_hand(Management::Include(vec![place]), Insistence::UntilItIsDone);
        }
    }
}
