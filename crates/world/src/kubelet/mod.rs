//! What becomes of pods, nodes and volumes as time passes: kubelets, the controllers around them and a volume provisioner, as one
//! pure function over virtual time.
//!
//! [`next`] looks at a cluster and says what is written now, and when to look again. It remembers nothing: whatever it needs is in
//! the objects, as for the programs it stands for. So a run can be stopped and taken up anywhere, and two looks at the same
//! cluster at the same instant say the same.
//!
//! # How to call it
//!
//! Apply the changes in order, look again at the same instant until there are none, then let time pass until the instant given.
//! One look changes an object at most once, so each change can be a write guarded by the `resourceVersion` that was seen.
//!
//! # Choices
//!
//! - **Heartbeats are known, not written.** A node posts its status when it changes; that its kubelet is gone follows from a
//!   [`Fault`]. Leases are left out: a thousand writes a minute would drown the few that mean something.
//! - **A pod starts as a whole**: init containers and containers take [`KubeletSettings::start`] together, from the moment the
//!   kubelet sees the pod, and only once all its claims are bound. Readiness follows [`KubeletSettings::readiness`] later, probes are not
//!   read.
//! - **Back-off is read from the statuses**: the time between the last end and the last start of a container is the back-off it
//!   had, and the next is twice as long, from nothing to 10 seconds to 5 minutes; ten minutes of running forgive.
//! - **A lost node** keeps its pods in the API as they were. Its conditions become Unknown after [`KubeletSettings::lost_after`], its
//!   pods lose Ready, and its taints evict them when their tolerations end; they stay Terminating, because nobody is there to
//!   confirm their end. What helps: the node comes back, is deleted, or is marked out of service.
//! - **A node that comes back** after a partition reports its pods as they are; after a loss of power it starts their containers
//!   again.
//! - **Addresses** are derived from a pod's uid in 198.18.0.0/16, and two pods in the API never have the same. A pod deleted by
//!   force may still run on a lost node with an address that is given again; real networks have that, too.
//! - **The garbage collector does not wait** when a node was deleted; the real one gives it 40 seconds.
//! - **Volumes are made at once**, unless a fault holds them back; they grow online where the class allows it.
//! - **The scheduler binds**: for claims that wait for a consumer, who acts on [`crate::scheduler::bindings`] sets the annotation
//!   [`crate::scheduler::SELECTED_NODE`], or the claim's reference in a volume that is there.
//! - **Default tolerations** are assumed, as an admission plugin would have added them, for pods without their own.

mod addresses;
mod changes;
mod claims;
mod conditions;
mod containers;
mod eviction;
mod nodes;
mod outlook;
mod pods;
mod settings;
mod volumes;

use jiff::Timestamp;

pub use changes::Change;
pub use settings::{Fault, KubeletSettings, Reach, Window};

use crate::view::ClusterView;
use addresses::Addresses;
use outlook::Outlook;

/// What is written now, and when to look again if nothing else happens.
pub fn next(now: Timestamp, view: &ClusterView<'_>, settings: &KubeletSettings) -> (Vec<Change>, Option<Timestamp>) {
    let mut outlooks: Vec<Outlook> = Vec::new();
    outlooks.extend(view.nodes.values().map(|node| nodes::outlook(now, node, settings)));
    let mut addresses = Addresses::in_use(view);
    outlooks.extend(view.pods.values().map(|pod| pods::outlook(now, pod, &mut addresses, view, settings)));
    let (of_claims, touched) = claims::outlooks(now, view, settings);
    outlooks.extend(of_claims);
    let untouched = view.volumes.iter().filter(|(name, _)| !touched.contains(**name));
    outlooks.extend(untouched.map(|(_, volume)| volumes::outlook(volume, view)));
    let wake = outlooks.iter().filter_map(|outlook| outlook.wake).filter(|wake| *wake > now).min();
    (outlooks.into_iter().filter_map(|outlook| outlook.change).collect(), wake)
}
