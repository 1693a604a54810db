//! `processes` and `machines`.

use serde_json::{Map, Value, json};

use super::super::Database;
use super::super::exclusion::host;
use super::super::process::Process;
use super::super::recovery::Phase;
use super::super::times;
use super::plain;

/// All processes that the leader knows of, the recently dead among them.
pub(super) fn processes(database: &Database) -> Value {
    let dead = database.departed.values().map(|(process, _)| process);
    let all = database.joined().chain(dead).map(|process| (process.id.clone(), one(database, process)));
    Value::Object(all.collect())
}

fn one(database: &Database, process: &Process) -> Value {
    let age = database.now.duration_since(process.started);
    let address = process.address();
    let set = database.configuration.as_ref().is_some_and(|it| it.classes.get(address).is_some_and(|class| class != "default"));
    let mut entry = Map::new();
    entry.insert("address".into(), json!(process.spec.address));
    entry.insert("class_source".into(), json!(if set { "set_class" } else { "command_line" }));
    entry.insert("class_type".into(), json!(database.class(process)));
    entry.insert("memory".into(), json!({"limit_bytes": 2_147_483_648_u64}));
    entry.insert("messages".into(), Value::Array(messages(database, process)));
    entry.insert("roles".into(), Value::Array(roles(database, process)));
    if database.readable_configuration().is_some() {
        entry.insert("excluded".into(), json!(database.excludes(address, process.localities())));
    }
    if age >= times::MUTE {
        entry.insert("command_line".into(), json!(process.spec.command_line));
        entry.insert("version".into(), json!(process.spec.version));
    }
    if age >= times::SILENT {
        entry.insert("cpu".into(), json!({"usage_cores": 0.008}));
        entry.insert("disk".into(), plain::disk());
        entry.insert("fault_domain".into(), json!(process.zone()));
        entry.insert("locality".into(), json!(locality(process)));
        entry.insert("machine_id".into(), json!(process.localities().get("machineid").map_or(process.zone(), String::as_str)));
        entry.insert("memory".into(), plain::memory());
        entry.insert("network".into(), plain::network());
        entry.insert("run_loop_busy".into(), json!(0.006));
        entry.insert("uptime_seconds".into(), json!(age.as_secs() / 5 * 5));
        if database.maintenance.as_ref().is_some_and(|maintenance| maintenance.zone == process.zone()) {
            entry.insert("under_maintenance".into(), json!(true));
        }
    }
    Value::Object(entry)
}

fn locality(process: &Process) -> Map<String, Value> {
    let mut locality: Map<String, Value> = process.localities().iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    locality.insert("processid".into(), json!(process.id));
    locality
}

/// A disk that fails is complained of. Versions jump at a recovery; a storage server that starts has to make up for the jump.
fn messages(database: &Database, process: &Process) -> Vec<Value> {
    let volume = database.volumes.get(&process.spec.volume);
    let mut messages = Vec::new();
    if volume.is_some_and(|volume| volume.errs) {
        messages.push(json!({"name": "io_error", "description": "Disk i/o operation failed"}));
    }
    let Phase::Accepting { since, .. } = database.phase else { return messages };
    let store = volume.and_then(|volume| volume.store);
    if store.is_some() && process.started + times::SILENT > since && since + times::LAGS > database.now {
        messages.push(json!({"name": "storage_server_lagging", "description": "Storage server lagging by 100 seconds."}));
    }
    messages
}

/// The roles of a process, in the order in which they are listed.
fn roles(database: &Database, process: &Process) -> Vec<Value> {
    let address = process.address();
    let mut roles = Vec::new();
    let mut plain_role = |role: &str, has: bool| {
        if has {
            roles.push(json!({"id": plain::id(address, role), "role": role}));
        }
    };
    let readable = database.readable_configuration().is_some();
    let recovering = matches!(database.phase, Phase::Recovering(_) | Phase::NeverCreated);
    let master = if recovering && !database.members.contains(&database.roles.master) {
        &database.controller
    } else {
        &database.roles.master
    };
    plain_role("master", master == address);
    plain_role("cluster_controller", database.controller == address);
    for singleton in ["data_distributor", "ratekeeper", "consistency_scan"] {
        plain_role(singleton, database.distributor.as_ref().is_some_and(|distributor| distributor.on == address));
    }
    if !readable {
        return roles;
    }
    for generation in database.logs.iter().skip(1) {
        for server in generation.servers.iter().filter(|server| server.volume == process.spec.volume) {
            roles.push(json!({"id": format!("{:016x}", server.id), "role": "log"}));
        }
    }
    let name = process.spec.name.as_deref();
    if database.connection.addresses().any(|coordinator| coordinator == address || Some(coordinator) == name) {
        roles.push(json!({"role": "coordinator"}));
    }
    if database.available() {
        roles.extend(working_roles(database, process));
    }
    roles
}

fn working_roles(database: &Database, process: &Process) -> Vec<Value> {
    let address = process.address();
    let Phase::Accepting { since, .. } = database.phase else { return Vec::new() };
    let measured = |since: jiff::Timestamp| database.now.duration_since(since) >= plain::MEASURED_AFTER;
    let has = |addresses: &[String]| addresses.iter().any(|it| it == address);
    let mut roles = Vec::new();
    if has(&database.roles.commit_proxies) {
        roles.push(plain::commit_proxy(address, measured(since)));
    }
    if has(&database.roles.grv_proxies) {
        roles.push(plain::grv_proxy(address, measured(since)));
    }
    let current = database.logs.first().into_iter().flat_map(|generation| &generation.servers);
    for server in current.filter(|server| server.address == address && server.volume == process.spec.volume) {
        roles.push(plain::log(server.id, database.versions.read(database.now)));
    }
    let store = database.volumes.get(&process.spec.volume).and_then(|volume| volume.store);
    if let Some((id, server)) = store.and_then(|id| Some((id, database.data.servers.get(&id)?))) {
        let running = server.created.max(process.started);
        roles.push(plain::storage(&plain::Storage {
            id,
            stored: database.data.stored(id),
            version: database.versions.read(database.now),
            created: server.created,
            engine: super::engine(database.configuration.as_ref().map_or(2, |it| it.storage_engine)),
            measured: measured(running),
        }));
    }
    if has(&database.roles.resolvers) {
        roles.push(json!({"id": plain::id(address, "resolver"), "role": "resolver"}));
    }
    roles
}

/// Machines, by their id: processes that say who they are.
pub(super) fn machines(database: &Database) -> Value {
    let mut machines = Map::new();
    for process in database.joined().filter(|process| process.started + times::SILENT <= database.now) {
        let id = process.localities().get("machineid").map_or(process.zone(), String::as_str);
        if let Some(workers) = machines.get_mut(id).and_then(|machine: &mut Value| machine.get_mut("contributing_workers")) {
            *workers = json!(workers.as_u64().unwrap_or(0) + 1);
            continue;
        }
        let mut machine = plain::machine();
        machine["address"] = json!(host(process.address()));
        machine["excluded"] = json!(database.excludes(process.address(), process.localities()));
        machine["locality"] = Value::Object(locality(process));
        machine["machine_id"] = json!(id);
        if !process.datacenter().is_empty() {
            machine["datacenter_id"] = json!(process.datacenter());
        }
        machines.insert(id.to_owned(), machine);
    }
    Value::Object(machines)
}
