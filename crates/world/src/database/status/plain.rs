//! Numbers that a server prints and nobody decides on: they are there, and mean nothing.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::Database;
use super::section::{Fixed, Part, Section, fixed, fixed_members};

/// Latencies are printed once they were measured for this long.
pub(super) const MEASURED_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// The id of a role of which there is no other trace.
pub(super) fn id(address: &str, role: &str) -> String {
    let hash = address
        .bytes()
        .chain(role.bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

fn counter() -> Value {
    json!({"counter": 0, "hz": 0, "roughness": -1})
}

static LATENCIES: Fixed = Fixed::new(|| fixed(&latencies()));

fn latencies() -> Value {
    json!({"count": 35, "max": 0.001, "mean": 0.001, "median": 0.001, "min": 0.001, "p25": 0.001, "p90": 0.001, "p95": 0.001,
        "p99": 0.001, "p99.9": 0.001})
}

/// The latencies of a GRV proxy, by priority.
static LATENCIES_BY_PRIORITY: Fixed = Fixed::new(|| fixed(&json!({"batch": latencies(), "default": latencies()})));

/// A commit proxy.
pub(super) fn commit_proxy<'a>(address: &str, measured: bool) -> Section<'a> {
    let mut role = role("commit_proxy", &id(address, "commit_proxy"));
    if measured {
        role.add("commit_batching_window_size", &LATENCIES);
        role.add("commit_latency_statistics", &LATENCIES);
    }
    role
}

/// A GRV proxy.
pub(super) fn grv_proxy<'a>(address: &str, measured: bool) -> Section<'a> {
    let mut role = role("grv_proxy", &id(address, "grv_proxy"));
    if measured {
        role.add("grv_latency_statistics", &LATENCIES_BY_PRIORITY);
    }
    role
}

/// A role that says nothing more of itself.
pub(super) fn role<'a>(name: &'a str, id: &str) -> Section<'a> {
    Section::from_iter([("id", Part::from(json!(id))), ("role", name.into())])
}

static LOG: Fixed = Fixed::new(|| {
    fixed_members([
        ("durable_bytes", counter()),
        ("input_bytes", counter()),
        ("kvstore_available_bytes", json!(72_213_135_360_u64)),
        ("kvstore_free_bytes", json!(72_213_135_360_u64)),
        ("kvstore_total_bytes", json!(97_793_294_336_u64)),
        ("kvstore_used_bytes", json!(104_882_352)),
        ("queue_disk_available_bytes", json!(72_213_135_360_u64)),
        ("queue_disk_free_bytes", json!(72_213_135_360_u64)),
        ("queue_disk_total_bytes", json!(97_793_294_336_u64)),
        ("queue_disk_used_bytes", json!(651_264)),
    ])
});

/// A log of the current generation.
pub(super) fn log<'a>(id: u64, version: i64) -> Section<'a> {
    let mut role = role("log", &format!("{id:016x}"));
    role.add("data_version", json!(version));
    role.add_members(&LOG);
    role
}

/// What is known of a storage server.
pub(super) struct Storage {
    pub id: u64,
    pub stored: u64,
    pub version: i64,
    pub created: Timestamp,
    pub engine: &'static str,
    pub measured: bool,
}

static STORAGE: Fixed = Fixed::new(|| {
    let counted = [
        "bytes_queried",
        "durable_bytes",
        "fetched_versions",
        "fetches_from_logs",
        "finished_queries",
        "input_bytes",
        "keys_queried",
        "low_priority_queries",
        "mutation_bytes",
        "mutations",
        "total_queries",
    ];
    let others = [
        ("data_lag", json!({"seconds": 0.012, "versions": 12_275})),
        ("durability_lag", json!({"seconds": 5.0, "versions": 5_000_000})),
        ("kvstore_available_bytes", json!(72_196_812_800_u64)),
        ("kvstore_free_bytes", json!(72_196_812_800_u64)),
        ("kvstore_inline_keys", json!(0)),
        ("kvstore_total_bytes", json!(97_793_294_336_u64)),
        ("kvstore_total_nodes", json!(0)),
        ("kvstore_total_size", json!(0)),
        ("local_rate", json!(100)),
        ("query_queue_max", json!(0)),
    ];
    fixed_members(counted.map(|name| (name, counter())).into_iter().chain(others))
});

/// A storage server.
pub(super) fn storage<'a>(storage: &Storage) -> Section<'a> {
    let mut role = role("storage", &format!("{:016x}", storage.id));
    role.add_members(&STORAGE);
    role.add("data_version", json!(storage.version));
    role.add("durable_version", json!((storage.version - 5_000_000).max(0)));
    role.add("kvstore_used_bytes", json!(104_861_752 + storage.stored));
    role.add("stored_bytes", json!(storage.stored));
    role.add(
        "storage_metadata",
        json!({
            "created_time_datetime": storage.created.strftime("%Y-%m-%d %H:%M:%S.000 +0000").to_string(),
            "created_time_timestamp": storage.created.as_second(),
            "storage_engine": storage.engine,
        }),
    );
    role.add("tss", json!(false));
    if storage.measured {
        role.add("read_latency_statistics", &LATENCIES);
    }
    role
}

