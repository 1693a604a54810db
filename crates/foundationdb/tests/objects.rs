#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
//! The Kubernetes objects of clusters that people have, as files under `objects/`; `QUORATE_UPDATE=1` writes them.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, PodTemplateSpec};
use quorate_foundationdb::objects::{self, annotations};
use quorate_foundationdb::{
    Automation, Buggify, ClassTemplate, DatabaseWish, Desired, Labels, ProcessClass, ProcessGroup, ProcessGroupId, Routing,
    Topology, Zone, labels,
};
use serde::Serialize;
use serde_json::{Value, json};

const CONNECTION: &str = "sample:a1b2@sample-log-1.sample.ns.svc.cluster.local:4501";

/// A cluster of which nothing but the version was said.
fn sample() -> Desired {
    let of_cluster = BTreeMap::from([(labels::CLUSTER.to_owned(), "sample".to_owned())]);
    Desired {
        name: "sample".to_owned(),
        namespace: "ns".to_owned(),
        uid: "0fd5".to_owned(),
        generation: 1,
        deleting: false,
        skip: false,
        problems: Vec::new(),
        version: "7.3.69".parse().unwrap(),
        database: DatabaseWish::default(),
        counts: BTreeMap::from([(ProcessClass::Log, 4), (ProcessClass::Stateless, 9), (ProcessClass::Storage, 3)]),
        servers_per_pod: BTreeMap::new(),
        prefix: None,
        topology: Topology::default(),
        distribution: None,
        coordinator_selection: BTreeMap::new(),
        seed_connection: None,
        description: None,
        database_id: None,
        image: "foundationdb/fdb-kubernetes-monitor:7.3.69".to_owned(),
        sidecar_image: "foundationdb/fdb-kubernetes-monitor:7.3.69".to_owned(),
        templates: BTreeMap::new(),
        routing: Routing { explicit_listen_address: true, ..Routing::default() },
        labels: Labels {
            matching: of_cluster.clone(),
            resource: of_cluster,
            group: vec![labels::GROUP.to_owned()],
            class: vec![labels::CLASS.to_owned()],
        },
        config_map: None,
        log_group: "sample".to_owned(),
        trusted_cas: Vec::new(),
        peer_verification_rules: String::new(),
        delete_volumes: false,
        remove: BTreeSet::new(),
        remove_without_exclusion: BTreeSet::new(),
        automation: Automation::default(),
        lock: None,
        buggify: Buggify::default(),
        fields_without_effect: Vec::new(),
        deprecated_fields: Vec::new(),
    }
}

fn group(class: ProcessClass) -> ProcessGroupId {
    ProcessGroupId::new(None, class, 1)
}

fn pod(desired: &Desired, class: ProcessClass) -> Pod {
    objects::pod(desired, &group(class), &ProcessGroup::new(class), None)
}

fn with_template(mut desired: Desired, class: ProcessClass, pod: Value) -> Desired {
    let pod: PodTemplateSpec = serde_json::from_value(pod).unwrap();
    desired.templates.insert(class, ClassTemplate { pod, ..ClassTemplate::default() });
    desired
}

fn with_claim(mut desired: Desired, claim: Value) -> Desired {
    let claim: PersistentVolumeClaim = serde_json::from_value(claim).unwrap();
    desired.templates.insert(ProcessClass::Storage, ClassTemplate { claim: Some(claim), ..ClassTemplate::default() });
    desired
}

/// What a test says is what the file says.
#[expect(clippy::disallowed_methods, reason = "the rules do no I/O, their tests compare with files")]
fn assert_written(name: &str, object: &impl Serialize) {
    let text = serde_json::to_string_pretty(object).unwrap() + "\n";
    let file = format!("{}/tests/objects/{name}.json", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("QUORATE_UPDATE").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == text, "{file} is out of date; look at what changed, and write it again with QUORATE_UPDATE=1:\n{text}");
}

