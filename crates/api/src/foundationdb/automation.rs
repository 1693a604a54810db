//! `spec.automationOptions`: what is done automatically, how much at once, and after which waits.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::DurationText;

/// What is done automatically, how much at once, and after which waits.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationOptions {
    /// Whether the database's configuration is changed; unset means yes.
    pub configure_database: Option<bool>,
    /// Whether processes are restarted; unset means yes.
    pub kill_processes: Option<bool>,
    /// Whether the database's status is read once per round; it always is.
    pub cache_database_status_for_reconciliation: Option<bool>,
    /// Replacement of failed process groups.
    pub replacements: Option<AutomaticReplacements>,
    /// For how many nanoseconds pods may be pending before they are left out of account; unset means 5 minutes.
    pub ignore_pending_pods_duration: Option<i64>,
    /// Whether exclusions are started without waiting for them.
    pub use_non_blocking_excludes: Option<bool>,
    /// Whether processes are excluded by locality, where the version can; unset means yes.
    pub use_localities_for_exclusion: Option<bool>,
    /// For how long pods may be terminating before they are left out of account; unset means 600.
    pub ignore_terminating_pods_seconds: Option<i32>,
    /// For how long processes may be missing before restarts go on without them; unset means 30.
    pub ignore_missing_processes_seconds: Option<i32>,
    /// After how long a failed pod counts as failed; unset means 300.
    pub failed_pod_duration_seconds: Option<i32>,
    /// How many process groups are replaced at once because their configuration changed; unset is no limit.
    #[schemars(range(min = 0))]
    pub max_concurrent_replacements: Option<i64>,
    /// How many pods are deleted at once to be recreated.
    #[schemars(extend("default" = "Zone"))]
    pub deletion_mode: Option<UpdateMode>,
    /// How many process groups are removed at once.
    #[schemars(extend("default" = "Zone"))]
    pub removal_mode: Option<UpdateMode>,
    /// How long to wait between removals; unset means 60.
    pub wait_between_removals_seconds: Option<i32>,
    /// How a changed pod template reaches the pods.
    #[schemars(extend("default" = "ReplaceTransactionSystem"))]
    pub pod_update_strategy: Option<PodUpdateStrategy>,
    /// Maintenance mode of the database while pods are recreated.
    pub maintenance_mode_options: Option<MaintenanceModeOptions>,
    /// Log groups whose clients do not hold up an upgrade.
    #[schemars(length(max = 10), inner(length(max = 256)))]
    pub ignore_log_groups_for_upgrade: Option<Vec<String>>,
    /// Whether operators of one database work in step.
    #[schemars(extend("default" = "local"))]
    pub synchronization_mode: Option<SynchronizationMode>,
    /// Another spelling of `synchronizationMode`.
    #[serde(rename = "synronizationMode")]
    pub synronization_mode: Option<SynchronizationMode>,
    /// How long operators wait for each other before they act together; unset takes the operator's setting.
    #[schemars(range(min = 0))]
    pub synchronization_wait_seconds: Option<i32>,
    /// `fdbcli` or `managementapi`; Quorate always uses the database's own interfaces.
    pub database_interaction_mode: Option<DatabaseInteractionMode>,
    /// Without meaning.
    #[serde(rename = "useManagementAPI")]
    pub use_management_api: Option<bool>,
    /// Waits that protect the database, where this cluster differs from the operator's flags.
    pub safety_timers: Option<SafetyTimers>,
}

/// Replacement of failed process groups.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomaticReplacements {
    /// Whether failed process groups are replaced; unset means yes.
    pub enabled: Option<bool>,
    /// Whether the limits count fault domains instead of process groups.
    pub fault_domain_based_replacements: Option<bool>,
    /// After how long a failed process group is replaced; unset means 7200.
    pub failure_detection_time_seconds: Option<i32>,
    /// After how long a process group on a tainted node is replaced; unset means 1800.
    pub taint_replacement_time_seconds: Option<i32>,
    /// How many are replaced at once; 0 stops all automatic replacements.
    #[schemars(range(min = 0), extend("default" = 1))]
    pub max_concurrent_replacements: Option<i32>,
    /// Which taints count, and for how long; none if empty.
    #[schemars(length(max = 32))]
    pub taint_replacement_options: Option<Vec<TaintReplacementOption>>,
    /// With more tainted fault domains than this (a number or a percentage; unset is 10 %), no taint leads to a replacement.
    #[schemars(schema_with = "crate::embedded::int_or_string")]
    #[serde(default)]
    pub max_fault_domains_with_tainted_process_groups: Option<IntOrString>,
    /// Limits per kind of process, so that a slow storage replacement never delays a quick stateless one.
    pub replacement_bucket: Option<ReplacementBucket>,
}

