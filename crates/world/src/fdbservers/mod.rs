//! The fdbservers of all pods: what the pods' monitors order is carried out on the model of FoundationDB.
//!
//! Work is done for what has changed only: pods and ConfigMaps that were written, nodes that were lost or found, servers that ended, and
//! monitors whose time has come. At the start of a pod's first server the database is found or made that its connection string means.

mod disks;
mod hosting;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use quorate_foundationdb::labels;

use crate::database::Databases;
use crate::kubelet::KubeletSettings;
use crate::mirror::{Key, Mirror, News};
use crate::monitor::{self, End, Launcher, MonitorSettings, Order, Server, Surroundings};
use crate::view::{label, namespace, node_of};
use disks::{Disk, Disks};
use hosting::Hosting;

/// The fdbservers of a cluster's pods, and the databases they make up.
pub struct Fdbservers {
    settings: MonitorSettings,
    hosting: Hosting,
    disks: Disks,
    monitors: BTreeMap<Key, Monitor>,
    /// Which pods have files from a ConfigMap.
    readers: BTreeMap<Key, BTreeSet<Key>>,
    /// Which server runs on a data directory.
    running: BTreeMap<String, Running>,
    /// The uids of pods that have data in themselves.
    with_data_inside: BTreeMap<Key, String>,
    /// When a monitor has something to do.
    timers: BTreeSet<(Timestamp, Key)>,
    /// Nodes of which nothing is heard, and whether their containers go on.
    cut_off: BTreeMap<String, bool>,
}

/// The monitor of a pod.
struct Monitor {
    launcher: Launcher,
    run: Run,
    node: String,
    config_map: Option<Key>,
    timer: Option<Timestamp>,
    /// The data directories of the servers that run, by their numbers.
    directories: BTreeMap<u32, String>,
}

/// One life of a pod's main container.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    pod_uid: String,
    since: Timestamp,
}

struct Running {
    pod: Key,
    number: u32,
    database: String,
    address: String,
}

impl Fdbservers {
    /// None yet. Databases that come up are hosted here, each with its own chance from the seed.
    pub fn new(databases: Databases, seed: u64, settings: MonitorSettings) -> Self {
        Self {
            settings,
            hosting: Hosting::new(databases, seed),
            disks: Disks::default(),
            monitors: BTreeMap::new(),
            readers: BTreeMap::new(),
            running: BTreeMap::new(),
            with_data_inside: BTreeMap::new(),
            timers: BTreeSet::new(),
            cut_off: BTreeMap::new(),
        }
    }

    /// When to look again if nothing is written meanwhile.
    pub(crate) fn wake(&self) -> Option<Timestamp> {
        let timer = self.timers.first().map(|(at, _)| *at);
        timer.into_iter().chain(self.hosting.databases.next_exit()).min()
    }

    /// A server fails, for no reason that anybody knows. Its monitor starts it again after a while that grows from time to time.
    pub fn crash(&mut self, namespace: &str, pod: &str, number: u32, now: Timestamp) {
        let pod = (namespace.to_owned(), pod.to_owned());
        let ran = self.stop_server(&pod, number);
        if let Some(monitor) = self.monitors.get_mut(&pod).filter(|_| ran) {
            monitor.launcher.ended(number, now, End::Crashed);
            self.set_timer(&pod);
        }
    }

    /// Lets every monitor do what it would have done by now; gives the pods on which something is to be written.
    pub(crate) fn step(&mut self, now: Timestamp, news: News, mirror: &Mirror, kubelets: &KubeletSettings) -> Vec<Pod> {
        let News { pods: mut touched, config_maps, lost_volumes } = news;
        self.notice_nodes(kubelets, mirror, now, &mut touched);
        self.notice_exits(now, &mut touched);
        for volume in lost_volumes {
            self.lose(&volume, now, &mut touched);
        }
        for config_map in config_maps {
            for pod in self.readers.get(&config_map).into_iter().flatten() {
                if let Some(monitor) = self.monitors.get_mut(pod) {
                    monitor.launcher.config_map_changed(now);
                    touched.insert(pod.clone());
                }
            }
        }
        let due: Vec<Key> = self.timers.iter().take_while(|(at, _)| *at <= now).map(|(_, pod)| pod.clone()).collect();
        touched.extend(due);
        // What ends comes first: an address or a volume may pass from one pod to the next.
        for pod in touched.clone() {
            self.end_what_is_over(&pod, mirror);
            self.lose_what_was_inside(&pod, mirror, now, &mut touched);
        }
        touched.iter().filter_map(|pod| self.attend(pod, mirror, now)).collect()
    }