#[test]
fn pods_of_a_cluster_that_says_nothing_but_its_version() {
    assert_written("pod-storage", &pod(&sample(), ProcessClass::Storage));
    assert_written("pod-log", &pod(&sample(), ProcessClass::Log));
    assert_written("pod-stateless", &pod(&sample(), ProcessClass::Stateless));
}

#[test]
fn a_pod_in_a_logical_fault_domain_is_kept_from_others_of_its_class() {
    let packed = |class| objects::pod(&sample(), &group(class), &ProcessGroup::packed_into(class, Some("dc1"), 2), None);
    assert_written("pod-packed-storage", &packed(ProcessClass::Storage));
    assert_written("pod-packed-stateless", &packed(ProcessClass::Stateless));
    let zone = Zone::Node { label: "example.org/rack".to_owned(), value_from: Some("$RACK".to_owned()) };
    let by_rack = Desired { topology: Topology { zone, ..Topology::default() }, ..sample() };
    let class = ProcessClass::Storage;
    let pod = objects::pod(&by_rack, &group(class), &ProcessGroup::packed_into(class, None, 2), None);
    assert_written("pod-packed-by-rack", &pod);
    let document = objects::monitor_configuration(&by_rack, class, true, Some(CONNECTION));
    let environment = [("FDB_ZONE_ID", "storage-2"), ("RACK", "r7"), ("FDB_PUBLIC_IP", "10.0.0.1"), ("FDB_POD_IP", "10.0.0.1")];
    let more = [("FDB_INSTANCE_ID", "storage-1"), ("FDB_MACHINE_ID", "node-1"), ("FDB_DNS_NAME", "name")];
    let environment = environment.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let line = document.command_line(&environment, 1).unwrap().join(" ");
    assert!(line.contains("--locality_zoneid=storage-2 --locality_physical_zone=r7"), "{line}");
}

#[test]
fn a_pod_for_tls_trusts_the_given_authorities() {
    let mut desired = sample();
    desired.routing.tls = true;
    desired.trusted_cas = vec!["one".to_owned(), "two".to_owned()];
    desired.peer_verification_rules = "S.CN=fdb".to_owned();
    assert_written("pod-tls", &pod(&desired, ProcessClass::Storage));
    assert_written("config-map-tls", &objects::config_map(&desired, Some(CONNECTION), []));
}

#[test]
fn a_pod_with_a_service_announces_its_services_address_and_listens_on_its_own() {
    let mut desired = sample();
    desired.routing.service_per_pod = true;
    desired.routing.explicit_listen_address = false;
    desired.servers_per_pod = BTreeMap::from([(ProcessClass::Log, 2)]);
    let (class, id) = (ProcessClass::Log, group(ProcessClass::Log));
    assert_written("pod-with-service", &objects::pod(&desired, &id, &ProcessGroup::new(class), Some("10.96.0.7")));
    assert_written("service-of-two-logs", &objects::pod_service(&desired, class, &id));
}

#[test]
fn where_a_family_is_asked_for_the_monitor_picks_from_all_addresses() {
    let mut desired = sample();
    desired.routing.family = Some(6);
    assert_written("pod-ipv6", &pod(&desired, ProcessClass::Storage));
    assert_written("service-headless-ipv6", &objects::headless_service(&desired));
    let document = objects::monitor_configuration(&desired, ProcessClass::Storage, false, Some(CONNECTION));
    let address = &json!(document)["arguments"][2]["values"][1];
    assert_eq!(*address, json!({"type": "IPList", "source": "FDB_PUBLIC_IP", "ipFamily": 6}));
}

#[test]
fn two_servers_in_a_pod() {
    let desired = Desired { servers_per_pod: BTreeMap::from([(ProcessClass::Storage, 2)]), ..sample() };
    assert_written("pod-two-servers", &pod(&desired, ProcessClass::Storage));
}

