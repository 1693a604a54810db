//! The database's configuration: made as it was asked to be, once it is calm enough for that.

use quorate_quorum::{Hold, Severity, Step};

use super::halls::Halls;
use super::{Adds, Draft, lock};
use crate::configuration::{
    ConfigurationKeys, Migration, ROLES_UNASKED, engine_keys, is_engine, keeps_data_as, redundancy_keys, setting_keys,
};
use crate::obstacle::{Obstacle, told};
use crate::report::{Backlog, ConfigurationReport};
use crate::tolerance::Copies;
use crate::{DatabaseReport, DatabaseWish, Desired, reasons};

/// Storage servers that are further behind than this have enough to do, in seconds.
const MOST_LAG: f64 = 60.0;
/// More than this in the queue of a log or a storage server means the same.
const LONGEST_QUEUE: f64 = 250.0 * 1024.0 * 1024.0;
/// While this is not 0, storage servers are made again one after the other.
const WIGGLE: &str = "perpetual_storage_wiggle";
/// The engine that they get then, if it is another one.
const WIGGLES_TO: &str = "perpetual_storage_wiggle_engine";

pub(super) fn propose(draft: &mut Draft<'_>) {
    let Some(report) = draft.report.filter(|report| draft.status.configured && report.is_whole()) else { return };
    let Some(configuration) = &report.configuration else { return };
    let desired = &draft.seen.desired;
    draft.status.configuration = shown(configuration);
    draft
        .holds
        .extend(engine_that_would_stay(desired, configuration).or_else(|| engines_on_their_way(desired, report, configuration)));
    let (keys, differences) = differences(&desired.database, configuration, || draft.is_alone());
    if keys.is_empty() {
        return;
    }
    let what = differences.join(", ");
    if !desired.automation.configure_database {
        let sentence = format!("the database is configured otherwise than asked for ({what}), and configureDatabase is false");
        let released_by = "automationOptions.configureDatabase: true";
        let hold = Hold::new(reasons::CONFIGURATION_HELD, &desired.name, sentence, released_by);
        draft.holds.push(hold.compared("configureDatabase false", "configureDatabase true"));
        return;
    }
    if let Some((obstacle, released_by)) = obstacle(desired, report) {
        let sentence = format!("the database is not reconfigured yet ({what}), because {obstacle}");
        let hold = Hold::new(reasons::CONFIGURATION_HELD, &desired.name, sentence, released_by);
        draft.holds.push(hold.compared(obstacle.measured, obstacle.needed));
        return;
    }
    let spacing = desired.automation.timers.recovery_before_configuration;
    let permit = draft.recover(&desired.name, "the configuration changes", spacing, reasons::CONFIGURATION_HELD);
    if permit.is_none() {
        return;
    }
    let Some(guard) = lock::guard(draft, &desired.name) else { return };
    draft.notice(Severity::Normal, "ConfiguringDatabase", format!("changing the database's configuration: {what}"));
    let why = format!("the database is configured otherwise than asked for: {what}");
    draft.steps.push(Step::adds(Adds::Configuration(keys), guard, why));
}

