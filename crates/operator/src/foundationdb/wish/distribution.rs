//! Logical fault domains. The API refuses most of what is wrong with them already; an object that was stored before it did is read here.

use quorate_api::foundationdb::{FoundationDBClusterSpec, KUBERNETES_CLUSTER_FAULT_DOMAIN, NO_FAULT_DOMAIN};
use quorate_foundationdb::objects::{MAIN_CONTAINER, ZONE_ID};
use quorate_foundationdb::{Distribution, ProcessClass};

use super::problems::Problems;
use super::templates;

/// More than this is a slip of the pen: each holds at least one process group, and each of those is a pod.
const MOST_DOMAINS: i64 = 5_000;

pub(super) fn distribution(spec: &FoundationDBClusterSpec, problems: &mut Problems) -> Option<Distribution> {
    const FIELD: &str = "spec.distribution.desiredFaultDomains";
    let asked = spec.distribution.as_ref().filter(|asked| asked.enabled())?;
    let mode = spec.redundancy_mode();
    let domains = asked.desired_fault_domains(mode);
    let minimum = i64::from(mode.minimum_fault_domains());
    if domains < minimum {
        problems.add(FIELD, format!("{domains} are fewer than redundancy mode {mode} needs"), format!("at least {minimum}"));
    }
    if domains > MOST_DOMAINS {
        problems.add(FIELD, format!("{domains} are more than any cluster has hosts"), format!("at most {MOST_DOMAINS}"));
    }
    let key = spec.fault_domain.as_ref().and_then(|domain| domain.key.as_deref());
    if let Some(key) = key.filter(|key| [NO_FAULT_DOMAIN, KUBERNETES_CLUSTER_FAULT_DOMAIN].contains(key)) {
        let problem = format!("spec.faultDomain.key is {key}, and logical fault domains need hosts to spread over");
        problems.add("spec.distribution", problem, "leaving spec.faultDomain.key out, or a node label");
    }
    check_halls(spec, problems);
    check_templates(spec, problems);
    check_parameters(spec, problems);
    let domains = u32::try_from(domains.clamp(minimum, MOST_DOMAINS)).unwrap_or(1);
    Some(Distribution { domains, required: asked.required() })
}

/// A logical fault domain could span two halls whose names come from the nodes.
fn check_halls(spec: &FoundationDBClusterSpec, problems: &mut Problems) {
    for (index, locality) in spec.localities.iter().flatten().enumerate() {
        let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let fixed = is_set(&locality.value) || is_set(&locality.env_value);
        let hall = ["data_hall", "dcid"].contains(&locality.fdb_key());
        if hall && !fixed && is_set(&locality.topology_key) {
            let problem = "it comes from the node, and a logical fault domain could span two of them";
            let right = "a fixed value, with one cluster object for each";
            problems.add(format!("spec.localities[{index}].topologyKey"), problem, right);
        }
    }
}

/// Servers say where they are by their parameters as well, and the last word counts.
fn check_parameters(spec: &FoundationDBClusterSpec, problems: &mut Problems) {
    for (class, settings) in spec.processes.iter().flatten() {
        for (index, parameter) in settings.custom_parameters.iter().flatten().enumerate() {
            let Some((name, value)) = templates::parsed(parameter) else { continue };
            let field = || format!("spec.processes.{class}.customParameters[{index}]");
            if ["locality_zoneid", "locality_physical_zone"].contains(&name.as_str()) {
                problems.add(field(), format!("{name} is what logical fault domains set"), "leaving it out");
            }
            if ["locality_data_hall", "locality_dcid"].contains(&name.as_str()) && value.starts_with("$NODE_LABEL_") {
                let problem = format!("{name} comes from the node, and a logical fault domain could span two of them");
                problems.add(field(), problem, "a fixed value, with one cluster object for each");
            }
        }
    }
}

/// Whoever sets the zone by hand would set the same one for all domains.
fn check_templates(spec: &FoundationDBClusterSpec, problems: &mut Problems) {
    let sets_zone = |class: &ProcessClass| {
        let pod = templates::template(spec, *class).pod;
        let containers = pod.spec.into_iter().flat_map(|spec| spec.containers);
        containers
            .filter(|container| container.name == MAIN_CONTAINER)
            .any(|container| container.env.iter().flatten().any(|variable| variable.name == ZONE_ID))
    };
    if let Some(class) = ProcessClass::ALL.iter().find(|class| sets_zone(class)) {
        let problem = format!("the pods of class {class} set {ZONE_ID} themselves, which says the logical fault domain");
        problems.add("spec.processes", problem, format!("no {ZONE_ID} in the container {MAIN_CONTAINER}"));
    }
}