#[test]
fn what_a_template_says_is_kept_and_completed() {
    let template = json!({
        "metadata": {"labels": {"team": "db"}, "annotations": {"note": "ours"}},
        "spec": {
            "serviceAccountName": "fdb",
            "initContainers": [{"name": "foundationdb-kubernetes-init"}, {"name": "sysctl", "image": "busybox"}],
            "containers": [
                {"name": "logs", "image": "vector"},
                {
                    "name": "foundationdb",
                    "image": "mirror/fdb",
                    "env": [{"name": "FDB_ZONE_ID", "value": "mine"}, {"name": "RACK", "value": "r1"}],
                    "resources": {"requests": {"cpu": "4", "memory": "16Gi"}},
                    "securityContext": {"readOnlyRootFilesystem": false},
                    "volumeMounts": [{"name": "fdb-trace-logs", "mountPath": "/var/log/fdb-trace-logs", "subPath": "fdb"}],
                },
            ],
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"team": "db"}}},
            ]}},
            "volumes": [{"name": "fdb-trace-logs", "hostPath": {"path": "/logs"}}, {"name": "certs", "secret": {"secretName": "certs"}}],
        },
    });
    assert_written("pod-template", &pod(&with_template(sample(), ProcessClass::Storage, template), ProcessClass::Storage));
}

#[test]
fn where_there_are_no_fault_domains_each_pod_is_one() {
    let desired = Desired { topology: Topology { zone: Zone::Pod, ..Topology::default() }, ..sample() };
    assert_written("pod-without-fault-domains", &pod(&desired, ProcessClass::Storage));
}

#[test]
fn where_the_kubernetes_cluster_is_the_zone_it_is_said_outright() {
    let zone = Zone::Cluster("east".to_owned());
    let topology = Topology { zone, datacenter: Some("dc1".to_owned()), ..Topology::default() };
    let desired = Desired { topology, ..sample() };
    assert_written("pod-zone-is-cluster", &pod(&desired, ProcessClass::Storage));
}

#[test]
fn a_zone_from_a_variable_or_from_a_field() {
    let zone = |from: &str| Zone::Node { label: "rack".to_owned(), value_from: Some(from.to_owned()) };
    let desired = |from: &str| Desired { topology: Topology { zone: zone(from), ..Topology::default() }, ..sample() };
    let env = |desired: &Desired| json!(pod(desired, ProcessClass::Log).spec.unwrap().containers[0].env).to_string();
    let source = |desired: &Desired| {
        let document = objects::monitor_configuration(desired, ProcessClass::Log, false, Some(CONNECTION));
        json!(document)["arguments"][10]["values"][1]["source"].clone()
    };
    let (variable, field) = (desired("$RACK"), desired("metadata.labels['rack']"));
    assert!(!env(&variable).contains("FDB_ZONE_ID"));
    assert_eq!(source(&variable), "RACK");
    assert!(env(&field).contains("metadata.labels['rack']"));
    assert_eq!(source(&field), "FDB_ZONE_ID");
}

#[test]
fn a_variable_names_the_zone_also_of_pods_that_nothing_keeps_apart() {
    for zone in [Zone::Pod, Zone::Cluster("east".to_owned())] {
        let plain = Desired { topology: Topology { zone, ..Topology::default() }, ..sample() };
        let topology = Topology { zone_variable: Some("RACK".to_owned()), ..plain.topology.clone() };
        let named = Desired { topology, ..plain.clone() };
        let source = |desired: &Desired| {
            let document = objects::monitor_configuration(desired, ProcessClass::Log, false, Some(CONNECTION));
            json!(document)["arguments"][10]["values"][1]["source"].clone()
        };
        assert_eq!((source(&plain), source(&named)), (json!("FDB_ZONE_ID"), json!("RACK")));
        assert_eq!(pod(&plain, ProcessClass::Log), pod(&named, ProcessClass::Log), "no pod is made again for it");
    }
}

