//! `status json`: what the database says of itself, which is not what is so.
//!
//! The fields are those a real server printed in the same situation. Numbers that decide nothing (rates, latencies, free space) are made up
//! in `plain.rs`; everything else comes from the state of the model, as late and as partial as the real one is.

mod client;
mod data;
mod messages;
mod partial;
mod plain;
mod processes;
mod section;
mod tolerance;

use serde_json::{Value, json};

pub(super) use partial::without_storage_servers;

use super::Database;
use super::configuration::{Configuration, engine};
use super::connection::Connection;
use super::coordination::Route;
use super::exclusion::Exclusion;
use super::keyspace::LOCKED;
use super::process::protocol;
use super::recovery::{Phase, Stuck};
use super::times;
use section::{Part, Section};

impl Database {
    /// `status json`, as a client with this connection string gets it.
    pub fn status(&self, connection: &str) -> Value {
        serde_json::from_slice(&self.written_status(connection)).unwrap_or_default()
    }

    /// The same as it is sent.
    pub(super) fn written_status(&self, connection: &str) -> Vec<u8> {
        let without = |connection: &Connection, missing| Part::from(client::without_cluster(self, connection, missing));
        let document = match (self.route(connection), &self.phase) {
            (Some(Route::Here), Phase::Leaderless(_)) => without(&self.connection, client::Missing::Leader),
            (Some(Route::Here), _) => self.whole_status().into(),
            (Some(Route::NoQuorum(connection)), _) => without(&connection, client::Missing::Quorum),
            (Some(Route::Unknown(connection)), _) => without(&connection, client::Missing::Database),
            (None, _) => without(&self.connection, client::Missing::Database),
        };
        let mut text = Vec::new();
        document.write(&mut text);
        text
    }

    /// How long it takes to ask for the status: longest when it matters most.
    pub fn status_takes(&self, connection: &str) -> jiff::SignedDuration {
        let route = self.route(connection);
        if route != Some(Route::Here) {
            return times::STATUS_SLOW;
        }
        match &self.phase {
            Phase::Leaderless(_) => return times::STATUS_WITHOUT_LEADER,
            Phase::NeverCreated => return times::STATUS_UNREADABLE,
            Phase::Recovering(recovery) if recovery.stuck.is_some() => return times::STATUS_UNREADABLE,
            _ => {}
        }
        let coordinators = self.connection.coordinators.len() - self.answering(&self.connection).count();
        let unreplicated = self.data.servers.values().any(|server| server.dead_since.is_some());
        let mut takes = times::STATUS;
        if unreplicated {
            takes = takes.max(times::STATUS_SLOW);
        }
        if coordinators > 0 {
            takes = takes.max(times::STATUS_WITHOUT_COORDINATOR);
        }
        if !self.departed.is_empty() {
            takes = takes.max(times::STATUS_AFTER_DEATH);
        }
        takes
    }

    /// The configuration, while it can be read.
    fn readable_configuration(&self) -> Option<&Configuration> {
        let unreadable = matches!(&self.phase, Phase::Recovering(recovery) if recovery.stuck.is_some());
        self.configuration.as_ref().filter(|_| !unreadable)
    }

