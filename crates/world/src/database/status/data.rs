//! `data` and `logs`: the state of data distribution's queue, and the generations of the log.

use serde_json::{Value, json};

use super::super::Database;
use super::super::configuration::Configuration;
use super::super::distribution::priority;
use super::super::storage::Relocation;

/// The bytes of one of FoundationDB's own first shard, where nothing was measured.
const PARTITION: u64 = 20_000_000;

fn relocations(database: &Database) -> impl Iterator<Item = &Relocation> {
    database.data.shards.iter().filter_map(|shard| shard.relocation.as_ref())
}

fn highest_priority(database: &Database) -> u32 {
    relocations(database).map(|relocation| relocation.priority).max().unwrap_or(0)
}

/// `min_replicas_remaining`: nothing but 0, 1, 2 or all that are configured; `None` while data distribution starts.
pub(super) fn least_replicas(database: &Database, configuration: &Configuration) -> Option<usize> {
    database.ready_distributor()?;
    Some(match highest_priority(database) {
        priority::NONE_LEFT => 0,
        priority::ONE_LEFT => 1,
        priority::TWO_LEFT => 2,
        _ => configuration.storage_replicas,
    })
}

/// `data`; `None` while there is no data distributor.
pub(super) fn of(database: &Database, configuration: &Configuration) -> Option<Value> {
    database.distributor.as_ref()?;
    let stored: u64 = database.data.servers.keys().map(|server| database.data.stored(*server)).sum();
    let disk = stored + 104_861_752 * database.data.servers.len() as u64;
    let Some(replicas) = least_replicas(database, configuration) else {
        return Some(json!({
            "least_operating_space_bytes_log_server": 67_047_620_815_u64,
            "least_operating_space_bytes_storage_server": 67_047_626_563_u64,
            "state": {"description": "(Re)initializing automatic data distribution", "name": "initializing"},
            "total_disk_used_bytes": disk,
        }));
    };
    let state = state(highest_priority(database), replicas);
    let in_flight: u64 = database
        .data
        .shards
        .iter()
        .filter_map(|shard| {
            let relocation = shard.relocation.as_ref()?;
            Some(shard.bytes * relocation.to.difference(&shard.copies).count().max(1) as u64)
        })
        .sum();
    let unhealthy = database.data.servers.values().filter(|server| database.failed(server)).count();
    Some(json!({
        "average_partition_size_bytes": PARTITION,
        "least_operating_space_bytes_log_server": 67_047_620_815_u64,
        "least_operating_space_bytes_storage_server": 67_047_626_563_u64,
        "moving_data": {
            "highest_priority": highest_priority(database),
            "in_flight_bytes": in_flight,
            "in_queue_bytes": 0,
            "total_written_bytes": database.data.moved,
        },
        "partitions_count": database.data.shards.len(),
        "state": state.clone(),
        "system_kv_size_bytes": 0,
        "team_trackers": [{"in_flight_bytes": in_flight, "primary": true, "state": state, "unhealthy_servers": unhealthy}],
        "total_disk_used_bytes": disk,
        "total_kv_size_bytes": database.data.bytes(),
    }))
}

/// Whether there is a data distributor that does not say of the data that it is unwell.
pub(super) fn is_well(database: &Database) -> bool {
    let says_nothing = database.ready_distributor().is_none();
    database.distributor.is_some() && (says_nothing || is_healthy(highest_priority(database)))
}

fn is_healthy(priority: u32) -> bool {
    !matches!(priority, priority::NONE_LEFT | priority::ONE_LEFT | priority::TWO_LEFT | priority::UNHEALTHY)
}

fn state(priority: u32, replicas: usize) -> Value {
    let healthy = is_healthy(priority);
    let state = |name: &str, description: &str| json!({"healthy": healthy, "name": name, "description": description, "min_replicas_remaining": replicas});
    match priority {
        priority::NONE_LEFT => state("missing_data", "No replicas remain of some data"),
        priority::ONE_LEFT => state("healing", "Only one replica remains of some data"),
        priority::TWO_LEFT => state("healing", "Only two replicas remain of some data"),
        priority::UNHEALTHY => state("healing", "Restoring replication factor"),
        priority::UNDESIRED => state("healthy_removing_server", "Removing storage server"),
        _ => json!({"healthy": true, "name": "healthy", "min_replicas_remaining": replicas}),
    }
}

/// `logs`: the current generation and those that are still needed. A log of an old one whose process is gone has lost its address.
pub(super) fn logs(database: &Database) -> Value {
    let each = database.logs.iter().enumerate().map(|(age, generation)| {
        let missing: Vec<u64> = generation.missing(&database.processes, &database.volumes).map(|server| server.id).collect();
        let interfaces: Vec<Value> = generation
            .servers
            .iter()
            .map(|server| {
                let id = format!("{:016x}", server.id);
                let healthy = !missing.contains(&server.id);
                if healthy || age == 0 {
                    let address =
                        database.process_on(&server.volume).map_or(server.address.as_str(), |process| process.address());
                    json!({"address": address, "healthy": healthy, "id": id})
                } else {
                    json!({"healthy": false, "id": id})
                }
            })
            .collect();
        let mut log = json!({
            "begin_version": generation.begin,
            "current": age == 0,
            "epoch": generation.epoch,
            "log_fault_tolerance": generation.fault_tolerance(missing.len()),
            "log_interfaces": interfaces,
            "log_replication_factor": generation.replicas,
            "log_write_anti_quorum": 0,
            "possibly_losing_data": generation.fault_tolerance(missing.len()) < 0,
        });
        if let Some(end) = generation.end {
            log["end_version"] = json!(end);
        }
        log
    });
    Value::Array(each.collect())
}
