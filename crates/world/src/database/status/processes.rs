//! `processes` and `machines`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::Database;
use super::super::exclusion::host;
use super::super::process::Process;
use super::super::recovery::Phase;
use super::super::times;
use super::plain;
use super::section::{Part, Section};

/// What every process adds to the localities it was given.
const PROCESS_ID: &str = "processid";

/// All processes that the leader knows of, the recently dead among them.
pub(super) fn processes(database: &Database) -> Section<'_> {
    known(database).into_iter().map(|process| (process.id.as_str(), one(database, process))).collect()
}

/// Whether none of them complains of anything.
pub(super) fn are_quiet(database: &Database) -> bool {
    known(database).into_iter().all(|process| messages(database, process).is_empty())
}

/// Each by its id. One that was started again has the id it had, and is listed as the dead one that it was until that is forgotten.
fn known(database: &Database) -> Vec<&Process> {
    let mut known: Vec<&Process> = database.joined().collect();
    for (dead, _) in database.departed.values() {
        match known.iter_mut().find(|process| process.id == dead.id) {
            Some(process) => *process = dead,
            None => known.push(dead),
        }
    }
    known
}

fn one<'a>(database: &'a Database, process: &'a Process) -> Section<'a> {
    let age = database.now.duration_since(process.started);
    let address = process.address();
    let set = database.configuration.as_ref().is_some_and(|it| it.classes.get(address).is_some_and(|class| class != "default"));
    let says_who_it_is = age >= times::SILENT;
    let mut entry = Section::default();
    entry.add("address", &process.spec.address);
    entry.add("class_source", if set { "set_class" } else { "command_line" });
    entry.add("class_type", database.class(process));
    entry.add("memory", if says_who_it_is { &plain::MEMORY } else { &plain::MEMORY_LIMIT });
    entry.add("messages", Value::Array(messages(database, process)));
    entry.add("roles", roles(database, process));
    if database.readable_configuration().is_some() {
        entry.add("excluded", json!(database.excludes(address, process.localities())));
    }
    if age >= times::MUTE {
        entry.add("command_line", &process.spec.command_line);
        entry.add("version", &process.spec.version);
    }
    if says_who_it_is {
        entry.add("cpu", &plain::CPU);
        entry.add("disk", &plain::DISK);
        entry.add("fault_domain", process.zone());
        entry.add("locality", locality(process));
        entry.add("machine_id", process.localities().get("machineid").map_or(process.zone(), String::as_str));
        entry.add("network", &plain::NETWORK);
        entry.add("run_loop_busy", json!(0.006));
        entry.add("uptime_seconds", json!(age.as_secs() / 5 * 5));
        if database.maintenance.as_ref().is_some_and(|maintenance| maintenance.zone == process.zone()) {
            entry.add("under_maintenance", json!(true));
        }
    }
    entry
}

fn locality(process: &Process) -> Section<'_> {
    let said = process.localities().iter().filter(|(key, _)| *key != PROCESS_ID);
    said.map(|(key, value)| (key.as_str(), value)).chain([(PROCESS_ID, &process.id)]).collect()
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
fn roles<'a>(database: &'a Database, process: &Process) -> Vec<Part<'a>> {
    let address = process.address();
    let mut roles = Vec::new();
    let mut plain_role = |role: &'static str, has: bool| {
        if has {
            roles.push(plain::role(role, &plain::id(address, role)).into());
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
            roles.push(plain::role("log", &format!("{:016x}", server.id)).into());
        }
    }
    let name = process.spec.name.as_deref();
    if database.connection.addresses().any(|coordinator| coordinator == address || Some(coordinator) == name) {
        roles.push(json!({"role": "coordinator"}).into());
    }
    if database.available() {
        roles.extend(working_roles(database, process));
    }
    roles
}

fn working_roles<'a>(database: &Database, process: &Process) -> Vec<Part<'a>> {
    let address = process.address();
    let Phase::Accepting { since, .. } = database.phase else { return Vec::new() };
    let measured = |since: jiff::Timestamp| database.now.duration_since(since) >= plain::MEASURED_AFTER;
    let has = |addresses: &[String]| addresses.iter().any(|it| it == address);
    let mut roles = Vec::new();
    if has(&database.roles.commit_proxies) {
        roles.push(plain::commit_proxy(address, measured(since)).into());
    }
    if has(&database.roles.grv_proxies) {
        roles.push(plain::grv_proxy(address, measured(since)).into());
    }
    let current = database.logs.first().into_iter().flat_map(|generation| &generation.servers);
    for server in current.filter(|server| server.address == address && server.volume == process.spec.volume) {
        roles.push(plain::log(server.id, database.versions.read(database.now)).into());
    }
    let store = database.volumes.get(&process.spec.volume).and_then(|volume| volume.store);
    let server = store.and_then(|id| Some((id, database.data.servers.get(&id)?)));
    if let Some((id, server)) = server.filter(|(_, server)| server.still_known_as(database.now).is_none()) {
        let running = server.created.max(process.started);
        let storage = plain::Storage {
            id,
            stored: database.data.stored(id),
            version: database.versions.read(database.now),
            created: server.created,
            engine: super::engine(server.engine),
            measured: measured(running),
        };
        roles.push(plain::storage(&storage).into());
    }
    if has(&database.roles.resolvers) {
        roles.push(plain::role("resolver", &plain::id(address, "resolver")).into());
    }
    roles
}

/// Machines, by their id, with the processes on them that say who they are.
pub(super) fn machines(database: &Database) -> Section<'_> {
    let mut machines: Vec<(&str, &Process, usize)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for process in database.joined().filter(|process| process.started + times::SILENT <= database.now) {
        let id = process.localities().get("machineid").map_or(process.zone(), String::as_str);
        let place = *places.entry(id).or_insert(machines.len());
        match machines.get_mut(place) {
            Some((_, _, workers)) => *workers += 1,
            None => machines.push((id, process, 1)),
        }
    }
    machines.into_iter().map(|(id, first, workers)| (id, machine(database, id, first, workers))).collect()
}

/// A machine, by the first of its processes.
fn machine<'a>(database: &'a Database, id: &'a str, process: &'a Process, workers: usize) -> Section<'a> {
    let mut machine = Section::default();
    machine.add("contributing_workers", json!(workers));
    machine.add_members(&plain::MACHINE);
    machine.add("address", host(process.address()));
    machine.add("excluded", json!(database.excludes(process.address(), process.localities())));
    machine.add("locality", locality(process));
    machine.add("machine_id", id);
    if !process.datacenter().is_empty() {
        machine.add("datacenter_id", process.datacenter());
    }
    machine
}
