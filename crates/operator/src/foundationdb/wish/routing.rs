//! Addresses and names, zones, and labels.

use std::collections::BTreeMap;

use quorate_api::foundationdb::{FoundationDBClusterSpec, KUBERNETES_CLUSTER_FAULT_DOMAIN, NO_FAULT_DOMAIN, PublicIpSource};
use quorate_foundationdb::{Labels, ProcessClass, Routing, Topology, Zone, labels, objects};

use super::problems::Problems;

/// The longest name that DNS and labels take.
const LONGEST_NAME: usize = 63;
/// Digits of the numbers of process groups.
const DIGITS: usize = 5;

pub(super) fn routing(
    spec: &FoundationDBClusterSpec,
    recorded_connection: Option<&str>,
    tls: bool,
    problems: &mut Problems,
) -> Routing {
    let asked = spec.routing.clone().unwrap_or_default();
    let family = match asked.pod_ip_family {
        None | Some(0) => None,
        Some(4) => Some(4),
        Some(6) => Some(6),
        Some(other) => {
            problems.add("spec.routing.podIPFamily", format!("there is no family {other}"), "4 or 6, or 0 for the first address");
            None
        }
    };
    let dns_in_cluster_file = asked.use_dns_in_cluster_file();
    // Pods keep their names while coordinators are known by them: one that came back without would be lost.
    let still_named = recorded_connection.is_some_and(objects::has_names);
    let dns_locality = dns_in_cluster_file || still_named || asked.define_dns_locality_fields.unwrap_or(false);
    Routing {
        headless_service: dns_locality || asked.headless_service.unwrap_or(false),
        dns_in_cluster_file,
        dns_locality,
        dns_domain: asked.dns_domain().to_owned(),
        service_per_pod: asked.public_ip_source() == PublicIpSource::Service,
        family,
        tls,
        explicit_listen_address: spec.use_explicit_listen_address.unwrap_or(true),
    }
}

pub(super) fn topology(spec: &FoundationDBClusterSpec, problems: &mut Problems) -> Topology {
    let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let domain = spec.fault_domain.clone().unwrap_or_default();
    let value_from = set(&domain.value_from);
    let variable = value_from.as_deref().and_then(|from| from.strip_prefix('$')).map(str::to_owned);
    let zone = match set(&domain.key) {
        Some(key) if key == NO_FAULT_DOMAIN => Zone::Pod,
        Some(key) if key == KUBERNETES_CLUSTER_FAULT_DOMAIN => {
            let value = set(&domain.value);
            if value.is_none() && variable.is_none() {
                let problem = "the Kubernetes cluster is the zone, and its name is not said";
                problems.add("spec.faultDomain.value", problem, "a name that differs in each Kubernetes cluster");
            }
            Zone::Cluster(value.unwrap_or_default())
        }
        key => {
            let Zone::Node { label, .. } = Zone::default() else { return Topology::default() };
            Zone::Node { label: key.unwrap_or(label), value_from }
        }
    };
    let zone_variable = variable.filter(|_| zone.label().is_none());
    Topology { zone, zone_variable, datacenter: set(&spec.data_center), hall: set(&spec.data_hall) }
}

pub(super) fn labels(spec: &FoundationDBClusterSpec, name: &str) -> Labels {
    let asked = spec.labels.clone().unwrap_or_default();
    let of_cluster = || BTreeMap::from([(labels::CLUSTER.to_owned(), name.to_owned())]);
    let all = |asked: Option<BTreeMap<_, _>>| asked.filter(|labels| !labels.is_empty()).unwrap_or_else(of_cluster);
    let keys = |asked: Option<Vec<String>>, default: &str| {
        asked.filter(|keys| !keys.is_empty()).unwrap_or_else(|| vec![default.to_owned()])
    };
    Labels {
        matching: all(asked.match_labels),
        resource: all(asked.resource_labels),
        group: keys(asked.process_group_id_labels, labels::GROUP),
        class: keys(asked.process_class_labels, labels::CLASS),
    }
}

/// Whether the names that follow from the cluster's own can be names.
pub(super) fn check_names(
    name: &str,
    spec: &FoundationDBClusterSpec,
    headless_service: bool,
    classes: impl Iterator<Item = ProcessClass>,
    problems: &mut Problems,
) {
    let prefix = spec.process_group_id_prefix.as_deref().unwrap_or_default();
    let longest = classes.map(|class| class.name().len()).max().unwrap_or_default();
    // With the hyphens around the class.
    let rest = longest + DIGITS + 2;
    if name.len() + rest > LONGEST_NAME {
        let problem = format!("its pods would have names longer than the {LONGEST_NAME} characters that host names may have");
        problems.add("metadata.name", problem, format!("at most {} characters", LONGEST_NAME.saturating_sub(rest)));
    }
    if prefix.len() + rest > LONGEST_NAME {
        let problem = format!("its process groups would have names longer than the {LONGEST_NAME} characters a label may have");
        problems.add("spec.processGroupIDPrefix", problem, format!("at most {} characters", LONGEST_NAME.saturating_sub(rest)));
    }
    let is_label = name.starts_with(|letter: char| letter.is_ascii_lowercase()) && !name.contains('.');
    if headless_service && !is_label {
        let problem = format!("{name:?} can't be the name of the service by which its pods have names");
        problems.add("metadata.name", problem, "lower-case letters, digits and hyphens, beginning with a letter");
    }
}
