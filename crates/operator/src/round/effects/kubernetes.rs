//! What is done to Kubernetes' objects. Creates need no guard, because a name can't be given twice; everything else carries the uid and the
//! state that the decision saw, and fails if they are no longer so.

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Status;
use kube::{Api, Resource};
use quorate_foundationdb::Desired;
use quorate_foundationdb::decide::{Adds, ClusterStep, TakesAway};
use quorate_foundationdb::objects::{Tags, annotations};
use quorate_quorum::{Effect, Gate, Guard};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Hands, Stopped, made};
use crate::index::Kind;
use crate::round::Expected;

/// How long a call to the API server may take. kube has no limit of its own.
const CALL_DEADLINE: Duration = Duration::from_secs(10);

/// An object in the namespace of a cluster.
trait Namespaced:
    Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope> + Clone + Serialize + DeserializeOwned + Debug
{
}

impl<K> Namespaced for K where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope> + Clone + Serialize + DeserializeOwned + Debug
{
}

impl Hands {
    pub(in crate::round) async fn perform_in_kubernetes(
        &self,
        desired: &Desired,
        step: &ClusterStep,
        expected: &mut Expected,
    ) -> Result<(), Stopped> {
        let namespace = &desired.namespace;
        match &step.effect {
            Effect::Adds(adds) => {
                self.add(desired, adds, &step.guard).await?;
                if let Some((kind, name)) = made(step) {
                    expected.appears.insert((kind, name.to_owned()));
                }
            }
            Effect::TakesAway { action, permit: _ } => match action {
                TakesAway::Pod(name) => self.delete::<Pod>("delete-pod", namespace, name, &step.guard).await?,
                TakesAway::PodForAnother { name, next } => {
                    self.rehearse(namespace, next).await?;
                    self.delete::<Pod>("delete-pod", namespace, name, &step.guard).await?;
                }
                TakesAway::Claim(name) => {
                    self.delete::<PersistentVolumeClaim>("delete-claim", namespace, name, &step.guard).await?;
                }
                TakesAway::Service(name) => self.delete::<Service>("delete-service", namespace, name, &step.guard).await?,
                TakesAway::Exclude(_) | TakesAway::Coordinators(_) | TakesAway::Kill(_) => {}
            },
        }
        if let (Some((kind, name)), Some(guard)) = (changed(step), &step.guard.object) {
            expected.leaves.insert((kind, name.to_owned()), guard.resource_version.clone());
        }
        Ok(())
    }

    async fn add(&self, desired: &Desired, adds: &Adds, guard: &Guard) -> Result<(), Stopped> {
        let namespace = &desired.namespace;
        match adds {
            Adds::Pod(pod) => self.create("pod", namespace, pod.as_ref()).await,
            Adds::Claim(claim) => self.create("claim", namespace, claim.as_ref()).await,
            Adds::Service(service) => self.create("service", namespace, service.as_ref()).await,
            Adds::ConfigMap(map) => self.create("config-map", namespace, map.as_ref()).await,
            Adds::DisruptionBudget(budget) => self.create("disruption-budget", namespace, budget.as_ref()).await,
            Adds::ConfigMapAgain { map, back } => {
                let name = map.metadata.name.as_deref().unwrap_or_default();
                let patch = config_map_patch(map, back);
                self.patch::<ConfigMap>("config-map-again", namespace, name, guard, patch).await
            }
            Adds::MinAvailable { name, min_available } => {
                let patch = json!({"spec": {"minAvailable": min_available}});
                self.patch::<PodDisruptionBudget>("min-available", namespace, name, guard, patch).await
            }
            Adds::ClaimSize { name, size } => {
                let patch = json!({"spec": {"resources": {"requests": {"storage": size}}}});
                self.patch::<PersistentVolumeClaim>("claim-size", namespace, name, guard, patch).await
            }
            Adds::ClaimOwner { name, owner } => {
                let owner = match owner {
                    Some(owner) => json!(owner),
                    None => json!({"$patch": "delete", "uid": desired.uid}),
                };
                let patch = json!({"metadata": {"ownerReferences": [owner]}});
                self.patch::<PersistentVolumeClaim>("claim-owner", namespace, name, guard, patch).await
            }
            Adds::PodTags { name, tags } => {
                self.patch::<Pod>("pod-metadata", namespace, name, guard, json!({"metadata": tags})).await
            }
            Adds::ClaimTags { name, tags } => {
                let patch = json!({"metadata": tags});
                self.patch::<PersistentVolumeClaim>("claim-metadata", namespace, name, guard, patch).await
            }
            Adds::ServiceTags { name, tags } => {
                self.patch::<Service>("service-metadata", namespace, name, guard, json!({"metadata": tags})).await
            }
            Adds::DisruptionBudgetTags { name, tags } => {
                let patch = json!({"metadata": tags});
                self.patch::<PodDisruptionBudget>("disruption-budget-metadata", namespace, name, guard, patch).await
            }
            Adds::Database { .. } | Adds::Configuration(_) | Adds::Include(_) | Adds::Lock { .. } | Adds::DenyList { .. } => {
                Ok(())
            }
        }
    }

