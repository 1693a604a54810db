//! How long things take, which volumes can be made, and what goes wrong when.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use crate::view::{name, namespace};

/// How the kubelets and controllers of a cluster behave.
#[derive(Clone, Debug)]
pub struct KubeletSettings {
    /// From the moment a kubelet sees a pod until its containers run.
    pub start: SignedDuration,
    /// From there until it is ready.
    pub readiness: SignedDuration,
    /// How long containers take to stop when asked to, unless the grace period ends before.
    pub stop: SignedDuration,
    /// How long nothing is heard of a node before it is taken for lost. 50 seconds in Kubernetes 1.35, 40 before 1.32.
    pub lost_after: SignedDuration,
    /// How long pods that say nothing about it stay on a node that is lost.
    pub default_toleration: SignedDuration,
    /// Whether pods have a second address, of the other family.
    pub dual_stack: bool,
    /// The provisioners that make volumes, and from where their volumes can be reached.
    pub provisioners: BTreeMap<String, Reach>,
    /// What goes wrong. A fault that is over is to be kept as long as anything remembers it: a container that ran, a node that was lost.
    pub faults: Vec<Fault>,
}

impl Default for KubeletSettings {
    fn default() -> Self {
        Self {
            start: SignedDuration::from_secs(2),
            readiness: SignedDuration::from_secs(1),
            stop: SignedDuration::from_secs(1),
            lost_after: SignedDuration::from_secs(50),
            default_toleration: SignedDuration::from_secs(300),
            dual_stack: false,
            provisioners: BTreeMap::new(),
            faults: Vec::new(),
        }
    }
}

/// From where a volume can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// From one host: a local disk.
    Host,
    /// From one zone: a cloud's disk.
    Zone,
    /// From everywhere: network storage.
    Anywhere,
}

/// From when to when; without an end, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first instant.
    pub from: Timestamp,
    /// The first instant after it.
    pub until: Option<Timestamp>,
}

impl Window {
    pub(super) fn contains(&self, now: Timestamp) -> bool {
        self.from <= now && !self.is_over(now)
    }

    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// The next instant at which it begins or ends.
    pub(super) fn next_edge(&self, now: Timestamp) -> Option<Timestamp> {
        [Some(self.from), self.until].into_iter().flatten().filter(|edge| *edge > now).min()
    }
}

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A container ends, once, if it runs then.
    ContainerCrashes {
        /// The pod's namespace.
        namespace: String,
        /// The pod.
        pod: String,
        /// The container.
        container: String,
        /// When.
        at: Timestamp,
        /// With which exit code.
        exit_code: i32,
    },
    /// A container ends again and again, each time after it ran a while.
    ContainerCrashLoops {
        /// The pod's namespace.
        namespace: String,
        /// The pod.
        pod: String,
        /// The container.
        container: String,
        /// When a start ends badly.
        during: Window,
        /// How long each start lasts.
        runs_for: SignedDuration,
        /// With which exit code.
        exit_code: i32,
    },
    /// A pod is not ready although it runs.
    PodNotReady {
        /// Its namespace.
        namespace: String,
        /// The pod.
        pod: String,
        /// When.
        during: Window,
    },
    /// Nothing is heard of a node.
    NodeLost {
        /// The node.
        node: String,
        /// When.
        during: Window,
        /// Whether its containers go on: a partition. Otherwise it lost power.
        keeps_running: bool,
    },
    /// A class makes no volumes.
    ProvisioningStuck {
        /// The storage class.
        class: String,
        /// When.
        during: Window,
    },
}

impl KubeletSettings {
    /// When a node is or was lost, and whether its containers went on.
    pub(super) fn losses<'s>(&'s self, lost: &'s str) -> impl Iterator<Item = (&'s Window, bool)> {
        self.faults.iter().filter_map(move |fault| match fault {
            Fault::NodeLost { node, during, keeps_running } if node == lost => Some((during, *keeps_running)),
            _ => None,
        })
    }

    /// The nodes of which nothing is heard now, and whether their containers go on.
    pub(crate) fn cut_off(&self, now: Timestamp) -> BTreeMap<&str, bool> {
        let mut nodes = BTreeMap::new();
        for fault in &self.faults {
            if let Fault::NodeLost { node, during, keeps_running } = fault
                && during.contains(now)
            {
                *nodes.entry(node.as_str()).or_insert(true) &= keeps_running;
            }
        }
        nodes
    }

    /// Whether a node's kubelet is heard of.
    pub(super) fn is_reachable(&self, node: &str, now: Timestamp) -> bool {
        !self.losses(node).any(|(during, _)| during.contains(now))
    }

    /// When a pod is not ready although it runs.
    pub(super) fn unready<'s>(&'s self, of: &'s Pod) -> impl Iterator<Item = &'s Window> {
        self.faults.iter().filter_map(move |fault| match fault {
            Fault::PodNotReady { namespace: space, pod, during } if is(of, space, pod) => Some(during),
            _ => None,
        })
    }

    /// When a class makes no volumes.
    pub(super) fn stuck<'s>(&'s self, of: &'s str) -> impl Iterator<Item = &'s Window> {
        self.faults.iter().filter_map(move |fault| match fault {
            Fault::ProvisioningStuck { class, during } if class == of => Some(during),
            _ => None,
        })
    }

    /// When a container that started at an instant ends, and with which exit code.
    pub(super) fn next_crash(&self, of: &Pod, name: &str, started: Timestamp) -> Option<(Timestamp, i32)> {
        let crashes = self.faults.iter().filter_map(|fault| match fault {
            Fault::ContainerCrashes { namespace, pod, container, at, exit_code } => {
                (is(of, namespace, pod) && container == name && *at > started).then_some((*at, *exit_code))
            }
            Fault::ContainerCrashLoops { namespace, pod, container, during, runs_for, exit_code } => {
                let end = (started + *runs_for).max(during.from);
                (is(of, namespace, pod) && container == name && during.contains(end)).then_some((end, *exit_code))
            }
            _ => None,
        });
        crashes.min()
    }
}

fn is(of: &Pod, space: &str, pod: &str) -> bool {
    namespace(&of.metadata) == space && name(&of.metadata) == pod
}
