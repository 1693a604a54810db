//! What people do with their own hands, to servers, nodes and the database itself.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use quorate_fdb_client::{Call, Commit, FoundationDb, Management, Target};
use quorate_foundationdb::labels;

use super::run::World;
use super::trouble::{Repair, chosen};
use crate::database::Server;
use crate::scenery::{self, NAMESPACE, TAINT};

/// What a disk that fails is called.
pub(super) const DISK_WORN: &str = "disk worn";

/// For so long somebody waits for an answer.
const BY_HAND: Duration = Duration::from_secs(30);

/// So often somebody lifts an exclusion that is there again: it may have been on its way. Later ones are somebody else's.
const LIFTED_AGAIN: u32 = 3;

/// Whether somebody tries again what failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insistence {
    Once,
    UntilItIsDone,
}

impl World {
    fn servers(&self) -> Vec<Server> {
        self.databases
            .look(&scenery::known_as(), |database| database.map(|database| database.servers().collect()))
            .unwrap_or_default()
    }

    pub(super) fn crash_a_server(&self, pick: u64) {
        let Some(pod) = self.some_pod(pick) else { return };
        self.faults.fault("server crashed", format!("the server of pod {pod} crashes"));
        let now = self.clock.true_now();
        self.cluster.servers(|servers| servers.crash(NAMESPACE, &pod, 1, now));
    }

    pub(super) fn wear_out_a_disk(&self, pick: u64) {
        let mut servers = self.servers();
        servers.retain(|server| server.class != "stateless");
        if servers.is_empty() {
            return;
        }
        let Server { group, volume, .. } = chosen(&servers, pick);
        self.faults.fault(DISK_WORN, format!("the disk of {group} begins to fail"));
        self.databases.with(&scenery::known_as(), |database| database.wear_out(volume));
    }

    pub(super) fn lose_a_coordinator(&self, pick: u64, seconds: u64, keeps_running: bool) {
        let coordinators: Vec<Server> = self.servers().into_iter().filter(|server| server.coordinates).collect();
        if coordinators.is_empty() {
            return;
        }
        let node = chosen(&coordinators, pick).physical_zone.clone();
        self.faults.fault("coordinator lost", format!("{node}, where a coordinator is, is lost for {seconds} s"));
        self.lose(&[&node], seconds, keeps_running);
    }

    pub(super) fn taint(&self, node: &str, tainted: bool) {
        let Ok(mut node) = self.cluster.kubernetes.get::<Node>("", node) else { return };
        let taints = node.spec.get_or_insert_default().taints.get_or_insert_default();
        taints.retain(|taint| taint.key != TAINT);
        if tainted {
            taints.push(Taint { key: TAINT.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() });
        }
        self.cluster.kubernetes.update(&node).ok();
    }

    pub(super) fn delete_all_pods(&self) {
        self.faults.fault("all pods deleted", "somebody deletes all pods at once");
        let names: Vec<String> = self.cluster.look(|world| world.pods.keys().map(|(_, name)| name.clone()).collect());
        for name in names {
            self.cluster.kubernetes.delete::<Pod>(NAMESPACE, &name, None).ok();
        }
    }

    pub(super) fn exclude_by_hand(&mut self, pick: u64, seconds: u64) {
        let servers: Vec<Server> = self.servers().into_iter().filter(|server| !server.excluded).collect();
        let whole =
            self.databases.look(&scenery::known_as(), |database| database.is_some_and(crate::database::Database::is_whole));
        if servers.is_empty() || !whole {
            return;
        }
        let address = chosen(&servers, pick).address.clone();
        self.faults.fault("excluded by hand", format!("somebody excludes {address} for {seconds} s"));
        self.by_hand(Management::Exclude(vec![address.clone()]), Insistence::Once);
        self.repair_in(seconds, Repair::Include(address));
    }

    /// To any three on different hosts, whether they are meant to go or not; but to nobody whose pod is deleted already.
    pub(super) fn change_coordinators_by_hand(&self, pick: u64) {
        let mut servers = self.servers();
        let lasts = |pod: &Pod| pod.metadata.deletion_timestamp.is_none();
        let lasting = self.cluster.look(|world| {
            let pods = world.pods.values().filter(|pod| lasts(pod));
            pods.filter_map(|pod| pod.metadata.labels.as_ref()?.get(labels::GROUP).cloned()).collect::<BTreeSet<_>>()
        });
        servers.retain(|server| server.class != "stateless" && lasting.contains(&server.group));
        let count = servers.len();
        servers.rotate_left(usize::try_from(pick % count.max(1) as u64).unwrap_or(0));
        let mut chosen: Vec<&Server> = Vec::new();
        for server in &servers {
            if chosen.len() < 3 && chosen.iter().all(|one| one.physical_zone != server.physical_zone) {
                chosen.push(server);
            }
        }
        if chosen.len() < 3 {
            return;
        }
        let addresses: Vec<String> =
            chosen.into_iter().map(|server| server.name.clone().unwrap_or_else(|| server.address.clone())).collect();
        self.faults.fault("coordinators by hand", format!("somebody makes {} coordinators", addresses.join(", ")));
        self.by_hand(Management::Coordinators(addresses), Insistence::Once);
    }

    /// Somebody with a command line of their own.
    pub(super) fn by_hand(&self, manage: Management, insistence: Insistence) {
        let databases = self.databases.clone();
        let included = if let Management::Include(places) = &manage { places.clone() } else { Vec::new() };
        let call = Call::Commit(Commit { manage: Some(manage), ..Commit::default() });
        tokio::spawn(async move {
            let mut lifted = 0;
            while lifted < LIFTED_AGAIN {
                let connection =
                    databases.look(&scenery::known_as(), |database| database.map(crate::database::Database::connection));
                let Some(connection) = connection else { return };
                let target = Target { cluster: scenery::known_as(), connection, version: "7.3.69".to_owned(), tls: None };
                let answer = databases.call(&target, call.clone(), BY_HAND).await;
                if insistence == Insistence::Once || (answer.is_ok() && included.is_empty()) {
                    return;
                }
                lifted += u32::from(answer.is_ok());
                // The exclusion itself may still be on its way when it is lifted.
                tokio::time::sleep(if answer.is_ok() { BY_HAND } else { Duration::from_secs(10) }).await;
                let excluded = databases.look(&scenery::known_as(), |database| database.map(crate::database::Database::excluded));
                if answer.is_ok() && !excluded.iter().flatten().any(|place| included.contains(place)) {
                    return;
                }
            }
        });
    }
}