    async fn create<K: Namespaced>(&self, effect: &'static str, namespace: &str, object: &K) -> Result<(), Stopped> {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        self.call(effect, api.create(&PostParams::default(), object)).await.map(|_| ())
    }

    /// Asks the API whether it would take a pod, once for all that are asked to be alike: what it refuses must not cost the pod that is
    /// there.
    async fn rehearse(&self, namespace: &str, pod: &Pod) -> Result<(), Stopped> {
        let asked_for = pod.metadata.annotations.as_ref().and_then(|all| all.get(annotations::ASKED_FOR)).cloned();
        let key = (namespace.to_owned(), asked_for.unwrap_or_default());
        if self.rehearsed.lock().is_ok_and(|rehearsed| rehearsed.contains(&key)) {
            return Ok(());
        }
        let api: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let rehearsal = PostParams { dry_run: true, ..PostParams::default() };
        match self.call("rehearse-pod", api.create(&rehearsal, pod)).await {
            // The API looks at what it is asked to take before it looks whether the name is free.
            Ok(_) | Err(Stopped::Taken) => {
                if let Ok(mut rehearsed) = self.rehearsed.lock() {
                    rehearsed.insert(key);
                }
                Ok(())
            }
            Err(stopped) => Err(stopped),
        }
    }

    /// Patches the object the guard names. A strategic patch, so that lists keep what others put into them; with a uid and a state in it,
    /// the API server refuses it for any other.
    async fn patch<K: Namespaced>(
        &self,
        effect: &'static str,
        namespace: &str,
        name: &str,
        guard: &Guard,
        patch: Value,
    ) -> Result<(), Stopped> {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let patch = Patch::Strategic(guarded(patch, guard));
        self.call(effect, api.patch(name, &PatchParams::default(), &patch)).await.map(|_| ())
    }

    async fn delete<K: Namespaced>(
        &self,
        effect: &'static str,
        namespace: &str,
        name: &str,
        guard: &Guard,
    ) -> Result<(), Stopped> {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let guard = guard.object.as_ref().filter(|_| Gate::DeleteGuard.stands());
        let preconditions = guard
            .map(|guard| Preconditions { uid: Some(guard.uid.clone()), resource_version: Some(guard.resource_version.clone()) });
        let params = DeleteParams { preconditions, ..DeleteParams::default() };
        self.call(effect, api.delete(name, &params)).await.map(|_| ())
    }

    /// Makes a call and judges its answer.
    pub(in crate::round) async fn call<T>(
        &self,
        effect: &'static str,
        call: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Stopped> {
        let judged = match timeout(CALL_DEADLINE, call).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(kube::Error::Api(status))) if status.is_already_exists() => Err(Stopped::Taken),
            Ok(Err(kube::Error::Api(status))) if is_stale(&status) => Err(Stopped::Changed),
            Ok(Err(kube::Error::Api(status))) => Err(Stopped::Failed(status.message.clone())),
            Ok(Err(error)) => Err(Stopped::Silent(error.to_string())),
            Err(_) => Err(Stopped::Silent(format!("no answer from the API server within {} s", CALL_DEADLINE.as_secs()))),
        };
        self.metrics.effect(effect, judged.is_ok());
        judged
    }
}