#[test]
fn faults_to_inject() {
    let mut desired = sample();
    desired.buggify.no_schedule = BTreeSet::from(["storage-1".to_owned()]);
    desired.buggify.crash_loop = BTreeMap::from([(objects::MAIN_CONTAINER.to_owned(), BTreeSet::from(["*".to_owned()]))]);
    assert_written("pod-faults", &pod(&desired, ProcessClass::Storage));
    assert!(!json!(pod(&desired, ProcessClass::Log)).to_string().contains("no-schedule"));
}

#[test]
fn the_volume_stays_when_the_cluster_goes_unless_its_user_says_otherwise() {
    let claim =
        |desired: &Desired| objects::claim(desired, &group(ProcessClass::Storage), &ProcessGroup::new(ProcessClass::Storage));
    assert_written("claim", &claim(&sample()));
    assert_eq!(claim(&Desired { delete_volumes: true, ..sample() }).metadata.owner_references.unwrap()[0].uid, "0fd5");
}

#[test]
fn a_volume_that_shall_grow_is_the_same_volume_and_one_of_another_kind_is_not() {
    let asked = |claim: Value| objects::claim_asked_for(&with_claim(sample(), claim), ProcessClass::Storage);
    let nothing = objects::claim_asked_for(&sample(), ProcessClass::Storage);
    let sized = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
    assert_eq!(asked(sized("16G")), nothing);
    assert_eq!(asked(sized("32G")), nothing);
    assert_eq!(asked(json!({"metadata": {"labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"]}})), nothing);
    assert_ne!(asked(json!({"spec": {"storageClassName": "fast"}})), nothing);
    let size = |claim: Value| objects::claim_size(&with_claim(sample(), claim), ProcessClass::Storage).0;
    assert_eq!((size(sized("16G")), size(sized("0")), size(json!({"spec": {}}))), ("16G".into(), "128G".into(), "128G".into()));
}

#[test]
fn a_config_map_has_a_document_for_each_class_that_is_asked_for_or_still_there() {
    let theirs: ConfigMap = serde_json::from_value(json!({
        "metadata": {"labels": {"team": "db"}, "name": "ignored"}, "data": {"extra": "file", "cluster-file": "not theirs to say"},
    }))
    .unwrap();
    let desired = Desired { config_map: Some(theirs), ..sample() };
    assert_written("config-map", &objects::config_map(&desired, Some(CONNECTION), [(ProcessClass::Transaction, false)]));
}

#[test]
fn no_server_runs_before_there_are_coordinators_or_when_none_shall() {
    let runs =
        |desired: &Desired, connection| objects::monitor_configuration(desired, ProcessClass::Log, false, connection).run_servers;
    let mut none_shall = sample();
    none_shall.buggify.empty_monitor_configuration = true;
    assert_eq!(runs(&sample(), Some(CONNECTION)), None);
    assert_eq!(runs(&sample(), None), Some(false));
    assert_eq!(runs(&sample(), Some("")), Some(false));
    assert_eq!(runs(&none_shall, Some(CONNECTION)), Some(false));
}

