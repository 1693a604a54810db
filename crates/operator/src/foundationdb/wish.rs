//! What the user asked for, checked: after this nobody reaches into the raw object.

use std::collections::{BTreeMap, BTreeSet};

use quorate_api::foundationdb::{
    DatabaseConfiguration, FoundationDBCluster, FoundationDBClusterSpec, ImageConfig, deprecated_fields, fields_without_effect,
};
use quorate_foundationdb::{
    AskedCounts, Automation, Buggify, ClassTemplate, DatabaseWish, Desired, FieldProblem, Labels, ProcessClass, RoleCounts,
    Routing, Topology, Version, labels, process_counts,
};

const GENERAL: &str = "general";
const DEFAULT_IMAGE: &str = "foundationdb/fdb-kubernetes-monitor";

/// Reads the wish from an object. What can't be carried out is named in it.
pub fn checked_wish(cluster: &FoundationDBCluster) -> Desired {
    let FoundationDBCluster { metadata, spec, .. } = cluster;
    let mut problems = Vec::new();
    let version = spec.version.parse().unwrap_or_else(|error: quorate_foundationdb::VersionError| {
        problems.push(FieldProblem {
            field: "spec.version".to_owned(),
            problem: error.to_string(),
            right: "a released version".to_owned(),
        });
        Version::MINIMUM
    });
    let redundancy_mode = spec.redundancy_mode();
    let counts = process_counts(redundancy_mode, roles(spec.database_configuration.as_ref()), &asked(spec));
    let templates = counts.keys().map(|class| (*class, template(spec, *class))).collect();
    let notes = |notes: Vec<quorate_api::fields::FieldNote>| notes.iter().map(ToString::to_string).collect();
    let name = metadata.name.clone().unwrap_or_default();
    Desired {
        labels: Labels {
            matching: BTreeMap::from([(labels::CLUSTER.to_owned(), name.clone())]),
            resource: BTreeMap::new(),
            group: vec![labels::GROUP.to_owned()],
            class: vec![labels::CLASS.to_owned()],
        },
        log_group: name.clone(),
        name,
        namespace: metadata.namespace.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        resource_version: metadata.resource_version.clone().unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        deleting: metadata.deletion_timestamp.is_some(),
        skip: spec.skip(),
        problems,
        version,
        database: DatabaseWish { redundancy_mode, storage_engine: "ssd-2".to_owned(), settings: BTreeMap::new() },
        counts,
        servers_per_pod: BTreeMap::new(),
        prefix: spec.process_group_id_prefix.clone().filter(|prefix| !prefix.is_empty()),
        topology: Topology::default(),
        coordinator_selection: BTreeMap::new(),
        seed_connection: spec.seed_connection_string.clone().filter(|seed| !seed.is_empty()),
        description: None,
        database_id: None,
        image: image(spec),
        sidecar_image: String::new(),
        templates,
        routing: Routing::default(),
        config_map: None,
        trusted_cas: Vec::new(),
        peer_verification_rules: String::new(),
        delete_volumes: false,
        remove: BTreeSet::new(),
        remove_without_exclusion: BTreeSet::new(),
        automation: Automation::default(),
        lock: None,
        buggify: Buggify::default(),
        fields_without_effect: notes(fields_without_effect(cluster)),
        deprecated_fields: notes(deprecated_fields(cluster)),
    }
}

fn roles(database: Option<&DatabaseConfiguration>) -> RoleCounts {
    let Some(database) = database else { return RoleCounts::default() };
    let roles = &database.roles;
    RoleCounts {
        storage: roles.storage,
        logs: roles.logs,
        proxies: roles.proxies,
        commit_proxies: roles.commit_proxies,
        grv_proxies: roles.grv_proxies,
        resolvers: roles.resolvers,
        remote_logs: roles.remote_logs,
    }
}

fn asked(spec: &FoundationDBClusterSpec) -> AskedCounts {
    let Some(counts) = &spec.process_counts else { return AskedCounts::new() };
    ProcessClass::ALL.iter().filter_map(|class| counts.of(*class).map(|count| (*class, count))).collect()
}