/// What differs: the keys to set, and a word for each.
fn differences(
    wish: &DatabaseWish,
    configuration: &ConfigurationReport,
    is_alone: impl Fn() -> bool,
) -> (ConfigurationKeys, Vec<String>) {
    let (mut keys, mut words) = (ConfigurationKeys::new(), Vec::new());
    let (mode, asked) = (configuration.redundancy_mode.as_deref(), wish.redundancy_mode);
    if mode.is_some_and(|mode| mode != asked.name()) {
        keys.extend(redundancy_keys(asked));
        words.push(format!("redundancy_mode {} -> {asked}", mode.unwrap_or_default()));
    }
    if let Some((is, asked)) = migration(configuration).zip(wish.migration).filter(|(is, asked)| is != asked) {
        keys.extend(asked.keys());
        words.push(format!("{} {is} -> {asked}", Migration::SETTING));
    }
    if let Some(engine) = other_engine(wish, configuration).filter(|_| servers_would_follow(wish, configuration)) {
        keys.extend(engine_keys(&wish.storage_engine).unwrap_or_default());
        words.push(format!("storage_engine {engine} -> {}", wish.storage_engine));
    }
    let asked = wish.settings.iter().map(|(name, number)| (name.as_str(), *number));
    // What was never set is not said of every setting.
    let is = |name: &str| configuration.settings.get(name).copied().or_else(|| unset(name));
    let mut others: Vec<(&str, i64)> = asked.filter(|(name, asked)| is(name) != Some(*asked)).collect();
    // Of a role that nobody asks for any more there are as many as if nobody ever had; but another object of the same database may ask for it.
    let unasked = ROLES_UNASKED.iter().filter(|(role, count)| !wish.settings.contains_key(*role) && is(role) != Some(*count));
    let unasked: Vec<_> = unasked.copied().collect();
    if !unasked.is_empty() && is_alone() {
        others.extend(unasked);
        others.sort_unstable();
    }
    for (name, asked) in others {
        keys.extend(setting_keys(&[(name.to_owned(), asked)].into()));
        words.push(format!("{name} {} -> {asked}", told(is(name))));
    }
    (keys, words)
}

fn unset(name: &str) -> Option<i64> {
    ROLES_UNASKED.iter().find(|(role, _)| *role == name).map(|(_, count)| *count)
}

/// How storage servers come to another engine; nothing where the database does not say.
fn migration(configuration: &ConfigurationReport) -> Option<Migration> {
    configuration.words.get(Migration::SETTING)?.parse().ok()
}

/// The engine that is configured, if another one is asked for.
fn other_engine<'a>(wish: &DatabaseWish, configuration: &'a ConfigurationReport) -> Option<&'a str> {
    let log = configuration.words.get("log_engine").map(String::as_str);
    configuration.storage_engine.as_deref().filter(|engine| !is_engine(&wish.storage_engine, engine, log))
}

/// Whether storage servers come to the engine that is asked for, once everything else is as it was asked for; where only logs are to be kept
/// otherwise, they are there. A database that says nothing of it makes them again by itself.
fn servers_would_follow(wish: &DatabaseWish, configuration: &ConfigurationReport) -> bool {
    let keeps_data_as_asked = |engine: &str| keeps_data_as(&wish.storage_engine, engine) == Some(true);
    if configuration.storage_engine.as_deref().is_some_and(keeps_data_as_asked) {
        return true;
    }
    let wiggles = wish.settings.get(WIGGLE).or_else(|| configuration.settings.get(WIGGLE)).is_some_and(|wiggle| *wiggle > 0);
    match wish.migration.filter(|_| migration(configuration).is_some()).or_else(|| migration(configuration)) {
        Some(Migration::Disabled) => false,
        Some(Migration::Gradual) => wiggles,
        Some(Migration::Aggressive) | None => true,
    }
}

/// The database takes any engine, and then no storage server comes to it unless it is told how; fdbcli refuses that, and so do we.
fn engine_that_would_stay(desired: &Desired, configuration: &ConfigurationReport) -> Option<Hold> {
    let wish = &desired.database;
    let engine = other_engine(wish, configuration).filter(|_| !servers_would_follow(wish, configuration))?;
    let migration = wish.migration.or_else(|| migration(configuration)).unwrap_or(Migration::Disabled);
    let how = match migration {
        Migration::Gradual => format!("gradual while {WIGGLE} is 0"),
        other => other.to_string(),
    };
    let setting = Migration::SETTING;
    let sentence = format!(
        "the storage engine stays {engine} instead of {}, because {setting} is {how}: no storage server would ever get the other one",
        wish.storage_engine
    );
    let released_by = format!("databaseConfiguration.{setting}: aggressive, or gradual with {WIGGLE}: 1");
    let hold = Hold::new(reasons::CONFIGURATION_HELD, &desired.name, sentence, released_by);
    Some(hold.compared(format!("{setting} {how}"), "aggressive, or gradual with the wiggle"))
}

