//! What the user asked for, checked: after this nobody reaches into the raw object.
//!
//! Reading never fails. What can't be carried out is named in the wish itself, beside everything that could be read.

mod automation;
mod counts;
mod database;
mod distribution;
mod images;
mod problems;
mod routing;
mod templates;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use quorate_api::VolumeRetentionPolicy;
use quorate_api::foundationdb::{
    FoundationDBCluster, FoundationDBClusterSpec, KUBERNETES_CLUSTER_FAULT_DOMAIN, NO_FAULT_DOMAIN, deprecated_fields,
    fields_without_effect,
};
use quorate_foundationdb::objects::is_our_key;
use quorate_foundationdb::{Desired, ProcessClass, Version};

use problems::Problems;

/// Whether two states of an object are of one wish: whatever [`checked_wish`] reads is the same in both.
pub(crate) fn is_one_wish(one: &FoundationDBCluster, other: &FoundationDBCluster) -> bool {
    let of_metadata = |cluster: &FoundationDBCluster| {
        let ObjectMeta { name, namespace, uid, generation, deletion_timestamp, .. } = &cluster.metadata;
        (name.clone(), namespace.clone(), uid.clone(), *generation, deletion_timestamp.is_some())
    };
    of_metadata(one) == of_metadata(other) && one.spec == other.spec && Standing::of(one) == Standing::of(other)
}

/// What of its status a wish depends on.
#[derive(PartialEq)]
struct Standing<'a> {
    /// The connection string.
    connection: Option<&'a str>,
    /// The classes that there are process groups of.
    classes: BTreeSet<ProcessClass>,
}

impl<'a> Standing<'a> {
    fn of(cluster: &'a FoundationDBCluster) -> Self {
        let recorded = cluster.status.iter().flat_map(|status| status.process_groups.iter().flatten());
        Self {
            connection: cluster.status.as_ref().and_then(|status| status.connection_string.as_deref()),
            classes: recorded.filter_map(|group| group.process_class.as_deref()?.parse().ok()).collect(),
        }
    }
}

/// Reads the wish from an object.
pub fn checked_wish(cluster: &FoundationDBCluster) -> Desired {
    let FoundationDBCluster { metadata, spec, .. } = cluster;
    let standing = Standing::of(cluster);
    let mut problems = Problems::default();
    let problems = &mut problems;
    let name = metadata.name.clone().unwrap_or_default();
    let version = version(spec, problems);
    let counts = counts::counts(spec, problems);
    let tls = database::tls(spec, standing.connection, problems);
    let routing = routing::routing(spec, standing.connection, tls, problems);
    let [description, database_id] = database::partial_connection(spec, problems);
    let image = images::image(spec, problems);
    templates::check(spec, problems);
    check_config_map(spec, problems);
    routing::check_names(&name, spec, routing.headless_service, counts.keys().copied(), problems);
    let notes = |notes: Vec<quorate_api::fields::FieldNote>| notes.iter().map(ToString::to_string).collect();
    let container = spec.main_container.as_ref();
    Desired {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        deleting: metadata.deletion_timestamp.is_some(),
        skip: spec.skip(),
        version,
        database: database::database(spec, version, problems),
        servers_per_pod: counts::servers_per_pod(spec, problems),
        prefix: spec.process_group_id_prefix.clone().filter(|prefix| !prefix.is_empty()),
        topology: routing::topology(spec, problems),
        distribution: distribution::distribution(spec, problems),
        coordinator_selection: coordinator_selection(spec, problems),
        seed_connection: database::seed_connection(spec, problems),
        description,
        database_id,
        sidecar_image: image.clone(),
        image,
        // Of the classes that are asked for, and of those that still have process groups.
        templates: counts.keys().chain(&standing.classes).map(|class| (*class, templates::template(spec, *class))).collect(),
        routing,
        labels: routing::labels(spec, &name),
        config_map: spec.config_map.clone(),
        log_group: spec.log_group.clone().filter(|group| !group.is_empty()).unwrap_or_else(|| name.clone()),
        trusted_cas: spec.trusted_cas.clone().unwrap_or_default(),
        peer_verification_rules: container.and_then(|one| one.peer_verification_rules.clone()).unwrap_or_default(),
        delete_volumes: spec.volume_retention_policy() == VolumeRetentionPolicy::Delete,
        remove: to_remove("spec.processGroupsToRemove", spec.process_groups_to_remove.as_deref(), problems),
        remove_without_exclusion: to_remove(
            "spec.processGroupsToRemoveWithoutExclusion",
            spec.process_groups_to_remove_without_exclusion.as_deref(),
            problems,
        ),
        automation: automation::automation(spec, version, problems),
        lock: automation::lock(spec, problems),
        buggify: automation::buggify(spec),
        fields_without_effect: without_effect(spec, notes(fields_without_effect(cluster))),
        deprecated_fields: notes(deprecated_fields(cluster)),
        problems: std::mem::take(problems).into_list(),
        counts,
        name,
    }
}

