//! A cluster at work: the API, and what a real cluster's controllers, scheduler and kubelets would do to it by now.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, PersistentVolume, PersistentVolumeClaim, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::fdbservers::Fdbservers;
use crate::kubelet::{self, Change, KubeletSettings};
use crate::kubernetes::Kubernetes;
use crate::mirror::Mirror;
use crate::scheduler::{self, Binding, Placement, SELECTED_NODE};

/// A cluster whose controllers, scheduler and kubelets, and what runs in its pods, work whenever [`Cluster::settle`] is called.
pub struct Cluster {
    /// Its API.
    pub kubernetes: Kubernetes,
    state: Mutex<State>,
}

struct State {
    settings: KubeletSettings,
    mirror: Mirror,
    servers: Option<Fdbservers>,
    /// Nobody had anything left to do at the last look, and neither objects nor settings have changed since.
    settled: bool,
    /// When somebody has to look again then.
    wake: Option<Timestamp>,
}

impl Cluster {
    /// A cluster with these settings.
    pub fn new(kubernetes: Kubernetes, settings: KubeletSettings) -> Self {
        let state = State { settings, mirror: Mirror::default(), servers: None, settled: false, wake: None };
        Self { kubernetes, state: Mutex::new(state) }
    }

    /// The pods of FoundationDB clusters run these servers.
    #[must_use]
    pub fn with_servers(self, servers: Fdbservers) -> Self {
        self.lock().servers = Some(servers);
        self
    }

    /// Does something to the servers in the pods, if there are any.
    pub fn servers<T>(&self, act: impl FnOnce(&mut Fdbservers) -> T) -> Option<T> {
        let mut state = self.lock();
        state.settled = false;
        state.servers.as_mut().map(act)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes how kubelets behave, or what goes wrong.
    pub fn change_settings(&self, change: impl FnOnce(&mut KubeletSettings)) {
        let mut state = self.lock();
        change(&mut state.settings);
        state.settled = false;
    }

    /// Shows the objects as they are now.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&Mirror) -> T) -> T {
        let mut state = self.lock();
        // What is taken in here is not seen by the next `settle` as a change.
        if state.mirror.refresh(&self.kubernetes) {
            state.settled = false;
        }
        at(&state.mirror)
    }

    /// Lets everybody do what they would have done by now, and says when somebody has to look again.
    pub fn settle(&self, now: Timestamp) -> Option<Timestamp> {
        let State { settings, mirror, servers, settled, wake } = &mut *self.lock();
        loop {
            let servers_wake = servers.as_ref().and_then(Fdbservers::wake);
            let next = wake.iter().copied().chain(servers_wake).min();
            *settled &= !mirror.refresh(&self.kubernetes) && next.is_none_or(|next| now < next);
            if *settled {
                return next;
            }
            self.kubernetes.collect_garbage();
            self.kubernetes.compute_budgets();
            mirror.refresh(&self.kubernetes);
            let before = self.kubernetes.revision();
            self.schedule(mirror, now);
            mirror.refresh(&self.kubernetes);
            let (changes, next) = kubelet::next(now, &mirror.view(), settings);
            for change in changes {
                self.apply(change);
            }
            mirror.refresh(&self.kubernetes);
            let news = std::mem::take(&mut mirror.news);
            let annotated = servers.as_mut().map(|servers| servers.step(now, news, mirror, settings));
            for pod in annotated.into_iter().flatten() {
                self.kubernetes.update(&pod).ok();
            }
            (*settled, *wake) = (self.kubernetes.revision() == before, next);
        }
    }

