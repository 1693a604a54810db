//! The disks that data directories are on: volumes that outlive pods, and those that are part of one.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Pod, Volume};

use crate::mirror::Mirror;
use crate::monitor::main_container;
use crate::scheduler::volumes::volume_name;
use crate::view::namespace;

/// What a data directory is on, by the name under which it is the same for as long as it lives.
pub(super) struct Disk {
    /// The name of the volume, or the uid of the pod.
    pub(super) name: String,
    /// Whether it is part of its pod and goes with it.
    pub(super) is_in_pod: bool,
}

impl Disk {
    /// The disk of a data directory: the volume behind the pod's claim, or the pod itself. None if the volume is not there.
    pub(super) fn of(pod: &Pod, data_directory: &str, mirror: &Mirror) -> Option<Self> {
        let Some(claim) = volume_at(pod, data_directory).and_then(|volume| volume.persistent_volume_claim.as_ref()) else {
            return pod.metadata.uid.clone().map(|name| Self { name, is_in_pod: true });
        };
        let claim = mirror.claims.get(&(namespace(&pod.metadata).to_owned(), claim.claim_name.clone()))?;
        let name = volume_name(claim)?.to_owned();
        mirror.volumes.contains_key(&(String::new(), name.clone())).then_some(Self { name, is_in_pod: false })
    }

    /// The name of a server's part of it. The first server's is that of the disk, so that who knows the volume knows the data.
    pub(super) fn directory(&self, number: u32) -> String {
        if number == 1 { self.name.clone() } else { format!("{}/{number}", self.name) }
    }
}

/// The volume that is mounted where a directory is.
fn volume_at<'a>(pod: &'a Pod, directory: &str) -> Option<&'a Volume> {
    let holds = |path: &str| directory.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let mounts = main_container(pod)?.volume_mounts.iter().flatten();
    let mount = mounts.filter(|mount| holds(&mount.mount_path)).max_by_key(|mount| mount.mount_path.len())?;
    pod.spec.as_ref()?.volumes.iter().flatten().find(|volume| volume.name == mount.name)
}

/// Which disks hold something of which database.
#[derive(Default)]
pub(super) struct Disks(BTreeMap<String, Home>);

/// What is on a disk.
pub(super) struct Home {
    pub(super) database: String,
    pub(super) directories: BTreeSet<String>,
}

impl Disks {
    /// The database that a disk has a cluster file of.
    pub(super) fn database_of(&self, disk: &str) -> Option<String> {
        self.0.get(disk).map(|home| home.database.clone())
    }

    pub(super) fn put(&mut self, disk: &str, database: &str, directory: &str) {
        let home = || Home { database: database.to_owned(), directories: BTreeSet::new() };
        self.0.entry(disk.to_owned()).or_insert_with(home).directories.insert(directory.to_owned());
    }

    pub(super) fn forget(&mut self, disk: &str) -> Option<Home> {
        self.0.remove(disk)
    }
}
