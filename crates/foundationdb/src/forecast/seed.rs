//! A cluster as its status describes it: every pod and server that should be there is, but for those that are known to be missing.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use quorate_quorum::Effect;

use super::cluster::{Cluster, claim_facts, families, node_facts};
use super::{Assumed, Hosts};
use crate::configuration::{Migration, engine_keys, redundancy_keys, setting_keys};
use crate::decide::Adds;
use crate::{
    ConfigMapFacts, Desired, GroupCondition, ProcessClass, ProcessGroup, ProcessGroupId, Recorded, ServiceFacts, objects,
};

/// For so long everything has been as it is.
const AGE: SignedDuration = SignedDuration::from_hours(24 * 30);

pub(super) fn cluster(desired: &Desired, recorded: &Recorded, assumed: &Assumed) -> Cluster {
    let mut cluster = Cluster::of(desired.clone(), assumed.now, hosts(desired, recorded, assumed).into_iter().collect());
    cluster.database.drains_in = assumed.drain;
    cluster.kube.recorded = recorded.clone();
    if let Hosts::Known(open) = &assumed.hosts {
        // The operator knows the same hosts, so none of them is a reason to try again what it set aside.
        cluster.kube.recorded.set_aside.values_mut().for_each(|aside| aside.open_nodes = open.len());
    }
    let Some(connection) = recorded.connection.as_deref().filter(|_| recorded.configured) else { return cluster };
    configure(&mut cluster, desired);
    config_map(&mut cluster, connection);
    // Where those in no logical fault domain are is known, and the others have to be elsewhere.
    let (packed, found): (Vec<_>, Vec<_>) = recorded.groups.iter().partition(|(_, group)| group.packed);
    for (id, group) in found.into_iter().chain(packed) {
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

/// The hosts that take new pods: those that are used and as many others as are assumed, or those that are known to.
fn hosts(desired: &Desired, recorded: &Recorded, assumed: &Assumed) -> BTreeSet<String> {
    let found = recorded.groups.values().filter(|group| !group.packed).filter_map(|group| group.fault_domain.clone());
    let mut hosts: BTreeSet<String> = found.collect();
    let number = match &assumed.hosts {
        Hosts::Known(open) => return open.clone(),
        Hosts::Enough => {
            hosts.len() + recorded.groups.len() + desired.counts.values().map(|count| *count as usize).sum::<usize>()
        }
        Hosts::Number(number) => (*number).max(fewest_used(recorded)),
    };
    let mut names = (1..).map(|host| format!("host-{host}"));
    while hosts.len() < number {
        hosts.extend(names.next());
    }
    hosts
}

/// Which hosts logical fault domains are on is not recorded, but no two domains of a class that must be apart share one.
fn fewest_used(recorded: &Recorded) -> usize {
    let mut zones: BTreeMap<ProcessClass, BTreeSet<&str>> = BTreeMap::new();
    let placed = recorded.groups.values().filter(|group| !group.conditions.contains_key(&GroupCondition::PodPending));
    for group in placed.filter(|group| objects::domains_must_be_apart(group.class)) {
        zones.entry(group.class).or_default().extend(group.fault_domain.as_deref());
    }
    zones.values().map(BTreeSet::len).max().unwrap_or(0)
}

fn configure(cluster: &mut Cluster, desired: &Desired) {
    let mut keys = redundancy_keys(desired.redundancy_mode());
    keys.extend(engine_keys(&desired.database.storage_engine).unwrap_or_default());
    keys.extend(setting_keys(&desired.database.settings));
    keys.extend(desired.database.migration.map(Migration::keys).unwrap_or_default());
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
        let (claim, facts) = claim_facts(&objects::claim(&desired, id, group), Some(id.clone()));
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
            ports: BTreeMap::new(),
            given: objects::resource_tags(&desired),
        };
        cluster.kube.services.insert(name.clone(), facts);
    }
    let pod = objects::pod(&desired, id, group, address.as_deref());
    cluster.run_pod(&pod);
    if let Some(host) = host(cluster, &name, group) {
        cluster.put_on(&name, &host);
        // It need not be one that takes new pods.
        let facts = node_facts(&host);
        cluster.kube.nodes.insert(host, facts);
    }
    let created = cluster.now - AGE;
    let Some(pod) = cluster.kube.pods.get_mut(&name) else { return };
    pod.created = created;
    if let Some(address) = address {
        pod.environment.insert("FDB_PUBLIC_IP".to_owned(), address.clone());
        pod.environment.insert("FDB_POD_IP".to_owned(), address.clone());
        pod.addresses.clone_from(&group.addresses);
    }
}

/// Where a pod is, if it is not where it was placed. On which host a logical fault domain is was not recorded: where it would find none
/// now, it is on one of its own.
fn host(cluster: &Cluster, pod: &str, group: &ProcessGroup) -> Option<String> {
    let zone = group.fault_domain.clone()?;
    if !group.packed {
        return Some(zone);
    }
    let placed = cluster.kube.pods.get(pod).is_some_and(|pod| pod.node.is_some());
    let waits = group.conditions.contains_key(&GroupCondition::PodPending);
    (!placed && !waits).then(|| format!("host-of-{zone}"))
}
