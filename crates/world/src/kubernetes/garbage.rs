//! The work of the garbage collector and of the namespace controller, as a step that the world takes when it wants.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::object::Metadata;
use super::present::Form;
use super::request::{Body, Call, Options, Verb};
use super::state::State;
use super::store::Key;

/// What the last pass saw, so that the next one is made only if there may be something to do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Swept {
    /// The revision it began at; its own writes came later.
    revision: u64,
    /// Whether somebody waited to go, whom any change may let go.
    waiting: bool,
}

impl State {
    /// One pass over everything. Returns how many objects it changed; nothing is left to do when that is none.
    pub(crate) fn collect_garbage(&mut self) -> usize {
        if !self.may_be_garbage() {
            return 0;
        }
        let revision = self.store.revision();
        let mut deleting = self.deleting();
        let mut changed = 0;
        let steps = [
            Self::orphan_dependents,
            Self::delete_dependents,
            Self::finish_foreground,
            Self::release_claims,
            Self::empty_namespaces,
        ];
        for step in steps {
            let now = step(self, &deleting);
            if now > 0 {
                deleting = self.deleting();
            }
            changed += now;
        }
        self.swept = Swept { revision, waiting: deleting.iter().any(|(key, object)| waits_to_go(key, object)) };
        changed
    }

    /// Whether something was written since the last pass that can leave something to do: an end, a wish to end, or other owners.
    fn may_be_garbage(&self) -> bool {
        let Some(mut changes) = self.store.since(self.swept.revision) else { return true };
        changes.any(|change| {
            (self.swept.waiting && !is_news_only(&change.key))
                || change.after.as_ref().is_none_or(|after| waits_to_go(&change.key, after))
                || owners(change.before.as_ref()) != owners(change.after.as_ref())
        })
    }

