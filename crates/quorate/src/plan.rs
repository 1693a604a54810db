//! `quorate plan` and `quorate what-if`: what will happen to a cluster, before it happens.
//!
//! Both make the operator's own decisions again and again for the cluster as its status describes it, and change nothing.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use quorate_api::DurationText;
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_foundationdb::Desired;
use quorate_foundationdb::forecast::{Assumed, Forecast, Hosts, forecast};
use quorate_operator::{checked_wish, recorded_status};
use quorate_quorum::buckets::Shown;
use serde_json::json;

use crate::clusters::{Which, read};
use crate::explain::full_name;

/// What nobody can know beforehand.
#[derive(Debug, Args)]
struct Assumptions {
    /// How long it takes until a process has given all its data away.
    #[arg(long, default_value = "10m")]
    drain: String,
    /// How many hosts there are, counting those that are used; as many as are needed, if nothing is said.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    hosts: Option<u32>,
}

impl Assumptions {
    fn read(&self) -> Result<Assumed> {
        let drain = DurationText(self.drain.clone()).length().and_then(|length| SignedDuration::try_from(length).ok());
        let drain = drain.with_context(|| format!("--drain: {:?} is no duration; write it like 90s or 10m", self.drain))?;
        let hosts = self.hosts.map_or(Hosts::Enough, |number| Hosts::Number(number as usize));
        Ok(Assumed { now: Timestamp::now(), drain, hosts })
    }
}

/// What happens to clusters as they are.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    assumptions: Assumptions,
}

impl Plan {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let assumed = self.assumptions.read()?;
        let plans: Vec<_> = self
            .which
            .find()?
            .iter()
            .map(|cluster| {
                let wish = checked_wish(cluster);
                name_what_has_no_effect(&full_name(cluster), &wish);
                (full_name(cluster), forecast(&wish, &recorded_status(cluster.status.as_ref()), &wish, &assumed))
            })
            .collect();
        Ok(print(&plans, &assumed, self.which.json))
    }
}

/// What would happen if clusters were asked to be otherwise.
#[derive(Debug, Args)]
pub(crate) struct WhatIf {
    /// The changed objects (YAML or JSON); `-` is the input.
    #[arg(short, long)]
    file: PathBuf,
    /// Read the objects as they are from this file instead of asking Kubernetes.
    #[arg(long)]
    from: Option<PathBuf>,
    /// The namespace of objects whose file does not say it.
    #[arg(short, long, default_value = "default")]
    namespace: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    assumptions: Assumptions,
}

impl WhatIf {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let assumed = self.assumptions.read()?;
        let changed = read(&self.file)?;
        if changed.is_empty() {
            bail!("{} has no FoundationDBCluster", self.file.display());
        }
        let current = match &self.from {
            Some(file) => read(file)?,
            None => Which::all().ask_kubernetes()?,
        };
        let plans: Vec<_> = changed.into_iter().map(|cluster| self.foretold(cluster, &current, &assumed)).collect();
        for (name, _) in plans.iter().filter(|(name, _)| !current.iter().any(|cluster| self.name_of(cluster) == *name)) {
            eprintln!("there is no FoundationDBCluster {name} now; what follows is the birth of a new one");
        }
        Ok(print(&plans, &assumed, self.json))
    }

    fn name_of(&self, cluster: &FoundationDBCluster) -> String {
        format!("{}/{}", cluster.namespace().as_ref().unwrap_or(&self.namespace), cluster.name_any())
    }

    fn foretold(&self, changed: FoundationDBCluster, current: &[FoundationDBCluster], assumed: &Assumed) -> (String, Forecast) {
        let same = |other: &&FoundationDBCluster| self.name_of(other) == self.name_of(&changed);
        // Without one that is there, it would be a new one.
        let now = current.iter().find(same).cloned().unwrap_or_else(|| FoundationDBCluster { status: None, ..changed.clone() });
        let mut now = now;
        now.metadata.namespace.get_or_insert_with(|| self.namespace.clone());
        let mut then = FoundationDBCluster { spec: changed.spec, ..now.clone() };
        then.metadata.generation = Some(now.metadata.generation.unwrap_or(0) + 1);
        let recorded = recorded_status(now.status.as_ref());
        name_what_has_no_effect(&full_name(&then), &checked_wish(&then));
        (full_name(&now), forecast(&checked_wish(&now), &recorded, &checked_wish(&then), assumed))
    }
}

