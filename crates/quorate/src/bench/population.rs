//! Clusters of any size, and any number of them, without a world: one that has come to rest in the embedded world is copied, text by text,
//! each copy with names and addresses of its own.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use quorate_fdb_client::{Answer, Call, FoundationDb, Look, Target};
use quorate_foundationdb::DatabaseReport;
use quorate_foundationdb::decide::ClusterSnapshot;
use quorate_operator::{Bystander, ClusterKey, Watched};
use quorate_quorum::Sighting;
use quorate_world::Stage;
use quorate_world::scenery::{CLUSTER, NAMESPACE};
use quorate_world::stage::in_virtual_time;
use serde_json::{Map, Value};

use super::stage::{self, Counts};

/// The cluster that is copied: five hundred times, no class has more process groups than may be asked for.
const ORIGINAL: Counts = Counts { storage: 10, log: 6, stateless: 4 };
/// The numbers of a copy's process groups are so far from those of the one before.
const NUMBERS: u64 = 1000;
/// And so are its addresses: the world's pods have theirs in 198.18.0.0/16.
const ADDRESSES: u32 = 1 << 16;

/// Everything that is to be known of a cluster at rest, as text.
pub(super) struct Population {
    pub(super) cluster: String,
    pub(super) pods: Vec<String>,
    pub(super) claims: Vec<String>,
    pub(super) others: Vec<String>,
    /// What its database says of itself.
    pub(super) document: String,
    /// The world's time at which all that was so.
    pub(super) now: jiff::Timestamp,
}

impl Population {
    /// The cluster of the embedded world.
    pub(super) fn original() -> Result<Self> {
        in_virtual_time(async {
            let stage = stage::grown(ORIGINAL).await?;
            stage.pass(Duration::from_secs(120)).await;
            let population = Self::of(&stage).await;
            stage.end().await;
            population
        })?
    }

    async fn of(stage: &Stage) -> Result<Self> {
        let texts = |version: &str, kind: &str| -> Result<Vec<String>> {
            let listed = stage.kubernetes().list_values(version, kind, "");
            let values = listed.map_err(|status| anyhow!("listing {kind}: {status:?}"))?;
            Ok(values.iter().map(Value::to_string).collect())
        };
        let object = stage::object(stage)?;
        let connection = object.status.as_ref().and_then(|status| status.connection_string.clone()).unwrap_or_default();
        let target =
            Target { cluster: format!("{NAMESPACE}/{CLUSTER}"), connection, version: object.spec.version.clone(), tls: None };
        let look = Call::Look(Look { exclusions: true, ..Look::default() });
        let document = match stage.databases.call(&target, look, Duration::from_secs(60)).await {
            Ok(Answer::Seen(seen)) => String::from_utf8(seen.status.0)?,
            other => bail!("the database does not say how it is: {other:?}"),
        };
        let mut others = texts("v1", "Node")?;
        others.extend(texts("v1", "ConfigMap")?);
        Ok(Self {
            cluster: serde_json::to_string(&object)?,
            pods: texts("v1", "Pod")?,
            claims: texts("v1", "PersistentVolumeClaim")?,
            others,
            document,
            now: stage.now(),
        })
    }

    /// How many process groups it has.
    pub(super) fn groups(&self) -> usize {
        self.pods.len()
    }

    /// One cluster that is so many times as large.
    pub(super) fn times(&self, times: usize) -> Result<Self> {
        let all = |texts: &[String]| (0..times).flat_map(|copy| texts.iter().map(move |text| shifted(text, copy))).collect();
        let mut cluster: Value = serde_json::from_str(&self.cluster)?;
        let counts = cluster["spec"]["processCounts"].as_object_mut().context("the cluster has no counts")?;
        for count in counts.values_mut() {
            *count = Value::from(count.as_u64().unwrap_or(0) * times as u64);
        }
        let groups = cluster["status"]["processGroups"].take();
        cluster["status"]["processGroups"] =
            copies_of(groups.as_array().context("the cluster has no process groups")?, times)?.into();
        for count in ["desiredProcessGroups", "reconciledProcessGroups"] {
            cluster["status"][count] = Value::from(self.groups() * times);
        }
        cluster["status"]["quorate"]["lastProcessGroupNumber"] = Value::from(NUMBERS * times as u64);
        let mut document: Value = serde_json::from_str(&self.document)?;
        let processes = document["cluster"]["processes"].take();
        let processes = processes.as_object().context("the document has no processes")?;
        let values: Vec<Value> = processes.values().cloned().collect();
        let numbered = copies_of(&values, times)?.into_iter().enumerate();
        document["cluster"]["processes"] =
            numbered.map(|(number, process)| (format!("{number:032x}"), process)).collect::<Map<_, _>>().into();
        Ok(Self {
            cluster: cluster.to_string(),
            pods: all(&self.pods),
            claims: all(&self.claims),
            others: self.others.clone(),
            document: document.to_string(),
            now: self.now,
        })
    }

