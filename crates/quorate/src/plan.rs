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
use quorate_foundationdb::forecast::{Assumed, Forecast, Hosts, forecast};
use quorate_foundationdb::{Desired, Recorded};
use quorate_operator::{checked_wish, recorded_status};
use quorate_quorum::buckets::Shown;
use serde_json::json;

use crate::clusters::{Which, read};
use crate::explain::full_name;
use crate::hosts::Nodes;
use crate::kubernetes::Kubernetes;
use crate::map::by_number;

/// What nobody can know beforehand.
#[derive(Debug, Args)]
struct Assumptions {
    /// How long it takes until a process has given all its data away.
    #[arg(long, default_value = "10m")]
    drain: String,
    /// How many hosts there are, counting those that are used. If nothing is said, those that take the pods where Kubernetes is asked,
    /// and as many as are needed where a file is read or nodes may not be listed.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    hosts: Option<u32>,
}

impl Assumptions {
    /// `live` is a Kubernetes that may be asked for nodes.
    fn read(&self, live: Option<&Kubernetes>) -> Result<Premises> {
        let drain = DurationText(self.drain.clone()).length().and_then(|length| SignedDuration::try_from(length).ok());
        let drain = drain.with_context(|| format!("--drain: {:?} is no duration; write it like 90s or 10m", self.drain))?;
        let nodes = match live.filter(|_| self.hosts.is_none()) {
            None => Nodes::Unasked,
            Some(kubernetes) => kubernetes.nodes()?.map_or(Nodes::Forbidden, Nodes::Listed),
        };
        Ok(Premises { now: Timestamp::now(), drain, number: self.hosts.map(|number| number as usize), nodes })
    }
}

/// What forecasts rest on.
#[derive(Debug)]
struct Premises {
    now: Timestamp,
    drain: SignedDuration,
    /// How many hosts there are, if somebody said it.
    number: Option<usize>,
    nodes: Nodes,
}

impl Premises {
    fn foretold(&self, cluster: String, now: &Desired, recorded: &Recorded, then: &Desired) -> Foretold {
        name_what_has_no_effect(&cluster, then);
        let hosts = self.number.map_or_else(|| self.nodes.hosts_for(then), Hosts::Number);
        let assumed = Assumed { now: self.now, drain: self.drain, hosts };
        let plan = forecast(now, recorded, then, &assumed);
        let hosts = match (&assumed.hosts, &self.nodes) {
            (Hosts::Number(_) | Hosts::Known(_), _) => format!("{} hosts", plan.hosts),
            (Hosts::Enough, Nodes::Forbidden) => {
                "enough hosts (nodes may not be listed; --hosts says how many there are)".to_owned()
            }
            (Hosts::Enough, _) => "enough hosts".to_owned(),
        };
        let drain = length(self.drain);
        let words = format!("{hosts}, {drain} until a process is empty, the database as the object's status says");
        Foretold { cluster, plan, assumed, words }
    }
}

/// A forecast with what it rests on.
struct Foretold {
    cluster: String,
    plan: Forecast,
    assumed: Assumed,
    /// What was assumed, in words.
    words: String,
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
        let clusters = self.which.find()?;
        let live = if self.which.is_live() { Some(Kubernetes::connect()?) } else { None };
        let premises = self.assumptions.read(live.as_ref())?;
        let foretold = |cluster: &FoundationDBCluster| {
            let wish = checked_wish(cluster);
            premises.foretold(full_name(cluster), &wish, &recorded_status(cluster.status.as_ref()), &wish)
        };
        Ok(print(&clusters.iter().map(foretold).collect::<Vec<_>>(), self.which.json))
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
        let changed = self.read(&self.file)?;
        if changed.is_empty() {
            bail!("{} has no FoundationDBCluster", self.file.display());
        }
        let (current, live) = if let Some(file) = &self.from {
            (self.read(file)?, None)
        } else {
            let kubernetes = Kubernetes::connect()?;
            (ask_for(&changed, &kubernetes)?, Some(kubernetes))
        };
        let premises = self.assumptions.read(live.as_ref())?;
        let foretold = |changed: &FoundationDBCluster| {
            let there = current.iter().find(|cluster| full_name(cluster) == full_name(changed));
            would_be(changed, there, &premises)
        };
        Ok(print(&changed.iter().map(foretold).collect::<Vec<_>>(), self.json))
    }

    fn read(&self, file: &PathBuf) -> Result<Vec<FoundationDBCluster>> {
        let mut clusters = read(file)?;
        for cluster in &mut clusters {
            cluster.metadata.namespace.get_or_insert_with(|| self.namespace.clone());
        }
        Ok(clusters)
    }
}

