//! What kinds of objects there are: the built-in ones as one table, and those that CRDs add.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::custom::{self, KnownFields};

/// A kind of object in one version, as it is served.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The name in paths, such as `pods`.
    pub plural: String,
    /// The name for one.
    pub singular: String,
    /// The kind, such as `Pod`.
    pub kind: String,
    /// What kubectl takes for short.
    pub short_names: Vec<String>,
    /// Groups of kinds, such as `all`.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Under which name the objects are stored; kinds that show the same objects share it.
    pub storage: String,
    pub(crate) subresources: Vec<String>,
    pub(crate) manners: Manners,
    pub(crate) custom: Option<Arc<Custom>>,
}

/// In what kinds differ from each other when they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manners {
    /// A replace without a resourceVersion is taken.
    pub(crate) unconditional_update: bool,
    /// A replace of an object that is not there creates it.
    pub(crate) create_on_update: bool,
    /// A delete answers with the object instead of a `Status`.
    pub(crate) answers_deleted: bool,
    /// A changed spec raises `metadata.generation`.
    pub(crate) generation: bool,
    /// Objects can be created only: access reviews.
    pub(crate) create_only: bool,
}

/// What a CRD says about its version.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Custom {
    pub(crate) schema: Value,
    pub(crate) known_fields: KnownFields,
    /// The part of the schema that leads to defaults.
    pub(crate) defaults: Value,
    /// Most have none, and then a write to the status is spared the walk.
    pub(crate) status_has_rules: bool,
    pub(crate) columns: Vec<Value>,
    pub(crate) scale: Option<Value>,
    pub(crate) preserve_unknown: bool,
}

impl Resource {
    /// `v1` or `group/version`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The plural with the group, as messages name it: `pods`, `leases.coordination.k8s.io`.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// The kind with the group, as messages about an object's content name it: `Pod`, `Lease.coordination.k8s.io`.
    pub(crate) fn qualified_kind(&self) -> String {
        if self.group.is_empty() { self.kind.clone() } else { format!("{}.{}", self.kind, self.group) }
    }

    pub(crate) fn has(&self, subresource: &str) -> bool {
        self.subresources.iter().any(|one| one == subresource)
    }

    pub(crate) fn verbs(&self) -> &'static [&'static str] {
        if self.manners.create_only {
            &["create"]
        } else if self.custom.is_some() {
            &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
        } else {
            &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
        }
    }
}

struct BuiltIn {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    short: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    subresources: &'static [&'static str],
    manners: Manners,
}

const PLAIN: Manners = Manners {
    unconditional_update: true,
    create_on_update: false,
    answers_deleted: false,
    generation: false,
    create_only: false,
};
const ANSWERS: Manners = Manners { answers_deleted: true, ..PLAIN };
const POD: Manners = Manners { answers_deleted: true, generation: true, ..PLAIN };
const LEASE: Manners = Manners { unconditional_update: false, create_on_update: true, ..PLAIN };
const BUDGET: Manners = Manners { unconditional_update: false, generation: true, ..PLAIN };
const EVENT: Manners = Manners { create_on_update: true, ..PLAIN };
const CUSTOM: Manners = Manners { unconditional_update: false, generation: true, ..PLAIN };
const REVIEW: Manners = Manners { create_only: true, ..PLAIN };

const fn core(plural: &'static str, singular: &'static str, kind: &'static str, namespaced: bool) -> BuiltIn {
    BuiltIn {
        group: "",
        version: "v1",
        plural,
        singular,
        kind,
        short: &[],
        categories: &[],
        namespaced,
        subresources: &[],
        manners: PLAIN,
    }
}

