//! What happens to the cluster itself, and how it is put right again.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod};
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_fdb_client::Management;
use serde_json::json;
use tokio::time::Instant;

use super::faults::OPERATOR;
use super::hands::Insistence;
use super::run::World;
use super::script::Trouble;
use crate::kubelet::{Fault, Window};
use crate::scenery::{CLASS, NAMESPACE, known_as};

/// What it is called when the database is filled.
pub(super) const MUCH_DATA: &str = "much data";

/// What ends something that lasts.
#[derive(Clone, Debug)]
pub(super) enum Repair {
    /// Whatever is held back from a watch is let through.
    Release(u64),
    /// A watch that missed something ends, or whichever came after it.
    EndWatches {
        client: String,
        resource: String,
    },
    /// The finalizer is taken off a pod.
    Unstick(String),
    /// Somebody else's pod goes.
    RemoveForeign(String),
    /// Nodes take pods again.
    Uncordon,
    /// As many storage processes as before.
    Revert(Option<i32>),
    /// A node has its taint no more.
    Untaint(&'static str),
    /// What somebody excluded by hand may be used again.
    Include(String),
    /// What is excluded and nobody has on record may be used again.
    IncludeWhatNobodyRemembers,
    /// The object is made again as it was.
    MakeObjectAgain(Box<FoundationDBCluster>),
    /// The cluster is looked after again.
    EndSkip,
    EndLeaseOutage,
    /// The older of two operators ends.
    FinishHandOver,
}

const STUCK: &str = "example.org/stuck";

impl World {
    pub(super) fn make(&mut self, trouble: &Trouble) {
        match *trouble {
            Trouble::PodDeleted { pick } => {
                if let Some(name) = self.some_pod(pick) {
                    self.faults.fault("pod deleted", format!("a user deletes pod {name}"));
                    self.cluster.kubernetes.delete::<Pod>(NAMESPACE, &name, None).ok();
                }
            }
            Trouble::PodEvicted { pick } => self.evict(pick),
            Trouble::MuchData { bytes } => {
                self.faults.fault(MUCH_DATA, format!("the database is filled with {} GB", bytes / 1_000_000_000));
                self.databases.with(&known_as(), |database| database.hold(bytes));
            }
            Trouble::PodStuckTerminating { pick, seconds } => self.stick(pick, seconds),
            Trouble::ForeignPod { pick, seconds } => self.take_a_name(pick, seconds),
            Trouble::NodeLost { pick, seconds, keeps_running } => {
                let node = *chosen(self.nodes(), pick);
                self.faults.fault("node lost", format!("{node} is lost for {seconds} s"));
                self.lose(&[node], seconds, keeps_running);
            }
            Trouble::ZoneLost { pick, seconds, keeps_running } => {
                let zone = &chosen(self.nodes(), pick)[..6];
                let nodes: Vec<&str> = self.nodes().iter().copied().filter(|node| node.starts_with(zone)).collect();
                self.faults.fault("zone lost", format!("the zone of {} is lost for {seconds} s", nodes.join(" and ")));
                self.lose(&nodes, seconds, keeps_running);
            }
            Trouble::NodesCordoned { seconds } => {
                self.faults.fault("nodes cordoned", format!("no node takes new pods for {seconds} s"));
                self.cordon(true);
                self.repair_in(seconds, Repair::Uncordon);
            }
            Trouble::VolumesStuck { seconds } => {
                self.faults.fault("volumes stuck", format!("no volumes are made for {seconds} s"));
                let (class, during) = (CLASS.to_owned(), self.window(seconds));
                self.cluster.change_settings(|settings| settings.faults.push(Fault::ProvisioningStuck { class, during }));
            }
            Trouble::VolumeLost { pick } => self.lose_volume(pick),
            Trouble::DiskWorn { pick } => self.wear_out_a_disk(pick),
            Trouble::ClockJump { seconds } => {
                if let Some(operator) = self.operators.jump(seconds) {
                    self.faults.fault("clock jump", format!("the clock of {operator} jumps by {seconds} s"));
                }
            }
            Trouble::WatchesEnd => {
                self.faults.fault("watches ended", "all watches end");
                self.cluster.kubernetes.end_watches(|watch| watch.client.starts_with(OPERATOR));
            }
            Trouble::HistoryForgotten => {
                self.faults.fault("410 Gone", "all watches end, and what was before is forgotten");
                self.cluster.kubernetes.compact(self.cluster.kubernetes.revision());
                self.cluster.kubernetes.end_watches(|watch| watch.client.starts_with(OPERATOR));
            }
            Trouble::Edit => self.ask_for_one_more_log(),
            Trouble::Resize { pick } => self.ask_for_another_number(pick),
            Trouble::Domains { pick } => self.ask_for_fault_domains(pick),
            Trouble::SharedDomains => self.ask_for_coordinators_that_share_domains(),
            Trouble::Shape { pick } => self.ask_for_another_shape(pick),
            Trouble::Rationing { pick } => self.ask_for_another_ration(pick),
            Trouble::Knob { pick } => self.ask_for_a_knob(pick),
            Trouble::Template { pick } => self.ask_for_other_pods(pick),
            Trouble::Remove { pick } => self.ask_for_a_removal(pick),
            Trouble::RemoveAtOnce { pick } => self.ask_for_a_removal_at_once(pick),
            Trouble::ServerCrashed { pick } => self.crash_a_server(pick),
            Trouble::CoordinatorLost { pick, seconds, keeps_running } => self.lose_a_coordinator(pick, seconds, keeps_running),
            Trouble::NodeTainted { pick, seconds } => {
                let node = *chosen(self.nodes(), pick);
                self.faults.fault("node tainted", format!("{node} has a taint for {seconds} s"));
                self.taint(node, true);
                self.repair_in(seconds, Repair::Untaint(node));
            }
            Trouble::ExcludedByHand { pick, seconds } => self.exclude_by_hand(pick, seconds),
            Trouble::CoordinatorsByHand { pick } => self.change_coordinators_by_hand(pick),
            Trouble::AllPodsDeleted => self.delete_all_pods(),
            Trouble::ObjectMadeAgain { seconds } => self.delete_the_object(seconds),
            Trouble::StatusLost => self.lose_the_status(),
            Trouble::EditAndRevert { seconds } => self.ask_for_less_for_a_while(seconds),
            Trouble::Skip { seconds } => {
                self.faults.fault("skip", format!("a user asks to be left alone for {seconds} s"));
                self.edit(|cluster| cluster.spec.skip = Some(true));
                self.repair_in(seconds, Repair::EndSkip);
            }
            Trouble::LeaseOutage { seconds } => {
                self.faults.fault("lease outage", format!("calls about leases fail for {seconds} s"));
                self.faults.lease_outage(true);
                self.repair_in(seconds, Repair::EndLeaseOutage);
            }
            Trouble::LeaseDeleted => {
                self.faults.fault("lease deleted", "somebody deletes the lease");
                self.cluster.kubernetes.delete::<Lease>(NAMESPACE, "quorate", None).ok();
            }
            Trouble::HandOver { seconds } => {
                self.faults.fault("hand-over", format!("a second operator starts, {seconds} s before the first is asked to end"));
                self.operators.start();
                self.repair_in(seconds, Repair::FinishHandOver);
            }
        }
    }