/// How many process groups of each kind are replaced at once.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplacementBucket {
    /// Whether the limits per kind hold; unset means no.
    pub enabled: Option<bool>,
    /// Storage process groups; unset means 1.
    pub storage: Option<i32>,
    /// Log, transaction and coordinator process groups; unset means 1.
    pub log: Option<i32>,
    /// All others; unset means 1.
    pub stateless: Option<i32>,
}

/// A taint that leads to a replacement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaintReplacementOption {
    /// The taint's key; `*` for any that is not named.
    #[schemars(length(max = 256), regex(pattern = r"^([\-._\/a-z0-9A-Z\*])*$"))]
    pub key: String,
    /// For how long it must be there.
    #[schemars(range(min = 0))]
    pub duration_in_seconds: i64,
}

/// How much is done at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpdateMode {
    /// Everything.
    All,
    /// One zone.
    #[default]
    Zone,
    /// One process group.
    ProcessGroup,
    /// Nothing.
    None,
}

/// How a changed pod template reaches the pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PodUpdateStrategy {
    /// Every process group is replaced.
    Replace,
    /// The transaction system is replaced, storage pods are recreated with their volumes.
    #[default]
    ReplaceTransactionSystem,
    /// Every pod is recreated with its volume.
    Delete,
}

/// Whether operators of one database work in step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SynchronizationMode {
    /// Each for itself.
    #[default]
    Local,
    /// In step, through sets kept in the database.
    Global,
}

/// How the database is told things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseInteractionMode {
    /// By command line.
    Fdbcli,
    /// By the management keys.
    Managementapi,
}

/// Maintenance mode of the database while pods are recreated.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MaintenanceModeOptions {
    /// Whether a zone is put into maintenance before its pods are recreated.
    #[serde(rename = "UseMaintenanceModeChecker")]
    pub use_maintenance_mode_checker: Option<bool>,
    /// Whether maintenance is ended once all its processes are back.
    pub reset_maintenance_mode: Option<bool>,
    /// How long maintenance lasts; unset means 600.
    pub maintenance_mode_time_seconds: Option<i32>,
}

/// Waits that protect the database; each has the name of an operator flag, and overrides it for this cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SafetyTimers {
    /// From the last recovery to an exclusion; 120s.
    pub minimum_recovery_time_for_exclusion: Option<DurationText>,
    /// From the last recovery to an inclusion; 600s.
    pub minimum_recovery_time_for_inclusion: Option<DurationText>,
    /// How long the cluster controller must be up before it is restarted; 1h.
    pub minimum_required_uptime_for_cc_bounce: Option<DurationText>,
    /// From the last recovery to a change of undesired coordinators; 5m.
    pub minimum_uptime_for_coordinator_change_with_undesired_process: Option<DurationText>,
    /// From the last recovery to a change of missing coordinators; 2m.
    pub minimum_uptime_for_coordinator_change_with_missing_process: Option<DurationText>,
    /// From the last recovery to a change of configuration; 1m.
    pub minimum_uptime_for_configuration_changes: Option<DurationText>,
    /// After how long an entry of the maintenance list is stale; 4h.
    pub maintenance_list_stale_duration: Option<DurationText>,
    /// How long another operator's maintenance is waited for; 5m.
    pub maintenance_list_wait_duration: Option<DurationText>,
    /// How long operators wait for each other before they act together; 30s.
    pub global_synchronization_wait_duration: Option<DurationText>,
    /// How old a terminated pod must be before it is deleted; 30s.
    pub minimum_age_for_terminal_pod_deletion: Option<DurationText>,
}
