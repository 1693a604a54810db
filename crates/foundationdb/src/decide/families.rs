//! Another family of addresses in a living cluster.
//!
//! Names lead to addresses of one family, that of the service which gives them, and a server listens on those of one family. A coordinator
//! that is known by a name which leads elsewhere is lost. So while the two differ, coordinators are written by their addresses: at
//! first all of them, while their pods stay as they are; then the service is made anew and pods are made again; then names are used
//! again.

use std::borrow::Cow;

use super::{ClusterSnapshot, is_ours};
use crate::{PodFacts, Routing, ServiceFacts, objects};

/// What is to be done now on the way to what was asked for.
pub(super) fn next(seen: &ClusterSnapshot) -> Cow<'_, ClusterSnapshot> {
    match meanwhile(seen).filter(|routing| *routing != seen.desired.routing) {
        None => Cow::Borrowed(seen),
        Some(routing) => {
            let mut seen = seen.clone();
            seen.desired.routing = routing;
            Cow::Owned(seen)
        }
    }
}

fn meanwhile(seen: &ClusterSnapshot) -> Option<Routing> {
    let routing = &seen.desired.routing;
    let service = seen.kube.services.get(&seen.desired.name).filter(|_| routing.headless_service)?;
    let names_lead_to = family_of(service)?;
    let listens_there = |pod: &PodFacts| pod.announced_address().is_none_or(|address| family(address) == names_lead_to);
    let moves = is_of_another_family(seen, service);
    // Hardly ever is there one, so that is asked first.
    let elsewhere = || seen.kube.pods.values().filter(|pod| !listens_there(pod)).any(|pod| stays(seen, pod));
    if !moves && !elsewhere() {
        return None;
    }
    let there = seen.kube.pods.values().filter(|pod| listens_there(pod) && !pod.addresses.is_empty());
    let asked = there.into_iter().find(|pod| stays(seen, pod)).map(|pod| pod.family);
    let family = asked.filter(|_| moves && has_names(seen)).unwrap_or(routing.family);
    Some(Routing { dns_in_cluster_file: false, family, ..routing.clone() })
}

/// Whether a service gives or leads to addresses of another family than servers are to have.
pub(super) fn is_of_another_family(seen: &ClusterSnapshot, service: &ServiceFacts) -> bool {
    // Where nothing was said it is that of the first address, which is the same for all pods.
    let first = || seen.kube.pods.values().find_map(|pod| pod.addresses.first()).map(|address| family(address));
    let wanted = seen.desired.routing.family.or_else(first);
    wanted.zip(family_of(service)).is_some_and(|(wanted, has)| wanted != has)
}

/// Whether a coordinator is known by its name, to anybody.
pub(super) fn has_names(seen: &ClusterSnapshot) -> bool {
    let reported = match &seen.database {
        quorate_quorum::Sighting::Seen { facts, .. } => facts.connection.as_deref(),
        quorate_quorum::Sighting::Unreachable { .. } | quorate_quorum::Sighting::NotAsked => None,
    };
    seen.kube.recorded.connection.as_deref().into_iter().chain(reported).any(objects::has_names)
}

fn family_of(service: &ServiceFacts) -> Option<u8> {
    match service.families.first()?.as_str() {
        "IPv4" => Some(4),
        "IPv6" => Some(6),
        _ => None,
    }
}

fn family(address: &str) -> u8 {
    if address.contains(':') { 6 } else { 4 }
}

/// Whether a pod is ours, and its process group is not to go.
fn stays(seen: &ClusterSnapshot, pod: &PodFacts) -> bool {
    let group = pod.group.as_ref().and_then(|id| seen.kube.recorded.groups.get(id));
    is_ours(&seen.desired, pod) && group.is_some_and(|group| group.removal.is_none())
}