/// The clients: the operator's own.
pub(super) fn clients(database: &Database) -> Value {
    let client = json!([{"address": "127.0.0.1:41762", "log_group": "default"}]);
    let version = database.processes.get(&database.controller).map_or("7.3.80", |process| process.spec.version.as_str());
    json!({"count": 1, "supported_versions": [{
        "client_version": version, "connected_clients": client, "count": 1, "max_protocol_clients": client, "max_protocol_count": 1,
        "protocol_version": super::protocol_of(version), "source_version": "",
    }]})
}

/// A disk.
pub(super) static DISK: Fixed = Fixed::new(|| {
    fixed(&json!({"busy": 0, "free_bytes": 72_213_233_664_u64, "reads": {"counter": 0, "hz": 0, "sectors": 0},
        "total_bytes": 97_793_294_336_u64, "writes": {"counter": 0, "hz": 0, "sectors": 0}}))
});

/// The memory of a process.
pub(super) static MEMORY: Fixed = Fixed::new(|| {
    fixed(&json!({"available_bytes": 2_147_483_648_u64, "limit_bytes": 2_147_483_648_u64, "rss_bytes": 55_775_232,
        "unused_allocated_memory": 131_072, "used_bytes": 542_306_304}))
});

/// The memory of a process that has not said how much of it it uses.
pub(super) static MEMORY_LIMIT: Fixed = Fixed::new(|| fixed(&json!({"limit_bytes": 2_147_483_648_u64})));

/// The processor time of a process.
pub(super) static CPU: Fixed = Fixed::new(|| fixed(&json!({"usage_cores": 0.008})));

fn rate(hz: f64) -> Value {
    json!({"hz": hz})
}

/// The network of a process.
pub(super) static NETWORK: Fixed = Fixed::new(|| {
    fixed(&json!({"connection_errors": rate(0.0), "connections_closed": rate(0.0), "connections_established": rate(0.0),
        "current_connections": 11, "megabits_received": rate(0.047), "megabits_sent": rate(0.046), "tls_policy_failures": rate(0.0)}))
});

/// What all machines say alike.
pub(super) static MACHINE: Fixed = Fixed::new(|| {
    fixed_members([
        ("cpu", json!({"logical_core_utilization": 0.06})),
        ("memory", json!({"committed_bytes": 670_986_240, "free_bytes": 24_603_807_744_u64, "total_bytes": 25_274_793_984_u64})),
        (
            "network",
            json!({"megabits_received": rate(1.43), "megabits_sent": rate(1.43), "tcp_segments_retransmitted": rate(0.0)}),
        ),
    ])
});

/// What a probe measured.
pub(super) static LATENCY_PROBE: Fixed = Fixed::new(|| {
    fixed(&json!({"batch_priority_transaction_start_seconds": 0.0004, "commit_seconds": 0.003,
        "immediate_priority_transaction_start_seconds": 0.0007, "read_seconds": 0.0001, "transaction_start_seconds": 0.0008}))
});

/// Quality of service: nothing is saturated.
pub(super) static QOS: Fixed = Fixed::new(|| {
    let limited =
        json!({"description": "The database is not being saturated by the workload.", "name": "workload", "reason_id": 2});
    let lag = json!({"seconds": 0.06, "versions": 58_773});
    let durability = json!({"seconds": 5.18, "versions": 5_181_300});
    fixed(&json!({
        "batch_performance_limited_by": limited, "batch_released_transactions_per_second": 0.0001,
        "batch_transactions_per_second_limit": 90.9, "limiting_data_lag_storage_server": lag,
        "limiting_durability_lag_storage_server": durability, "limiting_queue_bytes_storage_server": 97_833_389,
        "performance_limited_by": limited, "released_transactions_per_second": 58.8,
        "throttled_tags": {"auto": {"busy_read": 0, "busy_write": 0, "count": 0, "recommended_only": 0}, "manual": {"count": 0}},
        "transactions_per_second_limit": 119.4, "worst_data_lag_storage_server": lag,
        "worst_durability_lag_storage_server": durability, "worst_queue_bytes_log_server": 37_777_702,
        "worst_queue_bytes_storage_server": 97_833_389,
    }))
});

/// The workload: next to none.
pub(super) static WORKLOAD: Fixed = Fixed::new(|| {
    let none = || json!({"counter": 0, "hz": 0, "roughness": 0});
    fixed(&json!({
        "bytes": {"read": none(), "written": none()},
        "keys": {"read": none()},
        "operations": {"location_requests": none(), "low_priority_reads": none(), "memory_errors": none(), "read_requests": none(),
            "reads": none(), "writes": none()},
        "transactions": {"committed": none(), "conflicted": none(), "rejected_for_queued_too_long": none(), "started": none(),
            "started_batch_priority": none(), "started_default_priority": none(), "started_immediate_priority": none()},
    }))
});
