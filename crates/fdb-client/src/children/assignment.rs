//! Who serves whom, and how much waits.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::task::JoinHandle;

use super::mailbox::Mailbox;
use super::{Settings, process};
use crate::contract::{Failure, Target, TlsIdentity};
use crate::libraries;

/// What a child is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    pub(crate) library: PathBuf,
    pub(crate) tls: Option<TlsIdentity>,
}

pub(crate) struct Assignments {
    settings: Arc<Settings>,
    clusters: BTreeMap<String, Cluster>,
    children: BTreeMap<u64, Child>,
    /// Calls and children are numbered together.
    next: u64,
    waiting: usize,
    waiting_bytes: usize,
    /// Children that were let go and are about to end.
    ending: Vec<JoinHandle<()>>,
}

struct Cluster {
    child: u64,
    version: String,
    waiting: usize,
}

struct Child {
    purpose: Purpose,
    mailbox: Arc<Mailbox>,
    task: JoinHandle<()>,
}

impl Assignments {
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            clusters: BTreeMap::new(),
            children: BTreeMap::new(),
            next: 0,
            waiting: 0,
            waiting_bytes: 0,
            ending: Vec::new(),
        }
    }

    /// The child for a target, and a number for the call. Another version or identity than before moves the cluster to another child.
    pub(crate) fn assign(&mut self, target: &Target) -> Result<(Arc<Mailbox>, u64), Failure> {
        self.next += 1;
        let id = self.next;
        if let Some(cluster) = self.clusters.get(&target.cluster)
            && let Some(child) = self.children.get(&cluster.child)
            && cluster.version == target.version
            && child.purpose.tls == target.tls
        {
            return Ok((Arc::clone(&child.mailbox), id));
        }
        let library = libraries::find(&self.settings.libraries, &target.version)?;
        let purpose = Purpose { library, tls: target.tls.clone() };
        let waiting = self.clusters.get(&target.cluster).map_or(0, |cluster| cluster.waiting);
        let stays = self
            .clusters
            .get(&target.cluster)
            .map(|cluster| cluster.child)
            .filter(|number| self.children.get(number).is_some_and(|child| child.purpose == purpose));
        let number = stays.unwrap_or_else(|| {
            self.forget(&target.cluster);
            self.with_room(&purpose).unwrap_or_else(|| self.start(purpose))
        });
        let cluster = Cluster { child: number, version: target.version.clone(), waiting };
        self.clusters.insert(target.cluster.clone(), cluster);
        Ok((Arc::clone(&self.children[&number].mailbox), id))
    }

    fn with_room(&self, purpose: &Purpose) -> Option<u64> {
        let served = |number: u64| self.clusters.values().filter(|cluster| cluster.child == number).count();
        let fits =
            |number: u64, child: &Child| child.purpose == *purpose && served(number) < self.settings.limits.clusters_per_child;
        self.children.iter().find(|(number, child)| fits(**number, child)).map(|(number, _)| *number)
    }

    fn start(&mut self, purpose: Purpose) -> u64 {
        self.next += 1;
        let mailbox = Arc::new(Mailbox::new(self.settings.libraries.clone()));
        let task = tokio::spawn(process::supervise(Arc::clone(&self.settings), purpose.clone(), Arc::clone(&mailbox)));
        self.children.insert(self.next, Child { purpose, mailbox, task });
        self.next
    }

    /// Takes a cluster from its child, which ends when it was the last one.
    pub(crate) fn forget(&mut self, cluster: &str) {
        let Some(Cluster { child: number, .. }) = self.clusters.remove(cluster) else { return };
        self.ending.retain(|task| !task.is_finished());
        if self.clusters.values().any(|other| other.child == number) {
            if let Some(child) = self.children.get(&number) {
                child.mailbox.close_database(cluster);
            }
        } else if let Some(child) = self.children.remove(&number) {
            child.mailbox.close_when_done();
            self.ending.push(child.task);
        }
    }

    /// Counts a call that is about to wait.
    pub(crate) fn admit(&mut self, cluster: &str, bytes: usize) -> Result<(), Failure> {
        let limits = &self.settings.limits;
        let Some(entry) = self.clusters.get_mut(cluster) else {
            return Err(Failure::Unavailable("the cluster was just forgotten".to_owned()));
        };
        let full = |what: String| Err(Failure::Unavailable(what));
        if entry.waiting >= limits.waiting_per_cluster {
            return full(format!("{} calls wait for this cluster already", entry.waiting));
        }
        if self.waiting >= limits.waiting || self.waiting_bytes.saturating_add(bytes) > limits.waiting_bytes {
            return full(format!("{} calls of {} bytes wait already", self.waiting, self.waiting_bytes));
        }
        entry.waiting += 1;
        self.waiting += 1;
        self.waiting_bytes += bytes;
        Ok(())
    }

    /// A call does not wait any more.
    pub(crate) fn release(&mut self, cluster: &str, bytes: usize) {
        if let Some(entry) = self.clusters.get_mut(cluster) {
            entry.waiting = entry.waiting.saturating_sub(1);
        }
        self.waiting = self.waiting.saturating_sub(1);
        self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes);
    }

    pub(crate) fn process_ids(&self) -> Vec<u32> {
        self.children.values().filter_map(|child| child.mailbox.process_id()).collect()
    }

    /// Closes everything, also what is still waited for.
    pub(crate) fn close(&mut self) -> Vec<JoinHandle<()>> {
        self.clusters.clear();
        let mut tasks = std::mem::take(&mut self.ending);
        for (_, child) in std::mem::take(&mut self.children) {
            child.mailbox.close_now();
            tasks.push(child.task);
        }
        tasks
    }
}
