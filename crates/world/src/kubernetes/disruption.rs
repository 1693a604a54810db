//! The disruption controller's work: what each budget allows right now.

use std::sync::Arc;

use serde_json::{Value, json};

use super::object::{Metadata, object_at};
use super::selector::Selector;
use super::state::State;
use super::store::Key;
use super::subresources::set_condition;
use super::write::second;

impl State {
    /// Computes the status of every budget from the pods there are. Returns how many changed.
    pub(crate) fn compute_budgets(&mut self) -> usize {
        let concerns = |storage: &str| matches!(storage, "pods" | "poddisruptionbudgets");
        if self.store.since(self.budgeted).is_some_and(|mut changes| !changes.any(|change| concerns(&change.key.storage))) {
            return 0;
        }
        let budgets: Vec<(Key, Arc<Value>)> =
            self.store.list("poddisruptionbudgets", "").map(|(key, budget)| (key.clone(), Arc::clone(budget))).collect();
        let mut changed = 0;
        for (key, budget) in budgets {
            let computed = self.computed(&key, &budget);
            if computed != *budget {
                self.commit(key, Some(computed));
                changed += 1;
            }
        }
        self.budgeted = self.store.revision();
        changed
    }

    fn computed(&self, key: &Key, budget: &Value) -> Value {
        let selector = Selector::from_label_selector(&budget["spec"]["selector"]);
        let pods: Vec<&Arc<Value>> = self
            .store
            .list("pods", &key.namespace)
            .map(|(_, pod)| pod)
            .filter(|pod| selector.matches(pod) && !matches!(pod.text(&["status", "phase"]), "Succeeded" | "Failed"))
            .collect();
        let mut disrupted = budget["status"]["disruptedPods"].as_object().cloned().unwrap_or_default();
        // A pod counts as disrupted until its deletion is seen.
        disrupted.retain(|name, _| pods.iter().any(|pod| pod.name() == name && !pod.is_deleting()));
        let is_ready = |pod: &Value| {
            pod["status"]["conditions"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|one| one["type"] == "Ready" && one["status"] == "True")
        };
        let healthy =
            pods.iter().filter(|pod| is_ready(pod) && !pod.is_deleting() && !disrupted.contains_key(pod.name())).count();
        let expected = i64::try_from(pods.len()).unwrap_or(i64::MAX);
        let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
        let spec = &budget["spec"];
        let desired = match (spec.get("minAvailable"), spec.get("maxUnavailable")) {
            (Some(minimum), _) => portion(minimum, expected),
            (None, Some(maximum)) => (expected - portion(maximum, expected)).max(0),
            (None, None) => (expected - 1).max(0),
        };
        let allowed = (healthy - desired).max(0);
        let allowed = if expected > 0 { allowed } else { 0 };
        let mut computed = budget.clone();
        let generation = budget["metadata"]["generation"].clone();
        let status = object_at(&mut computed, "status");
        for (name, value) in [
            ("currentHealthy", healthy),
            ("desiredHealthy", desired),
            ("disruptionsAllowed", allowed),
            ("expectedPods", expected),
        ] {
            status.insert(name.to_owned(), value.into());
        }
        status.insert("observedGeneration".to_owned(), generation.clone());
        if disrupted.is_empty() {
            status.shift_remove("disruptedPods");
        } else {
            status.insert("disruptedPods".to_owned(), disrupted.into());
        }
        let (truth, reason) = if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
        let before =
            budget["status"]["conditions"].as_array().into_iter().flatten().find(|one| one["type"] == "DisruptionAllowed");
        let since = before
            .filter(|one| one["status"] == truth)
            .map_or_else(|| second(self.now).into(), |one| one["lastTransitionTime"].clone());
        set_condition(
            &mut computed,
            json!({"lastTransitionTime": since, "message": "", "observedGeneration": generation, "reason": reason, "status": truth, "type": "DisruptionAllowed"}),
        );
        computed
    }
}

/// A number, or a percentage of all, rounded up.
fn portion(amount: &Value, all: i64) -> i64 {
    let percent = amount.as_str().and_then(|text| text.strip_suffix('%')).and_then(|text| text.parse::<i64>().ok());
    percent.map_or_else(|| amount.as_i64().unwrap_or(0), |percent| (percent * all + 99) / 100)
}
