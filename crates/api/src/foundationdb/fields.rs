//! Which fields of a `FoundationDBCluster` are not acted on, and which have a successor.

use super::FoundationDBCluster;
use crate::fields::{FieldNote, set_in};

/// Fields that mean nothing to Quorate, and why.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("spec.sidecarVariables", "the unified image has no variables to substitute; write a custom parameter whose value is $NAME"),
    ("spec.sidecarContainer.enableLivenessProbe", "the sidecar of the unified image has no probes"),
    ("spec.sidecarContainer.enableReadinessProbe", "the sidecar of the unified image has no probes"),
    (
        "spec.sidecarContainer.peerVerificationRules",
        "the sidecar of the unified image serves nothing; use spec.mainContainer.peerVerificationRules",
    ),
    ("spec.mainContainer.enableLivenessProbe", "the unified image has no probes"),
    ("spec.mainContainer.enableReadinessProbe", "the unified image has no probes"),
    (
        "spec.databaseConfiguration.excluded_servers",
        "exclusions follow from spec.processGroupsToRemove and from failures, never from here",
    ),
    ("spec.automationOptions.cacheDatabaseStatusForReconciliation", "the database's status is always read once per round"),
    ("spec.automationOptions.databaseInteractionMode", "Quorate always uses the database's own interfaces"),
    ("spec.automationOptions.useManagementAPI", "Quorate always uses the database's own interfaces"),
    ("spec.automationOptions.useNonBlockingExcludes", "exclusions never block"),
];

/// Fields that have a successor.
const DEPRECATED: &[(&str, &str)] = &[
    ("spec.faultDomain.key", "use spec.localities with the key zone and a topologyKey"),
    ("spec.faultDomain.value", "use spec.localities with the key zone and a value"),
    ("spec.faultDomain.valueFrom", "use spec.localities with the key zone and an envValue"),
    ("spec.dataCenter", "use spec.localities with the key datacenter"),
    ("spec.dataHall", "use spec.localities with the key data_hall"),
    ("spec.useExplicitListenAddress", "leave it out; fdbserver always listens on the pod's address"),
    ("spec.mainContainer.enableReadinessProbe", "leave it out"),
    ("spec.sidecarContainer.enableReadinessProbe", "leave it out"),
    ("spec.buggify.crashLoop", "use spec.buggify.crashLoopContainers"),
    ("spec.automationOptions.synronizationMode", "use spec.automationOptions.synchronizationMode"),
    ("spec.automationOptions.useManagementAPI", "leave it out"),
];

const NOT_YET: &str = "Quorate does not act on it yet";