/// The object that a step changes or deletes.
fn changed(step: &ClusterStep) -> Option<(Kind, &str)> {
    match &step.effect {
        Effect::Adds(Adds::ConfigMapAgain { map, .. }) => {
            Some((Kind::ConfigMaps, map.metadata.name.as_deref().unwrap_or_default()))
        }
        Effect::Adds(Adds::MinAvailable { name, .. } | Adds::DisruptionBudgetTags { name, .. }) => Some((Kind::Budgets, name)),
        Effect::Adds(Adds::ClaimSize { name, .. } | Adds::ClaimOwner { name, .. } | Adds::ClaimTags { name, .. })
        | Effect::TakesAway { action: TakesAway::Claim(name), .. } => Some((Kind::Claims, name)),
        Effect::Adds(Adds::PodTags { name, .. })
        | Effect::TakesAway { action: TakesAway::Pod(name) | TakesAway::PodForAnother { name, .. }, .. } => {
            Some((Kind::Pods, name))
        }
        Effect::Adds(Adds::ServiceTags { name, .. }) | Effect::TakesAway { action: TakesAway::Service(name), .. } => {
            Some((Kind::Services, name))
        }
        Effect::Adds(_) | Effect::TakesAway { .. } => None,
    }
}

/// What a ConfigMap shall say, and what it shall not say any more. What others added is not named here, so it stays.
fn config_map_patch(map: &ConfigMap, back: &Tags) -> Value {
    let ConfigMap { binary_data, data, immutable: _, metadata } = map;
    let mut patch = json!({"metadata": {}});
    let mut put = |place: &str, name: &str, value: Value| {
        if !value.is_null() {
            let object = if place.is_empty() { &mut patch } else { &mut patch[place] };
            object[name] = value;
        }
    };
    put("", "data", json!(data));
    put("", "binaryData", json!(binary_data));
    put("metadata", "labels", json!(metadata.labels));
    put("metadata", "annotations", json!(metadata.annotations));
    put("metadata", "ownerReferences", json!(metadata.owner_references));
    for (place, keys) in [("labels", back.labels.keys()), ("annotations", back.annotations.keys())] {
        for key in keys {
            patch["metadata"][place][key] = Value::Null;
        }
    }
    patch
}

fn guarded(mut patch: Value, guard: &Guard) -> Value {
    if let Some(object) = &guard.object {
        patch["metadata"]["uid"] = json!(object.uid);
        patch["metadata"]["resourceVersion"] = json!(object.resource_version);
    }
    patch
}

/// The object is gone, or is another one, or has changed. kube's helpers look at the reason only, a proxy may send the code only.
fn is_stale(status: &Status) -> bool {
    status.is_conflict() || status.is_not_found() || status.code == 409 || status.code == 404
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_quorum::Epoch;

    #[test]
    fn a_patch_names_the_object_it_was_decided_for() {
        let guard = Guard::epoch(Epoch(1)).and_object("u", "7");
        let patch = guarded(json!({"spec": {"minAvailable": 3}}), &guard);
        assert_eq!(patch, json!({"spec": {"minAvailable": 3}, "metadata": {"uid": "u", "resourceVersion": "7"}}));
    }

    #[test]
    fn a_config_map_is_patched_with_what_is_ours_only() {
        let map: ConfigMap = serde_json::from_value(json!({
            "metadata": {"name": "sample-config", "namespace": "ns", "labels": {"a": "b"}}, "data": {"cluster-file": "x"},
        }))
        .unwrap();
        let patch = |back: Tags| config_map_patch(&map, &back);
        assert_eq!(patch(Tags::default()), json!({"data": {"cluster-file": "x"}, "metadata": {"labels": {"a": "b"}}}));
        let back = Tags { labels: [("c".to_owned(), None)].into(), annotations: [("d".to_owned(), None)].into() };
        assert_eq!(patch(back)["metadata"], json!({"labels": {"a": "b", "c": null}, "annotations": {"d": null}}));
    }
}
