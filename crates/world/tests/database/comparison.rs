//! What a recorded document and the model's have to have in common.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// Everything in which two documents differ: the fields there are, and the values that the situation determines. Differences whose path
/// begins with one of the exceptions are left out.
pub fn differences(recorded: &Value, model: &Value, except: &[&str]) -> Vec<String> {
    let (recorded_shape, model_shape) = (shape(recorded), shape(model));
    let mut differences: Vec<String> = Vec::new();
    differences.extend(recorded_shape.difference(&model_shape).map(|path| format!("{path} is missing")));
    differences.extend(model_shape.difference(&recorded_shape).map(|path| format!("{path} is not in the recording")));
    let (recorded_facts, model_facts) = (facts(recorded), facts(model));
    let paths: BTreeSet<&String> = recorded_facts.keys().chain(model_facts.keys()).collect();
    for path in paths {
        let (expected, found) = (recorded_facts.get(path), model_facts.get(path));
        if expected != found {
            let print = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
            differences.push(format!("{path}: recorded {}, model {}", print(expected), print(found)));
        }
    }
    differences.retain(|difference| !except.iter().any(|path| difference.starts_with(path)));
    differences
}

/// The paths of all fields. Processes and machines are alike, and roles are told apart by their name.
fn shape(document: &Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    walk(document, "", &mut paths);
    paths
}

fn walk(value: &Value, path: &str, paths: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let key = if matches!(path, ".cluster.processes" | ".cluster.machines") { "*" } else { key };
                let path = format!("{path}.{key}");
                paths.insert(path.clone());
                walk(field, &path, paths);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                let name = element.get("role").and_then(Value::as_str).unwrap_or("");
                walk(element, &format!("{path}[{name}]"), paths);
            }
        }
        _ => {}
    }
}

/// The values that the situation determines, by a name.
fn facts(document: &Value) -> BTreeMap<String, Value> {
    let mut facts = BTreeMap::new();
    for path in [
        "/client/database_status",
        "/client/coordinators/quorum_reachable",
        "/client/cluster_file/up_to_date",
        "/cluster/bounce_impact",
        "/cluster/recovery_state/name",
        "/cluster/recovery_state/description",
        "/cluster/recovery_state/active_generations",
        "/cluster/data/state",
        "/cluster/data/moving_data/highest_priority",
        "/cluster/fault_tolerance",
        "/cluster/full_replication",
        "/cluster/database_available",
        "/cluster/database_lock_state",
        "/cluster/degraded_processes",
        "/cluster/configuration",
        "/cluster/maintenance_zone",
        "/cluster/layers",
        "/cluster/protocol_version",
        "/cluster/active_tss_count",
    ] {
        if let Some(value) = document.pointer(path) {
            facts.insert(path.replace('/', "."), value.clone());
        }
    }
    let elements = |path: &str| document.pointer(path).and_then(Value::as_array).cloned().unwrap_or_default();
    let names = |path: &str| json!(elements(path).iter().map(|message| message["name"].clone()).collect::<Vec<_>>());
    facts.insert(".client.messages".into(), names("/client/messages"));
    facts.insert(".cluster.messages".into(), names("/cluster/messages"));
    for tracker in elements("/cluster/data/team_trackers") {
        facts.insert(".cluster.data.team_trackers.state".into(), tracker["state"].clone());
        facts.insert(".cluster.data.team_trackers.unhealthy_servers".into(), tracker["unhealthy_servers"].clone());
    }
    for coordinator in elements("/client/coordinators/coordinators") {
        let address = coordinator["address"].as_str().unwrap_or_default();
        facts.insert(format!(".client.coordinators.{address}"), json!([coordinator["reachable"], coordinator.get("protocol")]));
    }
    facts.insert(".cluster.logs".into(), Value::Array(elements("/cluster/logs").iter().map(log).collect()));
    processes(document, &mut facts);
    facts
}

/// What is determined of a generation of the log: not which processes, but how many and how well.
fn log(log: &Value) -> Value {
    let interfaces = log["log_interfaces"].as_array().cloned().unwrap_or_default();
    let mut kinds: Vec<Value> = interfaces.iter().map(|it| json!([it["healthy"], it.get("address").is_some()])).collect();
    kinds.sort_by_key(Value::to_string);
    json!({
        "current": log["current"], "fault_tolerance": log["log_fault_tolerance"], "replicas": log["log_replication_factor"],
        "possibly_losing_data": log["possibly_losing_data"], "interfaces": kinds,
    })
}

fn processes(document: &Value, facts: &mut BTreeMap<String, Value>) {
    let none = serde_json::Map::new();
    let processes = document.pointer("/cluster/processes").and_then(Value::as_object).unwrap_or(&none);
    let mut roles: BTreeMap<String, u64> = BTreeMap::new();
    for process in processes.values() {
        let address = process["address"].as_str().unwrap_or_default();
        let mut kept = serde_json::Map::new();
        for key in [
            "class_type",
            "class_source",
            "command_line",
            "excluded",
            "fault_domain",
            "machine_id",
            "version",
            "under_maintenance",
        ] {
            if let Some(value) = process.get(key) {
                kept.insert(key.to_owned(), value.clone());
            }
        }
        let mut locality = process.get("locality").cloned().unwrap_or(Value::Null);
        if let Some(locality) = locality.as_object_mut() {
            locality.remove("processid");
        }
        kept.insert("locality".to_owned(), locality);
        let mut fields: Vec<&String> = process.as_object().into_iter().flatten().map(|(key, _)| key).collect();
        fields.sort_unstable();
        kept.insert("fields".to_owned(), json!(fields));
        kept.sort_keys();
        facts.insert(format!(".cluster.processes.{address}"), Value::Object(kept));
        for role in process["roles"].as_array().into_iter().flatten() {
            let class = process["class_type"].as_str().unwrap_or_default();
            let name = role["role"].as_str().unwrap_or_default();
            let old =
                if name == "log" && role.as_object().is_some_and(|role| role.len() == 2) { " of an old generation" } else { "" };
            // Where nobody is made for them, chance decides who gets the roles that keep nothing.
            let keeps = matches!(name, "storage" | "log" | "coordinator");
            let of = if keeps { format!("{class}: ") } else { String::new() };
            *roles.entry(format!("{of}{name}{old}")).or_default() += 1;
        }
    }
    for (role, count) in roles {
        facts.insert(format!(".roles.{role}"), json!(count));
    }
}
