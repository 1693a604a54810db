//! How much memory the operator needs for what it watches, over what of it is kept, as JSON.
//!
//! Resident memory is what a limit is set for, so that is what is measured, in a process of its own: what an earlier benchmark left in the
//! allocator would otherwise be used again and hide the cost.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use quorate_operator::{Bystander, Watched};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Measured;
use super::population::Population;
use super::stage::ratio;

/// 10,000 process groups, in clusters of 20.
const CLUSTERS: usize = 500;
/// Set for the process that measures.
const ALONE: &str = "QUORATE_BENCH_ALONE";

/// Bytes per byte of JSON, after everything was seen once.
pub(super) fn measure() -> Result<Measured> {
    alone("R3", |original| {
        let (steady, _, kept) = watched(original)?;
        let groups = original.groups() * CLUSTERS;
        Ok(Measured {
            value: Some(ratio(steady, kept)),
            baseline: Some(ratio(original.bytes() * CLUSTERS, kept)),
            note: format!("{} bytes for each of {groups} process groups, {} as JSON", steady / groups, kept / groups),
        })
    })
}

/// The most during a second list of everything, over what is needed without.
pub(super) fn measure_relist() -> Result<Measured> {
    alone("R3-relist", |original| {
        let (steady, peak, _) = watched(original)?;
        Ok(Measured {
            value: Some(ratio(peak, steady)),
            baseline: None,
            note: format!("{} MiB at most, {} MiB after the first list", peak >> 20, steady >> 20),
        })
    })
}

/// What is resident after the first list, at most after the second, and what is kept as JSON: all without what was there before.
fn watched(original: &Population) -> Result<(usize, usize, usize)> {
    let mut bystander = Bystander::default();
    // What grows once and for all: the first of everything.
    original.shown_to(&mut bystander)?;
    let before = resident("VmRSS")?;
    let mut kept = 0;
    for number in 0..CLUSTERS {
        let cluster = original.named(&format!("c{number:04}"));
        cluster.shown_to(&mut bystander)?;
        kept += pruned(&cluster)?;
    }
    let steady = resident("VmRSS")?;
    let listed = (0..CLUSTERS).flat_map(|number| original.named(&format!("c{number:04}")).pods);
    bystander.see_all_pods(listed.filter_map(|text| serde_json::from_str(&text).ok()));
    let peak = resident("VmHWM")?;
    // It must live until here.
    drop(bystander.see(Watched::Cluster(serde_json::from_str(&original.cluster)?)));
    ensure!(steady > before, "nothing was kept");
    Ok((steady - before, peak - before, kept))
}

/// The bytes of what is kept of a cluster's objects, as JSON: the cluster itself, and of the rest what decisions read.
fn pruned(population: &Population) -> Result<usize> {
    let mut bytes = population.cluster.len();
    for text in &population.pods {
        let pod: Value = serde_json::from_str(text)?;
        let (metadata, status) = (&pod["metadata"], &pod["status"]);
        let kept = json!({
            "metadata": kept_metadata(metadata),
            "spec": {"nodeName": pod["spec"]["nodeName"]},
            "status": {"phase": status["phase"], "podIPs": status["podIPs"], "ready": true},
        });
        bytes += kept.to_string().len();
    }
    for text in &population.claims {
        let claim: Value = serde_json::from_str(text)?;
        let spec = &claim["spec"];
        let kept = json!({
            "metadata": kept_metadata(&claim["metadata"]),
            "spec": {"storageClassName": spec["storageClassName"], "resources": spec["resources"]},
            "status": {"phase": claim["status"]["phase"]},
        });
        bytes += kept.to_string().len();
    }
    Ok(bytes)
}

fn kept_metadata(metadata: &Value) -> Value {
    let fields = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp", "labels", "annotations", "ownerReferences"];
    fields.iter().map(|field| ((*field).to_owned(), metadata[*field].clone())).collect::<serde_json::Map<_, _>>().into()
}

/// A line of what Linux says of this process, in bytes.
fn resident(line: &str) -> Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status").context("reading how much memory this process has")?;
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    let kibibytes = found.and_then(|text| text.split_whitespace().next()).context("Linux does not say how much memory")?;
    Ok(kibibytes.parse::<usize>()? << 10)
}

/// Measures in a process of its own, which is this program again.
fn alone(name: &str, measure: impl FnOnce(&Population) -> Result<Measured>) -> Result<Measured> {
    if !std::path::Path::new("/proc/self/status").exists() {
        return Ok(Measured::not_run("it needs Linux's /proc"));
    }
    if std::env::var_os(ALONE).is_some() {
        return measure(&Population::original()?);
    }
    let program = std::env::current_exe().context("looking for this program")?;
    let mut command = Command::new(program);
    let output = command.args(["bench", name, "--json"]).env(ALONE, "1").stderr(Stdio::inherit()).output();
    let rows: std::collections::BTreeMap<String, Reported> =
        serde_json::from_slice(&output.context("starting this program again")?.stdout)?;
    let Reported { value, baseline, note } = rows.into_values().next().context("it measured nothing")?;
    Ok(Measured { value, baseline, note })
}

#[derive(Deserialize)]
struct Reported {
    value: Option<f64>,
    baseline: Option<f64>,
    note: String,
}
