//! What users ask for while a world is disturbed.

use quorate_api::foundationdb::{CoordinatorSelection, Distribution, FoundationDBCluster, PodUpdateStrategy};
use quorate_foundationdb::{ProcessClass, labels};
use serde_json::{Value, json};

use super::run::World;
use super::trouble::{Repair, chosen};
use crate::scenery::{CLUSTER, NAMESPACE};

/// What another shape is counted as.
pub(super) const SHAPE: &str = "shape";
/// What another number of logical fault domains is counted as.
pub(super) const FAULT_DOMAINS: &str = "fault domains";
/// So many fields of a shape.
const SHAPES: u64 = 12;
/// Of six hosts one stays without logs then, where the first of another fault domain finds room.
const ROOM_FOR_MOVES: i32 = 5;
/// Volumes never shrink.
const LARGER: &str = "192Gi";
const STRATEGIES: [&str; 3] = ["Delete", "Replace", "ReplaceTransactionSystem"];

impl World {
    pub(super) fn edit(&self, change: impl FnOnce(&mut FoundationDBCluster)) {
        let Ok(mut cluster) = self.cluster.kubernetes.get::<FoundationDBCluster>(NAMESPACE, CLUSTER) else { return };
        change(&mut cluster);
        self.cluster.kubernetes.update(&cluster).ok();
    }

    pub(super) fn ask_for_one_more_log(&self) {
        self.edit(|cluster| {
            let most = if cluster.spec.distribution.is_some() { ROOM_FOR_MOVES } else { 6 };
            if let Some(logs) = cluster.spec.process_counts.as_mut().and_then(|counts| counts.log.as_mut())
                && *logs < most
            {
                *logs += 1;
                self.faults.fault("edit", format!("a user asks for {logs} logs"));
            }
        });
    }

    /// Fewer than were there, and still enough for two copies and a zone to spare.
    pub(super) fn ask_for_less_for_a_while(&mut self, seconds: u64) {
        let Ok(cluster) = self.cluster.kubernetes.get::<FoundationDBCluster>(NAMESPACE, CLUSTER) else { return };
        let before = cluster.spec.process_counts.and_then(|counts| counts.storage);
        if before == Some(3) {
            return;
        }
        self.faults.fault("edit and revert", format!("a user asks for three storage processes, for {seconds} s"));
        self.edit(|cluster| {
            if let Some(counts) = cluster.spec.process_counts.as_mut() {
                counts.storage = Some(3);
            }
        });
        self.repair_in(seconds, Repair::Revert(before));
    }

    pub(super) fn ask_for_another_number(&self, pick: u64) {
        let count = 3 + i32::try_from(pick / 3 % 3).unwrap_or(0);
        self.edit(|cluster| {
            let Some(counts) = cluster.spec.process_counts.as_mut() else { return };
            let (class, asked) = match pick % 3 {
                0 => ("storage", &mut counts.storage),
                1 => ("log", &mut counts.log),
                _ => ("stateless", &mut counts.stateless),
            };
            self.faults.fault("resize", format!("a user asks for {count} of class {class}"));
            *asked = Some(count);
        });
    }

    /// Two to four of them, which six hosts have room for whatever happened, or none.
    pub(super) fn ask_for_fault_domains(&self, pick: u64) {
        let domains = 2 + i32::try_from(pick / 4 % 3).unwrap_or(0);
        let enabled = !pick.is_multiple_of(4);
        let what = if enabled { format!("{domains} logical fault domains") } else { "no logical fault domains".to_owned() };
        self.faults.fault(FAULT_DOMAINS, format!("a user asks for {what}"));
        self.edit(|cluster| {
            if let Some(logs) = cluster.spec.process_counts.as_mut().and_then(|counts| counts.log.as_mut()) {
                *logs = ROOM_FOR_MOVES.min(*logs);
            }
            cluster.spec.distribution = Some(Distribution {
                enabled: Some(enabled),
                desired_fault_domains: Some(domains),
                required: Some((pick / 12).is_multiple_of(2)),
            });
            // A domain is set aside as soon as its pods have been pending for a minute.
            cluster.spec.automation_options.get_or_insert_default().ignore_pending_pods_duration = Some(60_000_000_000);
        });
    }