    pub(super) fn put_right(&mut self, repair: Repair) {
        match repair {
            Repair::Release(watch) => drop(self.cluster.kubernetes.release(watch, usize::MAX)),
            Repair::EndWatches { client, resource } => {
                // It can't go on where it was, or what it missed would be missed for good; no API server does that. A write makes sure that
                // nobody's last event was the newest.
                let kubernetes = &self.cluster.kubernetes;
                let note = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "note-", "namespace": NAMESPACE}});
                kubernetes.create_value(note).ok();
                kubernetes.compact(kubernetes.revision());
                kubernetes.end_watches(|watch| watch.client == client && watch.resource == resource);
            }
            Repair::Unstick(name) => {
                if let Ok(mut pod) = self.cluster.kubernetes.get::<Pod>(NAMESPACE, &name) {
                    pod.metadata.finalizers.iter_mut().for_each(|finalizers| finalizers.retain(|one| one != STUCK));
                    self.cluster.kubernetes.update(&pod).ok();
                }
            }
            Repair::RemoveForeign(name) => {
                let pod = self.cluster.kubernetes.get::<Pod>(NAMESPACE, &name);
                if pod.is_ok_and(|pod| pod.metadata.owner_references.is_none()) {
                    self.cluster.kubernetes.delete::<Pod>(NAMESPACE, &name, Some(0)).ok();
                }
            }
            Repair::Uncordon => self.cordon(false),
            Repair::Revert(storage) => {
                self.faults.tell("a user takes a wish back");
                self.edit(|cluster| {
                    if let Some(counts) = cluster.spec.process_counts.as_mut() {
                        counts.storage = storage;
                    }
                });
            }
            Repair::Untaint(node) => self.taint(node, false),
            Repair::Include(address) => self.by_hand(Management::Include(vec![address]), Insistence::UntilItIsDone),
            Repair::IncludeWhatNobodyRemembers => self.include_what_nobody_remembers(),
            Repair::MakeObjectAgain(object) => self.make_the_object_again(*object),
            Repair::EndSkip => self.edit(|cluster| cluster.spec.skip = None),
            Repair::EndLeaseOutage => self.faults.lease_outage(false),
            Repair::FinishHandOver => self.operators.retire_oldest(),
        }
    }

    pub(super) fn repair_in(&mut self, seconds: u64, repair: Repair) {
        self.repair_at(Instant::now() + Duration::from_secs(seconds), repair);
    }

    /// Everything that still lasts ends now.
    pub(super) fn end_all_troubles(&mut self) {
        for (_, repair) in std::mem::take(&mut self.repairs) {
            self.put_right(repair);
        }
        let now = self.clock.true_now();
        self.cluster.change_settings(|settings| {
            for fault in &mut settings.faults {
                // The beginning is kept, because pods and nodes remember it.
                if let Fault::NodeLost { during, .. } | Fault::ProvisioningStuck { during, .. } = fault {
                    during.until = during.until.map(|until| until.min(now));
                }
            }
        });
    }

    fn window(&self, seconds: u64) -> Window {
        let from = self.clock.true_now();
        let lasts = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
        Window { from, until: Some(from + lasts) }
    }

    pub(super) fn lose(&self, nodes: &[&str], seconds: u64, keeps_running: bool) {
        let during = self.window(seconds);
        self.cluster.change_settings(|settings| {
            for node in nodes {
                settings.faults.push(Fault::NodeLost { node: (*node).to_owned(), during, keeps_running });
            }
        });
    }

    /// One of the cluster's own pods.
    pub(super) fn some_pod(&self, pick: u64) -> Option<String> {
        let names: Vec<String> = self.cluster.look(|world| {
            let ours = world.pods.iter().filter(|(_, pod)| pod.metadata.owner_references.is_some());
            ours.map(|((_, name), _)| name.clone()).collect()
        });
        (!names.is_empty()).then(|| chosen(&names, pick).clone())
    }

    /// The node is short of memory: the pod has failed, and its record stays.
    fn evict(&self, pick: u64) {
        let Some(name) = self.some_pod(pick) else { return };
        let Ok(mut pod) = self.cluster.kubernetes.get::<Pod>(NAMESPACE, &name) else { return };
        self.faults.fault("pod evicted", format!("the node of pod {name} evicts it"));
        let status = pod.status.get_or_insert_default();
        status.phase = Some("Failed".to_owned());
        status.reason = Some("Evicted".to_owned());
        for condition in status.conditions.iter_mut().flatten().filter(|condition| condition.type_.ends_with("Ready")) {
            "False".clone_into(&mut condition.status);
        }
        self.cluster.kubernetes.update_status(&pod).ok();
    }

    fn stick(&mut self, pick: u64, seconds: u64) {
        let Some(name) = self.some_pod(pick) else { return };
        let Ok(mut pod) = self.cluster.kubernetes.get::<Pod>(NAMESPACE, &name) else { return };
        self.faults.fault("pod stuck terminating", format!("pod {name} is deleted and stays for {seconds} s"));
        pod.metadata.finalizers.get_or_insert_default().push(STUCK.to_owned());
        self.cluster.kubernetes.update(&pod).ok();
        self.cluster.kubernetes.delete::<Pod>(NAMESPACE, &name, None).ok();
        self.repair_in(seconds, Repair::Unstick(name));
    }

    fn take_a_name(&mut self, pick: u64, seconds: u64) {
        let Some(name) = self.some_pod(pick) else { return };
        let Ok(ours) = self.cluster.kubernetes.get::<Pod>(NAMESPACE, &name) else { return };
        self.cluster.kubernetes.delete::<Pod>(NAMESPACE, &name, Some(0)).ok();
        let made = self.cluster.kubernetes.create_value(json!({
            "apiVersion": "v1", "kind": "Pod",
            // Made from a copy of ours, as people do.
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": ours.metadata.labels, "annotations": ours.metadata.annotations},
            "spec": {"restartPolicy": "Never", "nodeName": self.nodes()[0], "containers": [{"name": "job", "image": "job"}]},
        }));
        let Ok(mut pod) = made else { return };
        self.faults.fault("foreign pod", format!("somebody else's pod is called {name} for {seconds} s, and has ended"));
        pod["status"] = json!({"phase": "Succeeded"});
        self.cluster.kubernetes.update_status_value(pod).ok();
        self.repair_in(seconds, Repair::RemoveForeign(name));
    }

    fn cordon(&self, cordoned: bool) {
        for name in self.nodes() {
            if let Ok(mut node) = self.cluster.kubernetes.get::<Node>("", name) {
                node.spec.get_or_insert_default().unschedulable = cordoned.then_some(true);
                self.cluster.kubernetes.update(&node).ok();
            }
        }
    }

    /// A volume that everything can do without: whatever is lost besides, an operator lost.
    fn lose_volume(&self, pick: u64) {
        let claims: Vec<(String, String)> = self.cluster.look(|world| {
            let volume = |claim: &PersistentVolumeClaim| claim.spec.as_ref()?.volume_name.clone();
            world.claims.iter().filter_map(|((_, name), claim)| Some((name.clone(), volume(claim)?))).collect()
        });
        if claims.is_empty() {
            return;
        }
        let (claim, volume) = chosen(&claims, pick);
        if !self.can_do_without(volume) {
            return;
        }
        self.faults.fault("volume lost", format!("the volume of {claim} is lost"));
        let kubernetes = &self.cluster.kubernetes;
        kubernetes.delete::<PersistentVolumeClaim>(NAMESPACE, claim, None).ok();
        let users: Vec<String> = self.cluster.look(|world| {
            let uses = |pod: &Pod| crate::view::claim_names(pod).any(|name| name == claim);
            world.pods.iter().filter(|(_, pod)| uses(pod)).map(|((_, name), _)| name.clone()).collect()
        });
        for pod in users {
            kubernetes.delete::<Pod>(NAMESPACE, &pod, None).ok();
        }
    }
}

pub(super) fn chosen<T>(from: &[T], pick: u64) -> &T {
    &from[usize::try_from(pick % from.len() as u64).unwrap_or(0)]
}
