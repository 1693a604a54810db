//! Deletion: at once, gracefully, or after the last finalizer.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::object::Metadata;
use super::request::Call;
use super::selector::Selector;
use super::state::{Outcome, Reply, State};
use super::status::{Cause, Status};
use super::write::second;

/// What a `DeleteOptions` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    pub(crate) grace: Option<i64>,
    pub(crate) policy: Option<String>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    fn of(call: &Call) -> Result<Self, Status> {
        // With a body the query is not looked at, not even for `dryRun`.
        let has_body = !call.body.is_empty();
        let body: Value = if has_body { call.object()? } else { json!({}) };
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let query = |key: &str| Some(call.options.text(key)).filter(|text| !has_body && !text.is_empty()).map(str::to_owned);
        let orphan = body["orphanDependents"].as_bool().map(|orphan| if orphan { "Orphan" } else { "Background" }.to_owned());
        let policy = text(&body["propagationPolicy"]).or_else(|| query("propagationPolicy")).or(orphan);
        if let Some(policy) = policy.as_deref().filter(|policy| !["Background", "Foreground", "Orphan"].contains(policy)) {
            let supported = ["Foreground", "Background", "Orphan", "nil"].map(str::to_owned);
            return Err(Status::invalid_options(
                "DeleteOptions",
                &Cause::not_supported("propagationPolicy", &json!(policy), &supported),
            ));
        }
        Ok(Self {
            grace: body["gracePeriodSeconds"].as_i64().or_else(|| query("gracePeriodSeconds")?.parse().ok()),
            policy,
            uid: text(&body["preconditions"]["uid"]),
            resource_version: text(&body["preconditions"]["resourceVersion"]),
            dry_run: query("dryRun").is_some_and(|text| text == "All")
                || body["dryRun"].as_array().is_some_and(|all| all.contains(&json!("All"))),
        })
    }
}

impl State {
    pub(crate) fn delete(&mut self, call: &Call) -> Result<Reply, Status> {
        let options = DeleteOptions::of(call)?;
        let old = self.existing(call)?;
        let (object, gone) = self.delete_object(call, &old, &options)?;
        let answers_object = !gone || call.resource.manners.answers_deleted;
        if answers_object {
            return Ok(Outcome::Object { code: 200, resource: Arc::clone(&call.resource), object }.into());
        }
        let mut details = json!({"name": call.name});
        if !call.resource.group.is_empty() {
            details["group"] = call.resource.group.clone().into();
        }
        details["kind"] = call.resource.plural.clone().into();
        details["uid"] = old.uid().into();
        let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
        Ok(Outcome::Other { code: 200, body }.into())
    }

    pub(crate) fn delete_collection(&mut self, call: &Call) -> Result<Reply, Status> {
        let options = DeleteOptions::of(call)?;
        let selector = Selector::parse(&call.resource, call.options.text("labelSelector"), call.options.text("fieldSelector"))?;
        let matching: Vec<Arc<Value>> = self
            .store
            .list(&call.resource.storage, &call.namespace)
            .map(|(_, object)| Arc::clone(object))
            .filter(|object| selector.matches(object))
            .collect();
        for object in &matching {
            let one = Call { namespace: object.namespace().to_owned(), name: object.name().to_owned(), ..call.clone() };
            self.delete_object(&one, object, &options)?;
        }
        let metadata = json!({"resourceVersion": self.store.revision().to_string()});
        Ok(Outcome::List { resource: Arc::clone(&call.resource), items: matching, metadata }.into())
    }

    /// Deletes one object, or marks it. Says whether it is gone.
    pub(crate) fn delete_object(
        &mut self,
        call: &Call,
        old: &Arc<Value>,
        options: &DeleteOptions,
    ) -> Result<(Arc<Value>, bool), Status> {
        check_preconditions(call, old, options)?;
        let mut object = old.as_ref().clone();
        set_propagation(&mut object, options.policy.as_deref());
        let grace = grace_period(call, &object, options);
        let waits = !object.finalizers().is_empty() || grace > 0 || call.resource.storage == "namespaces";
        if !waits {
            // A pod is marked before it goes, even when it goes at once; who watches sees both.
            if call.resource.storage == "pods" {
                mark(&mut object, old, &second(self.now), 0);
                if !options.dry_run {
                    self.commit(Self::key(call), Some(object.clone()));
                }
            }
            if !options.dry_run {
                self.commit(Self::key(call), None);
            }
            return Ok((Arc::new(object), true));
        }
        let is_sooner = object["metadata"]["deletionGracePeriodSeconds"].as_i64().is_none_or(|before| grace < before);
        if !object.is_deleting() || is_sooner {
            let at = self.now.checked_add(SignedDuration::from_secs(grace)).unwrap_or(self.now);
            mark(&mut object, old, &second(at), grace);
            // Namespaces have no grace of their own.
            if call.resource.storage == "namespaces" {
                object.metadata().shift_remove("deletionGracePeriodSeconds");
            }
        }
        if call.resource.storage == "namespaces" {
            object["status"]["phase"] = "Terminating".into();
        }
        if object == **old {
            return Ok((Arc::clone(old), false));
        }
        let object = if options.dry_run { Arc::new(object) } else { self.commit(Self::key(call), Some(object)) };
        Ok((object, false))
    }
}

/// The wish to delete is a new generation, once.
fn mark(object: &mut Value, old: &Value, at: &str, grace: i64) {
    if let Some(generation) = object["metadata"]["generation"].as_u64().filter(|_| !old.is_deleting()) {
        object["metadata"]["generation"] = (generation + 1).into();
    }
    object["metadata"]["deletionTimestamp"] = at.into();
    object["metadata"]["deletionGracePeriodSeconds"] = grace.into();
}

fn check_preconditions(call: &Call, old: &Value, options: &DeleteOptions) -> Result<(), Status> {
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != old.uid()) {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            old.uid()
        );
        return Err(Status::kind_conflict(&call.resource, &call.name, &why));
    }
    if let Some(version) = options.resource_version.as_deref().filter(|version| *version != old.resource_version()) {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have been modified",
            old.resource_version()
        );
        return Err(Status::kind_conflict(&call.resource, &call.name, &why));
    }
    Ok(())
}

/// The garbage collector learns by a finalizer what is to become of dependents.
fn set_propagation(object: &mut Value, policy: Option<&str>) {
    let Some(policy) = policy else { return };
    let mut finalizers: Vec<String> = object
        .finalizers()
        .into_iter()
        .filter(|one| !["orphan", "foregroundDeletion"].contains(one))
        .map(str::to_owned)
        .collect();
    match policy {
        "Orphan" => finalizers.push("orphan".to_owned()),
        "Foreground" => finalizers.push("foregroundDeletion".to_owned()),
        _ => {}
    }
    if finalizers.is_empty() {
        object.metadata().shift_remove("finalizers");
    } else {
        object.metadata().insert("finalizers".to_owned(), finalizers.into());
    }
}

/// Only a pod that runs somewhere has time to end.
fn grace_period(call: &Call, object: &Value, options: &DeleteOptions) -> i64 {
    let is_over = matches!(object.text(&["status", "phase"]), "Succeeded" | "Failed");
    if call.resource.storage != "pods" || object.text(&["spec", "nodeName"]).is_empty() || is_over {
        return 0;
    }
    let already = object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    let own = object["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
    let asked = options.grace.unwrap_or_else(|| already.unwrap_or(own)).max(0);
    already.map_or(asked, |already| asked.min(already))
}
