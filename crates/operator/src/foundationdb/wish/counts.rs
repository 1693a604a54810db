//! How many process groups of each class, and how many servers in a pod.

use std::collections::BTreeMap;

use quorate_api::foundationdb::{FoundationDBClusterSpec, KUBERNETES_CLUSTER_FAULT_DOMAIN};
use quorate_foundationdb::{AskedCounts, ProcessClass, RoleCounts, process_counts};

use super::problems::Problems;

/// More process groups of one class than this is a slip of the pen: no database of that size is known, and each is a pod.
const MOST_OF_A_CLASS: i32 = 5_000;
/// More servers than this in one pod share too much of one fate.
const MOST_SERVERS_PER_POD: i32 = 64;

/// The counts that were asked for, or follow from the database's configuration.
pub(super) fn counts(spec: &FoundationDBClusterSpec, problems: &mut Problems) -> BTreeMap<ProcessClass, u32> {
    let asked = asked(spec, problems);
    let mut counts = process_counts(spec.redundancy_mode(), roles(spec), &asked);
    let inferred = |class: ProcessClass| asked.get(&class).is_none_or(|count| *count == 0);
    for (class, count) in &mut counts {
        if inferred(*class) {
            *count = share(spec, *count);
        }
        *count = (*count).min(MOST_OF_A_CLASS.unsigned_abs());
    }
    counts.retain(|_, count| *count > 0);
    counts
}

/// Servers in a pod, where that is not one.
pub(super) fn servers_per_pod(spec: &FoundationDBClusterSpec, problems: &mut Problems) -> BTreeMap<ProcessClass, u32> {
    let mut of = |field: &str, asked: i32| {
        if asked > MOST_SERVERS_PER_POD {
            problems.add(field, format!("{asked} servers in one pod"), format!("at most {MOST_SERVERS_PER_POD}"));
        }
        asked.clamp(1, MOST_SERVERS_PER_POD).unsigned_abs()
    };
    let storage = of("spec.storageServersPerPod", spec.storage_servers_per_pod());
    let log = of("spec.logServersPerPod", spec.log_servers_per_pod());
    let all = [(ProcessClass::Storage, storage), (ProcessClass::Log, log), (ProcessClass::Transaction, log)];
    all.into_iter().filter(|(_, servers)| *servers > 1).collect()
}

fn asked(spec: &FoundationDBClusterSpec, problems: &mut Problems) -> AskedCounts {
    let Some(counts) = &spec.process_counts else { return AskedCounts::new() };
    let asked = ProcessClass::ALL.iter().filter_map(|class| counts.of(*class).map(|count| (*class, count)));
    asked
        .map(|(class, count)| {
            let field = format!("spec.processCounts.{class}");
            if count < -1 {
                problems.add(&field, format!("{count} is no count"), "-1 for none, 0 for as many as are needed, or a count");
            }
            if class == ProcessClass::Storage && count < 0 && !is_a_part(spec) {
                let needed = spec.redundancy_mode().minimum_fault_domains();
                let problem = "without a storage process group there is no place for the data";
                problems.add(&field, problem, format!("0 for as many as are needed, or at least {needed}"));
            }
            if class == ProcessClass::Unset && count > 0 {
                let problem = "the database puts data on processes without a class, and their pods have no volume for it";
                problems.add(&field, problem, "leaving it out; storage, log and stateless processes do all there is to do");
            }
            if count > MOST_OF_A_CLASS {
                let problem = format!("{count} process groups of one class are more than any database of FoundationDB has");
                problems.add(&field, problem, format!("at most {MOST_OF_A_CLASS}"));
            }
            (class, count.clamp(-1, MOST_OF_A_CLASS))
        })
        .collect()
}

/// Whether other objects may have the rest of the database, such as its storage where this one is a satellite.
fn is_a_part(spec: &FoundationDBClusterSpec) -> bool {
    spec.seed_connection_string.is_some()
        || spec.process_group_id_prefix.is_some()
        || spec.data_center.is_some()
        || spec.data_hall.is_some()
        || spec.fault_domain.as_ref().is_some_and(|domain| domain.zone_index.is_some())
}

fn roles(spec: &FoundationDBClusterSpec) -> RoleCounts {
    let Some(database) = &spec.database_configuration else { return RoleCounts::default() };
    let roles = &database.roles;
    RoleCounts {
        storage: roles.storage,
        logs: roles.logs,
        proxies: roles.proxies,
        commit_proxies: roles.commit_proxies,
        grv_proxies: roles.grv_proxies,
        resolvers: roles.resolvers,
        remote_logs: roles.remote_logs,
        log_routers: roles.log_routers,
    }
}

/// Where several Kubernetes clusters carry one database, each has its share of what is needed; the first ones have one more if it does
/// not come out even.
fn share(spec: &FoundationDBClusterSpec, all: u32) -> u32 {
    let Some(domain) = &spec.fault_domain else { return all };
    if domain.zone_index.is_some_and(|index| index < 0) {
        return 0;
    }
    if domain.key.as_deref() != Some(KUBERNETES_CLUSTER_FAULT_DOMAIN) {
        return all;
    }
    let mode = spec.redundancy_mode();
    let asked = domain.zone_count.and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
    let zones = asked.unwrap_or(mode.minimum_fault_domains() + mode.fault_tolerance());
    let index = domain.zone_index.map_or(0, i32::unsigned_abs);
    all / zones + u32::from(index < all % zones)
}
