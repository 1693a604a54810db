//! What people write, and what is understood.

use jiff::SignedDuration;
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::{AtMost, Desired, ProcessClass, Zone, labels};
use serde_json::{Value, json};

use super::checked_wish;

fn object(spec: &Value, status: &Value) -> FoundationDBCluster {
    serde_json::from_value(json!({
        "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
        "metadata": {"name": "sample", "namespace": "ns", "uid": "u", "generation": 3}, "spec": spec, "status": status,
    }))
    .unwrap()
}

/// The wish of a cluster of version 7.3.69 that says this besides.
fn wish(mut spec: Value) -> Desired {
    spec.as_object_mut().unwrap().entry("version").or_insert(json!("7.3.69"));
    checked_wish(&object(&spec, &json!({})))
}

fn counts(spec: Value) -> Vec<(&'static str, u32)> {
    wish(spec).counts.iter().map(|(class, count)| (class.name(), *count)).collect()
}

/// Fields with a problem.
fn wrong(spec: Value) -> Vec<String> {
    wish(spec).problems.into_iter().map(|problem| problem.field).collect()
}

#[test]
fn a_cluster_that_says_nothing_but_its_version_is_understood() {
    let wish = wish(json!({}));
    assert_eq!(wish.problems, []);
    assert_eq!(wish.image, "foundationdb/fdb-kubernetes-monitor:7.3.69");
    assert_eq!(wish.log_group, "sample");
    assert_eq!(wish.labels.matching[labels::CLUSTER], "sample");
    assert_eq!(wish.database.storage_engine, "ssd-2");
    assert!(wish.routing.headless_service && wish.routing.dns_in_cluster_file && wish.listens_explicitly());
    assert!(!wish.delete_volumes && wish.lock.is_none());
    assert_eq!(wish.automation, quorate_foundationdb::Automation::default());
}

#[test]
fn counts_follow_mode_roles_and_what_was_asked_for() {
    let spec = json!({"databaseConfiguration": {"redundancy_mode": "triple", "storage": 7}, "processCounts": {"stateless": -1}});
    assert_eq!(counts(spec), [("log", 5), ("storage", 7)]);
}

#[test]
fn several_kubernetes_clusters_share_what_is_needed_and_each_has_what_it_asked_for_itself() {
    let of = |index: i32| {
        counts(json!({
            "faultDomain": {"key": "foundationdb.org/kubernetes-cluster", "value": "kc1", "zoneCount": 3, "zoneIndex": index},
            "processCounts": {"storage": 5},
        }))
    };
    assert_eq!(of(0), [("log", 2), ("stateless", 3), ("storage", 5)]);
    assert_eq!(of(1), [("log", 1), ("stateless", 3), ("storage", 5)]);
    assert_eq!(of(-1), [("storage", 5)]);
}

#[test]
fn counts_that_cant_be_are_named_and_kept_within_reason() {
    let spec = json!({"processCounts": {"storage": 2_000_000_000, "log": -7}, "storageServersPerPod": 1000});
    assert_eq!(wrong(spec.clone()), ["spec.processCounts.log", "spec.processCounts.storage", "spec.storageServersPerPod"]);
    assert_eq!(wish(spec.clone()).counts[&ProcessClass::Storage], 5_000);
    assert_eq!(wish(spec).servers_per_pod(ProcessClass::Storage), 64);
}

#[test]
fn logs_and_transaction_processes_share_their_number_per_pod() {
    let wish = wish(json!({"logServersPerPod": 2}));
    let of = |class| wish.servers_per_pod(class);
    assert_eq!((of(ProcessClass::Log), of(ProcessClass::Transaction), of(ProcessClass::Storage)), (2, 2, 1));
}

#[test]
fn a_class_replaces_what_general_says_field_by_field() {
    let wish = wish(json!({"processes": {
        "general": {
            "podTemplate": {"spec": {"serviceAccountName": "general", "containers": []}},
            "volumeClaimTemplate": {"spec": {"storageClassName": "slow"}},
            "customParameters": ["knob_a=1"],
        },
        "log": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}, "customParameters": [" knob_b = x=y "]},
    }}));
    let of = |class| &wish.templates[&class];
    let storage_class = |class| of(class).claim.as_ref().unwrap().spec.as_ref().unwrap().storage_class_name.as_deref();
    let account = |class| of(class).pod.spec.as_ref().unwrap().service_account_name.as_deref();
    assert_eq!((storage_class(ProcessClass::Log), account(ProcessClass::Log)), (Some("fast"), Some("general")));
    assert_eq!((storage_class(ProcessClass::Storage), account(ProcessClass::Storage)), (Some("slow"), Some("general")));
    assert_eq!(of(ProcessClass::Log).parameters, [("knob_b".to_owned(), "x=y".to_owned())]);
    assert_eq!(of(ProcessClass::Storage).parameters, [("knob_a".to_owned(), "1".to_owned())]);
}