    /// Places every pod that waits for a node, one after the other, as the scheduler does.
    fn schedule(&self, mirror: &mut Mirror, now: Timestamp) {
        let is_waiting = |pod: &Pod| {
            pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_none()) && pod.metadata.deletion_timestamp.is_none()
        };
        let waiting: Vec<(String, String)> =
            mirror.pods.iter().filter(|(_, pod)| is_waiting(pod)).map(|(key, _)| key.clone()).collect();
        for (namespace, name) in waiting {
            mirror.refresh(&self.kubernetes);
            let view = mirror.view();
            let Some(pod) = view.pods.get(&(namespace.as_str(), name.as_str())) else { continue };
            match scheduler::place(pod, &view) {
                Placement::On(node) => {
                    for binding in scheduler::bindings(pod, &node, &view) {
                        self.bind_claim(&namespace, &node, &binding);
                    }
                    // The pod may have gone in between; then there is nothing to bind.
                    self.kubernetes.bind(&namespace, &name, &node).ok();
                }
                Placement::Unschedulable { reason, message } => self.say_unschedulable(pod, reason, &message, now),
            }
        }
    }

    fn bind_claim(&self, namespace: &str, node: &str, binding: &Binding) {
        match binding {
            Binding::Provision { claim } => {
                let Ok(mut claim) = self.kubernetes.get::<PersistentVolumeClaim>(namespace, claim) else { return };
                claim.metadata.annotations.get_or_insert_default().insert(SELECTED_NODE.to_owned(), node.to_owned());
                self.kubernetes.update(&claim).ok();
            }
            Binding::Existing { claim, volume } => {
                let claim = self.kubernetes.get::<PersistentVolumeClaim>(namespace, claim);
                let volume = self.kubernetes.get::<PersistentVolume>("", volume);
                let (Ok(claim), Ok(mut volume)) = (claim, volume) else { return };
                if let Some(spec) = volume.spec.as_mut() {
                    spec.claim_ref = Some(ObjectReference {
                        namespace: Some(namespace.to_owned()),
                        name: claim.metadata.name.clone(),
                        uid: claim.metadata.uid.clone(),
                        ..ObjectReference::default()
                    });
                }
                self.kubernetes.update(&volume).ok();
            }
        }
    }

    fn say_unschedulable(&self, pod: &Pod, reason: &str, message: &str, now: Timestamp) {
        let mut pod = pod.clone();
        let conditions = pod.status.get_or_insert_default().conditions.get_or_insert_default();
        let said = PodCondition {
            type_: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_transition_time: Some(Time(now)),
            ..PodCondition::default()
        };
        let same = |old: &PodCondition| old.type_ == said.type_ && old.status == said.status && old.message == said.message;
        if conditions.iter().any(same) {
            return;
        }
        conditions.retain(|condition| condition.type_ != said.type_);
        conditions.push(said);
        self.kubernetes.update_status(&pod).ok();
    }

    /// A write that fails was made against something that has changed; the next look sees it as it is.
    fn apply(&self, change: Change) {
        let kubernetes = &self.kubernetes;
        match change {
            Change::PodStatus(pod) => drop(kubernetes.update_status(pod.as_ref())),
            Change::DeletePod { namespace, name, uid, grace_seconds } => {
                let same = kubernetes.get::<Pod>(&namespace, &name).is_ok_and(|pod| uid.is_none() || pod.metadata.uid == uid);
                if same {
                    let grace = grace_seconds.and_then(|seconds| u32::try_from(seconds).ok());
                    kubernetes.delete::<Pod>(&namespace, &name, grace).ok();
                }
            }
            Change::Node(node) => drop(kubernetes.update(node.as_ref())),
            Change::NodeStatus(node) => drop(kubernetes.update_status(node.as_ref())),
            Change::Claim(claim) => drop(kubernetes.update(claim.as_ref())),
            Change::ClaimStatus(claim) => drop(kubernetes.update_status(claim.as_ref())),
            Change::CreateVolume(volume) => drop(kubernetes.create(volume.as_ref())),
            Change::Volume(volume) => drop(kubernetes.update(volume.as_ref())),
            Change::VolumeStatus(volume) => drop(kubernetes.update_status(volume.as_ref())),
            Change::DeleteVolume { name, uid } => {
                let same =
                    kubernetes.get::<PersistentVolume>("", &name).is_ok_and(|volume| uid.is_none() || volume.metadata.uid == uid);
                if same {
                    kubernetes.delete::<PersistentVolume>("", &name, None).ok();
                }
            }
        }
    }
}
