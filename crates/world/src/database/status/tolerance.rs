//! How many zones may fail, as the database reckons it: by what it is configured for and what it has noticed, not by what is there.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::Database;
use super::super::configuration::Configuration;
use super::super::fitness::{Fitness, Role};
use super::data::least_replicas;

/// `fault_tolerance`.
pub(super) fn of(database: &Database, configuration: &Configuration) -> Value {
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let maintained = i64::from(database.maintenance.is_some());
    let configured = configuration.tolerated_failures() - maintained;

    let coordinators = database.connection.coordinators.len();
    let dead = coordinators - database.answering(&database.connection).count();
    let by_coordinators = coordinator_zones(database).min(count((coordinators - 1) / 2) - count(dead));
    let by_replicas = least_replicas(database, configuration).map_or(i64::MAX, |replicas| count(replicas) - 1);
    let by_logs = database
        .logs
        .iter()
        .map(|generation| generation.fault_tolerance(generation.missing(&database.processes, &database.volumes).count()));
    let data = configured.min(by_coordinators).min(by_replicas).min(by_logs.min().unwrap_or(i64::MAX)).max(-1);

    let log_capable: std::collections::BTreeSet<&str> = database
        .joined()
        .filter(|process| database.fit(process, Role::Log) <= Fitness::Worst)
        .map(super::super::process::Process::zone)
        .collect();
    let spare = count(log_capable.len()) - count(configuration.log_replicas.max(configuration.storage_replicas));
    let availability = configured.min(spare).min(data).max(-1);
    json!({
        "max_zone_failures_without_losing_availability": availability,
        "max_zone_failures_without_losing_data": data,
    })
}

/// How many zones may fail before the coordinators have no majority, the largest first. The dead count as one zone.
fn coordinator_zones(database: &Database) -> i64 {
    let mut zones: BTreeMap<&str, usize> = BTreeMap::new();
    for address in database.connection.addresses() {
        let zone = database.at(address).map_or("", |process| process.zone());
        *zones.entry(zone).or_default() += 1;
    }
    let mut sizes: Vec<usize> = zones.into_values().collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    let may_fail = (database.connection.coordinators.len() - 1) / 2;
    let mut lost = 0;
    let tolerated = sizes.into_iter().take_while(|size| {
        lost += size;
        lost <= may_fail
    });
    i64::try_from(tolerated.count()).unwrap_or(0)
}
