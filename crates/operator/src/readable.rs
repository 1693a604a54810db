//! An object that may turn out not to be readable, without stopping the others in its list. kube's own guard does not say which field is
//! wrong, so this is ours.

use std::borrow::Cow;

use kube::Resource;
use kube::api::ObjectMeta;
use quorate_api::foundationdb::FoundationDBCluster;
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

/// A cluster object, or what is wrong with it.
#[derive(Clone, Debug)]
pub(crate) enum Readable {
    Cluster(Box<FoundationDBCluster>),
    Unreadable { metadata: Box<ObjectMeta>, why: String },
}

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        // Keeping track of the field would slow every good object down.
        if let Ok(cluster) = FoundationDBCluster::deserialize(&value) {
            return Ok(Self::Cluster(Box::new(cluster)));
        }
        match serde_path_to_error::deserialize(&value) {
            Ok(cluster) => Ok(Self::Cluster(Box::new(cluster))),
            // Without a name nothing could be said about it, so then the list itself is broken.
            Err(error) => {
                let metadata = ObjectMeta::deserialize(&value["metadata"]).map_err(de::Error::custom)?;
                let why = format!("{}: {}", error.path(), error.inner());
                Ok(Self::Unreadable { metadata: Box::new(metadata), why })
            }
        }
    }
}

impl Resource for Readable {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        FoundationDBCluster::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        FoundationDBCluster::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        FoundationDBCluster::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        FoundationDBCluster::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Cluster(cluster) => cluster.meta(),
            Self::Unreadable { metadata, .. } => metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Cluster(cluster) => cluster.meta_mut(),
            Self::Unreadable { metadata, .. } => metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_cant_be_read_is_named() {
        let object = r#"{"apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
            "metadata": {"name": "odd"}, "spec": {"version": "7.3.69", "processCounts": {"storage": "three"}}}"#;
        let Ok(Readable::Unreadable { metadata, why }) = serde_json::from_str(object) else { panic!("it was read") };
        assert_eq!(metadata.name.as_deref(), Some("odd"));
        assert!(why.starts_with("spec.processCounts.storage: "), "{why}");
    }
}
