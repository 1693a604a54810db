//! The database's configuration: made as it was asked to be, once it is calm enough for that.

use quorate_quorum::{Hold, Severity, Step};

use super::{Adds, Draft, lock};
use crate::configuration::{ConfigurationKeys, engine_keys, redundancy_keys, setting_keys};
use crate::obstacle::Obstacle;
use crate::report::{Backlog, ConfigurationReport};
use crate::tolerance::Copies;
use crate::{DatabaseReport, DatabaseWish, Desired, reasons};

/// Storage servers that are further behind than this have enough to do, in seconds.
const MOST_LAG: f64 = 60.0;
/// More than this in the queue of a log or a storage server means the same.
const LONGEST_QUEUE: f64 = 250.0 * 1024.0 * 1024.0;

pub(super) fn propose(draft: &mut Draft<'_>) {
    let Some(report) = draft.report.filter(|report| draft.status.configured && report.is_whole()) else { return };
    let Some(configuration) = &report.configuration else { return };
    let desired = &draft.seen.desired;
    draft.status.configuration = shown(configuration);
    let (keys, differences) = differences(&desired.database, configuration);
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
fn differences(wish: &DatabaseWish, configuration: &ConfigurationReport) -> (ConfigurationKeys, Vec<String>) {
    let (mut keys, mut words) = (ConfigurationKeys::new(), Vec::new());
    let (mode, asked) = (configuration.redundancy_mode.as_deref(), wish.redundancy_mode);
    if mode.is_some_and(|mode| mode != asked.name()) {
        keys.extend(redundancy_keys(asked));
        words.push(format!("redundancy_mode {} -> {asked}", mode.unwrap_or_default()));
    }
    let engine = configuration.storage_engine.as_deref();
    let wanted = engine_keys(&wish.storage_engine);
    if engine.is_some_and(|engine| engine_keys(engine) != wanted) {
        keys.extend(wanted.unwrap_or_default());
        words.push(format!("storage_engine {} -> {}", engine.unwrap_or_default(), wish.storage_engine));
    }
    for (name, asked) in &wish.settings {
        let is = configuration.settings.get(name);
        if is.is_some_and(|is| is != asked) {
            keys.extend(setting_keys(&[(name.clone(), *asked)].into()));
            words.push(format!("{name} {} -> {asked}", is.copied().unwrap_or_default()));
        }
    }
    (keys, words)
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
    if asked.spans_halls() {
        let halls = report.halls(asked);
        if halls.len() != 3 {
            let because = format!("{asked} needs exactly three, and processes name {}: {halls:?}", halls.len());
            let obstacle = Obstacle::new(because, halls.len(), "3");
            return Some((obstacle, "processes in exactly three of them".to_owned()));
        }
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
    let ConfigurationReport { redundancy_mode, storage_engine, settings, excluded: _ } = configuration;
    let words = [("redundancy_mode", redundancy_mode), ("storage_engine", storage_engine)];
    let words = words.into_iter().filter_map(|(name, word)| Some((name.to_owned(), word.clone()?)));
    words.chain(settings.iter().map(|(name, number)| (name.clone(), number.to_string()))).collect()
}