/// What a class sets replaces what `general` sets, field by field.
fn template(spec: &FoundationDBClusterSpec, class: ProcessClass) -> ClassTemplate {
    let settings = |name: &str| spec.processes.as_ref().and_then(|processes| processes.get(name));
    let both = [settings(class.name()), settings(GENERAL)];
    let in_order = || both.into_iter().flatten();
    ClassTemplate {
        pod: in_order().find_map(|settings| settings.pod_template.clone()).unwrap_or_default(),
        claim: in_order().find_map(|settings| settings.volume_claim_template.clone()),
        parameters: Vec::new(),
    }
}

/// For each part of the image, the first setting that fits the version and is not empty.
fn image(spec: &FoundationDBClusterSpec) -> String {
    let configs = spec.main_container.as_ref().and_then(|container| container.image_configs.as_deref()).unwrap_or_default();
    let fitting = || {
        configs
            .iter()
            .filter(|config| config.version.as_deref().is_none_or(|version| version.is_empty() || version == spec.version))
    };
    let first = |pick: fn(&ImageConfig) -> Option<&String>| fitting().filter_map(pick).find(|text| !text.is_empty()).cloned();
    let base = first(|config| config.base_image.as_ref()).unwrap_or_else(|| DEFAULT_IMAGE.to_owned());
    let suffix = first(|config| config.tag_suffix.as_ref()).unwrap_or_default();
    let tag = first(|config| config.tag.as_ref()).unwrap_or_else(|| format!("{}{suffix}", spec.version));
    format!("{base}:{tag}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(yaml: &serde_json::Value) -> Desired {
        let cluster: FoundationDBCluster = serde_json::from_value(serde_json::json!({
            "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
            "metadata": {"name": "sample", "namespace": "ns", "uid": "u", "generation": 3}, "spec": yaml,
        }))
        .unwrap();
        checked_wish(&cluster)
    }

    #[test]
    fn counts_follow_mode_roles_and_what_was_asked_for() {
        let wish = wish(&serde_json::json!({
            "version": "7.3.69", "databaseConfiguration": {"redundancy_mode": "triple", "storage": 7}, "processCounts": {"stateless": -1},
        }));
        let counts: Vec<_> = wish.counts.iter().map(|(class, count)| (class.name(), *count)).collect();
        assert_eq!(counts, [("log", 5), ("storage", 7)]);
    }

    #[test]
    fn a_class_replaces_what_general_says_field_by_field() {
        let wish = wish(&serde_json::json!({"version": "7.3.69", "processes": {
            "general": {
                "podTemplate": {"spec": {"serviceAccountName": "general", "containers": []}},
                "volumeClaimTemplate": {"spec": {"storageClassName": "slow"}},
            },
            "log": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}},
        }}));
        let of = |class| &wish.templates[&class];
        let storage_class = |class| of(class).claim.as_ref().unwrap().spec.as_ref().unwrap().storage_class_name.as_deref();
        let account = |class| of(class).pod.spec.as_ref().unwrap().service_account_name.as_deref();
        assert_eq!((storage_class(ProcessClass::Log), account(ProcessClass::Log)), (Some("fast"), Some("general")));
        assert_eq!((storage_class(ProcessClass::Storage), account(ProcessClass::Storage)), (Some("slow"), Some("general")));
    }

    #[test]
    fn the_image_is_put_together_from_the_first_settings_that_fit() {
        let image = |configs: &serde_json::Value| {
            wish(&serde_json::json!({"version": "7.3.69", "mainContainer": {"imageConfigs": configs}})).image
        };
        assert_eq!(image(&serde_json::json!([])), "foundationdb/fdb-kubernetes-monitor:7.3.69");
        let configs = serde_json::json!([{"version": "7.1.0", "tag": "old"}, {"tagSuffix": "-ours"}, {"baseImage": "here/fdb"}]);
        assert_eq!(image(&configs), "here/fdb:7.3.69-ours");
    }

    #[test]
    fn a_version_that_is_none_is_a_problem_with_its_place() {
        let wish = wish(&serde_json::json!({"version": "newest"}));
        assert_eq!(wish.problems[0].field, "spec.version");
    }
}
