//! What a `FoundationDBCluster` means where it says nothing.
//!
//! Defaults that the CRD writes into the object (those of the existing operator's CRD) are repeated here, so that an object from a
//! file means the same as one from an API server.

use std::time::Duration;

use quorate_foundationdb::RedundancyMode;

use super::{
    AutomaticReplacements, AutomationOptions, DatabaseConfiguration, Distribution, FoundationDBClusterSpec, ImageType,
    LockOptions, MaintenanceModeOptions, PodUpdateStrategy, PublicIpSource, ReplacementBucket, Routing, StorageEngine,
    SynchronizationMode, UpdateMode,
};
use crate::VolumeRetentionPolicy;

impl FoundationDBClusterSpec {
    /// `unified`.
    pub fn image_type(&self) -> ImageType {
        self.image_type.unwrap_or_default()
    }

    /// One; 0 means unset.
    pub fn storage_servers_per_pod(&self) -> i32 {
        self.storage_servers_per_pod.filter(|count| *count > 0).unwrap_or(1)
    }

    /// One; 0 means unset.
    pub fn log_servers_per_pod(&self) -> i32 {
        self.log_servers_per_pod.filter(|count| *count > 0).unwrap_or(1)
    }

    /// Ten minutes.
    pub fn minimum_uptime_for_bounce(&self) -> Duration {
        seconds(self.minimum_uptime_seconds_for_bounce, 600)
    }

    /// `double`.
    pub fn redundancy_mode(&self) -> RedundancyMode {
        self.database_configuration.as_ref().and_then(|database| database.redundancy_mode).unwrap_or_default()
    }

    /// Kept: only an explicit `Delete` deletes data.
    pub fn volume_retention_policy(&self) -> VolumeRetentionPolicy {
        self.volume_retention_policy.unwrap_or_default()
    }

    /// Nothing skipped.
    pub fn skip(&self) -> bool {
        self.skip.unwrap_or(false)
    }
}

impl DatabaseConfiguration {
    /// `ssd-2`.
    pub fn storage_engine(&self) -> StorageEngine {
        self.storage_engine.unwrap_or(StorageEngine::Ssd2)
    }
}

impl Distribution {
    /// Off.
    pub fn enabled(&self) -> bool {
        self.enabled.unwrap_or(false)
    }

    /// The fewest the mode needs.
    pub fn desired_fault_domains(&self, mode: RedundancyMode) -> i64 {
        self.desired_fault_domains.map_or(i64::from(mode.minimum_fault_domains()), i64::from)
    }

    /// Not required.
    pub fn required(&self) -> bool {
        self.required.unwrap_or(false)
    }
}

impl Routing {
    /// The pod's own address.
    pub fn public_ip_source(&self) -> PublicIpSource {
        self.public_ip_source.unwrap_or_default()
    }

    /// Yes.
    pub fn use_dns_in_cluster_file(&self) -> bool {
        self.use_dns_in_cluster_file.unwrap_or(true)
    }

    /// `cluster.local`.
    pub fn dns_domain(&self) -> &str {
        self.dns_domain.as_deref().unwrap_or("cluster.local")
    }
}

impl AutomationOptions {
    /// Yes.
    pub fn configure_database(&self) -> bool {
        self.configure_database.unwrap_or(true)
    }

    /// Yes.
    pub fn kill_processes(&self) -> bool {
        self.kill_processes.unwrap_or(true)
    }

    /// Yes, where the version can.
    pub fn use_localities_for_exclusion(&self) -> bool {
        self.use_localities_for_exclusion.unwrap_or(true)
    }

    /// Five minutes; the field counts nanoseconds.
    pub fn ignore_pending_pods(&self) -> Duration {
        self.ignore_pending_pods_duration
            .and_then(|nanoseconds| u64::try_from(nanoseconds).ok())
            .map_or(Duration::from_secs(300), Duration::from_nanos)
    }

    /// Ten minutes.
    pub fn ignore_terminating_pods(&self) -> Duration {
        seconds(self.ignore_terminating_pods_seconds, 600)
    }

    /// Half a minute.
    pub fn ignore_missing_processes(&self) -> Duration {
        seconds(self.ignore_missing_processes_seconds, 30)
    }

    /// Five minutes.
    pub fn failed_pod_duration(&self) -> Duration {
        seconds(self.failed_pod_duration_seconds, 300)
    }

    /// No limit.
    pub fn max_concurrent_replacements(&self) -> i64 {
        self.max_concurrent_replacements.unwrap_or(i64::MAX)
    }