    /// Nodes that lost power or touch, or have it back.
    fn notice_nodes(&mut self, kubelets: &KubeletSettings, mirror: &Mirror, now: Timestamp, touched: &mut BTreeSet<Key>) {
        let cut_off = kubelets.cut_off(now);
        if cut_off.iter().map(|(node, runs)| (*node, *runs)).eq(self.cut_off.iter().map(|(node, runs)| (node.as_str(), *runs))) {
            return;
        }
        let cut_off: BTreeMap<String, bool> = cut_off.into_iter().map(|(node, runs)| (node.to_owned(), runs)).collect();
        let before = std::mem::replace(&mut self.cut_off, cut_off);
        let has_changed = |node: &str| before.get(node) != self.cut_off.get(node);
        let pods = mirror.pods.iter().filter(|(_, pod)| node_of(pod).is_some_and(has_changed));
        touched.extend(pods.map(|(key, _)| key.clone()));
        for monitor in self.monitors.values_mut() {
            monitor.launcher.cut_off(self.cut_off.contains_key(&monitor.node));
        }
    }

    /// Servers that the database was asked to restart.
    fn notice_exits(&mut self, now: Timestamp, touched: &mut BTreeSet<Key>) {
        for exit in self.hosting.exits(now) {
            self.server_ended(&exit.volume, exit.at, End::Killed, touched);
        }
    }

    /// A disk is gone, with all that was on it.
    fn lose(&mut self, disk: &str, now: Timestamp, touched: &mut BTreeSet<Key>) {
        let Some(home) = self.disks.forget(disk) else { return };
        for directory in &home.directories {
            self.hosting.databases.with(&home.database, |database| database.lose_volume(directory));
            self.server_ended(directory, now, End::Crashed, touched);
        }
    }

    /// A server has ended by itself; its monitor will have to see to it.
    fn server_ended(&mut self, directory: &str, at: Timestamp, end: End, touched: &mut BTreeSet<Key>) {
        let Some(server) = self.running.remove(directory) else { return };
        if let Some(monitor) = self.monitors.get_mut(&server.pod) {
            monitor.directories.remove(&server.number);
            monitor.launcher.ended(server.number, at, end);
            touched.insert(server.pod);
        }
    }

    /// Ends the servers of a pod whose container does not run any more.
    fn end_what_is_over(&mut self, key: &Key, mirror: &Mirror) {
        let Some(monitor) = self.monitors.get(key) else { return };
        let pod = mirror.pods.get(key);
        if self.run_of(pod, &monitor.node).as_ref() == Some(&monitor.run) || self.goes_on_unseen(pod, monitor) {
            return;
        }
        let numbers: Vec<u32> = monitor.directories.keys().copied().collect();
        for number in numbers {
            self.stop_server(key, number);
        }
        let Some(monitor) = self.monitors.remove(key) else { return };
        if let Some(timer) = monitor.timer {
            self.timers.remove(&(timer, key.clone()));
        }
        if let Some(readers) = monitor.config_map.as_ref().and_then(|config_map| self.readers.get_mut(config_map)) {
            readers.remove(key);
        }
    }

    /// What a pod keeps in itself goes with it.
    fn lose_what_was_inside(&mut self, key: &Key, mirror: &Mirror, now: Timestamp, touched: &mut BTreeSet<Key>) {
        let uid = mirror.pods.get(key).and_then(|pod| pod.metadata.uid.as_ref());
        if self.with_data_inside.get(key).is_some_and(|inside| Some(inside) != uid)
            && let Some(gone) = self.with_data_inside.remove(key)
        {
            self.lose(&gone, now, touched);
        }
    }

    /// Whether the pod is on a node that is parted from the API but runs: then nobody there knows of its deletion.
    fn goes_on_unseen(&self, pod: Option<&Pod>, monitor: &Monitor) -> bool {
        let same = pod.is_some_and(|pod| pod.metadata.uid.as_ref() == Some(&monitor.run.pod_uid));
        same && self.cut_off.get(&monitor.node) == Some(&true)
    }