#[test]
fn a_class_that_is_no_longer_asked_for_keeps_its_template_while_it_has_process_groups() {
    let spec = json!({"version": "7.3.69", "processes": {"general": {"customParameters": ["knob_a=1"]}}});
    let status = json!({"processGroups": [{"processGroupID": "transaction-1", "processClass": "transaction"}]});
    let wish = checked_wish(&object(&spec, &status));
    assert_eq!(wish.templates[&ProcessClass::Transaction].parameters.len(), 1);
    assert!(!wish.counts.contains_key(&ProcessClass::Transaction));
}

#[test]
fn the_image_is_put_together_from_the_first_settings_that_fit() {
    let configs = json!([{"version": "7.1.0", "tag": "old"}, {"tagSuffix": "-ours"}, {"baseImage": "here/fdb"}]);
    assert_eq!(wish(json!({"mainContainer": {"imageConfigs": configs}})).image, "here/fdb:7.3.69-ours");
}

#[test]
fn what_is_no_version_is_a_problem_and_the_rest_is_read_all_the_same() {
    for version in ["newest", "6.3.25"] {
        let spec = json!({"version": version, "processCounts": {"storage": 5}});
        assert_eq!(wrong(spec.clone()), ["spec.version"], "{version}");
        assert_eq!(wish(spec).counts[&ProcessClass::Storage], 5);
    }
}

/// Specs that can't be carried out, and the field that is to blame.
fn invalid() -> Vec<(Value, &'static str)> {
    vec![
        (json!({"imageType": "split"}), "spec.imageType"),
        (json!({"databaseConfiguration": {"usable_regions": 2}}), "spec.databaseConfiguration.regions"),
        (json!({"databaseConfiguration": {"storage_engine": "custom"}}), "spec.databaseConfiguration.storage_engine"),
        (
            json!({"version": "7.1.67", "databaseConfiguration": {"storage_engine": "ssd-redwood-1"}}),
            "spec.databaseConfiguration.storage_engine",
        ),
        (
            json!({"databaseConfiguration": {"perpetual_storage_wiggle": 2}}),
            "spec.databaseConfiguration.perpetual_storage_wiggle",
        ),
        (json!({"coordinatorSelection": [{"processClass": "stateless"}]}), "spec.coordinatorSelection[0].processClass"),
        (json!({"coordinatorSelection": [{"processClass": "disk"}]}), "spec.coordinatorSelection[0].processClass"),
        (json!({"routing": {"podIPFamily": 5}}), "spec.routing.podIPFamily"),
        (json!({"seedConnectionString": "nonsense"}), "spec.seedConnectionString"),
        (json!({"partialConnectionString": {"databaseName": "my-db"}}), "spec.partialConnectionString.databaseName"),
        (json!({"partialConnectionString": {"generationID": "a_b"}}), "spec.partialConnectionString.generationID"),
        (json!({"faultDomain": {"key": "foundationdb.org/kubernetes-cluster"}}), "spec.faultDomain.value"),
        (json!({"processes": {"storge": {}}}), "spec.processes.storge"),
        (json!({"configMap": {"data": {"cluster-file": "x"}}}), "spec.configMap.data.cluster-file"),
        (json!({"maxZonesWithUnavailablePods": -1}), "spec.maxZonesWithUnavailablePods"),
        (json!({"processGroupsToRemove": ["*"]}), "spec.processGroupsToRemove"),
        (json!({"processCounts": {"storage": -1}}), "spec.processCounts.storage"),
        (json!({"processes": {"general": {"customParameters": ["knob_a b=5"]}}}), "spec.processes.general.customParameters[0]"),
        (json!({"processGroupsToRemoveWithoutExclusion": ["storage-1", "*"]}), "spec.processGroupsToRemoveWithoutExclusion"),
        (
            json!({"automationOptions": {"safetyTimers": {"minimumRecoveryTimeForExclusion": "soon"}}}),
            "spec.automationOptions.safetyTimers.minimumRecoveryTimeForExclusion",
        ),
        (
            json!({"automationOptions": {"replacements": {"maxFaultDomainsWithTaintedProcessGroups": "many"}}}),
            "spec.automationOptions.replacements.maxFaultDomainsWithTaintedProcessGroups",
        ),
        (json!({"lockOptions": {"disableLocks": false, "denyList": [{"allow": true}]}}), "spec.lockOptions.denyList[0].id"),
        (json!({"processCounts": {"log": 10_000}}), "spec.processCounts.log"),
        (json!({"processCounts": {"unset": 3}}), "spec.processCounts.unset"),
        (json!({"distribution": {"enabled": true, "desiredFaultDomains": 1}}), "spec.distribution.desiredFaultDomains"),
        (json!({"distribution": {"enabled": true}, "faultDomain": {"key": "foundationdb.org/none"}}), "spec.distribution"),
        (
            json!({"distribution": {"enabled": true}, "localities": [{"key": "data_hall", "topologyKey": "topology.kubernetes.io/zone"}]}),
            "spec.localities[0].topologyKey",
        ),
        (
            json!({"distribution": {"enabled": true}, "processes": {"general": {"customParameters": ["locality_zoneid=a"]}}}),
            "spec.processes.general.customParameters[0]",
        ),
        (
            json!({"distribution": {"enabled": true}, "processes": {"storage": {"customParameters": [
                "knob_a=1", "locality_data_hall=$NODE_LABEL_TOPOLOGY_KUBERNETES_IO_ZONE",
            ]}}}),
            "spec.processes.storage.customParameters[1]",
        ),
        (
            json!({"distribution": {"enabled": true}, "processes": {"log": {"podTemplate": {"spec": {"containers": [
                {"name": "foundationdb", "env": [{"name": "FDB_ZONE_ID", "value": "a"}]},
            ]}}}}}),
            "spec.processes",
        ),
    ]
}

