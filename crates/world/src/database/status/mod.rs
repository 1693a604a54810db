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
mod tolerance;

use serde_json::{Map, Value, json};

pub(super) use partial::without_storage_servers;

use super::Database;
use super::configuration::{Configuration, engine};
use super::coordination::Route;
use super::exclusion::Exclusion;
use super::keyspace::LOCKED;
use super::process::protocol;
use super::recovery::{Phase, Stuck};
use super::times;

impl Database {
    /// `status json`, as a client with this connection string gets it.
    pub fn status(&self, connection: &str) -> Value {
        match (self.route(connection), &self.phase) {
            (Some(Route::Here), Phase::Leaderless(_)) => client::without_cluster(self, &self.connection, client::Missing::Leader),
            (Some(Route::Here), _) => self.whole_status(),
            (Some(Route::NoQuorum(connection)), _) => client::without_cluster(self, &connection, client::Missing::Quorum),
            (Some(Route::Unknown(connection)), _) => client::without_cluster(self, &connection, client::Missing::Database),
            (None, _) => client::without_cluster(self, &self.connection, client::Missing::Database),
        }
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

    fn whole_status(&self) -> Value {
        let mut cluster = Map::new();
        let messages = messages::of(self);
        cluster.insert("active_tss_count".into(), json!(0));
        cluster.insert("bounce_impact".into(), self.bounce_impact());
        cluster.insert("clients".into(), plain::clients(self));
        cluster.insert("cluster_controller_timestamp".into(), json!(self.now.as_second()));
        cluster.insert("connection_string".into(), json!(self.connection.to_string()));
        cluster.insert("datacenter_lag".into(), json!({"seconds": 0, "versions": 0}));
        cluster.insert("degraded_processes".into(), json!(0));
        cluster.insert("generation".into(), json!(self.generation));
        cluster.insert("incompatible_connections".into(), json!([]));
        cluster.insert("lowest_compatible_protocol_version".into(), json!("fdb00b072000000"));
        cluster.insert("newest_protocol_version".into(), json!(self.protocol_version()));
        cluster.insert("protocol_version".into(), json!(self.protocol_version()));
        cluster.insert("machines".into(), processes::machines(self));
        cluster.insert("processes".into(), processes::processes(self));
        if let Some(state) = self.recovery_state() {
            cluster.insert("recovery_state".into(), state);
        }
        self.maintenance_status(&mut cluster);
        if let Some(configuration) = self.readable_configuration() {
            self.readable_parts(&mut cluster, configuration);
        } else {
            cluster.insert("idempotency_ids".into(), json!({}));
            cluster.insert("layers".into(), json!({"_error": "configurationMissing", "_valid": false}));
            cluster.insert("version_epoch".into(), json!({}));
        }
        cluster.insert("messages".into(), Value::Array(messages));
        client::with_cluster(self, cluster)
    }

    fn readable_parts(&self, cluster: &mut Map<String, Value>, configuration: &Configuration) {
        let locked = self.keys.get(LOCKED).filter(|uid| !uid.is_empty());
        let lock = locked
            .map_or_else(|| json!({"locked": false}), |uid| json!({"locked": true, "lock_uid": String::from_utf8_lossy(uid)}));
        cluster.insert("active_primary_dc".into(), json!(self.processes.get(&self.controller).map_or("", |it| it.datacenter())));
        cluster.insert("configuration".into(), self.configuration_status(configuration));
        cluster.insert("database_available".into(), json!(true));
        cluster.insert("database_lock_state".into(), lock);
        cluster.insert("fault_tolerance".into(), tolerance::of(self, configuration));
        cluster.insert("full_replication".into(), json!(true));
        cluster.insert("idempotency_ids".into(), json!({"size_bytes": 0}));
        cluster.insert("latency_probe".into(), plain::latency_probe());
        cluster.insert("layers".into(), json!({"_valid": true}));
        cluster.insert("logs".into(), data::logs(self));
        cluster.insert("version_epoch".into(), json!({"enabled": false}));
        cluster.insert("workload".into(), plain::workload());
        if self.available() {
            cluster.insert("page_cache".into(), json!({"log_hit_rate": 1, "storage_hit_rate": 1}));
            cluster.insert("qos".into(), plain::qos());
            if let Some(data) = data::of(self, configuration) {
                cluster.insert("data".into(), data);
            }
        }
    }

    fn maintenance_status(&self, cluster: &mut Map<String, Value>) {
        if let Some(maintenance) = &self.maintenance {
            cluster.insert("maintenance_zone".into(), json!(maintenance.zone));
            let left = maintenance.until.duration_since(self.now).as_secs();
            cluster.insert("maintenance_seconds_remaining".into(), json!(left));
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
                Exclusion::Locality(locality) => json!({"locality": locality}),
            })
            .collect();
        json!({
            "backup_worker_enabled": configuration.number("backup_worker_enabled"),
            "blob_granules_enabled": 0,
            "commit_proxies": configuration.commit_proxies,
            "coordinators_count": self.connection.coordinators.len(),
            "encryption_at_rest_mode": "disabled",
            "excluded_servers": excluded,
            "grv_proxies": configuration.grv_proxies,
            "log_engine": engine(configuration.log_engine),
            "log_spill": 2,
            "logs": configuration.logs,
            "perpetual_storage_wiggle": configuration.number("perpetual_storage_wiggle"),
            "perpetual_storage_wiggle_engine": "none",
            "perpetual_storage_wiggle_locality": "0",
            "proxies": configuration.commit_proxies + configuration.grv_proxies,
            "redundancy_mode": configuration.redundancy_mode(),
            "resolvers": configuration.resolvers,
            "storage_engine": engine(configuration.storage_engine),
            "storage_migration_type": "disabled",
            "tenant_mode": "disabled",
            "usable_regions": configuration.number("usable_regions").max(1),
        })
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