    /// All that may have to go, or keeps others from going.
    fn collectable(&self) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        self.store.all().filter(|(key, _)| !is_passed_over(key))
    }

    fn snapshot(&self, which: impl Fn(&Key, &Value) -> bool) -> Vec<(Key, Arc<Value>)> {
        self.collectable()
            .filter(|(key, object)| which(key, object))
            .map(|(key, object)| (key.clone(), Arc::clone(object)))
            .collect()
    }

    /// All that were asked to go and are still there: the few that nearly everything here is about.
    fn deleting(&self) -> Vec<(Key, Arc<Value>)> {
        self.snapshot(|_, object| object.is_deleting())
    }

    fn owners(object: &Value) -> impl Iterator<Item = &Value> {
        object["metadata"]["ownerReferences"].as_array().into_iter().flatten()
    }

    /// Those who were deleted with `Orphan` leave their dependents behind, ownerless.
    fn orphan_dependents(&mut self, deleting: &[(Key, Arc<Value>)]) -> usize {
        let mut changed = 0;
        for (key, owner) in deleting.iter().filter(|(_, object)| object.finalizers().contains(&"orphan")) {
            let uid = owner.uid().to_owned();
            for (dependent, object) in self.snapshot(|_, object| Self::owners(object).any(|one| one["uid"] == uid.as_str())) {
                let mut object = object.as_ref().clone();
                let kept: Vec<Value> = Self::owners(&object).filter(|one| one["uid"] != uid.as_str()).cloned().collect();
                if kept.is_empty() {
                    object.metadata().shift_remove("ownerReferences");
                } else {
                    object.metadata().insert("ownerReferences".to_owned(), kept.into());
                }
                self.commit(dependent, Some(object));
                changed += 1;
            }
            self.remove_finalizer(key.clone(), owner, "orphan");
            changed += 1;
        }
        changed
    }

    /// What has owners, none of which is there any more, goes; so does what waits for a foreground deletion.
    fn delete_dependents(&mut self, deleting: &[(Key, Arc<Value>)]) -> usize {
        let foreground: BTreeSet<&str> = deleting
            .iter()
            .filter(|(_, object)| object.finalizers().contains(&"foregroundDeletion"))
            .map(|(_, object)| object.uid())
            .collect();
        let gone = self.owners_that_are_gone();
        if foreground.is_empty() && gone.is_empty() {
            return 0;
        }
        let is_due = |object: &Value| {
            let mut owners = Self::owners(object).map(|owner| owner.text(&["uid"])).peekable();
            owners.peek().is_some() && owners.all(|uid| gone.contains(uid) || foreground.contains(uid))
        };
        let mut changed = 0;
        for (key, object) in self.snapshot(|_, object| is_due(object) && !object.is_deleting()) {
            let blocks = Self::owners(&object)
                .any(|owner| foreground.contains(owner.text(&["uid"])) && owner["blockOwnerDeletion"] == true);
            changed += usize::from(self.delete_by_server(&key, &object, if blocks { "Foreground" } else { "Background" }));
        }
        changed
    }

    /// Those whom something names as its owner, and who are not there.
    fn owners_that_are_gone(&self) -> BTreeSet<String> {
        let owned = self.collectable().flat_map(|(_, object)| Self::owners(object));
        let mut missing: BTreeSet<&str> = owned.map(|owner| owner.text(&["uid"])).collect();
        for (_, object) in self.collectable() {
            if missing.is_empty() {
                break;
            }
            missing.remove(object.uid());
        }
        missing.into_iter().map(str::to_owned).collect()
    }

    /// A foreground deletion ends with its last blocking dependent.
    fn finish_foreground(&mut self, deleting: &[(Key, Arc<Value>)]) -> usize {
        let mut changed = 0;
        for (key, owner) in deleting.iter().filter(|(_, object)| object.finalizers().contains(&"foregroundDeletion")) {
            let uid = owner.uid();
            let is_blocked = self
                .collectable()
                .any(|(_, object)| Self::owners(object).any(|one| one["uid"] == uid && one["blockOwnerDeletion"] == true));
            if !is_blocked {
                self.remove_finalizer(key.clone(), owner, "foregroundDeletion");
                changed += 1;
            }
        }
        changed
    }

    /// A claim or volume that is deleted goes when nobody uses it.
    fn release_claims(&mut self, deleting: &[(Key, Arc<Value>)]) -> usize {
        const CLAIM: &str = "kubernetes.io/pvc-protection";
        const VOLUME: &str = "kubernetes.io/pv-protection";
        let mut changed = 0;
        let protected = |storage: &'static str, by: &'static str| {
            deleting.iter().filter(move |(key, object)| key.storage == storage && object.finalizers().contains(&by))
        };
        for (key, claim) in protected("persistentvolumeclaims", CLAIM) {
            let uses = |pod: &Value| {
                pod["spec"]["volumes"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|volume| volume["persistentVolumeClaim"]["claimName"] == key.name.as_str())
            };
            let is_used = self
                .store
                .list("pods", &key.namespace)
                .any(|(_, pod)| uses(pod) && !matches!(pod.text(&["status", "phase"]), "Succeeded" | "Failed"));
            if !is_used {
                self.remove_finalizer(key.clone(), claim, CLAIM);
                changed += 1;
            }
        }
        for (key, volume) in protected("persistentvolumes", VOLUME) {
            if volume.text(&["status", "phase"]) != "Bound" {
                self.remove_finalizer(key.clone(), volume, VOLUME);
                changed += 1;
            }
        }
        changed
    }

    /// A namespace that is deleted is emptied, and goes when it is empty.
    fn empty_namespaces(&mut self, deleting: &[(Key, Arc<Value>)]) -> usize {
        let mut changed = 0;
        for (key, namespace) in deleting.iter().filter(|(key, _)| key.storage == "namespaces") {
            let inside = self.store.all().filter(|(inside, _)| inside.namespace == key.name);
            let content: Vec<(Key, Arc<Value>)> = inside.map(|(key, object)| (key.clone(), Arc::clone(object))).collect();
            if content.is_empty() {
                if namespace.finalizers().is_empty() {
                    self.commit(key.clone(), None);
                    changed += 1;
                }
                continue;
            }
            for (inside, object) in content.into_iter().filter(|(_, object)| !object.is_deleting()) {
                changed += usize::from(self.delete_by_server(&inside, &object, "Background"));
            }
        }
        changed
    }

    /// Deletes as a controller does: with the object's own grace.
    fn delete_by_server(&mut self, key: &Key, object: &Arc<Value>, policy: &str) -> bool {
        let Some(resource) = self.registry.of_storage(&key.storage) else { return false };
        let call = Call {
            client: "world".into(),
            verb: Verb::Delete,
            resource,
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            subresource: String::new(),
            options: Options::default(),
            form: Form::Object,
            content_type: String::new(),
            body: Body::default(),
        };
        let options = super::delete::DeleteOptions { policy: Some(policy.to_owned()), ..Default::default() };
        self.delete_object(&call, object, &options).is_ok()
    }

    fn remove_finalizer(&mut self, key: Key, object: &Value, finalizer: &str) {
        let mut object = object.clone();
        let kept: Vec<String> = object.finalizers().into_iter().filter(|one| *one != finalizer).map(str::to_owned).collect();
        if kept.is_empty() {
            self.commit(key, None);
        } else {
            object.metadata().insert("finalizers".to_owned(), kept.into());
            self.commit(key, Some(object));
        }
    }
}

/// Who owns an object, if anybody does.
fn owners(object: Option<&Arc<Value>>) -> Option<&Value> {
    object?["metadata"].get("ownerReferences")
}

/// Whether an object was asked to go and something keeps it. A pod that ends needs no garbage collector.
fn waits_to_go(key: &Key, object: &Value) -> bool {
    object.is_deleting() && (key.storage == "namespaces" || !object.finalizers().is_empty())
}

/// As a real garbage collector does: nobody owns an event, or is owned by one, and there are more of them than of anything else.
fn is_passed_over(key: &Key) -> bool {
    key.storage == "events"
}

/// Whether nobody waits for what an object says.
fn is_news_only(key: &Key) -> bool {
    is_passed_over(key) || key.storage == "leases"
}