    fn whole_status(&self) -> Section<'_> {
        let mut cluster = Section::default();
        let messages = messages::of(self);
        cluster.add("active_tss_count", json!(0));
        cluster.add("bounce_impact", self.bounce_impact());
        cluster.add("clients", plain::clients(self));
        cluster.add("cluster_controller_timestamp", json!(self.now.as_second()));
        cluster.add("connection_string", json!(self.connection.to_string()));
        cluster.add("datacenter_lag", json!({"seconds": 0, "versions": 0}));
        cluster.add("degraded_processes", json!(0));
        cluster.add("generation", json!(self.generation));
        cluster.add("incompatible_connections", json!([]));
        cluster.add("lowest_compatible_protocol_version", json!("fdb00b072000000"));
        cluster.add("newest_protocol_version", json!(self.protocol_version()));
        cluster.add("protocol_version", json!(self.protocol_version()));
        cluster.add("machines", processes::machines(self));
        cluster.add("processes", processes::processes(self));
        if let Some(state) = self.recovery_state() {
            cluster.add("recovery_state", state);
        }
        self.maintenance_status(&mut cluster);
        if let Some(configuration) = self.readable_configuration() {
            self.readable_parts(&mut cluster, configuration);
        } else {
            cluster.add("idempotency_ids", json!({}));
            cluster.add("layers", json!({"_error": "configurationMissing", "_valid": false}));
            cluster.add("version_epoch", json!({}));
        }
        let is_quiet = messages.is_empty() && processes::are_quiet(self);
        cluster.add("messages", Value::Array(messages));
        client::with_cluster(self, cluster, is_quiet)
    }

    fn readable_parts(&self, cluster: &mut Section<'_>, configuration: &Configuration) {
        let locked = self.keys.get(LOCKED).filter(|uid| !uid.is_empty());
        let lock = locked
            .map_or_else(|| json!({"locked": false}), |uid| json!({"locked": true, "lock_uid": String::from_utf8_lossy(uid)}));
        cluster.add("active_primary_dc", json!(self.processes.get(&self.controller).map_or("", |it| it.datacenter())));
        cluster.add("configuration", self.configuration_status(configuration));
        cluster.add("database_available", json!(true));
        cluster.add("database_lock_state", lock);
        cluster.add("fault_tolerance", tolerance::of(self, configuration));
        cluster.add("full_replication", json!(true));
        cluster.add("idempotency_ids", json!({"size_bytes": 0}));
        cluster.add("latency_probe", &plain::LATENCY_PROBE);
        cluster.add("layers", json!({"_valid": true}));
        cluster.add("logs", data::logs(self));
        cluster.add("version_epoch", json!({"enabled": false}));
        cluster.add("workload", &plain::WORKLOAD);
        if self.available() {
            cluster.add("page_cache", json!({"log_hit_rate": 1, "storage_hit_rate": 1}));
            cluster.add("qos", &plain::QOS);
            if let Some(data) = data::of(self, configuration) {
                cluster.add("data", data);
            }
        }
    }

    fn maintenance_status(&self, cluster: &mut Section<'_>) {
        if let Some(maintenance) = &self.maintenance {
            cluster.add("maintenance_zone", json!(maintenance.zone));
            let left = maintenance.until.duration_since(self.now).as_secs();
            cluster.add("maintenance_seconds_remaining", json!(left));
        }
    }

    fn bounce_impact(&self) -> Value {
        match self.phase {
            Phase::Accepting { drained: true, .. } => json!({"can_clean_bounce": true}),
            _ => json!({"can_clean_bounce": false, "reason": "cluster hasn't fully recovered yet"}),
        }
    }

    fn recovery_state(&self) -> Option<Value> {
        let unrecovered = |name: &str, description: &str| {
            Some(json!({"name": name, "description": description, "seconds_since_last_recovered": -1}))
        };
        match &self.phase {
            Phase::Leaderless(_) => None,
            Phase::NeverCreated => Some(json!({
                "active_generations": 1,
                "name": "configuration_never_created",
                "description": "The coordinator(s) have no record of this database. Either the coordinator addresses are incorrect, the \
                    coordination state on those machines is missing, or no database has been created.",
                "seconds_since_last_recovered": -1,
            })),
            Phase::Recovering(recovery) => match (recovery.stuck, recovery.elected) {
                (Some(Stuck::LockingLogs), _) => unrecovered(
                    "locking_old_transaction_servers",
                    "Locking old transaction servers. Verify that at least one transaction server from the previous generation is \
                     running.",
                ),
                (None, Some(elected)) if elected + times::RECOVERY_UNKNOWN > self.now => None,
                _ => unrecovered("recruiting_transaction_servers", "Recruiting new transaction servers."),
            },
            Phase::Accepting { since, drained } => {
                let since = self.now.duration_since(*since).as_secs_f64();
                let old = self.logs.len().saturating_sub(1).max(1);
                Some(if *drained {
                    json!({"active_generations": 1, "name": "fully_recovered", "description": "Recovery complete.",
                        "seconds_since_last_recovered": since})
                } else {
                    json!({"active_generations": old, "name": "all_logs_recruited",
                        "description": "Accepting commits. All logs recruited.", "seconds_since_last_recovered": since})
                })
            }
        }
    }

    fn configuration_status(&self, configuration: &Configuration) -> Value {
        let excluded: Vec<Value> = configuration
            .exclusions
            .iter()
            .map(|exclusion| match exclusion {
                Exclusion::Address(address) => json!({"address": address}),
                Exclusion::Locality { target, .. } => json!({"locality": target}),
            })
            .collect();
        let mut shown = json!({
            "backup_worker_enabled": configuration.number("backup_worker_enabled"),
            "blob_granules_enabled": 0,
            "commit_proxies": configuration.commit_proxies,
            "coordinators_count": self.connection.coordinators.len(),
            "encryption_at_rest_mode": "disabled",
            "excluded_servers": excluded,
            "grv_proxies": configuration.grv_proxies,
            "log_engine": engine(configuration.log_engine),
            "log_spill": configuration.set("log_spill").unwrap_or(2),
            "logs": configuration.logs,
            "perpetual_storage_wiggle": configuration.number("perpetual_storage_wiggle"),
            "perpetual_storage_wiggle_engine": "none",
            "perpetual_storage_wiggle_locality": "0",
            "proxies": configuration.commit_proxies + configuration.grv_proxies,
            "redundancy_mode": configuration.redundancy_mode(),
            "resolvers": configuration.resolvers,
            "storage_engine": engine(configuration.storage_engine),
            "storage_migration_type": configuration.migration(),
            "tenant_mode": "disabled",
            "usable_regions": configuration.number("usable_regions").max(1),
        });
        for name in ["log_version", "log_routers", "remote_logs"] {
            if let Some(number) = configuration.set(name) {
                shown[name] = number.into();
            }
        }
        shown
    }

    /// The protocol of the cluster as the status prints it.
    fn protocol_version(&self) -> String {
        protocol_number(self.spoken().unwrap_or("7.3"))
    }
}

/// The number of a protocol, such as 7.3.
fn protocol_number(protocol: &str) -> String {
    match protocol {
        "7.1" => "fdb00b071010000".to_owned(),
        other => format!("fdb00b0{}000000", other.replace('.', "")),
    }
}

/// The number of the protocol of a version.
fn protocol_of(version: &str) -> String {
    protocol_number(protocol(version))
}
