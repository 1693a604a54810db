//! A monitor over time: from the start of its container to its end.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};

use super::configuration::{Loaded, process_count};
use super::environment::environment;
use super::files::Files;
use super::options::is_true;
use super::server::Server;
use super::{CURRENT_CONFIGURATION, ENVIRONMENT, ISOLATE, is_poked, main_container};
use crate::view::annotation;

/// A server that ran this long is forgiven earlier crashes.
const FORGIVEN_AFTER: SignedDuration = SignedDuration::from_mins(5);
/// Nobody waits longer than this for another try.
const LONGEST_BACK_OFF: i64 = 60;

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorSettings {
    /// From a change of a ConfigMap until a kubelet writes it into the files of its pods. A change of the pod's annotations makes the
    /// kubelet look at once.
    pub files_after: SignedDuration,
    /// From the end of a server to its next start, if there is no reason to wait.
    pub restart_after: SignedDuration,
}

impl Default for MonitorSettings {
    fn default() -> Self {
        Self { files_after: SignedDuration::from_secs(60), restart_after: SignedDuration::from_millis(300) }
    }
}

/// What a monitor can see.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Its pod.
    pub pod: &'a Pod,
    /// The node the pod is on.
    pub node: Option<&'a Node>,
    /// The ConfigMap that its files are made of.
    pub config_map: Option<&'a ConfigMap>,
}

/// What is to happen to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// It starts.
    Start {
        /// Its number in the pod, from 1.
        number: u32,
        /// What it is.
        server: Box<Server>,
        /// The version of its program.
        version: String,
        /// What its seed file says.
        connection: String,
    },
    /// It ends.
    Stop {
        /// Its number in the pod.
        number: u32,
    },
}

/// How a server ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The database was asked to restart it.
    Killed,
    /// It failed, or could not even start.
    Crashed,
}

/// The monitor of a pod while its container runs.
#[derive(Clone, Debug)]
pub struct Launcher {
    settings: MonitorSettings,
    /// As it was when the container started.
    environment: BTreeMap<String, String>,
    /// As the kubelet has written them.
    files: Files,
    /// When the kubelet writes them again.
    files_due: Option<Timestamp>,
    /// Nothing reaches the pod, and nothing is heard of it.
    cut_off: bool,
    /// What others have written on the pod.
    annotations: BTreeMap<String, String>,
    active: Option<Loaded>,
    servers: Vec<Slot>,
}

/// The place of one server.
#[derive(Clone, Copy, Debug)]
struct Slot {
    state: State,
    started: Timestamp,
    crashes: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Runs,
    Waits(Timestamp),
}

impl Launcher {
    /// The container starts. None if the pod has no container for a monitor.
    pub fn start(around: Surroundings<'_>, settings: MonitorSettings, now: Timestamp) -> Option<Self> {
        let main = main_container(around.pod)?;
        let environment = environment(around.pod, main);
        let count = process_count(main, &environment);
        let mut launcher = Self {
            settings,
            environment,
            files: Files::default(),
            files_due: None,
            cut_off: false,
            annotations: annotations_of_others(around.pod),
            active: None,
            servers: (0..count).map(|_| Slot { state: State::Idle, started: now, crashes: 0 }).collect(),
        };
        launcher.write_files(around);
        Some(launcher)
    }

    /// The ConfigMap was changed; its files will be, when the kubelet comes by. A pod without its files gets them at once: a real one
    /// would wait for them before it starts.
    pub fn config_map_changed(&mut self, now: Timestamp) {
        let delay = if self.files == Files::default() { SignedDuration::ZERO } else { self.settings.files_after };
        self.files_due.get_or_insert(now + delay);
    }

    /// Nothing reaches the pod any more, but it runs on; or it is in touch again.
    pub fn cut_off(&mut self, cut_off: bool) {
        self.cut_off = cut_off;
    }

    /// Takes in what has changed around it.
    pub fn look(&mut self, around: Surroundings<'_>, now: Timestamp) {
        if self.cut_off {
            return;
        }
        let annotations = annotations_of_others(around.pod);
        let poked = is_poked(&self.annotations, &annotations);
        self.annotations = annotations;
        if poked || self.files_due.is_some_and(|due| due <= now) {
            self.write_files(around);
        }
    }