/// Fields whose behaviour is not there yet. A field leaves this list in the commit that makes it work.
const PENDING: &[(&str, &str)] = &[
    ("spec.imageType", NOT_YET),
    ("spec.mainContainer.enableTls", NOT_YET),
    ("spec.mainContainer.peerVerificationRules", NOT_YET),
    ("spec.sidecarContainer.enableTls", NOT_YET),
    ("spec.sidecarContainer.imageConfigs", NOT_YET),
    ("spec.ignoreUpgradabilityChecks", NOT_YET),
    ("spec.databaseConfiguration.redundancy_mode", NOT_YET),
    ("spec.databaseConfiguration.storage_engine", NOT_YET),
    ("spec.databaseConfiguration.usable_regions", NOT_YET),
    ("spec.databaseConfiguration.regions", NOT_YET),
    ("spec.databaseConfiguration.storage_migration_type", NOT_YET),
    ("spec.databaseConfiguration.perpetual_storage_wiggle", NOT_YET),
    ("spec.databaseConfiguration.perpetual_storage_wiggle_locality", NOT_YET),
    ("spec.databaseConfiguration.perpetual_storage_wiggle_engine", NOT_YET),
    ("spec.databaseConfiguration.storage", NOT_YET),
    ("spec.databaseConfiguration.logs", NOT_YET),
    ("spec.databaseConfiguration.proxies", NOT_YET),
    ("spec.databaseConfiguration.commit_proxies", NOT_YET),
    ("spec.databaseConfiguration.grv_proxies", NOT_YET),
    ("spec.databaseConfiguration.resolvers", NOT_YET),
    ("spec.databaseConfiguration.log_routers", NOT_YET),
    ("spec.databaseConfiguration.remote_logs", NOT_YET),
    ("spec.databaseConfiguration.log_spill", NOT_YET),
    ("spec.databaseConfiguration.log_version", NOT_YET),
    ("spec.storageServersPerPod", NOT_YET),
    ("spec.logServersPerPod", NOT_YET),
    ("spec.processes.{}.customParameters", NOT_YET),
    ("spec.faultDomain", NOT_YET),
    ("spec.dataCenter", NOT_YET),
    ("spec.dataHall", NOT_YET),
    ("spec.localities", NOT_YET),
    ("spec.distribution", NOT_YET),
    ("spec.coordinatorSelection", NOT_YET),
    ("spec.partialConnectionString", NOT_YET),
    ("spec.routing", NOT_YET),
    ("spec.useExplicitListenAddress", NOT_YET),
    ("spec.configMap", NOT_YET),
    ("spec.labels", NOT_YET),
    ("spec.logGroup", NOT_YET),
    ("spec.trustedCAs", NOT_YET),
    ("spec.processGroupsToRemove", NOT_YET),
    ("spec.processGroupsToRemoveWithoutExclusion", NOT_YET),
    ("spec.minimumUptimeSecondsForBounce", NOT_YET),
    ("spec.replaceInstancesWhenResourcesChange", NOT_YET),
    ("spec.maxZonesWithUnavailablePods", NOT_YET),
    ("spec.automationOptions.configureDatabase", NOT_YET),
    ("spec.automationOptions.killProcesses", NOT_YET),
    ("spec.automationOptions.replacements", NOT_YET),
    ("spec.automationOptions.ignorePendingPodsDuration", NOT_YET),
    ("spec.automationOptions.useLocalitiesForExclusion", NOT_YET),
    ("spec.automationOptions.ignoreTerminatingPodsSeconds", NOT_YET),
    ("spec.automationOptions.ignoreMissingProcessesSeconds", NOT_YET),
    ("spec.automationOptions.failedPodDurationSeconds", NOT_YET),
    ("spec.automationOptions.maxConcurrentReplacements", NOT_YET),
    ("spec.automationOptions.deletionMode", NOT_YET),
    ("spec.automationOptions.removalMode", NOT_YET),
    ("spec.automationOptions.waitBetweenRemovalsSeconds", NOT_YET),
    ("spec.automationOptions.podUpdateStrategy", NOT_YET),
    ("spec.automationOptions.maintenanceModeOptions", NOT_YET),
    ("spec.automationOptions.ignoreLogGroupsForUpgrade", NOT_YET),
    ("spec.automationOptions.synchronizationMode", NOT_YET),
    ("spec.automationOptions.synronizationMode", NOT_YET),
    ("spec.automationOptions.synchronizationWaitSeconds", NOT_YET),
    ("spec.automationOptions.safetyTimers", NOT_YET),
    ("spec.lockOptions", NOT_YET),
    ("spec.buggify", NOT_YET),
    ("spec.volumeRetentionPolicy", NOT_YET),
];

/// Fields of this cluster that were accepted and are not acted on.
pub fn fields_without_effect(cluster: &FoundationDBCluster) -> Vec<FieldNote> {
    let object = as_json(cluster);
    [set_in(&object, WITHOUT_EFFECT), set_in(&object, PENDING)].concat()
}

/// Fields of this cluster that have a successor.
pub fn deprecated_fields(cluster: &FoundationDBCluster) -> Vec<FieldNote> {
    set_in(&as_json(cluster), DEPRECATED)
}

fn as_json(cluster: &FoundationDBCluster) -> serde_json::Value {
    serde_json::json!({"spec": cluster.spec})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::coverage::not_covered;

    /// Fields that are acted on.
    const ACTED_ON: &[&str] = &[
        "spec.version",
        "spec.mainContainer.imageConfigs",
        "spec.processCounts",
        "spec.processes.{}.podTemplate",
        "spec.processes.{}.volumeClaimTemplate",
        "spec.processGroupIDPrefix",
        "spec.seedConnectionString",
        "spec.skip",
    ];

    #[test]
    fn every_field_is_acted_on_or_said_not_to_be() {
        let crd = crate::foundationdb_crd();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let names = |table: &[(&'static str, &str)]| table.iter().map(|(field, _)| *field).collect::<Vec<_>>();
        let missing = not_covered(spec, &[&names(WITHOUT_EFFECT), &names(PENDING), ACTED_ON]);
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn what_is_set_is_named_and_what_is_not_is_not() {
        let mut cluster = FoundationDBCluster::default();
        cluster.spec.data_hall = Some("az1".to_owned());
        let named: Vec<_> = deprecated_fields(&cluster).into_iter().map(|note| note.to_string()).collect();
        assert_eq!(named, ["spec.dataHall: use spec.localities with the key data_hall"]);
    }
}