#[test]
fn every_problem_is_named_where_it_is() {
    for (spec, field) in invalid() {
        assert_eq!(wrong(spec.clone()), [field], "{spec}");
    }
}

#[test]
fn the_docs_say_what_is_held_and_how() {
    let mut page = String::from(
        "# What the operator can't carry out\n\n\
         What the CRDs refuse ([validation.md](validation.md)) never reaches the operator, unless the object is older than they are. What\n\
         they can't know is held: the condition `Held` and `quorate explain` name the field, nothing is changed and nothing is lost, and\n\
         nothing that is lost meanwhile is made again, until it is put right.\n\n\
         | spec | field | what is wrong | what would be right |\n|---|---|---|---|\n",
    );
    let escaped = |text: &str| text.replace('|', "\\|");
    for (spec, _) in invalid() {
        for problem in wish(spec.clone()).problems {
            let (said, right) = (escaped(&problem.problem), escaped(&problem.right));
            page.push_str(&format!("| `{}` | `{}` | {said} | {right} |\n", escaped(&spec.to_string()), problem.field));
        }
    }
    page.push_str("\nGenerated from `crates/operator/src/foundationdb/wish/tests.rs`; run the tests with `QUORATE_UPDATE=1` to write it anew.\n");
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/invalid-specs.md");
    if std::env::var_os("QUORATE_UPDATE").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == page, "docs/invalid-specs.md is not what is said now; run the tests with QUORATE_UPDATE=1 and commit it");
}

#[test]
fn who_writes_the_largest_number_means_never_and_time_goes_on() {
    let desired = wish(json!({"automationOptions": {
        "replacements": {"taintReplacementOptions": [{"key": "*", "durationInSeconds": i64::MAX}]},
        "safetyTimers": {"minimumAgeForTerminalPodDeletion": "100000000h"},
    }}));
    let automation = desired.automation;
    for wait in automation.replacements.taints.values().chain([&automation.timers.ended_pod_age]) {
        assert!(jiff::Timestamp::now().checked_add(*wait).is_ok(), "{wait}");
    }
}

#[test]
fn parameters_that_cant_be_are_named_one_by_one() {
    let spec = json!({"processes": {"storage": {
        "customParameters": ["knob_a", "datadir=/x", "knob_b=1", "knob-b=2", "locality_dcid=dc1", "=1", "--cluster-file=/y"],
    }}});
    let at = |index: i32| format!("spec.processes.storage.customParameters[{index}]");
    assert_eq!(wrong(spec), [at(0), at(1), at(3), at(5), at(6)]);
}

#[test]
fn a_template_that_cant_be_a_pod_is_named() {
    let template = json!({"spec": {
        "initContainers": [{"name": "one"}],
        "containers": [
            {"name": ""},
            {"name": "one"},
            {"name": "foundationdb", "image": "mirror:5000/fdb"},
            {"name": "foundationdb-kubernetes-sidecar", "image": "fdb:7.3.69"},
        ],
        "volumes": [{"name": "certs"}, {"name": "certs"}],
    }});
    let at = |field: &str| format!("spec.processes.general.podTemplate.spec.{field}");
    assert_eq!(
        wrong(json!({"processes": {"general": {"podTemplate": template}}})),
        ["containers[0].name", "containers[1].name", "volumes[1].name", "containers[3].image"].map(at)
    );
}