#[test]
fn parameters_are_passed_on_whole() {
    let mut desired = sample();
    desired.topology.datacenter = Some("dc1".to_owned());
    desired.topology.hall = Some("az1".to_owned());
    let parameter = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let parameters =
        vec![parameter("knob_list", "a=1,b=2"), parameter("locality_rack", "$RACK"), parameter("locality_dcid", "other")];
    desired.templates.insert(ProcessClass::Log, ClassTemplate { parameters, ..ClassTemplate::default() });
    let document = objects::monitor_configuration(&desired, ProcessClass::Log, false, Some(CONNECTION));
    let environment: BTreeMap<String, String> = [
        ("FDB_PUBLIC_IP", "10.0.0.1"),
        ("FDB_POD_IP", "10.0.0.1"),
        ("FDB_INSTANCE_ID", "log-1"),
        ("FDB_MACHINE_ID", "node-1"),
        ("FDB_ZONE_ID", "node-1"),
        ("FDB_DNS_NAME", "sample-log-1.sample.ns.svc.cluster.local"),
        ("RACK", "r1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    assert_eq!(
        document.command_line(&environment, 1).unwrap(),
        [
            "--cluster_file=/var/fdb/data/fdb.cluster",
            "--seed_cluster_file=/var/dynamic-conf/fdb.cluster",
            "--public_address=[10.0.0.1]:4501",
            "--class=log",
            "--logdir=/var/log/fdb-trace-logs",
            "--loggroup=sample",
            "--datadir=/var/fdb/data/1",
            "--locality_process_id=log-1-1",
            "--locality_instance_id=log-1",
            "--locality_machineid=node-1",
            "--locality_zoneid=node-1",
            "--listen_address=[10.0.0.1]:4501",
            "--knob_list=a=1,b=2",
            "--locality_rack=r1",
            "--locality_dcid=other",
            "--locality_data_hall=az1",
            "--locality_dns_name=sample-log-1.sample.ns.svc.cluster.local",
        ]
    );
}

#[test]
fn one_budget_for_all_pods() {
    assert_written("disruption-budget", &objects::disruption_budget(&sample(), 14));
}

#[test]
fn a_prefix_is_in_the_groups_name_and_not_in_the_pods() {
    let id = ProcessGroupId::new(Some("storage"), ProcessClass::ClusterController, 7);
    assert_eq!(objects::pod_name(&sample(), ProcessClass::ClusterController, &id), "sample-cluster-controller-7");
}

#[test]
fn what_was_asked_for_is_told_by_the_wish_and_not_by_its_rendering() {
    let asked = |desired: &Desired| objects::asked_for(desired, ProcessClass::Storage, &group(ProcessClass::Storage));
    let nothing = asked(&sample());
    assert_eq!(pod(&sample(), ProcessClass::Storage).metadata.annotations.unwrap()[annotations::ASKED_FOR], nothing);

    let mut elsewhere = sample();
    elsewhere.counts.insert(ProcessClass::Storage, 12);
    elsewhere.topology.datacenter = Some("dc1".to_owned());
    elsewhere.buggify.no_schedule.insert("log-1".to_owned());
    elsewhere.routing.tls = true;
    assert_eq!(asked(&elsewhere), nothing, "what concerns no pod of this group rolls none");
    let mut labelled = with_template(sample(), ProcessClass::Storage, json!({"metadata": {"labels": {"a": "b"}}}));
    labelled.labels.resource = BTreeMap::from([("c".to_owned(), "d".to_owned())]);
    assert_eq!(asked(&labelled), nothing, "labels are changed in place");

    let changes: [fn(&mut Desired); 6] = [
        |desired| desired.image.push_str("-1"),
        |desired| desired.log_group.push_str("-1"),
        |desired| desired.routing.family = Some(4),
        |desired| desired.servers_per_pod = BTreeMap::from([(ProcessClass::Storage, 2)]),
        |desired| desired.topology.zone = Zone::Pod,
        |desired| desired.buggify.no_schedule = BTreeSet::from(["*".to_owned()]),
    ];
    let mut digests: BTreeSet<String> = changes
        .iter()
        .map(|change| {
            let mut desired = sample();
            change(&mut desired);
            asked(&desired)
        })
        .collect();
    digests.insert(nothing);
    assert_eq!(digests.len(), changes.len() + 1);
}

#[test]
fn requests_that_grew_are_noticed() {
    let requests = |memory: &str| {
        let main = json!({"name": "foundationdb", "resources": {"requests": {"cpu": "1", "memory": memory}}});
        let template = json!({"spec": {"containers": [main]}});
        objects::requests(&with_template(sample(), ProcessClass::Storage, template), ProcessClass::Storage)
    };
    let default = objects::requests(&sample(), ProcessClass::Storage);
    assert_eq!(requests("8Gi"), default);
    assert!(requests("9Gi").grew_since(default));
    assert!(!requests("7Gi").grew_since(default));
}