fn version(spec: &FoundationDBClusterSpec, problems: &mut Problems) -> Version {
    const FIELD: &str = "spec.version";
    let right = format!("{} or newer, such as 7.3.69", Version::MINIMUM);
    let version = problems.unless_wrong(FIELD, spec.version.parse(), Version::MINIMUM, &right);
    if version < Version::MINIMUM {
        problems.add(FIELD, format!("Quorate does not run version {version}"), right);
    }
    version
}

fn coordinator_selection(spec: &FoundationDBClusterSpec, problems: &mut Problems) -> BTreeMap<ProcessClass, i64> {
    let mut selection = BTreeMap::new();
    for (index, entry) in spec.coordinator_selection.iter().flatten().enumerate() {
        let field = format!("spec.coordinatorSelection[{index}].processClass");
        let right = "storage, log, transaction or coordinator";
        match entry.process_class.as_deref().unwrap_or_default().parse::<ProcessClass>() {
            Ok(class) if class.is_stateful() => {
                selection.insert(class, entry.priority.map_or(0, i64::from));
            }
            Ok(class) => problems.add(field, format!("{class} keeps nothing on disk, and coordinators must"), right),
            Err(unknown) => problems.add(field, unknown.to_string(), right),
        }
    }
    selection
}

fn check_config_map(spec: &FoundationDBClusterSpec, problems: &mut Problems) {
    let data = spec.config_map.iter().flat_map(|map| map.data.iter().flatten());
    for (key, _) in data.filter(|(key, _)| is_our_key(key)) {
        problems.add(format!("spec.configMap.data.{key}"), "Quorate writes this key itself", "without it, or under another key");
    }
}

/// Fields whose effect depends on others.
fn without_effect(spec: &FoundationDBClusterSpec, mut notes: Vec<String>) -> Vec<String> {
    let domain = spec.fault_domain.clone().unwrap_or_default();
    if domain.value.is_some() && domain.key.as_deref() != Some(KUBERNETES_CLUSTER_FAULT_DOMAIN) {
        notes.push(format!("spec.faultDomain.value: it names the zone only with the key {KUBERNETES_CLUSTER_FAULT_DOMAIN}"));
    }
    let no_label = [NO_FAULT_DOMAIN, KUBERNETES_CLUSTER_FAULT_DOMAIN].contains(&domain.key.as_deref().unwrap_or_default());
    if no_label && domain.value_from.is_some_and(|from| !from.is_empty() && !from.starts_with('$')) {
        notes.push("spec.faultDomain.valueFrom: with this key it names the zone only as a variable, with a $".to_owned());
    }
    notes
}

/// Process groups by their names. `*` is none: it would name everybody who comes in their place as well, again and again.
fn to_remove(field: &str, names: Option<&[String]>, problems: &mut Problems) -> BTreeSet<String> {
    if names.into_iter().flatten().any(|name| name == "*") {
        problems.add(field, "* names every process group, and those that come in their place", "names such as storage-1");
    }
    names.into_iter().flatten().cloned().collect()
}
