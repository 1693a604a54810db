//! Eviction: a deletion that asks the disruption budgets first.

use std::sync::Arc;

use serde_json::{Value, json};

use super::delete::DeleteOptions;
use super::object::{Metadata, object_at};
use super::request::Call;
use super::selector::Selector;
use super::state::{Outcome, Reply, State};
use super::status::Status;
use super::write::second;

impl State {
    pub(crate) fn evict(&mut self, call: &Call) -> Result<Reply, Status> {
        let pod = self.existing(call)?;
        let eviction = call.object()?;
        let wanted = &eviction["deleteOptions"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let options = DeleteOptions {
            grace: wanted["gracePeriodSeconds"].as_i64(),
            policy: text(&wanted["propagationPolicy"]),
            uid: text(&wanted["preconditions"]["uid"]),
            resource_version: text(&wanted["preconditions"]["resourceVersion"]),
            dry_run: call.options.dry_run() || wanted["dryRun"].as_array().is_some_and(|all| !all.is_empty()),
        };
        let is_over = matches!(pod.text(&["status", "phase"]), "Succeeded" | "Failed" | "Pending");
        if !is_over && !pod.is_deleting() {
            self.ask_budgets(call, &pod, options.dry_run)?;
        }
        let on_pod = Call { subresource: String::new(), ..call.clone() };
        self.delete_object(&on_pod, &pod, &options)?;
        let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(Outcome::Other { code: 201, body }.into())
    }

    /// Takes one disruption from the pod's budget, or refuses.
    fn ask_budgets(&mut self, call: &Call, pod: &Value, dry_run: bool) -> Result<(), Status> {
        let budgets: Vec<(super::store::Key, Arc<Value>)> = self
            .store
            .list("poddisruptionbudgets", &call.namespace)
            .filter(|(_, budget)| Selector::from_label_selector(&budget["spec"]["selector"]).matches(pod))
            .map(|(key, budget)| (key.clone(), Arc::clone(budget)))
            .collect();
        let (key, budget) = match budgets.as_slice() {
            [] => return Ok(()),
            [one] => one.clone(),
            _ => {
                let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(Status::new(500, "InternalError", message));
            }
        };
        let status = &budget["status"];
        let is_observed = status["observedGeneration"].as_u64() >= budget["metadata"]["generation"].as_u64();
        if !is_observed {
            let mut refusal = Status::disruption_refused(
                "Cannot evict pod as it would violate the pod's disruption budget.",
                &format!("The disruption budget {} is still being processed by the server.", key.name),
            );
            refusal.retry_after = Some(10);
            return Err(refusal);
        }
        let allowed = status["disruptionsAllowed"].as_i64().unwrap_or(0);
        // A pod that is not ready does not count for its budget, so it may go while the budget is kept.
        let is_ready = pod["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|one| one["type"] == "Ready" && one["status"] == "True");
        let current = status["currentHealthy"].as_i64().unwrap_or(0);
        let desired = status["desiredHealthy"].as_i64().unwrap_or(0);
        let always = budget.text(&["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow";
        if !is_ready && (always || (current >= desired && desired > 0)) {
            return Ok(());
        }
        if allowed < 1 {
            let cause = format!("The disruption budget {} needs {desired} healthy pods and has {current} currently", key.name);
            return Err(Status::disruption_refused("Cannot evict pod as it would violate the pod's disruption budget.", &cause));
        }
        if !dry_run {
            let mut changed = budget.as_ref().clone();
            let at = second(self.now);
            let status = object_at(&mut changed, "status");
            status.insert("disruptionsAllowed".to_owned(), (allowed - 1).into());
            object_at(&mut changed["status"], "disruptedPods").insert(call.name.clone(), at.into());
            self.commit(key, Some(changed));
        }
        Ok(())
    }
}
