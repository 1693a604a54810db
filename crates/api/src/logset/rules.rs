//! What a `LogSet` must be to be accepted. Every message says what is wrong, where, and what would be right.

use crate::Rule;
use crate::rule::duration;

/// All rules, in the order of the fields.
pub fn rules() -> Vec<Rule> {
    vec![
        replicas_not_negative(),
        image_named(),
        memory_limit_percent(),
        cluster_domain(),
        topology_spread_once(),
        log_replicas_fit(),
        born_log_replicas_fit(),
        log_replicas_positive(),
        volume_not_empty(),
        volume_never_shrinks(),
        storage_class_fixed(),
        one_shared_storage(),
        shared_storage_fixed(),
        initial_config_fixed(),
        duration("failure-timeout-duration", "spec.storeFailureTimeout"),
        duration("failure-timeout-duration", "spec.replicaFailureTimeout"),
    ]
}

fn replicas_not_negative() -> Rule {
    Rule::new(
        "replicas-not-negative",
        "spec.replicas",
        "self >= 0",
        "spec.replicas is below 0; use the number of log stores, 3 for most sets",
    )
    .with_values("spec.replicas is %d; use the number of log stores, 3 for most sets", &["self"])
}

fn image_named() -> Rule {
    Rule::new(
        "image-named",
        "spec",
        "has(self.image) && self.image != ''",
        "spec.image is missing; name the image of the log stores, for example matrixorigin/matrixone:2.0.3",
    )
    .naming(".image")
}

fn memory_limit_percent() -> Rule {
    Rule::new(
        "memory-limit-percent",
        "spec.memoryLimitPercent",
        "self > 0 && self <= 100",
        "spec.memoryLimitPercent must be 1 to 100",
    )
    .with_values("spec.memoryLimitPercent is %d; it must be 1 to 100", &["self"])
}

fn cluster_domain() -> Rule {
    Rule::new(
        "cluster-domain",
        "spec.clusterDomain",
        r"self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\.?$')",
        "spec.clusterDomain must be a domain name, for example cluster.local",
    )
    .with_values("spec.clusterDomain is \"%s\"; it must be a domain name, for example cluster.local", &["self"])
}

fn topology_spread_once() -> Rule {
    Rule::new(
        "topology-spread-once",
        "spec",
        "!has(self.topologySpread) || self.topologySpread.size() == 0 || !has(self.overlay) || \
         !has(self.overlay.topologySpreadConstraints) || self.overlay.topologySpreadConstraints.size() == 0",
        "spec.topologySpread and spec.overlay.topologySpreadConstraints are both set, and either alone decides how stores are spread; remove one of them",
    )
    .naming(".topologySpread")
}

fn log_replicas_fit() -> Rule {
    let asked = "self.initialConfig.logShardReplicas";
    Rule::new(
        "log-replicas-fit",
        "spec",
        format!("!has(self.initialConfig) || !has({asked}) || self.replicas == 0 || {asked} <= self.replicas"),
        "spec.initialConfig.logShardReplicas is larger than spec.replicas, and each replica of HAKeeper and the log needs a store of its own; use as many stores or more",
    )
    .with_values(
        "spec.replicas is %d, but spec.initialConfig.logShardReplicas is %d and each replica of HAKeeper and the log needs a store of its own; use %d stores or more",
        &["self.replicas", asked, asked],
    )
    .naming(".replicas")
}

/// The same for a set that did not say how many replicas it wanted: the number it was born with is in its status.
fn born_log_replicas_fit() -> Rule {
    Rule::new(
        "born-log-replicas-fit",
        "",
        "!has(self.status) || !has(self.status.logShardReplicas) || self.spec.replicas == 0 || \
         self.status.logShardReplicas <= self.spec.replicas",
        "spec.replicas is smaller than the number of log replicas this set was born with (status.logShardReplicas), and each needs a store of its own; use as many stores or more",
    )
    .with_values(
        "spec.replicas is %d, but this set was born with %d log replicas and each needs a store of its own; use %d stores or more",
        &["self.spec.replicas", "self.status.logShardReplicas", "self.status.logShardReplicas"],
    )
    .naming(".spec.replicas")
}