    /// The kubelet writes the files, and the monitor reads its configuration. One that can't be carried out changes nothing.
    fn write_files(&mut self, around: Surroundings<'_>) {
        self.files_due = None;
        let Some(main) = main_container(around.pod) else { return };
        // Files whose ConfigMap is gone stay as they are.
        if let Some(config_map) = around.config_map {
            self.files = Files::of(around.pod, main, config_map);
        }
        if let Ok(loaded) = Loaded::read(around.pod, main, &self.files, &self.environment, around.node) {
            self.active = Some(loaded);
        }
    }

    /// What is to happen to its servers now.
    pub fn orders(&mut self, now: Timestamp) -> Vec<Order> {
        let wanted = self.wants_servers();
        let mut orders = Vec::new();
        for (number, position) in (1..).zip(0..self.servers.len()) {
            match self.servers[position].state {
                State::Runs if !wanted => {
                    self.servers[position].state = State::Idle;
                    orders.push(Order::Stop { number });
                }
                State::Idle if wanted => orders.extend(self.start_server(number, now)),
                State::Waits(until) if until <= now && wanted => orders.extend(self.start_server(number, now)),
                State::Waits(_) if !wanted => self.servers[position].state = State::Idle,
                State::Idle | State::Runs | State::Waits(_) => {}
            }
        }
        orders
    }

    /// Without a connection string there is nothing to start until somebody writes one.
    fn start_server(&mut self, number: u32, now: Timestamp) -> Option<Order> {
        let order = self.active.as_ref().and_then(|active| {
            let server = Box::new(active.server(number).ok()?);
            let connection = self.connection_for(&server)?.to_owned();
            Some(Order::Start { number, server, version: active.binary.version.to_string(), connection })
        });
        let slot = self.slot(number)?;
        (slot.state, slot.started) = (if order.is_some() { State::Runs } else { State::Idle }, now);
        order
    }

    /// The connection string that a server begins with, if there is one.
    fn connection_for(&self, server: &Server) -> Option<&str> {
        let text = self.files.text(server.seed.as_deref()?)?.trim();
        (!text.is_empty()).then_some(text)
    }

    fn wants_servers(&self) -> bool {
        let isolated = self.annotations.get(ISOLATE).is_some_and(|value| is_true(value));
        !isolated && self.active.as_ref().is_some_and(Loaded::runs_servers)
    }

    /// A server ended by itself; it is started again after a while.
    pub fn ended(&mut self, number: u32, at: Timestamp, end: End) {
        let restart_after = self.settings.restart_after;
        let Some(slot) = self.slot(number) else { return };
        if at.duration_since(slot.started) > FORGIVEN_AFTER {
            slot.crashes = 0;
        }
        let back_off = match end {
            End::Killed => 0,
            End::Crashed => slot.crashes.saturating_mul(slot.crashes).min(LONGEST_BACK_OFF),
        };
        slot.crashes += i64::from(end == End::Crashed);
        slot.state = State::Waits(at + SignedDuration::from_secs(back_off).max(restart_after));
    }

    fn slot(&mut self, number: u32) -> Option<&mut Slot> {
        self.servers.get_mut(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// When it has something to do by itself.
    pub fn wake(&self) -> Option<Timestamp> {
        let restarts = self.servers.iter().filter_map(|slot| match slot.state {
            State::Waits(until) => Some(until),
            State::Idle | State::Runs => None,
        });
        restarts.chain(self.files_due.filter(|_| !self.cut_off)).min()
    }

    /// The pod as the monitor wants it to be, if that is not how it is: with the configuration it goes by written on it.
    pub fn annotated(&self, pod: &Pod) -> Option<Pod> {
        let active = self.active.as_ref().filter(|_| !self.cut_off && pod.metadata.deletion_timestamp.is_none())?;
        let wanted = [(CURRENT_CONFIGURATION, active.text.clone()), (ENVIRONMENT, active.used_environment())];
        if wanted.iter().all(|(key, value)| annotation(&pod.metadata, key) == Some(value)) {
            return None;
        }
        let mut pod = pod.clone();
        let wanted = wanted.map(|(key, value)| (key.to_owned(), value));
        pod.metadata.annotations.get_or_insert_default().extend(wanted);
        Some(pod)
    }
}

fn annotations_of_others(pod: &Pod) -> BTreeMap<String, String> {
    let mut annotations = pod.metadata.annotations.clone().unwrap_or_default();
    annotations.retain(|key, _| key != CURRENT_CONFIGURATION && key != ENVIRONMENT);
    annotations
}