#[rustfmt::skip]
const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { short: &["cm"], ..core("configmaps", "configmap", "ConfigMap", true) },
    BuiltIn { short: &["ev"], manners: EVENT, ..core("events", "event", "Event", true) },
    BuiltIn { short: &["ns"], subresources: &["status", "finalize"], ..core("namespaces", "namespace", "Namespace", false) },
    BuiltIn { short: &["no"], subresources: &["status"], ..core("nodes", "node", "Node", false) },
    BuiltIn { short: &["pvc"], subresources: &["status"], manners: ANSWERS, ..core("persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", true) },
    BuiltIn { short: &["pv"], subresources: &["status"], manners: ANSWERS, ..core("persistentvolumes", "persistentvolume", "PersistentVolume", false) },
    BuiltIn { short: &["po"], categories: &["all"], subresources: &["binding", "eviction", "status"], manners: POD, ..core("pods", "pod", "Pod", true) },
    core("secrets", "secret", "Secret", true),
    BuiltIn { short: &["sa"], manners: ANSWERS, ..core("serviceaccounts", "serviceaccount", "ServiceAccount", true) },
    BuiltIn { short: &["svc"], categories: &["all"], subresources: &["status"], manners: ANSWERS, ..core("services", "service", "Service", true) },
    BuiltIn { group: "apiextensions.k8s.io", short: &["crd", "crds"], categories: &["api-extensions"], subresources: &["status"], manners: CUSTOM, ..core("customresourcedefinitions", "customresourcedefinition", "CustomResourceDefinition", false) },
    BuiltIn { group: "authorization.k8s.io", manners: REVIEW, ..core("selfsubjectaccessreviews", "selfsubjectaccessreview", "SelfSubjectAccessReview", false) },
    BuiltIn { group: "coordination.k8s.io", manners: LEASE, ..core("leases", "lease", "Lease", true) },
    BuiltIn { group: "discovery.k8s.io", manners: Manners { generation: true, ..PLAIN }, ..core("endpointslices", "endpointslice", "EndpointSlice", true) },
    BuiltIn { group: "events.k8s.io", short: &["ev"], manners: EVENT, ..core("events", "event", "Event", true) },
    BuiltIn { group: "policy", short: &["pdb"], subresources: &["status"], manners: BUDGET, ..core("poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", true) },
    BuiltIn { group: "storage.k8s.io", short: &["sc"], manners: ANSWERS, ..core("storageclasses", "storageclass", "StorageClass", false) },
];

impl BuiltIn {
    fn resource(&self) -> Resource {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Resource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            plural: self.plural.to_owned(),
            singular: self.singular.to_owned(),
            kind: self.kind.to_owned(),
            short_names: owned(self.short),
            categories: owned(self.categories),
            namespaced: self.namespaced,
            // Events of both groups are the same objects.
            storage: self.plural.to_owned(),
            subresources: owned(self.subresources),
            manners: self.manners,
            custom: None,
        }
    }
}

/// All kinds that are served.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    by_path: BTreeMap<(String, String, String), Arc<Resource>>,
}

impl Registry {
    pub(crate) fn new() -> Self {
        let mut registry = Self { by_path: BTreeMap::new() };
        for one in BUILT_IN {
            registry.add(one.resource());
        }
        registry
    }

    fn add(&mut self, resource: Resource) {
        let path = (resource.group.clone(), resource.version.clone(), resource.plural.clone());
        self.by_path.insert(path, Arc::new(resource));
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.by_path.get(&(group.to_owned(), version.to_owned(), plural.to_owned())).cloned()
    }

    /// The built-in kind of that plural in its storage version.
    pub(crate) fn core(&self, plural: &str) -> Arc<Resource> {
        self.of_storage(plural).unwrap_or_else(|| unreachable!("{plural} is built in"))
    }

    /// The kind that objects of a storage name are shown as, when no path says which.
    pub(crate) fn of_storage(&self, storage: &str) -> Option<Arc<Resource>> {
        self.by_path.values().find(|resource| resource.storage == storage).cloned()
    }

    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        self.by_path.values().find(|resource| resource.kind == kind && resource.api_version() == api_version).cloned()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.by_path.values()
    }

    /// Serves what a CRD describes, in place of what it described before.
    pub(crate) fn install(&mut self, crd: &Value) {
        self.uninstall(crd);
        for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
            if version["served"] == true {
                self.add(custom_resource(crd, version));
            }
        }
    }

    pub(crate) fn uninstall(&mut self, crd: &Value) {
        let storage = crd["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.by_path.retain(|_, resource| resource.custom.is_none() || resource.storage != storage);
    }
}

fn custom_resource(crd: &Value, version: &Value) -> Resource {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect();
    let (names, schema) = (&crd["spec"]["names"], &version["schema"]["openAPIV3Schema"]);
    let subresources: Vec<String> = version["subresources"].as_object().into_iter().flat_map(|map| map.keys().cloned()).collect();
    Resource {
        group: text(&crd["spec"]["group"]),
        version: text(&version["name"]),
        plural: text(&names["plural"]),
        singular: text(&names["singular"]),
        kind: text(&names["kind"]),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        namespaced: crd["spec"]["scope"] == "Namespaced",
        storage: text(&crd["metadata"]["name"]),
        manners: CUSTOM,
        custom: Some(Arc::new(Custom {
            known_fields: KnownFields::of(schema),
            defaults: custom::leading_to_defaults(schema),
            status_has_rules: custom::status_has_rules(schema),
            schema: schema.clone(),
            columns: version["additionalPrinterColumns"].as_array().cloned().unwrap_or_default(),
            scale: version["subresources"].get("scale").cloned(),
            preserve_unknown: crd["spec"]["preserveUnknownFields"] == true,
        })),
        subresources,
    }
}
