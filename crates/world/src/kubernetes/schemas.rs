//! The schemas of the built-in kinds, as k8s-openapi knows them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::StorageClass;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::custom::KnownFields;
use super::resource::Resource;

static SCHEMAS: LazyLock<BTreeMap<&'static str, Value>> = LazyLock::new(|| {
    BTreeMap::from([
        ("configmaps", schema::<core::ConfigMap>()),
        ("endpointslices", schema::<EndpointSlice>()),
        ("events", schema::<core::Event>()),
        ("leases", schema::<Lease>()),
        ("namespaces", schema::<core::Namespace>()),
        ("nodes", schema::<core::Node>()),
        ("persistentvolumeclaims", schema::<core::PersistentVolumeClaim>()),
        ("persistentvolumes", schema::<core::PersistentVolume>()),
        ("poddisruptionbudgets", schema::<PodDisruptionBudget>()),
        ("pods", schema::<core::Pod>()),
        ("secrets", schema::<core::Secret>()),
        ("serviceaccounts", schema::<core::ServiceAccount>()),
        ("services", schema::<core::Service>()),
        ("storageclasses", schema::<StorageClass>()),
    ])
});

static FIELDS: LazyLock<BTreeMap<&'static str, KnownFields>> =
    LazyLock::new(|| SCHEMAS.iter().map(|(storage, schema)| (*storage, KnownFields::of(schema))).collect());

/// The schema of a built-in kind, without references; none for kinds whose schema is recursive.
pub(crate) fn built_in(resource: &Resource) -> Option<&'static Value> {
    SCHEMAS.get(resource.storage.as_str()).filter(|_| resource.custom.is_none())
}

/// The fields of a built-in kind.
pub(crate) fn known_fields(resource: &Resource) -> Option<&'static KnownFields> {
    FIELDS.get(resource.storage.as_str()).filter(|_| resource.custom.is_none())
}

fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}