    /// By zone.
    pub fn deletion_mode(&self) -> UpdateMode {
        self.deletion_mode.unwrap_or_default()
    }

    /// By zone.
    pub fn removal_mode(&self) -> UpdateMode {
        self.removal_mode.unwrap_or_default()
    }

    /// One minute.
    pub fn wait_between_removals(&self) -> Duration {
        seconds(self.wait_between_removals_seconds, 60)
    }

    /// The transaction system is replaced, the rest recreated.
    pub fn pod_update_strategy(&self) -> PodUpdateStrategy {
        self.pod_update_strategy.unwrap_or_default()
    }

    /// `local`. The misspelt field counts where the right one says nothing else: the CRD writes `local` into every object.
    pub fn synchronization_mode(&self) -> SynchronizationMode {
        match self.synchronization_mode.unwrap_or_default() {
            SynchronizationMode::Global => SynchronizationMode::Global,
            SynchronizationMode::Local => self.synronization_mode.unwrap_or_default(),
        }
    }

    /// The operator's own log group.
    pub fn ignore_log_groups_for_upgrade(&self) -> Vec<String> {
        self.ignore_log_groups_for_upgrade.clone().unwrap_or_else(|| vec!["fdb-kubernetes-operator".to_owned()])
    }
}

impl AutomaticReplacements {
    /// Yes.
    pub fn enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// Two hours.
    pub fn failure_detection_time(&self) -> Duration {
        seconds(self.failure_detection_time_seconds, 7200)
    }

    /// Half an hour.
    pub fn taint_replacement_time(&self) -> Duration {
        seconds(self.taint_replacement_time_seconds, 1800)
    }

    /// One.
    pub fn max_concurrent_replacements(&self) -> i32 {
        self.max_concurrent_replacements.unwrap_or(1)
    }
}

impl ReplacementBucket {
    /// Off.
    pub fn enabled(&self) -> bool {
        self.enabled.unwrap_or(false)
    }

    /// One.
    pub fn storage(&self) -> i32 {
        self.storage.unwrap_or(1)
    }

    /// One.
    pub fn log(&self) -> i32 {
        self.log.unwrap_or(1)
    }

    /// One.
    pub fn stateless(&self) -> i32 {
        self.stateless.unwrap_or(1)
    }
}

impl MaintenanceModeOptions {
    /// Ten minutes.
    pub fn maintenance_time(&self) -> Duration {
        seconds(self.maintenance_mode_time_seconds, 600)
    }
}

impl LockOptions {
    /// Ten minutes.
    pub fn lock_duration(&self) -> Duration {
        Duration::from_secs(60 * self.lock_duration_minutes.and_then(|minutes| u64::try_from(minutes).ok()).unwrap_or(10))
    }
}

fn seconds(asked: Option<i32>, default: u64) -> Duration {
    Duration::from_secs(asked.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cluster_means_what_it_means_to_the_existing_operator() {
        let spec = FoundationDBClusterSpec::default();
        assert_eq!(spec.image_type(), ImageType::Unified);
        assert_eq!(spec.redundancy_mode(), RedundancyMode::Double);
        assert_eq!(spec.minimum_uptime_for_bounce(), Duration::from_secs(600));
        let automation = AutomationOptions::default();
        assert_eq!(automation.ignore_pending_pods(), Duration::from_secs(300));
        assert_eq!(automation.deletion_mode(), UpdateMode::Zone);
        assert_eq!(automation.pod_update_strategy(), PodUpdateStrategy::ReplaceTransactionSystem);
        let replacements = AutomaticReplacements::default();
        assert!(replacements.enabled());
        assert_eq!(replacements.failure_detection_time(), Duration::from_secs(7200));
        assert_eq!(replacements.max_concurrent_replacements(), 1);
    }

    #[test]
    fn deleting_a_cluster_keeps_its_volumes_unless_told_otherwise() {
        assert_eq!(FoundationDBClusterSpec::default().volume_retention_policy(), VolumeRetentionPolicy::Retain);
    }

    #[test]
    fn the_misspelt_synchronization_mode_counts() {
        let options = AutomationOptions {
            synchronization_mode: Some(SynchronizationMode::Local),
            synronization_mode: Some(SynchronizationMode::Global),
            ..AutomationOptions::default()
        };
        assert_eq!(options.synchronization_mode(), SynchronizationMode::Global);
    }

    #[test]
    fn the_domains_of_a_distribution_default_to_what_the_mode_needs() {
        assert_eq!(Distribution::default().desired_fault_domains(RedundancyMode::Triple), 3);
    }
}
