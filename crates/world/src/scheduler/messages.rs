//! What the scheduler says when a pod finds no node, in the words of the real one.

use std::collections::BTreeMap;
use std::fmt;

/// Why a pod must not go to one node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// The node is cordoned.
    Unschedulable,
    /// The node has a taint that the pod does not tolerate.
    UntoleratedTaint,
    /// The node has not the labels the pod asks for.
    NodeAffinity,
    /// The pod names its nodes, and this is not one of them.
    NotNamed,
    /// As many pods as the node takes.
    TooManyPods,
    /// Not enough of a resource; `never` when not even an empty node had enough.
    Insufficient {
        /// The resource.
        resource: String,
        /// Whether the pod asks for more than the whole node.
        never: bool,
    },
    /// A bound volume is somewhere else.
    VolumeElsewhere,
    /// A bound volume is in another zone, by its labels.
    VolumeZone,
    /// No volume to bind here, and none can be made here.
    NoVolumeToBind,
    /// A claim that only one pod may use is in use.
    ClaimInUse,
    /// Placing the pod here would make the spread too uneven.
    TopologySpread,
    /// The node has not the label by which pods are spread.
    TopologySpreadLabel,
    /// No pod the new one wants to be with is here.
    PodAffinity,
    /// A pod the new one must not be with is here.
    PodAntiAffinity,
    /// A pod that must not be with the new one is here.
    ExistingAntiAffinity,
}

impl Reason {
    /// Whether the scheduler considers evicting pods to make room.
    fn eviction_could_help(&self) -> bool {
        match self {
            Self::Insufficient { never, .. } => !never,
            Self::TooManyPods | Self::ClaimInUse | Self::TopologySpread | Self::PodAntiAffinity | Self::ExistingAntiAffinity => {
                true
            }
            Self::Unschedulable
            | Self::UntoleratedTaint
            | Self::NodeAffinity
            | Self::NotNamed
            | Self::VolumeElsewhere
            | Self::VolumeZone
            | Self::NoVolumeToBind
            | Self::TopologySpreadLabel
            | Self::PodAffinity => false,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unschedulable => "node(s) were unschedulable",
            Self::UntoleratedTaint => "node(s) had untolerated taint(s)",
            Self::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            Self::NotNamed => "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            Self::TooManyPods => "Too many pods",
            Self::Insufficient { resource, .. } => return write!(f, "Insufficient {resource}"),
            Self::VolumeElsewhere => "node(s) didn't match PersistentVolume's node affinity",
            Self::VolumeZone => "node(s) had no available volume zone",
            Self::NoVolumeToBind => "node(s) didn't find available persistent volumes to bind",
            Self::ClaimInUse => {
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
            }
            Self::TopologySpread => "node(s) didn't match pod topology spread constraints",
            Self::TopologySpreadLabel => "node(s) didn't match pod topology spread constraints (missing required label)",
            Self::PodAffinity => "node(s) didn't match pod affinity rules",
            Self::PodAntiAffinity => "node(s) didn't match pod anti-affinity rules",
            Self::ExistingAntiAffinity => "node(s) didn't satisfy existing pods anti-affinity rules",
        })
    }
}

/// A pod looked at without a single node in the cluster.
pub(super) const NO_NODES: &str = "no nodes available to schedule pods";

/// What keeps a pod from every node, whichever.
///
/// The last two words are about resource claims, which the scheduler looks for although the pod has none.
pub(super) fn nowhere(nodes: usize, why: &str) -> String {
    format!("0/{nodes} nodes are available: {why}. not found")
}

/// Why each node was rejected, counted by reason, and why freeing resource claims or evicting pods would not help.
pub(super) fn rejected(rejections: &BTreeMap<&str, Vec<Reason>>, may_evict: bool) -> String {
    let nodes = rejections.len();
    let reasons = count(rejections.values().flatten().map(ToString::to_string));
    let evictions = count(rejections.values().map(|reasons| {
        let helps = reasons.iter().all(Reason::eviction_could_help);
        if helps { NO_VICTIMS.to_owned() } else { NOT_HELPFUL.to_owned() }
    }));
    format!("0/{nodes} nodes are available: {}. {}", histogram(&reasons), preemption(nodes, &evictions, may_evict))
}

const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

fn preemption(nodes: usize, reasons: &BTreeMap<String, usize>, may_evict: bool) -> String {
    if may_evict {
        format!("no new claims to deallocate, preemption: 0/{nodes} nodes are available: {}.", histogram(reasons))
    } else {
        "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.".to_owned()
    }
}

fn count(reasons: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    reasons.fold(BTreeMap::new(), |mut counts, reason| {
        *counts.entry(reason).or_default() += 1;
        counts
    })
}

/// Counts and reasons, sorted as text, so that 10 comes before 2.
fn histogram(reasons: &BTreeMap<String, usize>) -> String {
    let mut lines: Vec<_> = reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    lines.sort();
    lines.join(", ")
}
