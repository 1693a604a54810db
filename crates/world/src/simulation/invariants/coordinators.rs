//! Coordinators: 11, 12, 14 and 15.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::super::news::Asked;
use super::stage::group_of;
use super::{Invariants, Stage};

/// A watch may show a pod as it was so long ago.
const DELETIONS_ARE_SEEN_AFTER: SignedDuration = SignedDuration::from_secs(45);

/// Whether the pod of a process group is on its way out, and has been for so long that everybody knows.
fn ends(id: &str, stage: Stage<'_>) -> bool {
    let mut pods = stage.world.pods.values().filter(|pod| group_of(&pod.metadata).is_some_and(|group| group == id));
    pods.any(|pod| {
        let ends = pod.metadata.deletion_timestamp.as_ref().map(|time| time.0);
        ends.is_some_and(|ends| stage.time.duration_since(ends) >= DELETIONS_ARE_SEEN_AFTER)
    })
}

impl Invariants {
    /// 12: each is on a host of its own, whatever its logical fault domain is called. 14: nobody becomes a coordinator who is excluded or
    /// to go, nor whose pod is about to end. 15: all of the new ones and a majority of the old ones run.
    pub(super) fn coordinators_fit(&mut self, asked: &Asked, addresses: &[String], stage: Stage<'_>) {
        let Some(database) = stage.database else { return };
        let client = &asked.client;
        let servers: Vec<_> = database.servers().collect();
        for address in addresses {
            let server = servers.iter().find(|server| server.is_meant_by(address));
            let may_run = self.memory.serving(asked.at).any(|server| server.is_meant_by(address));
            self.demand(15, may_run, || format!("{client} makes {address} a coordinator, where nothing runs"));
            let Some(server) = server else { continue };
            let may_be_included = !server.excluded || self.memory.may_be_included(&server.group, asked.at);
            self.demand(14, may_be_included, || format!("{client} makes {address} a coordinator, which is excluded"));
            let to_go = stage.group(&server.group).is_some_and(super::stage::Group::is_marked);
            self.demand(14, !to_go, || format!("{client} makes {address} a coordinator, which is to go"));
            let ends = ends(&server.group, stage);
            self.demand(14, !ends, || format!("{client} makes {address} a coordinator, whose pod has been deleted for long"));
        }
        let chosen: Vec<_> =
            servers.iter().filter(|server| addresses.iter().any(|address| server.is_meant_by(address))).collect();
        let hosts: BTreeSet<&str> = chosen.iter().map(|server| server.physical_zone.as_str()).collect();
        self.demand(12, hosts.len() == chosen.len(), || format!("{client} makes {addresses:?} coordinators, on hosts {hosts:?}"));
        // For the sake of one that is lost; others wait longer.
        let spacing = SignedDuration::from_secs(120);
        self.recoveries_keep_their_distance(asked, "change the coordinators", spacing, stage);
        let (quorum, known) = (database.quorum(), self.memory.coordinators_are_known(asked.at));
        let answering = self.memory.serving(asked.at).filter(|server| server.coordinates).count().max(quorum.answering);
        self.demand(15, answering >= quorum.majority || !known, || {
            format!("{client} changes the coordinators, and {answering} of the {} old ones answer", quorum.all)
        });
        let count = addresses.len();
        self.demand(15, count % 2 == 1, || format!("{client} makes {count} processes coordinators"));
    }

    /// 11: a pod of a coordinator is taken down only if the others are a majority, and one more.
    pub(super) fn majority_stays(&mut self, client: &str, group: &str, stage: Stage<'_>) {
        let Some(database) = stage.database else { return };
        let down = |id: &str| id == group || self.taken_down.contains_key(id);
        let coordinates = database.servers().any(|server| server.coordinates && server.group == group);
        if !coordinates || !self.memory.coordinators_are_known(stage.now) {
            return;
        }
        let quorum = database.quorum();
        let known = |group: &str| self.memory.may_serve(group, stage.now);
        let left =
            self.memory.servers.values().filter(|(server, _)| server.coordinates && known(&server.group) && !down(&server.group));
        let left = left.count();
        self.demand(11, left >= quorum.majority, || {
            format!("{client} took {group} down, and {left} of {} coordinators are left", quorum.all)
        });
    }
}
