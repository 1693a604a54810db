//! What Kubernetes has of each recorded process group, found once per decision: nearly every concern asks for it.

use std::cmp::Ordering;
use std::ops::Deref;

use super::ClusterSnapshot;
use super::alongside::Alongside;
use crate::{ClaimFacts, PodFacts, ProcessClass, ProcessGroupId, ServiceFacts, objects};

/// A map in which things are looked up more often than anywhere else.
#[expect(clippy::disallowed_types, reason = "it is looked up in; whoever walks through it sorts what comes out")]
pub(super) type LookedUp<K, V> = std::collections::HashMap<K, V, foldhash::fast::FixedState>;

/// The pods, claims and services of process groups.
pub(super) struct Roster<'a> {
    seen: &'a ClusterSnapshot,
    /// In the order of their names.
    recorded: Vec<(&'a ProcessGroupId, Objects<'a>)>,
    everything: bool,
}

/// What there is of a process group, whoever made it.
#[derive(Clone, Copy)]
pub(super) struct Objects<'a> {
    pub pod: Option<&'a PodFacts>,
    pub claim: Option<&'a ClaimFacts>,
    pub service: Option<&'a ServiceFacts>,
}

impl<'a> Roster<'a> {
    pub(super) fn of(seen: &'a ClusterSnapshot) -> Self {
        let (mut pods, mut claims) = (Alongside::new(&seen.kube.pods), Alongside::new(&seen.kube.claims));
        let mut services = Alongside::new(&seen.kube.services);
        let recorded = seen.kube.recorded.groups.iter().map(|(id, group)| {
            let name = objects::pod_name(&seen.desired, group.class, id);
            let (pod, claim) = (pods.get(&name).map(Deref::deref), claims.get(&objects::claim_name(&name)).map(Deref::deref));
            (id, Objects { pod, claim, service: services.get(&name) })
        });
        let recorded: Vec<_> = recorded.collect();
        let (pods, claims) = recorded.iter().fold((0, 0), |(pods, claims), (_, objects)| {
            (pods + usize::from(objects.pod.is_some()), claims + usize::from(objects.claim.is_some()))
        });
        Self { seen, recorded, everything: pods == seen.kube.pods.len() && claims == seen.kube.claims.len() }
    }

    /// Whether every pod and every claim is of a recorded process group.
    pub(super) const fn has_everything(&self) -> bool {
        self.everything
    }

    /// What is there under the names of a process group.
    pub(super) fn objects(&self, id: &ProcessGroupId, class: ProcessClass) -> Objects<'a> {
        if let Ok(found) = self.recorded.binary_search_by(|(known, _)| (*known).cmp(id)) {
            return self.recorded[found].1;
        }
        let (kube, name) = (&self.seen.kube, objects::pod_name(&self.seen.desired, class, id));
        let (pod, claim) = (kube.pods.get(&name), kube.claims.get(&objects::claim_name(&name)));
        Objects { pod: pod.map(Deref::deref), claim: claim.map(Deref::deref), service: kube.services.get(&name) }
    }

    /// For whoever walks through all process groups in order: then nothing is searched for.
    pub(super) fn in_order(&self) -> InOrder<'_, 'a> {
        InOrder { roster: self, rest: &self.recorded }
    }

    /// The pod under the name of a process group.
    pub(super) fn pod(&self, id: &ProcessGroupId, class: ProcessClass) -> Option<&'a PodFacts> {
        self.objects(id, class).pod
    }

    /// The volume claim under the name of a process group.
    pub(super) fn claim(&self, id: &ProcessGroupId, class: ProcessClass) -> Option<&'a ClaimFacts> {
        self.objects(id, class).claim
    }
}

/// What is known of process groups that are asked for in the order of their names.
pub(super) struct InOrder<'r, 'a> {
    roster: &'r Roster<'a>,
    rest: &'r [(&'a ProcessGroupId, Objects<'a>)],
}

impl<'a> InOrder<'_, 'a> {
    /// The same as [`Roster::objects`].
    pub(super) fn objects(&mut self, id: &ProcessGroupId, class: ProcessClass) -> Objects<'a> {
        while let Some(((known, objects), rest)) = self.rest.split_first() {
            match (*known).cmp(id) {
                Ordering::Greater => break,
                Ordering::Less => self.rest = rest,
                Ordering::Equal => {
                    self.rest = rest;
                    return *objects;
                }
            }
        }
        self.roster.objects(id, class)
    }
}