fn log_replicas_positive() -> Rule {
    Rule::new(
        "log-replicas-positive",
        "spec.initialConfig.logShardReplicas",
        "self >= 1",
        "spec.initialConfig.logShardReplicas must be at least 1; 3 survives the loss of a store",
    )
    .with_values(
        "spec.initialConfig.logShardReplicas is %d; it must be at least 1, and 3 survives the loss of a store",
        &["self"],
    )
}

fn volume_not_empty() -> Rule {
    Rule::new(
        "volume-not-empty",
        "spec.volume",
        "isQuantity(string(self.size)) && quantity(string(self.size)).isGreaterThan(quantity('0'))",
        "spec.volume.size must be a size above 0, for example 100Gi",
    )
    .with_values("spec.volume.size is \"%s\"; it must be a size above 0, for example 100Gi", &["string(self.size)"])
    .naming(".size")
}

fn volume_never_shrinks() -> Rule {
    Rule::new(
        "volume-never-shrinks",
        "spec.volume",
        "!isQuantity(string(self.size)) || !isQuantity(string(oldSelf.size)) || \
         quantity(string(self.size)).compareTo(quantity(string(oldSelf.size))) >= 0",
        "spec.volume.size can only grow; keep the size it has, or use a larger one",
    )
    .with_values(
        "spec.volume.size is %s and can only grow, not become %s; keep it, or use a larger one",
        &["string(oldSelf.size)", "string(self.size)"],
    )
    .naming(".size")
}

fn storage_class_fixed() -> Rule {
    Rule::new(
        "storage-class-fixed",
        "spec.volume",
        "has(self.storageClassName) == has(oldSelf.storageClassName) && \
         (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",
        "spec.volume.storageClassName can't be changed, because the disks of the log stores exist; put back the one it had, or create a new LogSet",
    )
    .naming(".storageClassName")
}

fn one_shared_storage() -> Rule {
    Rule::new(
        "one-shared-storage",
        "spec.sharedStorage",
        "has(self.s3) != has(self.fileSystem) && (!has(self.s3) || self.s3.path != '') && (!has(self.fileSystem) || self.fileSystem.path != '')",
        "spec.sharedStorage must name exactly one of s3 and fileSystem, with a path",
    )
}

fn shared_storage_fixed() -> Rule {
    let same: Vec<_> = ["type", "region", "endpoint"]
        .iter()
        .map(|field| format!("has(self.s3.{field}) == has(oldSelf.s3.{field}) && (!has(self.s3.{field}) || self.s3.{field} == oldSelf.s3.{field})"))
        .collect();
    Rule::new(
        "shared-storage-fixed",
        "spec.sharedStorage",
        format!(
            "has(self.s3) == has(oldSelf.s3) && has(self.fileSystem) == has(oldSelf.fileSystem) && \
             (!has(self.fileSystem) || !has(oldSelf.fileSystem) || self.fileSystem.path == oldSelf.fileSystem.path) && \
             (!has(self.s3) || !has(oldSelf.s3) || (self.s3.path == oldSelf.s3.path && {}))",
            same.join(" && ")
        ),
        "spec.sharedStorage can't be moved, because MatrixOne's data is there; put back its path, type, region and endpoint, or create a new LogSet",
    )
}

fn initial_config_fixed() -> Rule {
    let same: Vec<_> = ["logShards", "dnShards", "logShardReplicas", "restoreFrom"]
        .iter()
        .map(|field| {
            let (new, old) = (format!("self.initialConfig.{field}"), format!("oldSelf.initialConfig.{field}"));
            format!("has({new}) == has({old}) && (!has({new}) || {new} == {old})")
        })
        .collect();
    Rule::new(
        "initial-config-fixed",
        "spec",
        format!(
            "has(self.initialConfig) == has(oldSelf.initialConfig) && (!has(self.initialConfig) || !has(oldSelf.initialConfig) || ({}))",
            same.join(" && ")
        ),
        "spec.initialConfig can't be changed, because it is what the set was born with; put back what it was, or create a new LogSet",
    )
    .naming(".initialConfig")
}