#[test]
fn names_that_would_be_too_long_are_refused_before_any_pod_is() {
    let mut cluster = object(&json!({"version": "7.3.69", "processGroupIDPrefix": "p".repeat(43)}), &json!({}));
    assert_eq!(checked_wish(&cluster).problems, []);
    cluster.metadata.name = Some("c".repeat(60));
    cluster.spec.process_counts = Some(serde_json::from_value(json!({"cluster_controller": 1})).unwrap());
    let fields: Vec<_> = checked_wish(&cluster).problems.into_iter().map(|problem| problem.field).collect();
    assert_eq!(fields, ["metadata.name", "spec.processGroupIDPrefix"]);
    cluster = object(&json!({"version": "7.3.69"}), &json!({}));
    cluster.metadata.name = Some("my.db".to_owned());
    assert_eq!(checked_wish(&cluster).problems[0].field, "metadata.name");
}

#[test]
fn tls_is_chosen_at_birth() {
    let problems = |tls: bool, connection: &str| {
        let spec = json!({"version": "7.3.69", "mainContainer": {"enableTls": tls}});
        let wish = checked_wish(&object(&spec, &json!({"connectionString": connection})));
        assert_eq!(wish.routing.tls, tls);
        wish.problems.len()
    };
    assert_eq!(problems(true, ""), 0);
    assert_eq!(problems(true, "a:b@10.0.0.1:4500:tls"), 0);
    assert_eq!(problems(true, "a:b@10.0.0.1:4501"), 1);
    assert_eq!(problems(false, "a:b@10.0.0.1:4500:tls"), 1);
}

#[test]
fn zones_come_from_nodes_pods_or_the_whole_cluster() {
    let zone = |domain: Value| wish(json!({"faultDomain": domain})).topology.zone;
    let node = |label: &str, from: Option<&str>| Zone::Node { label: label.to_owned(), value_from: from.map(str::to_owned) };
    assert_eq!(zone(json!({})), node("kubernetes.io/hostname", None));
    assert_eq!(zone(json!({"key": "rack", "valueFrom": "$RACK"})), node("rack", Some("$RACK")));
    assert_eq!(zone(json!({"key": "foundationdb.org/none"})), Zone::Pod);
    let cluster = json!({"key": "foundationdb.org/kubernetes-cluster", "value": "kc1"});
    assert_eq!(zone(cluster), Zone::Cluster("kc1".to_owned()));
    let notes = wish(json!({"faultDomain": {"value": "kc1"}})).fields_without_effect;
    assert!(notes.iter().any(|note| note.starts_with("spec.faultDomain.value: ")), "{notes:?}");
}

#[test]
fn a_variable_names_the_zone_whatever_the_key_is() {
    let read = |key: &str, from: &str| wish(json!({"faultDomain": {"key": key, "valueFrom": from}}));
    let (pods, clusters) = ("foundationdb.org/none", "foundationdb.org/kubernetes-cluster");
    for key in [pods, clusters] {
        let named = read(key, "$RACK");
        assert_eq!(named.topology.zone_variable.as_deref(), Some("RACK"), "{key}");
        assert!(named.problems.is_empty(), "{:?}", named.problems);
        let field = read(key, "spec.nodeName");
        assert_eq!(field.topology.zone_variable, None);
        assert!(field.fields_without_effect.iter().any(|note| note.starts_with("spec.faultDomain.valueFrom: ")));
    }
    assert_eq!(read("rack", "$RACK").topology.zone_variable, None, "there it is the zone's own");
}

#[test]
fn the_lock_is_used_where_several_operators_are_to_be_expected() {
    let lock = |spec: Value| wish(spec).lock;
    assert!(lock(json!({"databaseConfiguration": {"redundancy_mode": "three_data_hall"}})).is_some());
    assert!(lock(json!({"faultDomain": {"zoneCount": 2}, "lockOptions": {"disableLocks": true}})).is_none());
    let options =
        json!({"disableLocks": false, "lockDurationMinutes": 5, "denyList": [{"id": "dc2"}, {"id": "dc3", "allow": true}]});
    let lock = lock(json!({"processGroupIDPrefix": "dc1", "lockOptions": options})).unwrap();
    assert_eq!((lock.owner.as_str(), lock.duration), ("dc1", SignedDuration::from_mins(5)));
    assert_eq!(lock.prefix, b"\xff\x02/org.foundationdb.kubernetes-operator");
    assert_eq!((lock.deny["dc2"], lock.deny["dc3"]), (true, false));
}

