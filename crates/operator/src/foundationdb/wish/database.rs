//! The database's own configuration, and the connection string it begins with.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use quorate_api::foundationdb::{DatabaseConfiguration, FoundationDBClusterSpec, StorageEngine, StorageMigrationType};
use quorate_fdb_client::ConnectionString;
use quorate_foundationdb::configuration::{Migration, engine_keys};
use quorate_foundationdb::{DatabaseWish, Version};

use super::problems::Problems;

/// The oldest versions that know an engine, where that is not every version.
const ENGINE_SINCE: [(StorageEngine, Version); 2] = [
    (StorageEngine::SsdShardedRocksdb, Version { major: 7, minor: 2, patch: 0 }),
    (StorageEngine::SsdRedwood1, Version { major: 7, minor: 3, patch: 0 }),
];

pub(super) fn database(spec: &FoundationDBClusterSpec, version: Version, problems: &mut Problems) -> DatabaseWish {
    let database = spec.database_configuration.clone().unwrap_or_default();
    let regions = database.regions.as_ref().map_or(0, Vec::len);
    if regions > 0 || database.usable_regions.is_some_and(|regions| regions > 1) {
        problems.add(
            "spec.databaseConfiguration.regions",
            "Quorate does not run a database in several regions yet",
            "no regions, and usable_regions 1",
        );
    }
    DatabaseWish {
        redundancy_mode: spec.redundancy_mode(),
        storage_engine: engine(database.storage_engine(), version, problems),
        migration: database.storage_migration_type.and_then(migration),
        settings: settings(&database, problems),
    }
}

const fn migration(asked: StorageMigrationType) -> Option<Migration> {
    match asked {
        StorageMigrationType::Unset => None,
        StorageMigrationType::Disabled => Some(Migration::Disabled),
        StorageMigrationType::Aggressive => Some(Migration::Aggressive),
        StorageMigrationType::Gradual => Some(Migration::Gradual),
    }
}

fn engine(engine: StorageEngine, version: Version, problems: &mut Problems) -> String {
    const FIELD: &str = "spec.databaseConfiguration.storage_engine";
    let name = serde_json::to_value(engine).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default();
    if engine_keys(&name).is_none() {
        problems.add(FIELD, format!("{name} names no engine that can be told to the database"), "an engine such as ssd-2");
    }
    if let Some((_, since)) = ENGINE_SINCE.iter().find(|(other, since)| *other == engine && version < *since) {
        problems.add(FIELD, format!("version {version} does not have {name}"), format!("version {since} or newer, or ssd-2"));
    }
    name
}

/// The versions of a log that servers from 7.1 on make.
const LOG_VERSIONS: RangeInclusive<i32> = 6..=7;

/// What was asked for, by FoundationDB's names. A role of 0 or less is the database's own default.
fn settings(database: &DatabaseConfiguration, problems: &mut Problems) -> BTreeMap<String, i64> {
    if let Some(wiggle) = database.perpetual_storage_wiggle.filter(|wiggle| !(0..=1).contains(wiggle)) {
        let what = format!("{wiggle} is neither off nor on; a database that is told so recruits nobody any more");
        problems.add("spec.databaseConfiguration.perpetual_storage_wiggle", what, "0 or 1");
    }
    let roles = &database.roles;
    let asked = |count: Option<i32>| count.filter(|count| *count > 0);
    let log_version = asked(roles.log_version);
    let (commit_proxies, grv_proxies) = match asked(roles.proxies) {
        Some(proxies) if asked(roles.commit_proxies).is_none() && asked(roles.grv_proxies).is_none() => of_both_kinds(proxies),
        _ => (roles.commit_proxies, roles.grv_proxies),
    };
    let counts = [
        ("logs", roles.logs),
        ("commit_proxies", commit_proxies),
        ("grv_proxies", grv_proxies),
        ("resolvers", roles.resolvers),
        ("log_routers", roles.log_routers),
        ("remote_logs", roles.remote_logs),
        ("log_spill", roles.log_spill),
        // The server takes the nearest that it has.
        ("log_version", log_version.map(|asked| asked.clamp(*LOG_VERSIONS.start(), *LOG_VERSIONS.end()))),
    ];
    let counts = counts.into_iter().filter_map(|(name, count)| Some((name, asked(count)?)));
    let wiggle = database.perpetual_storage_wiggle.map(|wiggle| ("perpetual_storage_wiggle", wiggle));
    counts.chain(wiggle).map(|(name, value)| (name.to_owned(), i64::from(value))).collect()
}

/// How many proxies are for commits and how many for read versions, as fdbcli divides them. The database keeps these two numbers only: told
/// of their sum beside them, it would never call itself configured as asked.
fn of_both_kinds(proxies: i32) -> (Option<i32>, Option<i32>) {
    const MOST_FOR_VERSIONS: i32 = 4;
    const COMMITS_FOR_EACH: i32 = 3;
    let versions = (proxies / (COMMITS_FOR_EACH + 1)).clamp(1, MOST_FOR_VERSIONS);
    (Some((proxies - versions).max(1)), Some(versions))
}

/// The database to join, if any.
pub(super) fn seed_connection(spec: &FoundationDBClusterSpec, problems: &mut Problems) -> Option<String> {
    let seed = spec.seed_connection_string.as_deref().map(str::trim).filter(|seed| !seed.is_empty())?;
    if let Err(problem) = seed.parse::<ConnectionString>() {
        let right = "description:id@address:port, with every coordinator, as a cluster file has it";
        problems.add("spec.seedConnectionString", problem, right);
    }
    Some(seed.to_owned())
}

/// The description and the id of a new connection string.
pub(super) fn partial_connection(spec: &FoundationDBClusterSpec, problems: &mut Problems) -> [Option<String>; 2] {
    let partial = spec.partial_connection_string.clone().unwrap_or_default();
    let mut word = |field: &str, text: Option<String>, underscores: bool| {
        let text = text.filter(|text| !text.is_empty())?;
        if !text.chars().all(|letter| letter.is_ascii_alphanumeric() || (underscores && letter == '_')) {
            let right = if underscores { "letters, digits and _" } else { "letters and digits" };
            problems.add(format!("spec.partialConnectionString.{field}"), format!("{text:?} has other characters"), right);
        }
        Some(text)
    };
    let description = word("databaseName", partial.database_name, true);
    [description, word("generationID", partial.generation_id, false)]
}

/// Whether TLS is spoken. It can be chosen when a database is created; a running one is not converted yet.
pub(super) fn tls(spec: &FoundationDBClusterSpec, recorded: Option<&str>, problems: &mut Problems) -> bool {
    let asked = spec.main_container.as_ref().and_then(|container| container.enable_tls).unwrap_or(false);
    let running = recorded.and_then(|recorded| recorded.parse::<ConnectionString>().ok());
    if let Some(running) = running
        && running.coordinators.iter().any(|coordinator| coordinator.tls != asked)
    {
        let (now, then) = if asked { ("without", "false") } else { ("with", "true") };
        let problem = format!("the database runs {now} TLS, and Quorate does not convert a running one yet");
        problems.add("spec.mainContainer.enableTls", problem, then);
    }
    asked
}
