//! The folders that a pod mounts, as folders of this machine.
//!
//! A claim's folder belongs to its volume and lives as long as that; everything else belongs to the pod. Volumes of other kinds than
//! claims, config maps and empty folders are there and empty.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, ConfigMapVolumeSource, Container, Pod, Volume};

use super::process::Bind;
use super::seen::Seen;

/// How the names of files end that have what processes said.
const OUTPUT: &str = "output";

/// Where the folders of pods and volumes are.
#[derive(Clone, Debug)]
pub(super) struct Folders {
    root: PathBuf,
}

impl Folders {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// A pod's own folder.
    pub(super) fn of_pod(&self, uid: &str) -> PathBuf {
        self.root.join("pods").join(uid)
    }

    /// Where what a pod's processes say is written.
    pub(super) fn output(&self, uid: &str, pod: &str) -> PathBuf {
        self.of_pod(uid).join(pod).with_extension(OUTPUT)
    }

    /// What the processes of every pod have said.
    pub(super) fn outputs(&self) -> BTreeMap<String, String> {
        let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let files =
            entries(self.root.join("pods")).flat_map(entries).filter(|file| file.extension().is_some_and(|end| end == OUTPUT));
        let named = |file: PathBuf| Some((file.file_stem()?.to_string_lossy().into_owned(), fs::read_to_string(&file).ok()?));
        files.filter_map(named).collect()
    }

    fn of_volume(&self, name: &str) -> PathBuf {
        self.root.join("volumes").join(name)
    }

    /// Removes what was on volumes that are gone.
    pub(super) fn forget_volumes(&self, existing: &BTreeSet<String>) -> Result<()> {
        let Ok(entries) = fs::read_dir(self.root.join("volumes")) else { return Ok(()) };
        for entry in entries.flatten() {
            if !existing.contains(&*entry.file_name().to_string_lossy()) {
                fs::remove_dir_all(entry.path()).context("removing what was on a volume")?;
            }
        }
        Ok(())
    }

    /// Makes what a container mounts, and says what it sees where. Fails as long as a claim or a config map is missing.
    pub(super) fn prepare(&self, pod: &Pod, container: &Container, seen: &Seen) -> Result<Vec<Bind>> {
        let own = self.of_pod(pod.metadata.uid.as_deref().unwrap_or_default());
        let seen_root = own.join("root");
        let (mut inner, mut outer) = (Vec::new(), BTreeSet::new());
        let mut mounts: Vec<_> = container.volume_mounts.iter().flatten().collect();
        mounts.sort_by(|one, other| one.mount_path.cmp(&other.mount_path));
        for mount in mounts {
            let volume = volumes(pod).find(|volume| volume.name == mount.name);
            let volume = volume.with_context(|| format!("the pod has no volume {}", mount.name))?;
            let mut source = self.source(&own, volume, seen)?;
            source.extend(mount.sub_path.as_ref());
            let inside = Path::new(&mount.mount_path).strip_prefix("/").context("a mount path is absolute")?;
            let Some(Component::Normal(top)) = inside.components().next() else { continue };
            let here = Path::new("/").join(top);
            ensure!(here.is_dir(), "{} is not on this machine, so nothing can be mounted below it", here.display());
            let target = seen_root.join(inside);
            fs::create_dir_all(&source).and_then(|()| fs::create_dir_all(&target)).context("making the folders of a pod")?;
            inner.push(Bind { source, target });
            outer.insert(top.to_owned());
        }
        // First everything is put together below the pod's own folder, then that is seen in place of this machine's.
        inner.extend(outer.into_iter().map(|top| Bind { source: seen_root.join(&top), target: Path::new("/").join(top) }));
        Ok(inner)
    }

    /// Makes the files of a pod's config map what it says.
    pub(super) fn refresh(&self, pod: &Pod, config_map: &ConfigMap) -> Result<()> {
        let own = self.of_pod(pod.metadata.uid.as_deref().unwrap_or_default());
        for volume in volumes(pod) {
            let source = volume.config_map.as_ref().filter(|source| Some(&source.name) == config_map.metadata.name.as_ref());
            for (path, text) in source.map(|source| files(source, config_map)).unwrap_or_default() {
                write(&own_volume(&own, &volume.name).join(path), text)?;
            }
        }
        Ok(())
    }

    fn source(&self, own: &Path, volume: &Volume, seen: &Seen) -> Result<PathBuf> {
        if let Some(claim) = &volume.persistent_volume_claim {
            let bound = seen.claims.get(&claim.claim_name).and_then(|claim| claim.spec.as_ref()?.volume_name.as_deref());
            return Ok(self.of_volume(bound.with_context(|| format!("the claim {} has no volume yet", claim.claim_name))?));
        }
        if let Some(source) = &volume.config_map {
            ensure!(seen.config_maps.contains_key(&source.name), "there is no config map {}", source.name);
        }
        Ok(own_volume(own, &volume.name))
    }
}

/// The files of a config map's volume: path and content.
pub(super) fn files<'a>(source: &'a ConfigMapVolumeSource, config_map: &'a ConfigMap) -> Vec<(&'a str, &'a str)> {
    let data = config_map.data.iter().flatten();
    match &source.items {
        None => data.map(|(key, text)| (key.as_str(), text.as_str())).collect(),
        Some(items) => {
            let text = |key: &str| config_map.data.as_ref()?.get(key).map(String::as_str);
            items.iter().filter_map(|item| Some((item.path.as_str(), text(&item.key)?))).collect()
        }
    }
}

pub(super) fn volumes(pod: &Pod) -> impl Iterator<Item = &Volume> {
    pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten())
}

fn own_volume(own: &Path, name: &str) -> PathBuf {
    own.join("volumes").join(name)
}

/// Whole or not at all: somebody may be reading it.
fn write(file: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(file).is_ok_and(|before| before == text) {
        return Ok(());
    }
    let writing = || format!("writing {}", file.display());
    let new = file.with_extension("new");
    fs::create_dir_all(file.parent().unwrap_or(file)).with_context(writing)?;
    fs::write(&new, text).with_context(writing)?;
    fs::rename(&new, file).with_context(writing)
}