#[test]
fn only_what_was_asked_for_is_told_to_the_database() {
    let settings = wish(json!({"databaseConfiguration": {
        "logs": 4, "resolvers": 0, "log_routers": -1, "proxies": 5, "grv_proxies": 2, "storage": 9, "perpetual_storage_wiggle": 0,
    }}))
    .database
    .settings;
    let settings: Vec<_> = settings.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert_eq!(settings, [("grv_proxies", 2), ("logs", 4), ("perpetual_storage_wiggle", 0)]);
}

#[test]
fn a_version_of_the_log_that_no_server_makes_becomes_the_nearest_that_it_makes() {
    for (asked, told) in [(0, None), (-1, None), (4, Some(6)), (6, Some(6)), (7, Some(7)), (9, Some(7))] {
        let settings = wish(json!({"databaseConfiguration": {"log_version": asked}})).database.settings;
        assert_eq!(settings.get("log_version").copied(), told, "{asked}: told of another one it would be told for ever");
    }
}

#[test]
fn proxies_are_divided_as_fdbcli_does() {
    for (proxies, commit, grv) in [(1, 1, 1), (2, 1, 1), (5, 4, 1), (7, 6, 1), (8, 6, 2), (40, 36, 4)] {
        let settings = wish(json!({"databaseConfiguration": {"proxies": proxies}})).database.settings;
        let settings: Vec<_> = settings.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(settings, [("commit_proxies", commit), ("grv_proxies", grv)], "{proxies}");
    }
    let none_of_either = json!({"databaseConfiguration": {"proxies": 8, "commit_proxies": 0, "grv_proxies": -1}});
    assert_eq!(wish(none_of_either).database.settings["commit_proxies"], 6, "as if nobody had said anything of them");
}

#[test]
fn automation_is_read_whole() {
    let automation = wish(json!({"version": "7.1.30", "automationOptions": {
        "replacements": {
            "maxFaultDomainsWithTaintedProcessGroups": "25%", "replacementBucket": {"enabled": true, "storage": 2},
            "taintReplacementOptions": [{"key": "*", "durationInSeconds": 60}],
        },
        "safetyTimers": {"minimumUptimeForConfigurationChanges": "90s"}, "ignorePendingPodsDuration": 1_000_000_000,
    }}))
    .automation;
    assert!(!automation.exclude_by_locality, "7.1.30 is too old for it");
    assert_eq!(automation.replacements.most_tainted_domains, AtMost::Percent(25));
    let buckets = automation.replacements.buckets.unwrap();
    assert_eq!((buckets.storage, buckets.log, buckets.stateless), (2, 1, 1));
    assert_eq!(automation.replacements.taints["*"], SignedDuration::from_secs(60));
    assert_eq!(automation.timers.recovery_before_configuration, SignedDuration::from_secs(90));
    assert_eq!(automation.ignore_pending_after, SignedDuration::from_secs(1));
}

#[test]
fn both_ways_to_ask_for_a_crashing_container_count() {
    let crashing = json!([{"containerName": "foundationdb", "targets": ["log-1"]}, {"containerName": "other", "targets": ["*"]}]);
    let buggify = wish(json!({"buggify": {"crashLoop": ["log-2"], "crashLoopContainers": crashing}})).buggify;
    assert_eq!(buggify.crash_loop["foundationdb"].len(), 2);
    assert!(buggify.crash_loop["other"].contains("*"));
}

#[test]
fn pods_keep_their_names_while_coordinators_are_known_by_them() {
    let spec = json!({"version": "7.3.69", "routing": {"useDNSInClusterFile": false}});
    let routing = |connection: &str| checked_wish(&object(&spec, &json!({"connectionString": connection}))).routing;
    for by_name in ["a:b@one.sample.ns.svc.cluster.local:4501", "a:b@10.0.0.1:4501,one.sample.ns.svc:4501:tls"] {
        let routing = routing(by_name);
        assert!(routing.dns_locality && routing.headless_service && !routing.uses_names(), "{by_name}");
    }
    for by_address in ["a:b@10.0.0.1:4501,10.0.0.2:4501", "a:b@10.0.0.1:4500:tls", "a:b@[fd00::1]:4501", ""] {
        let routing = routing(by_address);
        assert!(!routing.dns_locality && !routing.headless_service, "{by_address}");
    }
}
