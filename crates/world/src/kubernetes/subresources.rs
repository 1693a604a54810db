//! `scale` and `binding`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::object::{Metadata, object_at};
use super::request::{Call, Verb};
use super::state::{Outcome, Reply, State};
use super::status::Status;
use super::write::second;
use super::{patch, present};

impl State {
    pub(crate) fn get_scale(&self, call: &Call) -> Result<Reply, Status> {
        let object = self.existing(call)?;
        Ok(Outcome::Other { code: 200, body: scale_of(call, &object) }.into())
    }

    pub(crate) fn set_scale(&mut self, call: &Call) -> Result<Reply, Status> {
        let old = self.existing(call)?;
        let before = scale_of(call, &old);
        let scale = if call.verb == Verb::Patch {
            patch::apply(patch::kind(&call.resource, &call.content_type)?, call.body.bytes(), &before)?
        } else {
            call.object()?
        };
        let version = scale.resource_version();
        if !version.is_empty() && version != old.resource_version() {
            return Err(Status::modified(&call.resource, &call.name));
        }
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        let mut object = present::versioned(&call.resource, &old);
        set_at(&mut object, scale_path(call, "specReplicasPath"), replicas.into());
        let on_object = Call { subresource: String::new(), ..call.clone() };
        let reply = self.replace(&on_object, &old, object, vec![])?;
        let Outcome::Object { object, .. } = &reply.outcome else { return Ok(reply) };
        let body = scale_of(call, object);
        Ok(Outcome::Other { code: 200, body }.into())
    }

    /// A scheduler puts a pod on a node.
    pub(crate) fn bind(&mut self, call: &Call) -> Result<Reply, Status> {
        let old = self.existing(call)?;
        let binding = call.object()?;
        let node = binding.text(&["target", "name"]);
        let assigned = old.text(&["spec", "nodeName"]);
        let conflict = |why: String| Err(Status::subresource_conflict(&call.resource, "binding", &call.name, &why));
        if !assigned.is_empty() {
            return conflict(format!("pod {} is already assigned to node \"{assigned}\"", call.name));
        }
        if old.is_deleting() {
            return conflict(format!("pod {} is being deleted, cannot be assigned to a host", call.name));
        }
        if old["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
            return conflict(format!("pod {} has non-empty .spec.schedulingGates", call.name));
        }
        let mut pod = old.as_ref().clone();
        pod["spec"]["nodeName"] = node.into();
        for (key, value) in binding["metadata"]["annotations"].as_object().cloned().into_iter().flatten() {
            object_at(&mut pod["metadata"], "annotations").insert(key, value);
        }
        set_condition(
            &mut pod,
            json!({"lastProbeTime": null, "lastTransitionTime": second(self.now), "status": "True", "type": "PodScheduled"}),
        );
        if !call.options.dry_run() {
            self.commit(Self::key(call), Some(pod));
        }
        let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(Outcome::Other { code: 201, body }.into())
    }
}

/// Puts a condition in place of the one of its type.
pub(crate) fn set_condition(object: &mut Value, condition: Value) {
    let status = object_at(object, "status");
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if let Some(conditions) = conditions.as_array_mut() {
        match conditions.iter_mut().find(|one| one["type"] == condition["type"]) {
            Some(slot) => *slot = condition,
            None => conditions.push(condition),
        }
    }
}

fn scale_path<'a>(call: &'a Call, name: &str) -> &'a str {
    call.resource
        .custom
        .as_ref()
        .and_then(|custom| custom.scale.as_ref())
        .and_then(|scale| scale[name].as_str())
        .unwrap_or_default()
}

fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.').filter(|part| !part.is_empty()).fold(object, |value, key| &value[key])
}

fn set_at(object: &mut Value, path: &str, value: Value) {
    *path.split('.').filter(|part| !part.is_empty()).fold(object, |value, key| &mut value[key]) = value;
}

fn scale_of(call: &Call, object: &Arc<Value>) -> Value {
    let number = |path: &str| at(object, path).as_i64().unwrap_or(0);
    let kept = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata: serde_json::Map<String, Value> =
        kept.iter().filter_map(|key| Some(((*key).to_owned(), object["metadata"].get(*key)?.clone()))).collect();
    let mut status = json!({"replicas": number(scale_path(call, "statusReplicasPath"))});
    let selector = scale_path(call, "labelSelectorPath");
    if let (false, Some(text)) = (selector.is_empty(), at(object, selector).as_str()) {
        status["selector"] = text.into();
    }
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": number(scale_path(call, "specReplicasPath"))},
        "status": status,
    })
}
