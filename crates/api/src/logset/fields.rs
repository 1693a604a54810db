//! Which fields of a `LogSet` are not acted on, and which have a successor.

use super::LogSet;
use crate::fields::{FieldNote, set_in};

/// Fields that mean nothing to Quorate, and why.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("spec.dnsBasedIdentity", "log stores are always known by their DNS names"),
    ("spec.clusterDomain", "log stores are reached by names that need no domain"),
    ("spec.operatorVersion", "there is one rendering; pods only change when what you asked for changes"),
    ("spec.volume.memoryCacheSize", "log stores have no cache of this kind"),
    ("spec.initialConfig.dnShards", "MatrixOne does not read it; it always has one shard"),
    ("spec.sharedStorage.s3.s3RetentionPolicy", "Quorate never deletes what is in a bucket"),
];

/// Fields that have a successor.
const DEPRECATED: &[(&str, &str)] = &[
    ("spec.dnsBasedIdentity", "leave it out"),
    ("spec.volume.memoryCacheSize", "leave it out"),
    ("spec.initialConfig.dnShards", "leave it out"),
];

const NOT_YET: &str = "Quorate does not act on it yet";

/// Fields whose behaviour is not there yet. A field leaves this list in the commit that makes it work.
const PENDING: &[(&str, &str)] = &[
    ("spec.image", NOT_YET),
    ("spec.resources", NOT_YET),
    ("spec.replicas", NOT_YET),
    ("spec.topologySpread", NOT_YET),
    ("spec.nodeSelector", NOT_YET),
    ("spec.config", NOT_YET),
    ("spec.serviceArgs", NOT_YET),
    ("spec.memoryLimitPercent", NOT_YET),
    ("spec.exportToPrometheus", NOT_YET),
    ("spec.promDiscoveryScheme", NOT_YET),
    ("spec.semanticVersion", NOT_YET),
    ("spec.memoryFsSize", NOT_YET),
    ("spec.overlay", NOT_YET),
    ("spec.volume.size", NOT_YET),
    ("spec.volume.storageClassName", NOT_YET),
    ("spec.sharedStorage.s3.path", NOT_YET),
    ("spec.sharedStorage.s3.type", NOT_YET),
    ("spec.sharedStorage.s3.region", NOT_YET),
    ("spec.sharedStorage.s3.endpoint", NOT_YET),
    ("spec.sharedStorage.s3.secretRef", NOT_YET),
    ("spec.sharedStorage.s3.certificateRef", NOT_YET),
    ("spec.sharedStorage.fileSystem", NOT_YET),
    ("spec.initialConfig.logShards", NOT_YET),
    ("spec.initialConfig.logShardReplicas", NOT_YET),
    ("spec.initialConfig.restoreFrom", NOT_YET),
    ("spec.storeFailureTimeout", NOT_YET),
    ("spec.replicaFailureTimeout", NOT_YET),
    ("spec.failedPodStrategy", NOT_YET),
    ("spec.pvcRetentionPolicy", NOT_YET),
];

/// Fields of this set that were accepted and are not acted on.
pub fn fields_without_effect(set: &LogSet) -> Vec<FieldNote> {
    let object = as_json(set);
    [set_in(&object, WITHOUT_EFFECT), set_in(&object, PENDING)].concat()
}

/// Fields of this set that have a successor.
pub fn deprecated_fields(set: &LogSet) -> Vec<FieldNote> {
    set_in(&as_json(set), DEPRECATED)
}

fn as_json(set: &LogSet) -> serde_json::Value {
    serde_json::json!({"spec": set.spec})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::coverage::not_covered;

    /// Fields that are acted on.
    const ACTED_ON: &[&str] = &[];

    #[test]
    fn every_field_is_acted_on_or_said_not_to_be() {
        let crd = crate::logset_crd();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let names = |table: &[(&'static str, &str)]| table.iter().map(|(field, _)| *field).collect::<Vec<_>>();
        let missing = not_covered(spec, &[&names(WITHOUT_EFFECT), &names(PENDING), ACTED_ON]);
        assert_eq!(missing, Vec::<String>::new());
    }
}