    /// Two domains, each on two hosts, so that of three coordinators two are in one domain.
    pub(super) fn ask_for_coordinators_that_share_domains(&self) {
        self.faults
            .fault("shared domains", "a user asks for two logical fault domains, and for coordinators among storage alone");
        let alone = json!({"spec": {
            "containers": [{"name": "foundationdb"}],
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
                "labelSelector": {"matchLabels": {labels::CLASS: ProcessClass::Storage.name()}},
                "topologyKey": "kubernetes.io/hostname",
            }]}},
        }});
        self.edit(|cluster| {
            let spec = &mut cluster.spec;
            spec.distribution = Some(Distribution { enabled: Some(true), desired_fault_domains: Some(2), required: Some(false) });
            let storage =
                CoordinatorSelection { process_class: Some(ProcessClass::Storage.name().to_owned()), priority: Some(1) };
            spec.coordinator_selection = Some(vec![storage]);
            spec.automation_options.get_or_insert_default().pod_update_strategy = Some(PodUpdateStrategy::Delete);
            let of_storage = spec.processes.get_or_insert_default().entry(ProcessClass::Storage.name().to_owned()).or_default();
            of_storage.pod_template = serde_json::from_value(alone).ok();
        });
    }

    /// What is set once and hardly ever changed, changed all the same.
    pub(super) fn ask_for_another_shape(&self, pick: u64) {
        let one_of = |all: &[Value]| chosen(all, pick / SHAPES).clone();
        let (field, value) = match pick % SHAPES {
            0 => ("/storageServersPerPod", one_of(&[json!(1), json!(2)])),
            1 => ("/logServersPerPod", one_of(&[json!(1), json!(2)])),
            2 => ("/processGroupIDPrefix", one_of(&[json!(""), json!("a"), json!("b")])),
            3 => ("/processes/general/volumeClaimTemplate/spec/resources/requests/storage", json!(LARGER)),
            4 => ("/automationOptions/useLocalitiesForExclusion", one_of(&[json!(true), json!(false)])),
            5 => ("/automationOptions/podUpdateStrategy", one_of(&STRATEGIES.map(Value::from))),
            // Whoever says All wants all of it at once, whatever that costs.
            6 => ("/automationOptions/deletionMode", one_of(&["Zone", "ProcessGroup"].map(Value::from))),
            7 => ("/automationOptions/removalMode", one_of(&["All", "Zone", "ProcessGroup"].map(Value::from))),
            8 => ("/databaseConfiguration/storage_engine", one_of(&["ssd-2", "ssd-rocksdb-v1"].map(Value::from))),
            9 => ("/databaseConfiguration/redundancy_mode", one_of(&["double", "triple"].map(Value::from))),
            10 => ("/lockOptions/disableLocks", one_of(&[json!(true), json!(false)])),
            _ => ("/databaseConfiguration/resolvers", one_of(&[json!(1), json!(2)])),
        };
        self.faults.fault(SHAPE, format!("a user sets {field} to {value}"));
        self.edit(|cluster| {
            let mut spec = serde_json::to_value(&cluster.spec).unwrap_or_default();
            let place = field[1..].split('/').fold(&mut spec, |place, name| &mut place[name]);
            *place = value;
            if field.ends_with("/storage_engine") {
                // Without that no server would come to it.
                spec["databaseConfiguration"]["storage_migration_type"] = json!("aggressive");
            }
            if let Ok(changed) = serde_json::from_value(spec) {
                cluster.spec = changed;
            }
        });
    }

    /// One counter for all replacements, or one fault domain at a time, with buckets besides or without.
    pub(super) fn ask_for_another_ration(&self, pick: u64) {
        let (buckets, by_domain) = [(false, false), (false, true), (true, true)][usize::try_from(pick % 3).unwrap_or(0)];
        self.faults.fault("rationing", format!("replacement buckets: {buckets}, by fault domain: {by_domain}"));
        self.edit(|cluster| {
            let replacements = cluster.spec.automation_options.get_or_insert_default().replacements.get_or_insert_default();
            replacements.replacement_bucket.get_or_insert_default().enabled = Some(buckets);
            replacements.fault_domain_based_replacements = Some(by_domain);
        });
    }

    pub(super) fn ask_for_a_knob(&self, pick: u64) {
        let knob = format!("knob_max_trace_lines={}", 1000 + pick % 1000);
        self.faults.fault("knob", format!("a user asks for {knob}"));
        self.edit(|cluster| {
            let general = cluster.spec.processes.get_or_insert_default().entry("general".to_owned()).or_default();
            general.custom_parameters = Some(vec![knob]);
        });
    }

    /// Now and then only for other labels.
    pub(super) fn ask_for_other_pods(&self, pick: u64) {
        let colour = format!("colour-{}", pick % 1000);
        if pick % 4 == 1 {
            return self.ask_for_other_labels(&colour);
        }
        self.faults.fault("template", format!("a user asks for pods with {colour}"));
        let containers = json!([{"name": "foundationdb", "env": [{"name": "COLOUR", "value": colour}]}]);
        self.edit(|cluster| {
            let processes = cluster.spec.processes.get_or_insert_default();
            processes.entry("general".to_owned()).or_default().pod_template.get_or_insert_default();
            // A class with a template of its own has nothing from that of all.
            for template in processes.values_mut().filter_map(|settings| settings.pod_template.as_mut()) {
                let mut spec = serde_json::to_value(&template.spec).unwrap_or_default();
                spec["containers"] = containers.clone();
                template.spec = serde_json::from_value(spec).ok();
            }
        });
    }

    /// Labels and annotations of pods and volume claims, for which nobody is made again.
    fn ask_for_other_labels(&self, colour: &str) {
        self.faults.fault("template", format!("a user asks for labels of {colour}"));
        self.edit(|cluster| {
            let processes = cluster.spec.processes.get_or_insert_default();
            let general = processes.entry("general".to_owned()).or_default();
            general.pod_template.get_or_insert_default();
            general.volume_claim_template.get_or_insert_default();
            for settings in processes.values_mut() {
                let of_pods = settings.pod_template.as_mut().map(|template| template.metadata.get_or_insert_default());
                let of_claims = settings.volume_claim_template.as_mut().map(|template| &mut template.metadata);
                for metadata in of_pods.into_iter().chain(of_claims) {
                    metadata.labels = Some([("colour".to_owned(), colour.to_owned())].into());
                    metadata.annotations = Some([("example.org/painted".to_owned(), colour.to_owned())].into());
                }
            }
        });
    }

    pub(super) fn ask_for_a_removal(&self, pick: u64) {
        let Some(group) = self.some_group(pick) else { return };
        self.faults.fault("removal", format!("a user asks for {group} to be removed"));
        self.edit(|cluster| cluster.spec.process_groups_to_remove.get_or_insert_default().push(group));
    }

    /// What goes as it is takes its data with it; the user made sure that nothing depends on it.
    pub(super) fn ask_for_a_removal_at_once(&self, pick: u64) {
        let Some(group) = self.some_group(pick) else { return };
        let place = format!("locality_instance_id:{group}");
        let volume = self.databases.look(&crate::scenery::known_as(), |database| {
            database?.servers().find(|server| server.is_meant_by(&place)).map(|server| server.volume)
        });
        if !volume.is_some_and(|volume| self.can_do_without(&volume)) {
            return;
        }
        self.faults.fault("removal at once", format!("a user asks for {group} to be removed without exclusion"));
        self.edit(|cluster| cluster.spec.process_groups_to_remove_without_exclusion.get_or_insert_default().push(group));
    }

    /// Whether nothing is missing in the database, and nothing would be lost with a volume; and nobody is about to take another one.
    pub(super) fn can_do_without(&self, volume: &str) -> bool {
        let others_go = self.cluster.look(|world| {
            // On a node that is lost, a claim goes when that is back.
            let one_goes = world.claims.values().any(|claim| claim.metadata.deletion_timestamp.is_some());
            one_goes
                || world.clusters.values().any(|cluster| {
                    let groups = cluster.status.iter().flat_map(|status| status.process_groups.iter().flatten());
                    let asked = cluster.spec.process_groups_to_remove_without_exclusion.iter().flatten();
                    let asked: Vec<&String> = asked.collect();
                    groups.filter_map(|group| group.process_group_id.as_ref()).any(|id| asked.contains(&id))
                })
        });
        !others_go
            && self.databases.look(&crate::scenery::known_as(), |database| {
                database.is_some_and(|database| database.is_whole() && database.lost_without(&[volume]).is_none())
            })
    }

    fn some_group(&self, pick: u64) -> Option<String> {
        let groups: Vec<String> = self.cluster.look(|world| {
            let statuses = world.clusters.values().filter_map(|cluster| cluster.status.as_ref());
            let groups = statuses.flat_map(|status| status.process_groups.iter().flatten());
            groups.filter(|group| group.removal_timestamp.is_none()).filter_map(|group| group.process_group_id.clone()).collect()
        });
        (!groups.is_empty()).then(|| chosen(&groups, pick).clone())
    }
}
