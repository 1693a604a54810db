//! Which fields of a `FoundationDBCluster` are not acted on, and which have a successor.

use super::{FoundationDBCluster, SynchronizationMode};
use crate::fields::{FieldNote, set_in};

/// Fields that mean nothing to Quorate, and why.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("spec.sidecarVariables", "the unified image has no variables to substitute; write a custom parameter whose value is $NAME"),
    ("spec.sidecarContainer.enableLivenessProbe", "the sidecar of the unified image has no probes"),
    ("spec.sidecarContainer.enableReadinessProbe", "the sidecar of the unified image has no probes"),
    ("spec.sidecarContainer.enableTls", "the sidecar of the unified image serves nothing; use spec.mainContainer.enableTls"),
    ("spec.sidecarContainer.imageConfigs", "the sidecar runs the main container's image; use spec.mainContainer.imageConfigs"),
    (
        "spec.sidecarContainer.peerVerificationRules",
        "the sidecar of the unified image serves nothing; use spec.mainContainer.peerVerificationRules",
    ),
    ("spec.labels.filterOnOwnerReference", "only pods that this object owns ever count"),
    ("spec.partialConnectionString.coordinators", "coordinators are chosen among the processes of the cluster"),
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
    ("spec.faultDomain.key", "keep it for now: its successor, spec.localities with the key zone, has no effect yet"),
    ("spec.faultDomain.value", "keep it for now: its successor, spec.localities with the key zone, has no effect yet"),
    ("spec.faultDomain.valueFrom", "keep it for now: its successor, spec.localities with the key zone, has no effect yet"),
    ("spec.dataCenter", "keep it for now: its successor, spec.localities with the key datacenter, has no effect yet"),
    ("spec.dataHall", "keep it for now: its successor, spec.localities with the key data_hall, has no effect yet"),
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
    ("spec.ignoreUpgradabilityChecks", NOT_YET),
    ("spec.databaseConfiguration.usable_regions", NOT_YET),
    ("spec.databaseConfiguration.regions", NOT_YET),
    ("spec.databaseConfiguration.perpetual_storage_wiggle_locality", NOT_YET),
    ("spec.databaseConfiguration.perpetual_storage_wiggle_engine", NOT_YET),
    ("spec.localities", NOT_YET),
    ("spec.automationOptions.maintenanceModeOptions", NOT_YET),
    ("spec.automationOptions.ignoreLogGroupsForUpgrade", NOT_YET),
    ("spec.automationOptions.synchronizationMode", NOT_YET),
    ("spec.automationOptions.synronizationMode", NOT_YET),
    ("spec.automationOptions.synchronizationWaitSeconds", NOT_YET),
    ("spec.automationOptions.safetyTimers.minimumRequiredUptimeForCcBounce", NOT_YET),
    ("spec.automationOptions.safetyTimers.maintenanceListStaleDuration", NOT_YET),
    ("spec.automationOptions.safetyTimers.maintenanceListWaitDuration", NOT_YET),
    ("spec.automationOptions.safetyTimers.globalSynchronizationWaitDuration", NOT_YET),
];

/// Fields of this cluster that were accepted and are not acted on.
pub fn fields_without_effect(cluster: &FoundationDBCluster) -> Vec<FieldNote> {
    let object = as_json(cluster);
    // What everybody has who says nothing is no wish.
    let for_itself =
        cluster.spec.automation_options.as_ref().is_some_and(|asked| asked.synchronization_mode() == SynchronizationMode::Local);
    let is_default = |note: &FieldNote| for_itself && note.field.ends_with("onizationMode");
    let mut notes = [set_in(&object, WITHOUT_EFFECT), set_in(&object, PENDING)].concat();
    notes.retain(|note| !is_default(note));
    notes
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
        "spec.imageType",
        "spec.mainContainer.enableTls",
        "spec.mainContainer.peerVerificationRules",
        "spec.databaseConfiguration.redundancy_mode",
        "spec.databaseConfiguration.storage_engine",
        "spec.databaseConfiguration.storage_migration_type",
        "spec.databaseConfiguration.perpetual_storage_wiggle",
        "spec.databaseConfiguration.storage",
        "spec.databaseConfiguration.logs",
        "spec.databaseConfiguration.proxies",
        "spec.databaseConfiguration.commit_proxies",
        "spec.databaseConfiguration.grv_proxies",
        "spec.databaseConfiguration.resolvers",
        "spec.databaseConfiguration.log_routers",
        "spec.databaseConfiguration.remote_logs",
        "spec.databaseConfiguration.log_spill",
        "spec.databaseConfiguration.log_version",
        "spec.storageServersPerPod",
        "spec.logServersPerPod",
        "spec.processes.{}.customParameters",
        "spec.faultDomain",
        "spec.distribution",
        "spec.dataCenter",
        "spec.dataHall",
        "spec.coordinatorSelection",
        "spec.partialConnectionString.databaseName",
        "spec.partialConnectionString.generationID",
        "spec.routing",
        "spec.useExplicitListenAddress",
        "spec.configMap",
        "spec.labels.matchLabels",
        "spec.labels.resourceLabels",
        "spec.labels.processGroupIDLabels",
        "spec.labels.processClassLabels",
        "spec.logGroup",
        "spec.trustedCAs",
        "spec.processGroupsToRemove",
        "spec.replaceInstancesWhenResourcesChange",
        "spec.processGroupsToRemoveWithoutExclusion",
        "spec.minimumUptimeSecondsForBounce",
        "spec.maxZonesWithUnavailablePods",
        "spec.automationOptions.configureDatabase",
        "spec.automationOptions.killProcesses",
        "spec.automationOptions.replacements",
        "spec.automationOptions.ignorePendingPodsDuration",
        "spec.automationOptions.useLocalitiesForExclusion",
        "spec.automationOptions.ignoreTerminatingPodsSeconds",
        "spec.automationOptions.ignoreMissingProcessesSeconds",
        "spec.automationOptions.failedPodDurationSeconds",
        "spec.automationOptions.maxConcurrentReplacements",
        "spec.automationOptions.deletionMode",
        "spec.automationOptions.removalMode",
        "spec.automationOptions.waitBetweenRemovalsSeconds",
        "spec.automationOptions.podUpdateStrategy",
        "spec.automationOptions.safetyTimers.minimumRecoveryTimeForExclusion",
        "spec.automationOptions.safetyTimers.minimumRecoveryTimeForInclusion",
        "spec.automationOptions.safetyTimers.minimumUptimeForCoordinatorChangeWithUndesiredProcess",
        "spec.automationOptions.safetyTimers.minimumUptimeForCoordinatorChangeWithMissingProcess",
        "spec.automationOptions.safetyTimers.minimumUptimeForConfigurationChanges",
        "spec.automationOptions.safetyTimers.minimumAgeForTerminalPodDeletion",
        "spec.lockOptions",
        "spec.buggify",
        "spec.volumeRetentionPolicy",
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
        assert_eq!(
            named,
            ["spec.dataHall: keep it for now: its successor, spec.localities with the key data_hall, has no effect yet"]
        );
    }
}