    /// Lets the monitor of a pod do what it wants to do; gives the pod if something is to be written on it.
    fn attend(&mut self, key: &Key, mirror: &Mirror, now: Timestamp) -> Option<Pod> {
        let pod = mirror.pods.get(key)?;
        let node = node_of(pod)?;
        let config_map = monitor::config_map_of(pod).map(|name| (key.0.clone(), name.to_owned()));
        let around = Surroundings {
            pod,
            node: mirror.nodes.get(&(String::new(), node.to_owned())),
            config_map: config_map.as_ref().and_then(|config_map| mirror.config_maps.get(config_map)),
        };
        if !self.monitors.contains_key(key) {
            let run = self.run_of(Some(pod), node)?;
            let mut launcher = Launcher::start(around, self.settings, now)?;
            launcher.cut_off(self.cut_off.contains_key(node));
            if let Some(config_map) = &config_map {
                self.readers.entry(config_map.clone()).or_default().insert(key.clone());
            }
            let monitor = Monitor { launcher, run, node: node.to_owned(), config_map, timer: None, directories: BTreeMap::new() };
            self.monitors.insert(key.clone(), monitor);
        }
        let launcher = &mut self.monitors.get_mut(key)?.launcher;
        launcher.look(around, now);
        let orders = launcher.orders(now);
        let annotated = launcher.annotated(pod);
        for order in orders {
            self.carry_out(order, key, pod, mirror, now);
        }
        self.set_timer(key);
        annotated
    }

    fn carry_out(&mut self, order: Order, key: &Key, pod: &Pod, mirror: &Mirror, now: Timestamp) {
        match order {
            Order::Stop { number } => drop(self.stop_server(key, number)),
            Order::Start { number, server, version, connection } => {
                let started = self.start_server(key, number, *server, (version, connection), (pod, mirror), now);
                if let (None, Some(monitor)) = (started, self.monitors.get_mut(key)) {
                    monitor.launcher.ended(number, now, End::Crashed);
                }
            }
        }
    }

    /// Starts a server on its disk, in the database that the disk knows, or else its connection string.
    fn start_server(
        &mut self,
        key: &Key,
        number: u32,
        server: Server,
        (version, connection): (String, String),
        (pod, mirror): (&Pod, &Mirror),
        now: Timestamp,
    ) -> Option<()> {
        let disk = Disk::of(pod, &server.data_directory, mirror)?;
        let directory = disk.directory(number);
        let cluster = format!("{}/{}", namespace(&pod.metadata), label(&pod.metadata, labels::CLUSTER)?);
        let database = match self.disks.database_of(&disk.name) {
            Some(database) => self.hosting.join(&cluster, database),
            None => self.hosting.find_or_host(&cluster, &connection, now)?,
        };
        self.disks.put(&disk.name, &database, &directory);
        if disk.is_in_pod {
            self.with_data_inside.insert(key.clone(), disk.name);
        }
        let process = server.process(version, directory.clone(), connection);
        let address = process.address.clone();
        self.hosting.databases.with(&database, |database| database.start_process(process))?;
        self.monitors.get_mut(key)?.directories.insert(number, directory.clone());
        self.running.insert(directory, Running { pod: key.clone(), number, database, address });
        Some(())
    }

    /// Ends a server; says whether it ran.
    fn stop_server(&mut self, pod: &Key, number: u32) -> bool {
        let directory = self.monitors.get_mut(pod).and_then(|monitor| monitor.directories.remove(&number));
        let Some(server) = directory.and_then(|directory| self.running.remove(&directory)) else { return false };
        self.hosting.databases.with(&server.database, |database| database.stop_process(&server.address));
        true
    }

    fn set_timer(&mut self, pod: &Key) {
        let Some(monitor) = self.monitors.get_mut(pod) else { return };
        let next = monitor.launcher.wake();
        if let Some(before) = std::mem::replace(&mut monitor.timer, next) {
            self.timers.remove(&(before, pod.clone()));
        }
        self.timers.extend(next.map(|at| (at, pod.clone())));
    }

    /// The life that a pod's main container lives now, if it lives. A pod that is asked to go has its servers ended at once.
    fn run_of(&self, pod: Option<&Pod>, node: &str) -> Option<Run> {
        let pod = pod.filter(|pod| pod.metadata.deletion_timestamp.is_none() && self.cut_off.get(node) != Some(&false))?;
        let main = monitor::main_container(pod)?;
        let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
        let status = statuses.iter().find(|status| status.name == main.name)?;
        let since = status.state.as_ref()?.running.as_ref()?.started_at.as_ref()?.0;
        Some(Run { pod_uid: pod.metadata.uid.clone()?, since })
    }
}
