//! What lies between the operator and its world: writes are noted, some are refused, events may be late, and some servers complain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::future::BoxFuture;
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Management, Octets, Target};
use quorate_world::database::Databases;
use quorate_world::kubernetes::{CallInfo, Delivery, Done, Interceptor, Status, Verdict, WatchInfo};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// The wire of a stage.
#[derive(Default)]
pub struct Wire {
    state: Mutex<State>,
    /// Something was written.
    pub happened: Notify,
}

#[derive(Default)]
struct State {
    story: Vec<String>,
    /// How many pods there are, and how many the namespace's quota allows.
    pods: usize,
    most_pods: Option<usize>,
    /// After so many more writes the operator dies.
    writes_to_live: Option<u64>,
    /// Operators that have died: nothing of them goes on.
    dead: BTreeSet<String>,
    /// What servers complain of, by process group.
    complaints: BTreeMap<String, String>,
    /// The kinds of objects of whose changes operators hear nothing for now.
    late: BTreeSet<String>,
}

impl Wire {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Everything the operator did so far, to Kubernetes and to the database; not counting its lease and its events.
    pub fn story(&self) -> Vec<String> {
        self.state().story.clone()
    }

    pub fn has_quota(&self) -> bool {
        self.state().most_pods.is_some()
    }

    pub fn there_are_pods(&self, count: usize) {
        self.state().pods = count;
    }

    pub fn allow_pods(&self, most: Option<usize>) {
        self.state().most_pods = most;
    }

    pub fn die_after_writes(&self, count: u64) {
        self.state().writes_to_live = Some(count);
    }

    /// Whether the operator died since this was asked last.
    pub fn has_died(&self) -> bool {
        self.state().writes_to_live.take_if(|left| *left == 0).is_some()
    }

    /// Nothing that an operator does arrives any more.
    pub fn bury(&self, operator: &str) {
        self.state().dead.insert(operator.to_owned());
    }

    pub fn complain(&self, group: &str, of: &str) {
        self.state().complaints.insert(group.to_owned(), of.to_owned());
    }

    /// Operators hear of no change to objects of these kinds.
    pub fn be_late(&self, kinds: &[&str]) {
        self.state().late = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    }

    fn tell(&self, what: String) {
        self.state().story.push(what);
        self.happened.notify_one();
    }
}

fn is_noted(call: &CallInfo) -> bool {
    let writes = !matches!(call.verb, "get" | "list" | "watch");
    writes
        && call.client.starts_with(super::stage::OPERATOR)
        && !call.resource.starts_with("leases")
        && !call.resource.starts_with("events")
}

impl Interceptor for Wire {
    fn before(&self, call: &CallInfo) -> Verdict {
        let mut state = self.state();
        if state.dead.contains(&call.client) {
            return Verdict::Lose;
        }
        if !is_noted(call) {
            return Verdict::Pass;
        }
        if let Some(left) = state.writes_to_live.as_mut().filter(|left| **left > 0) {
            *left -= 1;
            if *left == 0 {
                state.dead.insert(call.client.clone());
                return Verdict::Silence;
            }
        }
        if call.verb == "create" && call.resource == "pods" && state.most_pods.is_some_and(|most| state.pods >= most) {
            return Verdict::Refuse(Status::injected(403, "Forbidden", "exceeded quota: pods"));
        }
        Verdict::Pass
    }

    fn deliver(&self, watch: &WatchInfo, _event: &str, _name: &str) -> Delivery {
        let is_late = watch.client.starts_with(super::stage::OPERATOR) && self.state().late.contains(&watch.resource);
        if is_late { Delivery::Hold } else { Delivery::Now }
    }

    fn after(&self, call: &CallInfo, done: &Done<'_>) {
        if call.verb == "create" && call.resource == "pods" && done.code < 300 {
            self.state().pods += 1;
        }
        if is_noted(call) {
            let name = done.after.and_then(|object| object["metadata"]["name"].as_str()).unwrap_or(&call.name);
            let sub = if call.subresource.is_empty() { String::new() } else { format!("/{}", call.subresource) };
            self.tell(format!("{} {}{sub} {name} -> {}", call.verb, call.resource, done.code));
        }
    }
}

/// The operator's connection to the databases.
pub struct Line {
    pub operator: String,
    pub databases: Databases,
    pub wire: Arc<Wire>,
}

impl FoundationDb for Line {
    fn call<'a>(&'a self, target: &'a Target, call: Call, deadline: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            if self.wire.state().dead.contains(&self.operator) {
                return std::future::pending().await;
            }
            let asked = described(&call);
            let answer = self.databases.call(target, call, deadline).await;
            if let Some(asked) = asked {
                let said = if answer.is_ok() { "done" } else { "failed" };
                self.wire.tell(format!("database: {asked} -> {said}"));
            }
            answer.map(|answer| self.with_complaints(answer))
        })
    }
}

impl Line {
    fn with_complaints(&self, answer: Answer) -> Answer {
        let complaints = self.wire.state().complaints.clone();
        let Answer::Seen(mut seen) = answer else { return answer };
        if !complaints.is_empty()
            && let Ok(mut report) = serde_json::from_slice::<Value>(&seen.status.0)
        {
            for process in report["cluster"]["processes"].as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
                let group = process["locality"]["instance_id"].as_str().unwrap_or_default();
                if let Some(of) = complaints.get(group) {
                    process["messages"] = json!([{"name": of, "description": "injected"}]);
                }
            }
            seen.status = Octets(serde_json::to_vec(&report).unwrap());
        }
        Answer::Seen(seen)
    }
}

/// What a call changes, in words.
fn described(call: &Call) -> Option<String> {
    let commit = match call {
        Call::Look(_) => return None,
        Call::Kill(addresses) => return Some(format!("kill {}", addresses.join(" "))),
        Call::Commit(commit) => commit,
    };
    Some(match commit.manage.as_ref()? {
        Management::Exclude(places) => format!("exclude {}", places.join(" ")),
        Management::Include(places) | Management::IncludeBlindly(places) => format!("include {}", places.join(" ")),
        Management::Coordinators(addresses) => format!("coordinators {}", addresses.join(" ")),
        Management::Configure(change) if change.new.is_some() => "create".to_owned(),
        Management::Configure(change) => format!("configure {}", change.keys.keys().cloned().collect::<Vec<_>>().join(" ")),
        other => format!("{other:?}"),
    })
}
