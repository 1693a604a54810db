//! What a user sees: the object, its status, and what is in the namespace.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::stage::{CLUSTER, NAMESPACE, Stage};

/// The world as it is now, read when asked.
#[derive(Clone, Copy)]
pub struct View<'a>(pub &'a Stage);

/// A process group, as the status shows it.
#[derive(Clone, Debug)]
pub struct Group {
    pub class: String,
    pub zone: Option<String>,
    /// Marked for removal.
    pub going: bool,
    pub conditions: BTreeSet<String>,
}

impl View<'_> {
    pub fn object(self) -> Value {
        self.0.kubernetes().get_value("apps.foundationdb.org/v1beta2", "FoundationDBCluster", NAMESPACE, CLUSTER).unwrap()
    }

    pub fn status(self) -> Value {
        self.object()["status"].take()
    }

    /// By their IDs.
    pub fn groups(self) -> BTreeMap<String, Group> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let group = |group: &Value| {
            let conditions = group["processGroupConditions"].as_array().into_iter().flatten();
            let shown = Group {
                class: text(&group["processClass"])?,
                zone: text(&group["faultDomain"]),
                going: group["removalTimestamp"].is_string(),
                conditions: conditions.filter_map(|condition| text(&condition["type"])).collect(),
            };
            Some((text(&group["processGroupID"])?, shown))
        };
        self.status()["processGroups"].as_array().into_iter().flatten().filter_map(group).collect()
    }

    /// The IDs of the process groups of a class that are not to go.
    pub fn live(self, class: &str) -> Vec<String> {
        let groups = self.groups();
        groups.into_iter().filter(|(_, group)| group.class == class && !group.going).map(|(id, _)| id).collect()
    }

    pub fn has(self, group: &str) -> bool {
        self.groups().contains_key(group)
    }

    /// The conditions of a process group; none if it is gone.
    pub fn conditions(self, group: &str) -> BTreeSet<String> {
        self.groups().remove(group).map(|group| group.conditions).unwrap_or_default()
    }

    /// The reasons of all holds.
    pub fn holds(self) -> BTreeSet<String> {
        let status = self.status();
        let holds = status["quorate"]["holds"].as_array().into_iter().flatten();
        holds.filter_map(|hold| hold["reason"].as_str().map(str::to_owned)).collect()
    }

    pub fn held(self, reason: &str) -> bool {
        self.holds().contains(reason)
    }

    /// The sentences of all holds.
    pub fn sentences(self) -> Vec<String> {
        let status = self.status();
        let holds = status["quorate"]["holds"].as_array().into_iter().flatten();
        holds
            .map(|hold| format!("{}: {}", hold["reason"].as_str().unwrap_or("?"), hold["sentence"].as_str().unwrap_or("?")))
            .collect()
    }

    /// The status of a condition of the object, such as `Held`.
    pub fn condition(self, kind: &str) -> Option<(String, String)> {
        let status = self.status();
        let conditions = status["conditions"].as_array()?;
        let found = conditions.iter().find(|condition| condition["type"] == kind)?;
        Some((found["status"].as_str()?.to_owned(), found["message"].as_str()?.to_owned()))
    }

    pub fn is_available(self) -> bool {
        self.status()["health"]["available"] == true
    }

    /// The newest wish is carried out and nothing is held.
    pub fn is_at_rest(self) -> bool {
        let object = self.object();
        let status = &object["status"];
        status["generations"]["reconciled"] == object["metadata"]["generation"]
            && status["quorate"]["holds"].as_array().is_none_or(Vec::is_empty)
            && status["reconciledProcessGroups"] == status["desiredProcessGroups"]
            && status["processGroups"].as_array().map(Vec::len).map(Value::from).as_ref() == Some(&status["desiredProcessGroups"])
    }

    /// All pods of the cluster, by the IDs of their process groups.
    pub fn pods(self) -> BTreeMap<String, Value> {
        self.labelled("v1", "Pod")
    }

    pub fn pod(self, group: &str) -> Option<Value> {
        self.pods().remove(group)
    }

    /// Which pod a process group has now; tells a new one from the one before.
    pub fn uid(self, group: &str) -> Option<String> {
        Some(self.pod(group)?["metadata"]["uid"].as_str()?.to_owned())
    }

    /// All volume claims of the cluster, by the IDs of their process groups.
    pub fn claims(self) -> BTreeMap<String, Value> {
        self.labelled("v1", "PersistentVolumeClaim")
    }

    pub fn services(self) -> BTreeMap<String, Value> {
        self.labelled("v1", "Service")
    }

    fn labelled(self, version: &str, kind: &str) -> BTreeMap<String, Value> {
        let all = self.0.kubernetes().list_values(version, kind, NAMESPACE).unwrap();
        let group =
            |object: &Value| object["metadata"]["labels"]["foundationdb.org/fdb-process-group-id"].as_str().map(str::to_owned);
        all.into_iter().filter_map(|object| Some((group(&object)?, object))).collect()
    }

    /// What the database says of itself.
    pub fn report(self) -> Value {
        self.0.truth(|database| database.status(&database.connection()))
    }

    /// The processes of a group, as the database reports them.
    pub fn processes(self, group: &str) -> Vec<Value> {
        let mut report = self.report();
        let processes = report["cluster"]["processes"].as_object_mut().map(std::mem::take).unwrap_or_default();
        processes.into_iter().map(|(_, process)| process).filter(|process| process["locality"]["instance_id"] == group).collect()
    }

    /// Whether every process of every group of a class was started with this argument.
    pub fn all_run_with(self, class: &str, argument: &str) -> bool {
        self.live(class).iter().all(|group| self.runs_with(group, argument))
    }

    pub fn runs_with(self, group: &str, argument: &str) -> bool {
        let processes = self.processes(group);
        let has = |process: &Value| process["command_line"].as_str().is_some_and(|line| line.contains(argument));
        !processes.is_empty() && processes.iter().all(has)
    }

    /// The process groups that coordinate.
    pub fn coordinators(self) -> BTreeSet<String> {
        let status = self.status();
        let connection = status["connectionString"].as_str().unwrap_or_default();
        let addresses = connection.split_once('@').map_or("", |(_, addresses)| addresses);
        let pods = self.pods();
        let coordinates = |host: &str, pod: &Value| {
            pod["status"]["podIP"] == host || pod["metadata"]["name"].as_str() == host.split('.').next()
        };
        let group = |address: &str| {
            let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
            pods.iter().find(|(_, pod)| coordinates(host, pod)).map_or_else(|| host.to_owned(), |(id, _)| id.clone())
        };
        addresses.split(',').map(group).collect()
    }

    /// How the database is configured, by the names of `configure`.
    pub fn configuration(self) -> Value {
        self.report()["cluster"]["configuration"].take()
    }
}
