//! The API server's state, and what every write goes through.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::counts::Counts;
use super::faults::{Interceptor, NoFaults};
use super::garbage::Swept;
use super::ids::Ids;
use super::kinds;
use super::object::Metadata;
use super::request::{Call, Verb};
use super::resource::{Registry, Resource};
use super::status::Status;
use super::store::{Key, Store};
use super::watch::{Watch, Watchers};

pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) watchers: Watchers,
    pub(crate) counts: Counts,
    /// How many calls there were.
    pub(crate) calls: u64,
    pub(crate) ids: Ids,
    pub(crate) interceptor: Arc<dyn Interceptor>,
    pub(crate) now: Timestamp,
    pub(crate) swept: Swept,
    /// The revision after which budgets were computed.
    pub(crate) budgeted: u64,
}

/// What a call led to.
pub(crate) enum Outcome {
    /// An object of the kind the call was about.
    Object { code: u16, resource: Arc<Resource>, object: Arc<Value> },
    /// Objects of that kind, and the metadata of their list.
    List { resource: Arc<Resource>, items: Vec<Arc<Value>>, metadata: Value },
    /// Something else, sent as it is.
    Other { code: u16, body: Value },
    /// A stream of events.
    Watch(Watch),
}

/// An outcome, with the warnings that go with it.
pub(crate) struct Reply {
    pub(crate) outcome: Outcome,
    pub(crate) warnings: Vec<String>,
}

impl From<Outcome> for Reply {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, warnings: vec![] }
    }
}

impl State {
    /// Not even a namespace is there.
    pub(crate) fn empty(now: Timestamp) -> Self {
        Self {
            store: Store::new(),
            registry: Registry::new(),
            watchers: Watchers::default(),
            counts: Counts::default(),
            calls: 0,
            ids: Ids::default(),
            interceptor: Arc::new(NoFaults),
            now,
            swept: Swept::default(),
            budgeted: 0,
        }
    }

    pub(crate) fn new(now: Timestamp) -> Self {
        let mut state = Self::empty(now);
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let namespace = json!({"metadata": {"name": name}});
            state.create_own("namespaces", "", &namespace);
        }
        state.create_own("services", "default", &kinds::service::of_the_api());
        state
    }

    /// Creates an object that the server itself wants; if it is there already, that is as well.
    pub(crate) fn create_own(&mut self, plural: &str, namespace: &str, object: &Value) {
        let resource = self.registry.core(plural);
        let call = Call::create(&resource, namespace, object);
        self.create(&call).ok();
    }

    pub(crate) fn execute(&mut self, call: &Call, stale: Option<u64>) -> Result<Reply, Status> {
        if call.resource.manners.create_only && call.verb != Verb::Create {
            return Err(Status::method_not_allowed());
        }
        match (call.verb, call.subresource.as_str()) {
            (Verb::Get, "scale") => self.get_scale(call),
            (Verb::Get, _) => self.get(call, stale),
            (Verb::List, _) => self.list(call, stale),
            (Verb::Watch, _) => self.watch(call),
            (Verb::Create, "binding") => self.bind(call),
            (Verb::Create, "eviction") => self.evict(call),
            (Verb::Create, _) => self.create(call),
            (Verb::Update | Verb::Patch, "scale") => self.set_scale(call),
            (Verb::Update, _) => self.update(call),
            (Verb::Patch, _) => self.patch(call),
            (Verb::Delete, _) => self.delete(call),
            (Verb::DeleteCollection, _) => self.delete_collection(call),
        }
    }

    /// Writes an object, or removes it, and tells everyone who watches.
    pub(crate) fn commit(&mut self, key: Key, object: Option<Value>) -> Arc<Value> {
        let change = self.store.write(key, object);
        self.watchers.publish(&change, self.interceptor.as_ref(), self.now);
        match (&change.before, &change.after) {
            (_, Some(after)) if change.key.storage == "customresourcedefinitions" => self.registry.install(after),
            (Some(before), None) if change.key.storage == "customresourcedefinitions" => self.remove_definition(before),
            (None, Some(_)) if change.key.storage == "namespaces" => self.furnish_namespace(&change.key.name),
            _ => {}
        }
        change.after.or(change.before).unwrap_or_default()
    }

    /// With a CRD go its objects.
    fn remove_definition(&mut self, crd: &Value) {
        let storage = crd.name().to_owned();
        let keys: Vec<Key> = self.store.list(&storage, "").map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.commit(key, None);
        }
        self.registry.uninstall(crd);
    }

    /// What the controllers of a real cluster put into every namespace.
    fn furnish_namespace(&mut self, name: &str) {
        self.create_own("serviceaccounts", name, &json!({"metadata": {"name": "default"}}));
        let annotation = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
        let bundle = json!({
            "metadata": {"name": "kube-root-ca.crt", "annotations": {"kubernetes.io/description": annotation}},
            "data": {"ca.crt": ""},
        });
        self.create_own("configmaps", name, &bundle);
    }

    pub(crate) fn key(call: &Call) -> Key {
        Key::new(&call.resource.storage, &call.namespace, &call.name)
    }

    /// The object that a call names.
    pub(crate) fn existing(&self, call: &Call) -> Result<Arc<Value>, Status> {
        self.store.get(&Self::key(call)).cloned().ok_or_else(|| Status::not_found(&call.resource, &call.name))
    }
}
