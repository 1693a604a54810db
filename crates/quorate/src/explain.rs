//! `quorate explain`: why nothing more is done.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::Result;
use kube::ResourceExt;
use quorate_api::foundationdb::{FoundationDBCluster, HoldStatus};
use quorate_quorum::Explained;
use serde_json::json;

use crate::clusters::Which;
use crate::set_aside::set_aside;

pub(crate) fn print(which: &Which) -> Result<ExitCode> {
    let clusters = which.find()?;
    if which.json {
        let shown = |cluster| (full_name(cluster), json!({"holds": holds(cluster), "setAside": set_aside(cluster)}));
        let all: serde_json::Map<_, _> = clusters.iter().map(shown).collect();
        println!("{}", serde_json::Value::Object(all));
    } else {
        for cluster in &clusters {
            print!("{}", explained(cluster));
        }
    }
    let all_well = clusters.iter().all(|cluster| holds(cluster).is_empty() && unseen(cluster).is_none());
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn full_name(cluster: &FoundationDBCluster) -> String {
    cluster.namespace().map_or_else(|| cluster.name_any(), |namespace| format!("{namespace}/{}", cluster.name_any()))
}

pub(crate) fn holds(cluster: &FoundationDBCluster) -> &[HoldStatus] {
    let quorate = cluster.status.as_ref().and_then(|status| status.quorate.as_ref());
    quorate.and_then(|quorate| quorate.holds.as_deref()).unwrap_or_default()
}

/// What no operator has looked at yet, if anything: the object, or the last change of its spec.
pub(crate) fn unseen(cluster: &FoundationDBCluster) -> Option<String> {
    let Some(status) = &cluster.status else { return Some("no operator has looked at it yet".to_owned()) };
    let (asked, seen) = (cluster.metadata.generation?, status.observed_generation.unwrap_or(0));
    (seen < asked).then(|| format!("no operator has looked at generation {asked} yet; what follows is of generation {seen}"))
}

fn explained(cluster: &FoundationDBCluster) -> String {
    let mut text = format!("{}\n", full_name(cluster));
    // Writing into a String can't fail.
    if let Some(unseen) = unseen(cluster) {
        writeln!(text, "  {unseen}").ok();
    } else if holds(cluster).is_empty() {
        writeln!(text, "  nothing is held").ok();
    }
    for hold in holds(cluster) {
        for line in of_status(hold).to_string().lines() {
            writeln!(text, "  {line}").ok();
        }
    }
    for aside in set_aside(cluster) {
        write!(text, "{aside}").ok();
    }
    text
}

fn of_status(hold: &HoldStatus) -> Explained<'_> {
    Explained {
        reason: &hold.reason,
        about: &hold.about,
        sentence: &hold.sentence,
        compared: hold.measured.as_deref().zip(hold.threshold.as_deref()),
        since: hold.since.as_ref().map(|since| since.0),
        released_by: &hold.released_by,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(status: &serde_json::Value) -> FoundationDBCluster {
        let object = json!({
            "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
            "metadata": {"name": "sample", "namespace": "ns"}, "spec": {"version": "7.3.69"}, "status": status,
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn every_part_of_a_hold_is_printed() {
        let status = json!({"quorate": {"holds": [{
            "reason": "SurplusProcessGroups", "about": "log", "sentence": "there are 3 process groups of class log, and 2 were asked for",
            "measured": "3", "threshold": "2", "since": "2026-01-02T03:04:05Z", "releasedBy": "asking for 3 again",
        }]}});
        assert_eq!(
            explained(&cluster(&status)),
            "ns/sample\n  SurplusProcessGroups (log)\n    there are 3 process groups of class log, and 2 were asked for\n    \
             measured: 3, needed: 2\n    since: 2026-01-02T03:04:05Z\n    released by: asking for 3 again\n"
        );
    }

    #[test]
    fn what_is_set_aside_is_told_although_nothing_is_held() {
        let status = json!({"quorate": {"setAside": [{"faultDomain": "storage-3"}]}});
        let told = explained(&cluster(&status));
        assert!(told.starts_with("ns/sample\n  nothing is held\n  fault domain storage-3 is set aside"), "{told}");
    }

    #[test]
    fn a_cluster_nobody_looked_at_is_not_called_well() {
        assert_eq!(explained(&cluster(&serde_json::Value::Null)), "ns/sample\n  no operator has looked at it yet\n");
        assert_eq!(explained(&cluster(&json!({}))), "ns/sample\n  nothing is held\n");
        let mut changed = cluster(&json!({"observedGeneration": 3}));
        changed.metadata.generation = Some(4);
        let said = "no operator has looked at generation 4 yet; what follows is of generation 3";
        assert_eq!(explained(&changed), format!("ns/sample\n  {said}\n"));
    }
}