    /// A cluster like this under another name.
    pub(super) fn named(&self, name: &str) -> Self {
        let rename = |text: &String| text.replace(CLUSTER, name);
        Self {
            cluster: rename(&self.cluster),
            pods: self.pods.iter().map(rename).collect(),
            claims: self.claims.iter().map(rename).collect(),
            others: self.others.iter().map(rename).collect(),
            document: rename(&self.document),
            now: self.now,
        }
    }

    /// Shows all of it to somebody.
    pub(super) fn shown_to(&self, bystander: &mut Bystander) -> Result<()> {
        bystander.see(Watched::Cluster(serde_json::from_str(&self.cluster)?));
        for text in &self.others {
            let value: Value = serde_json::from_str(text)?;
            match value["kind"].as_str() {
                Some("Node") => bystander.see(Watched::Node(serde_json::from_value(value)?)),
                _ => bystander.see(Watched::ConfigMap(serde_json::from_value(value)?)),
            };
        }
        for text in &self.claims {
            bystander.see(Watched::Claim(serde_json::from_str(text)?));
        }
        for text in &self.pods {
            bystander.see(Watched::Pod(serde_json::from_str(text)?));
        }
        Ok(())
    }

    /// What a decision about it depends on.
    pub(super) fn snapshot(&self, by: &Bystander, report: DatabaseReport) -> Result<ClusterSnapshot> {
        let seen = Sighting::Seen { at: self.now, facts: report.into() };
        by.snapshot(&key(CLUSTER), self.now, seen).context("there is no such cluster")
    }

    /// What is planned for it, which is nothing: it is at rest.
    pub(super) fn planned(&self, by: &Bystander, report: DatabaseReport) -> Result<()> {
        let seen = Sighting::Seen { at: self.now, facts: report.into() };
        let (decision, status) = by.plan(&key(CLUSTER), self.now, seen).context("there is no such cluster")?;
        let right = status.reconciled_process_groups == status.desired_process_groups && decision.holds.is_empty();
        ensure!(right, "the plan is not that of a cluster at rest: {:?}", decision.holds.first());
        Ok(())
    }

    /// How many bytes its objects are.
    pub(super) fn bytes(&self) -> usize {
        self.cluster.len() + self.pods.iter().chain(&self.claims).chain(&self.others).map(String::len).sum::<usize>()
    }
}

/// The key of a cluster of this name.
pub(super) fn key(name: &str) -> ClusterKey {
    ClusterKey { namespace: NAMESPACE.to_owned(), name: name.to_owned() }
}

fn copies_of(values: &[Value], times: usize) -> Result<Vec<Value>> {
    let texts: Vec<String> = values.iter().map(Value::to_string).collect();
    let copies = (0..times).flat_map(|copy| texts.iter().map(move |text| serde_json::from_str(&shifted(text, copy))));
    Ok(copies.collect::<serde_json::Result<Vec<Value>>>()?)
}

/// A text in which process groups have other numbers and addresses are others: those of this copy.
fn shifted(text: &str, copy: usize) -> String {
    let mut shifted = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(from.len());
        // A full stop after a number is none of its own.
        let (number, after) = from.split_at(from[..end].trim_end_matches('.').len());
        shifted.push_str(before);
        shifted.push_str(&shifted_number(&shifted, number, copy));
        rest = after;
    }
    shifted.push_str(rest);
    shifted
}

fn shifted_number(before: &str, number: &str, copy: usize) -> String {
    let is_group = ["storage-", "log-", "stateless-"].iter().any(|class| before.ends_with(class));
    if is_group && let Ok(old) = number.parse::<u64>() {
        return (old + NUMBERS * copy as u64).to_string();
    }
    match number.parse::<std::net::Ipv4Addr>() {
        Ok(address) if address.octets()[..2] == [198, 18] => {
            let moved = address.to_bits() + ADDRESSES * u32::try_from(copy).unwrap_or(0);
            std::net::Ipv4Addr::from_bits(moved).to_string()
        }
        _ => number.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_names_and_addresses_of_its_own() {
        let text = r#"{"id":"storage-3","line":"--x=198.18.0.7:4501 --v=7.3.69 log-12.","n":44}"#;
        assert_eq!(shifted(text, 0), text);
        assert_eq!(shifted(text, 2), r#"{"id":"storage-2003","line":"--x=198.20.0.7:4501 --v=7.3.69 log-2012.","n":44}"#);
    }

    #[test]
    fn a_copied_cluster_is_at_rest_as_the_original_is() {
        let population = Population::original().unwrap().times(5).unwrap();
        let mut bystander = Bystander::default();
        population.shown_to(&mut bystander).unwrap();
        let facts = DatabaseReport::parse(population.document.as_bytes()).unwrap();
        assert_eq!(facts.processes.len(), population.groups());
        let (decision, shown) =
            bystander.plan(&key(CLUSTER), population.now, Sighting::Seen { at: population.now, facts: facts.into() }).unwrap();
        assert_eq!(shown.reconciled_process_groups, shown.desired_process_groups);
        let steps: Vec<&str> = decision.steps.iter().map(|step| step.why.as_str()).collect();
        // Nobody told the bystander of the service and of the disruption budget.
        assert_eq!(steps.len(), 2, "{steps:?}");
    }
}
