//! `quorate status`: every cluster in one line.

use std::process::ExitCode;

use anyhow::Result;
use quorate_api::foundationdb::FoundationDBCluster;
use serde::Serialize;

use crate::clusters::Which;
use crate::explain::{full_name, holds, unseen};
use crate::set_aside::set_aside;

#[derive(Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
struct Line {
    cluster: String,
    available: Option<bool>,
    process_groups: String,
    carried_out: String,
    held: Vec<String>,
    set_aside: Vec<String>,
}

pub(crate) fn print(which: &Which) -> Result<ExitCode> {
    let clusters = which.find()?;
    let lines: Vec<_> = clusters.iter().map(line).collect();
    if which.json {
        println!("{}", serde_json::to_string(&lines)?);
    } else {
        print!("{}", table(&lines));
    }
    let seen = clusters.iter().all(|cluster| unseen(cluster).is_none());
    let all_well = seen && lines.iter().all(|line| line.available == Some(true) && line.held.is_empty());
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn line(cluster: &FoundationDBCluster) -> Line {
    let status = cluster.status.clone().unwrap_or_default();
    let number = |value: Option<i32>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
    let generation = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    let reconciled = status.generations.as_ref().and_then(|generations| generations.reconciled);
    let mut held: Vec<_> = holds(cluster).iter().map(|hold| hold.reason.clone()).collect();
    held.sort();
    held.dedup();
    if unseen(cluster).is_some() {
        held.insert(0, "(not looked at yet)".to_owned());
    }
    Line {
        cluster: full_name(cluster),
        available: status.health.as_ref().and_then(|health| health.available),
        process_groups: format!("{}/{}", number(status.reconciled_process_groups), number(status.desired_process_groups)),
        carried_out: format!("{}/{}", generation(reconciled), generation(cluster.metadata.generation)),
        held,
        set_aside: set_aside(cluster).into_iter().map(|aside| aside.fault_domain).collect(),
    }
}

fn table(lines: &[Line]) -> String {
    let available = |line: &Line| line.available.map_or("unknown", |yes| if yes { "yes" } else { "no" });
    let held = |line: &Line| {
        let held = if line.held.is_empty() { "-".to_owned() } else { line.held.join(", ") };
        if line.set_aside.is_empty() { held } else { format!("{held}; set aside: {}", line.set_aside.join(", ")) }
    };
    let width = lines.iter().map(|line| line.cluster.len()).max().unwrap_or(0).max("CLUSTER".len());
    let mut text = format!("{:width$}  AVAILABLE  PROCESS GROUPS  GENERATION  HELD FOR\n", "CLUSTER");
    for line in lines {
        let Line { cluster, process_groups, carried_out, .. } = line;
        text.push_str(&format!(
            "{cluster:width$}  {:9}  {process_groups:14}  {carried_out:10}  {}\n",
            available(line),
            held(line)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_api::foundationdb::SetAsideStatus;

    #[test]
    fn a_cluster_is_one_line() {
        let object = serde_json::json!({
            "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
            "metadata": {"name": "sample", "namespace": "ns", "generation": 2}, "spec": {"version": "7.3.69"},
            "status": {
                "observedGeneration": 2, "health": {"available": true}, "generations": {"reconciled": 1}, "reconciledProcessGroups": 5, "desiredProcessGroups": 7,
                "quorate": {"holds": [{"reason": "PodPending", "about": "log-1", "sentence": "s", "releasedBy": "r"}]},
            },
        });
        let cluster: FoundationDBCluster = serde_json::from_value(object).unwrap();
        assert_eq!(
            table(&[line(&cluster)]),
            "CLUSTER    AVAILABLE  PROCESS GROUPS  GENERATION  HELD FOR\nns/sample  yes        5/7             1/2         PodPending\n"
        );
        let mut changed = cluster.clone();
        let quorate = changed.status.as_mut().unwrap().quorate.as_mut().unwrap();
        quorate.set_aside = Some(vec![SetAsideStatus { fault_domain: "log-3".to_owned(), ..SetAsideStatus::default() }]);
        assert!(table(&[line(&changed)]).ends_with("  PodPending; set aside: log-3\n"), "{}", table(&[line(&changed)]));
        let mut changed = cluster;
        changed.metadata.generation = Some(3);
        assert_eq!(line(&changed).held, ["(not looked at yet)", "PodPending"]);
    }
}
