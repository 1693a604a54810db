//! Disks of log stores, and MatrixOne's shared storage.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{VolumeRetentionPolicy, embedded};

/// The disk of a log store.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// Its size; it can grow, not shrink.
    #[schemars(schema_with = "embedded::quantity")]
    pub size: Quantity,
    /// Its storage class; unset is the cluster's default.
    #[schemars(length(max = 253))]
    pub storage_class_name: Option<String>,
    /// Without meaning for log stores.
    #[schemars(schema_with = "embedded::quantity")]
    #[serde(default)]
    pub memory_cache_size: Option<Quantity>,
}

/// Where MatrixOne keeps its data: an object store or a file system.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedStorage {
    /// An object store.
    pub s3: Option<S3>,
    /// A file system all pods share.
    pub file_system: Option<FileSystem>,
}

/// An object store.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct S3 {
    /// Bucket and prefix, `bucket/prefix`.
    #[schemars(length(max = 1024))]
    pub path: String,
    /// `aws` or `minio`.
    #[serde(rename = "type")]
    #[schemars(length(max = 64))]
    pub type_: Option<String>,
    /// The region of the bucket.
    #[schemars(length(max = 253))]
    pub region: Option<String>,
    /// The address of the object store.
    #[schemars(length(max = 1024))]
    pub endpoint: Option<String>,
    /// The Secret with the credentials.
    pub secret_ref: Option<SecretRef>,
    /// Certificates of the object store.
    pub certificate_ref: Option<CertificateRef>,
    /// What happens to the bucket's data when the set is deleted.
    pub s3_retention_policy: Option<VolumeRetentionPolicy>,
}

/// A Secret of the same namespace.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecretRef {
    /// Its name.
    #[schemars(length(max = 253))]
    pub name: Option<String>,
}

/// Certificates in a Secret of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CertificateRef {
    /// Its name.
    #[schemars(length(max = 253))]
    pub name: String,
    /// The files in it.
    #[schemars(length(max = 64), inner(length(max = 253)))]
    pub files: Vec<String>,
}

/// A file system all pods share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// Where it is mounted.
    #[schemars(length(max = 1024))]
    pub path: String,
}
