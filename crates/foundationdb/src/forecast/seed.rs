//! A cluster as its status describes it: every pod and server that should be there is, but for those that are known to be missing.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use quorate_quorum::Effect;

use super::Assumed;
use super::cluster::{Cluster, claim_facts, families};
use crate::configuration::{engine_keys, redundancy_keys, setting_keys};
use crate::decide::Adds;
use crate::{ConfigMapFacts, Desired, GroupCondition, ProcessGroup, ProcessGroupId, Recorded, ServiceFacts, objects};

/// For so long everything has been as it is.
const AGE: SignedDuration = SignedDuration::from_hours(24 * 30);

pub(super) fn cluster(desired: &Desired, recorded: &Recorded, assumed: &Assumed) -> Cluster {
    let known = recorded.groups.values().filter(|group| !group.packed).filter_map(|group| group.fault_domain.clone());
    let mut hosts: BTreeSet<String> = known.collect();
    let enough = recorded.groups.len() + desired.counts.values().map(|count| *count as usize).sum::<usize>();
    match &assumed.hosts {
        Some(named) => hosts.extend(named.iter().cloned()),
        None => hosts.extend((1..=enough).map(|host| format!("host-{host}"))),
    }
    let mut cluster = Cluster::of(desired.clone(), assumed.now, hosts.into_iter().collect());
    cluster.database.drains_in = assumed.drain;
    cluster.kube.recorded = recorded.clone();
    let Some(connection) = recorded.connection.as_deref().filter(|_| recorded.configured) else { return cluster };
    configure(&mut cluster, desired);
    config_map(&mut cluster, connection);
    for (id, group) in &recorded.groups {
        bring_up(&mut cluster, id, group);
    }
    cluster.monitors();
    let long_ago = cluster.now - AGE;
    for server in cluster.database.servers.values_mut() {
        server.started = long_ago;
    }
    // What stands beside every cluster is no news.
    for step in cluster.decided().steps {
        if let Effect::Adds(adds @ (Adds::DisruptionBudget(_) | Adds::Service(_))) = &step.effect {
            cluster.add(adds);
        }
    }
    cluster
}

fn configure(cluster: &mut Cluster, desired: &Desired) {
    let mut keys = redundancy_keys(desired.redundancy_mode());
    keys.extend(engine_keys(&desired.database.storage_engine).unwrap_or_default());
    keys.extend(setting_keys(&desired.database.settings));
    cluster.database.configure(&keys, cluster.now - AGE);
}

fn config_map(cluster: &mut Cluster, connection: &str) {
    let kinds = cluster.kube.recorded.groups.values().map(|group| (group.class, group.packed));
    let map = objects::config_map(&cluster.desired, Some(connection), kinds);
    cluster.kube.config_map = Some(ConfigMapFacts {
        uid: "uid-config".to_owned(),
        resource_version: "5".to_owned(),
        owner: Some(cluster.desired.uid.clone()),
        data: map.data.unwrap_or_default(),
        labels: map.metadata.labels.unwrap_or_default(),
        annotations: map.metadata.annotations.unwrap_or_default(),
    });
}

fn bring_up(cluster: &mut Cluster, id: &ProcessGroupId, group: &ProcessGroup) {
    let desired = cluster.desired.clone();
    let name = objects::pod_name(&desired, group.class, id);
    if group.exclusion.is_some() {
        cluster.database.excluded.insert(id.locality(), cluster.now - AGE);
    }
    if group.conditions.contains_key(&GroupCondition::MissingProcesses) {
        cluster.dead.insert(id.0.clone());
    }
    if group.class.is_stateful() {
        let (claim, facts) = claim_facts(&objects::claim(&desired, group.class, id), Some(id.clone()));
        cluster.kube.claims.insert(claim, facts.into());
    }
    if group.conditions.contains_key(&GroupCondition::MissingPod) {
        return;
    }
    let address = group.addresses.first().cloned();
    if desired.routing.service_per_pod {
        let facts = ServiceFacts {
            uid: format!("uid-{name}"),
            resource_version: "5".to_owned(),
            group: Some(id.clone()),
            owner: Some(desired.uid.clone()),
            address: address.clone(),
            families: families(&objects::pod_service(&desired, group.class, id)),
            ports: std::collections::BTreeMap::new(),
        };
        cluster.kube.services.insert(name.clone(), facts);
    }
    let pod = objects::pod(&desired, id, group, address.as_deref());
    cluster.run_pod(&pod);
    let created = cluster.now - AGE;
    let Some(pod) = cluster.kube.pods.get_mut(&name) else { return };
    pod.created = created;
    if let Some(address) = address {
        pod.environment.insert("FDB_PUBLIC_IP".to_owned(), address.clone());
        pod.environment.insert("FDB_POD_IP".to_owned(), address.clone());
        pod.addresses.clone_from(&group.addresses);
    }
    if let Some(host) = group.fault_domain.as_ref().filter(|_| !group.packed) {
        pod.environment.insert("FDB_MACHINE_ID".to_owned(), host.clone());
        pod.environment.insert("FDB_ZONE_ID".to_owned(), host.clone());
        pod.node = Some(host.clone());
    }
}
