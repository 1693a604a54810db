//! Process groups: how many, of which class, with which pods and volumes.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PodTemplateSpec};
use quorate_foundationdb::ProcessClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::embedded;

macro_rules! process_counts {
    ($($field:ident => $class:ident,)+) => {
        /// How many process groups of each class: 0 or unset is inferred, -1 is none.
        #[skip_serializing_none]
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[expect(missing_docs, reason = "each field is the class of that name")]
        pub struct ProcessCounts {
            $(pub $field: Option<i32>,)+
        }

        impl ProcessCounts {
            /// What was asked for a class, before anything is inferred.
            pub const fn of(&self, class: ProcessClass) -> Option<i32> {
                match class { $(ProcessClass::$class => self.$field),+ }
            }
        }
    };
}

process_counts! {
    backup => Backup,
    cluster_controller => ClusterController,
    commit_proxy => CommitProxy,
    coordinator => Coordinator,
    data_distributor => DataDistributor,
    fast_restore => FastRestore,
    grv_proxy => GrvProxy,
    log => Log,
    master => Master,
    proxy => Proxy,
    ratekeeper => Ratekeeper,
    resolution => Resolution,
    router => Router,
    stateless => Stateless,
    storage => Storage,
    storage_cache => StorageCache,
    test => Test,
    tester => Tester,
    transaction => Transaction,
    unset => Unset,
}

/// Pods, volumes and parameters of a class. What a class sets replaces what `general` sets, field by field.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessSettings {
    /// The pods, as a Kubernetes pod template.
    #[schemars(schema_with = "embedded::schema::<PodTemplateSpec>")]
    #[serde(default)]
    pub pod_template: Option<PodTemplateSpec>,
    /// The volumes of stateful classes, as a Kubernetes volume claim.
    #[schemars(schema_with = "embedded::schema::<PersistentVolumeClaim>")]
    #[serde(default)]
    pub volume_claim_template: Option<PersistentVolumeClaim>,
    /// Parameters of fdbserver, each `name=value`; a value that starts with `$` is read from the environment.
    #[schemars(length(max = 100), inner(length(max = 100)))]
    pub custom_parameters: Option<Vec<String>>,
}

/// A class that may hold coordinators.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CoordinatorSelection {
    /// The class: storage, log, transaction or coordinator.
    #[schemars(length(max = 64))]
    pub process_class: Option<String>,
    /// Higher is chosen first.
    pub priority: Option<i32>,
}