/// A plan is without what has no effect, so that is said beside it.
fn name_what_has_no_effect(name: &str, wish: &Desired) {
    for field in &wish.fields_without_effect {
        eprintln!("{name}: {field}");
    }
}

/// Prints plans; those that come to no end make it a failure.
fn print(plans: &[(String, Forecast)], assumed: &Assumed, json: bool) -> ExitCode {
    if json {
        let all: serde_json::Map<_, _> = plans.iter().map(|(name, plan)| (name.clone(), as_json(plan))).collect();
        println!("{}", serde_json::Value::Object(all));
    } else {
        for (name, plan) in plans {
            print!("{}", told(name, plan, assumed));
        }
    }
    if plans.iter().all(|(_, plan)| plan.held.is_empty()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn as_json(plan: &Forecast) -> serde_json::Value {
    let events: Vec<_> =
        plan.events.iter().map(|event| json!({"afterSeconds": event.after.as_secs(), "what": event.what})).collect();
    let moves: serde_json::Map<_, _> =
        plan.moves().into_iter().map(|(zone, (comes, goes))| (zone, json!({"comes": comes, "goes": goes}))).collect();
    json!({
        "events": events,
        "goes": plan.goes,
        "comes": plan.comes,
        "moves": moves,
        "buckets": plan.buckets,
        "fullestBuckets": plan.fullest,
        "waves": plan.waves,
        "moveWaves": plan.move_waves,
        "recoveries": plan.recoveries,
        "seconds": plan.lasts.as_secs(),
        "held": plan.held.iter().map(|hold| json!({"reason": hold.reason.to_string(), "about": hold.about, "sentence": hold.sentence, "measured": hold.measured, "threshold": hold.threshold, "releasedBy": hold.released_by})).collect::<Vec<_>>(),
    })
}

/// A plan in words. Writing into a String can't fail.
fn told(name: &str, plan: &Forecast, assumed: &Assumed) -> String {
    let mut text = format!("{name}\n");
    writeln!(text, "  room for automatic replacements (whoever is on its way counts): {}", room(&plan.buckets)).ok();
    let holders = |buckets: &[Shown]| buckets.iter().flat_map(|bucket| bucket.held_by.clone()).collect::<BTreeSet<_>>();
    if !holders(&plan.fullest).is_subset(&holders(&plan.buckets)) {
        writeln!(text, "    at the fullest: {}", room(&plan.fullest)).ok();
    }
    text.push('\n');
    if plan.events.is_empty() && plan.held.is_empty() {
        text.push_str("  nothing is left to do\n");
        return text;
    }
    for event in &plan.events {
        writeln!(text, "  {:>9}  {}", length(event.after), shortened(&event.what)).ok();
    }
    let moves = plan.moves();
    if !moves.is_empty() {
        text.push_str("\n  zone by zone\n");
        let width = moves.keys().map(String::len).max().unwrap_or(0);
        for (zone, (comes, goes)) in &moves {
            let (before, after) = (held(&plan.before, zone), held(&plan.after, zone));
            writeln!(text, "    {zone:width$}  {before:>3} -> {after:<3}  {goes} go, {comes} come").ok();
        }
    }
    writeln!(text, "\n  process groups: {} go, {} come", plan.goes.len(), plan.comes.len()).ok();
    for (what, waves) in [("moves", &plan.move_waves), ("pods made again", &plan.waves)] {
        if !waves.is_empty() {
            writeln!(text, "  {what}: {}", in_waves(waves)).ok();
        }
    }
    writeln!(text, "  recoveries: {}", plan.recoveries).ok();
    let until = if plan.held.is_empty() { "" } else { ", and then it waits" };
    writeln!(text, "  time: about {}{until}", length(plan.lasts)).ok();
    if !plan.held.is_empty() {
        text.push_str("  it comes to no end by itself:\n");
        for hold in &plan.held {
            writeln!(text, "    {} ({}): {}", hold.reason, hold.about, hold.sentence).ok();
            writeln!(text, "      measured: {}, needed: {}", hold.measured, hold.threshold).ok();
            writeln!(text, "      released by: {}", hold.released_by).ok();
        }
    }
    let hosts = match assumed.hosts {
        Hosts::Enough => "enough hosts".to_owned(),
        Hosts::Number(_) => format!("{} hosts", plan.hosts),
    };
    let drain = length(assumed.drain);
    writeln!(text, "  assumed: {hosts}, {drain} until a process is empty, the database as the object's status says").ok();
    text
}

/// How many there are in all, and how many at once.
fn in_waves(waves: &[usize]) -> String {
    let each = waves.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let plural = if waves.len() == 1 { "wave" } else { "waves" };
    format!("{} in {} {plural} ({each})", waves.iter().sum::<usize>(), waves.len())
}

/// How full each bucket is, and who holds it.
fn room(buckets: &[Shown]) -> String {
    let bucket = |Shown { bucket, used, limit, held_by }: &Shown| {
        let holders = if held_by.is_empty() { String::new() } else { format!(" ({})", held_by.join(", ")) };
        format!("{bucket} {used}/{limit}{holders}")
    };
    buckets.iter().map(bucket).collect::<Vec<_>>().join(", ")
}

fn held(zones: &quorate_foundationdb::forecast::Zones, zone: &str) -> usize {
    zones.values().filter_map(|zones| zones.get(zone)).map(Vec::len).sum()
}

/// A long list ends where a line does; `--json` has all of it.
fn shortened(text: &str) -> String {
    const WIDTH: usize = 160;
    if text.chars().count() <= WIDTH {
        return text.to_owned();
    }
    let head: String = text.chars().take(WIDTH).collect();
    let (head, _) = head.rsplit_once(", ").unwrap_or((&head, ""));
    let more = text[head.len()..].matches(", ").count();
    format!("{head} and {more} more")
}

/// A length of time as people say it.
fn length(time: SignedDuration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(spec: &serde_json::Value) -> FoundationDBCluster {
        let object = json!({
            "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
            "metadata": {"name": "sample", "uid": "6f1c"}, "spec": spec,
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_plan_says_what_happens_when_and_what_it_costs() {
        let assumed = Assumed { now: Timestamp::UNIX_EPOCH, drain: SignedDuration::from_mins(10), hosts: Hosts::Enough };
        let packed = |domains: u32| {
            let distribution = json!({"enabled": true, "desiredFaultDomains": domains});
            let counts = json!({"storage": 6, "log": 3, "stateless": 3});
            checked_wish(&cluster(&json!({"version": "7.3.69", "processCounts": counts, "distribution": distribution})))
        };
        let born = forecast(&packed(3), &quorate_foundationdb::Recorded::default(), &packed(3), &assumed);
        let changed = forecast(&packed(3), &born.recorded, &packed(4), &assumed);
        assert_eq!(
            told("default/sample", &changed, &assumed),
            "default/sample
  room for automatic replacements (whoever is on its way counts): all 0/1
    at the fullest: all 1/1 (storage-12)

        5 s  1 of 6 process groups of class storage go to fill its fault domains evenly: storage-12 (from storage-2)
        5 s  adding 1 process groups: storage-13 (in storage-3)
       15 s  excluding storage-12
     10 min  removing storage-12
     10 min  the exclusion of storage-12 is lifted

  zone by zone
    storage-2    2 -> 1    1 go, 0 come
    storage-3    0 -> 1    0 go, 1 come

  process groups: 1 go, 1 come
  moves: 1 in 1 wave (1)
  recoveries: 0
  time: about 10 min
  assumed: enough hosts, 10 min until a process is empty, the database as the object's status says
"
        );
        assert_eq!(
            told("sample", &forecast(&packed(4), &changed.recorded, &packed(4), &assumed), &assumed),
            "sample\n  room for automatic replacements (whoever is on its way counts): all 0/1\n\n  nothing is left to do\n"
        );
    }

    #[test]
    fn long_lists_are_cut_where_a_name_ends() {
        let names: Vec<String> = (1..=60).map(|number| format!("storage-{number}")).collect();
        let short = shortened(&names.join(", "));
        assert!(short.starts_with("storage-1, storage-2, ") && short.ends_with(" more"), "{short}");
        assert_eq!(shortened("short"), "short");
    }
}
