//! The pods, claims and configuration of a small cluster, written by hand as the operator renders them.

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod};
use serde_json::{Value, json};

/// The instances of the cluster; the part before the number is the class.
pub const INSTANCES: [&str; 5] = ["storage-1", "storage-2", "storage-3", "log-4", "log-5"];

fn class(instance: &str) -> &str {
    instance.split('-').next().unwrap()
}

/// The monitor's configurations of all classes. Without a connection string no server is to run.
pub fn config_map(version: &str, connection: Option<&str>, more: &[&str]) -> ConfigMap {
    let configuration = |class: &str| configuration(version, class, connection.is_some(), more).to_string();
    let object = json!({
        "metadata": {"name": "sample-config"},
        "data": {
            "cluster-file": connection.unwrap_or_default(),
            "running-version": version,
            "fdbmonitor-conf-storage-json": configuration("storage"),
            "fdbmonitor-conf-log-json": configuration("log"),
        },
    });
    serde_json::from_value(object).unwrap()
}

fn configuration(version: &str, class: &str, runs: bool, more: &[&str]) -> Value {
    let variable = |name: &str| json!({"type": "Environment", "source": name});
    let put_together = |parts: &[Value]| json!({"type": "Concatenate", "values": parts});
    let text = |text: &str| json!({"value": text});
    let port = json!({"type": "ProcessNumber", "multiplier": 2, "offset": 4499});
    let number = json!({"type": "ProcessNumber"});
    let mut arguments = vec![
        text("--cluster_file=/var/fdb/data/fdb.cluster"),
        text("--seed_cluster_file=/var/dynamic-conf/fdb.cluster"),
        put_together(&[text("--public_address=["), variable("FDB_PUBLIC_IP"), text("]:"), port]),
        text(&format!("--class={class}")),
        text("--logdir=/var/log/fdb-trace-logs"),
        text("--loggroup=sample"),
        put_together(&[text("--datadir=/var/fdb/data/"), number.clone()]),
        put_together(&[text("--locality_process_id="), variable("FDB_INSTANCE_ID"), text("-"), number]),
        put_together(&[text("--locality_instance_id="), variable("FDB_INSTANCE_ID")]),
        put_together(&[text("--locality_machineid="), variable("FDB_MACHINE_ID")]),
        put_together(&[text("--locality_zoneid="), variable("FDB_ZONE_ID")]),
    ];
    arguments.extend(more.iter().map(|argument| text(argument)));
    let mut configuration = json!({"version": version, "arguments": arguments});
    if !runs {
        configuration["runServers"] = json!(false);
    }
    configuration
}

/// The claim of an instance.
pub fn claim(instance: &str, class: &str) -> PersistentVolumeClaim {
    let object = json!({
        "metadata": {"name": format!("sample-{instance}-data")},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": "16Gi"}},
        },
    });
    serde_json::from_value(object).unwrap()
}

/// The pod of an instance; its name is the instance's.
pub fn pod(instance: &str) -> Pod {
    let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let object = json!({
        "metadata": {"name": instance, "labels": {"foundationdb.org/fdb-process-group-id": instance}},
        "spec": {
            "containers": [{
                "name": "foundationdb",
                "image": "foundationdb/fdb-kubernetes-monitor:7.3.63",
                "args": ["--input-dir", "/var/dynamic-conf", "--log-path", "/var/log/fdb-trace-logs/monitor.log"],
                "env": [
                    {"name": "FDB_CLUSTER_FILE", "value": "/var/dynamic-conf/fdb.cluster"},
                    field("FDB_POD_NAME", "metadata.name"),
                    field("FDB_POD_NAMESPACE", "metadata.namespace"),
                    field("FDB_NODE_NAME", "spec.nodeName"),
                    field("FDB_PUBLIC_IP", "status.podIP"),
                    field("FDB_MACHINE_ID", "metadata.name"),
                    field("FDB_ZONE_ID", "metadata.name"),
                    field("FDB_INSTANCE_ID", "metadata.labels['foundationdb.org/fdb-process-group-id']"),
                ],
                "volumeMounts": [
                    {"name": "data", "mountPath": "/var/fdb/data"},
                    {"name": "config-map", "mountPath": "/var/dynamic-conf"},
                    {"name": "fdb-trace-logs", "mountPath": "/var/log/fdb-trace-logs"},
                ],
            }],
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": format!("sample-{instance}-data")}},
                {"name": "config-map", "configMap": {"name": "sample-config", "items": [
                    {"key": format!("fdbmonitor-conf-{}-json", class(instance)), "path": "config.json"},
                    {"key": "cluster-file", "path": "fdb.cluster"},
                ]}},
                {"name": "fdb-trace-logs", "emptyDir": {}},
            ],
        },
    });
    serde_json::from_value(object).unwrap()
}