/// What is left of a change of engines. It is the database's own work, if it is told to do it.
fn engines_on_their_way(desired: &Desired, report: &DatabaseReport, configuration: &ConfigurationReport) -> Option<Hold> {
    let asked = &desired.database.storage_engine;
    // While it wiggles, it may make servers with an engine that was set for that.
    let wiggles_to = configuration.words.get(WIGGLES_TO);
    let is_other = |engine: &&str| keeps_data_as(asked, engine) == Some(false) && wiggles_to.is_none_or(|to| to != engine);
    let storage = || report.processes.values().filter_map(|process| process.engine.as_deref());
    let others = storage().filter(is_other).count();
    if others == 0 {
        return None;
    }
    let all = storage().count();
    let what = match migration(configuration) {
        Some(Migration::Disabled) => format!("and keep it, because {} is disabled", Migration::SETTING),
        _ => "and the database makes them again".to_owned(),
    };
    let sentence = format!("{others} of {all} storage servers still have another engine than {asked}, {what}");
    let released_by = format!("{} aggressive, or gradual with {WIGGLE}, and time to move their data", Migration::SETTING);
    let hold = Hold::new(reasons::ENGINE_MIGRATION, &desired.name, sentence, released_by);
    Some(hold.compared(format!("{others} with another engine"), "none"))
}

/// What makes this no time for it, and what would change that.
fn obstacle(desired: &Desired, report: &DatabaseReport) -> Option<(Obstacle, String)> {
    let asked = desired.redundancy_mode();
    let copies = Copies::of(asked);
    let zones =
        report.zones(|process| process.excluded == Some(false) && process.class.is_some_and(crate::tolerance::holds_copies));
    let needed = copies.log.max(copies.storage) as usize;
    if zones < needed {
        let because = format!("{asked} needs {needed} zones with storage or log processes, and there are {zones}");
        let obstacle = Obstacle::new(because, format!("{zones} zones"), format!("at least {needed}"));
        return Some((obstacle, "processes in more zones".to_owned()));
    }
    if asked.spans_halls()
        && let Some((measured, needed)) = Halls::of_report(report, asked).lack(asked)
    {
        let because = format!("{asked} needs storage or log processes in three halls or datacenters");
        let obstacle = Obstacle::new(because, measured, needed);
        return Some((obstacle, "processes in exactly three of them".to_owned()));
    }
    if report.data.as_ref().is_none_or(|data| data.healthy != Some(true)) {
        let state = report.data.as_ref().map_or("not known", |data| data.name.as_str());
        return Some((Obstacle::new(format!("the data is {state}"), state, "healthy"), "healthy data".to_owned()));
    }
    let Backlog { data_lag, durability_lag, log_queue, storage_queue } = report.backlog;
    if data_lag > MOST_LAG || durability_lag > MOST_LAG {
        let because = format!("storage servers are more than {MOST_LAG} s behind");
        let obstacle = Obstacle::new(because, format!("more than {MOST_LAG} s"), format!("at most {MOST_LAG} s"));
        return Some((obstacle, "storage servers catching up".to_owned()));
    }
    let queues = [("a log", log_queue), ("a storage server", storage_queue)];
    if let Some((whose, _)) = queues.into_iter().find(|(_, queue)| *queue > LONGEST_QUEUE) {
        let because = format!("{whose} has more than 250 MiB in its queue");
        let obstacle = Obstacle::new(because, "more than 250 MiB", "at most 250 MiB");
        return Some((obstacle, "the queue getting shorter".to_owned()));
    }
    None
}

fn shown(configuration: &ConfigurationReport) -> std::collections::BTreeMap<String, String> {
    let ConfigurationReport { redundancy_mode, storage_engine, settings, words, excluded: _ } = configuration;
    let named = [("redundancy_mode", redundancy_mode), ("storage_engine", storage_engine)];
    let named = named.into_iter().filter_map(|(name, word)| Some((name.to_owned(), word.clone()?)));
    let words = words.iter().map(|(name, word)| (name.clone(), word.clone()));
    named.chain(words).chain(settings.iter().map(|(name, number)| (name.clone(), number.to_string()))).collect()
}