/// Each of these as Kubernetes has it, asked for one by one: who changes a cluster may see that one and need not see any other.
fn ask_for(changed: &[FoundationDBCluster], kubernetes: &Kubernetes) -> Result<Vec<FoundationDBCluster>> {
    let found = |cluster: &FoundationDBCluster| {
        let namespace = cluster.namespace().unwrap_or_default();
        kubernetes.cluster(&namespace, &cluster.name_any()).transpose()
    };
    changed.iter().filter_map(found).collect()
}

/// What would happen if the cluster that is there were changed; without one that is there, it would be a new one.
fn would_be(changed: &FoundationDBCluster, there: Option<&FoundationDBCluster>, premises: &Premises) -> Foretold {
    let name = full_name(changed);
    if there.is_none() {
        eprintln!("there is no FoundationDBCluster {name} now; what follows is the birth of a new one");
    }
    let now = there.cloned().unwrap_or_else(|| FoundationDBCluster { status: None, ..changed.clone() });
    let mut then = FoundationDBCluster { spec: changed.spec.clone(), ..now.clone() };
    then.metadata.generation = Some(now.metadata.generation.unwrap_or(0) + 1);
    premises.foretold(name, &checked_wish(&now), &recorded_status(now.status.as_ref()), &checked_wish(&then))
}

/// A plan is without what has no effect, so that is said beside it.
fn name_what_has_no_effect(name: &str, wish: &Desired) {
    for field in &wish.fields_without_effect {
        eprintln!("{name}: {field}");
    }
}

/// Prints plans; those that come to no end make it a failure.
fn print(plans: &[Foretold], json: bool) -> ExitCode {
    if json {
        let all: serde_json::Map<_, _> = plans.iter().map(|foretold| (foretold.cluster.clone(), as_json(foretold))).collect();
        println!("{}", serde_json::Value::Object(all));
    } else {
        for foretold in plans {
            print!("{}", told(foretold));
        }
    }
    if plans.iter().all(|foretold| foretold.plan.held.is_empty()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn as_json(Foretold { plan, assumed, words, .. }: &Foretold) -> serde_json::Value {
    let hosts = (assumed.hosts != Hosts::Enough).then_some(plan.hosts);
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
        "assumed": {"hosts": hosts, "drainSeconds": assumed.drain.as_secs(), "sentence": words},
        "held": plan.held.iter().map(|hold| json!({"reason": hold.reason.to_string(), "about": hold.about, "sentence": hold.sentence, "measured": hold.measured, "threshold": hold.threshold, "releasedBy": hold.released_by})).collect::<Vec<_>>(),
    })
}

/// A plan in words. Writing into a String can't fail.
fn told(Foretold { cluster, plan, words, .. }: &Foretold) -> String {
    let mut text = format!("{cluster}\n");
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
        let mut moves: Vec<_> = moves.iter().collect();
        moves.sort_by_cached_key(|(zone, _)| by_number(zone));
        for (zone, (comes, goes)) in moves {
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
    writeln!(text, "  assumed: {words}").ok();
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

    fn premises(number: Option<usize>, nodes: Nodes) -> Premises {
        Premises { now: Timestamp::UNIX_EPOCH, drain: SignedDuration::from_mins(10), number, nodes }
    }

    #[test]
    fn what_is_assumed_of_hosts_is_said() {
        let wish = checked_wish(&cluster(&json!({"version": "7.3.69"})));
        for (premises, said, hosts) in [
            (premises(None, Nodes::Unasked), "enough hosts, ", json!(null)),
            (premises(None, Nodes::Forbidden), "enough hosts (nodes may not be listed; ", json!(null)),
            (premises(None, Nodes::Listed(vec![])), "0 hosts, ", json!(0)),
            (premises(Some(4), Nodes::Listed(vec![])), "4 hosts, ", json!(4)),
        ] {
            let foretold = premises.foretold("default/sample".to_owned(), &wish, &Recorded::default(), &wish);
            assert!(told(&foretold).contains(&format!("  assumed: {said}")), "{}", told(&foretold));
            assert_eq!(as_json(&foretold)["assumed"]["hosts"], hosts);
        }
    }

    #[test]
    fn a_plan_says_what_happens_when_and_what_it_costs() {
        let packed = |domains: u32| {
            let distribution = json!({"enabled": true, "desiredFaultDomains": domains});
            let counts = json!({"storage": 6, "log": 3, "stateless": 3});
            checked_wish(&cluster(&json!({"version": "7.3.69", "processCounts": counts, "distribution": distribution})))
        };
        let premises = premises(None, Nodes::Unasked);
        let told_of = |recorded: &Recorded, now: u32, then: u32| {
            premises.foretold("default/sample".to_owned(), &packed(now), recorded, &packed(then))
        };
        let born = told_of(&Recorded::default(), 3, 3).plan;
        let changed = told_of(&born.recorded, 3, 4);
        assert_eq!(
            told(&changed),
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
            told(&told_of(&changed.plan.recorded, 4, 4)),
            "default/sample\n  room for automatic replacements (whoever is on its way counts): all 0/1\n\n  nothing is left to do\n"
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
