//! What is done automatically, how much at once, and after which waits; the lock; and the faults to inject.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use quorate_api::DurationText;
use quorate_api::foundationdb::{
    AutomaticReplacements, FoundationDBClusterSpec, PodUpdateStrategy, SafetyTimers as AskedTimers, UpdateMode,
};
use quorate_foundationdb::objects::MAIN_CONTAINER;
use quorate_foundationdb::{
    AtMost, AtOnce, Automation, BucketLimits, Buggify, LockWish, PodUpdate, Replacements, SafetyTimers, Version,
};

use super::problems::Problems;

/// Where the operators of one database keep their lock.
const LOCK_PREFIX: &[u8] = b"\xff\x02/org.foundationdb.kubernetes-operator";

/// Longer than this nobody waits. People write the largest number there is where they mean never, and a time that far ahead is none.
const FOR_EVER: SignedDuration = SignedDuration::from_hours(24 * 365 * 100);

pub(super) fn automation(spec: &FoundationDBClusterSpec, version: Version, problems: &mut Problems) -> Automation {
    let asked = spec.automation_options.clone().unwrap_or_default();
    let most_unavailable_zones = spec.max_zones_with_unavailable_pods.and_then(|zones| {
        let read = u32::try_from(zones).map(Some).map_err(|_| format!("{zones} is no number of zones"));
        problems.unless_wrong("spec.maxZonesWithUnavailablePods", read, None, "0 or more")
    });
    Automation {
        configure_database: asked.configure_database(),
        kill_processes: asked.kill_processes(),
        exclude_by_locality: asked.use_localities_for_exclusion() && excludes_by_locality(version),
        misconfigured_at_once: asked.max_concurrent_replacements(),
        ignore_pending_after: signed(asked.ignore_pending_pods()),
        ignore_terminating_after: signed(asked.ignore_terminating_pods()),
        ignore_missing_after: signed(asked.ignore_missing_processes()),
        pod_failed_after: signed(asked.failed_pod_duration()),
        deletion: at_once(asked.deletion_mode()),
        removal: at_once(asked.removal_mode()),
        between_removals: signed(asked.wait_between_removals()),
        pod_update: match asked.pod_update_strategy() {
            PodUpdateStrategy::Replace => PodUpdate::Replace,
            PodUpdateStrategy::ReplaceTransactionSystem => PodUpdate::ReplaceTransactionSystem,
            PodUpdateStrategy::Delete => PodUpdate::Delete,
        },
        replacements: replacements(&asked.replacements.unwrap_or_default(), problems),
        replace_when_resources_grow: spec.replace_instances_when_resources_change.unwrap_or(false),
        most_unavailable_zones,
        uptime_before_bounce: signed(spec.minimum_uptime_for_bounce()),
        timers: timers(&asked.safety_timers.unwrap_or_default(), problems),
    }
}

/// Versions whose exclusion by locality can be relied on.
fn excludes_by_locality(version: Version) -> bool {
    let since = if version.speaks_with(Version::MINIMUM) { (7, 1, 42) } else { (7, 3, 26) };
    (version.major, version.minor, version.patch) >= since
}

fn replacements(asked: &AutomaticReplacements, problems: &mut Problems) -> Replacements {
    const AT: &str = "spec.automationOptions.replacements";
    let taints = asked.taint_replacement_options.iter().flatten();
    let default = Replacements::default().most_tainted_domains;
    let most = asked.max_fault_domains_with_tainted_process_groups.as_ref();
    let most = most.map_or(Ok(default), at_most);
    let buckets = asked.replacement_bucket.as_ref().filter(|buckets| buckets.enabled());
    Replacements {
        enabled: asked.enabled(),
        by_fault_domain: asked.fault_domain_based_replacements.unwrap_or(false),
        after: signed(asked.failure_detection_time()),
        at_once: i64::from(asked.max_concurrent_replacements()),
        buckets: buckets.map(|buckets| BucketLimits {
            storage: i64::from(buckets.storage()),
            log: i64::from(buckets.log()),
            stateless: i64::from(buckets.stateless()),
        }),
        taints: taints.map(|taint| (taint.key.clone(), lasting(taint.duration_in_seconds))).collect(),
        taint_replaced_after: signed(asked.taint_replacement_time()),
        most_tainted_domains: problems.unless_wrong(
            &format!("{AT}.maxFaultDomainsWithTaintedProcessGroups"),
            most,
            default,
            "a number such as 2, or a percentage such as 10%",
        ),
    }
}

fn lasting(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds.max(0)).min(FOR_EVER)
}

fn at_most(limit: &IntOrString) -> Result<AtMost, String> {
    match limit {
        IntOrString::Int(number) => u32::try_from(*number).map(AtMost::Number).map_err(|_| format!("{number} is less than 0")),
        IntOrString::String(text) => {
            let percent = text.strip_suffix('%').and_then(|number| number.parse().ok()).filter(|percent| *percent <= 100);
            percent.map(AtMost::Percent).ok_or_else(|| format!("{text:?} is no percentage"))
        }
    }
}

fn at_once(mode: UpdateMode) -> AtOnce {
    match mode {
        UpdateMode::All => AtOnce::All,
        UpdateMode::Zone => AtOnce::Zone,
        UpdateMode::ProcessGroup => AtOnce::ProcessGroup,
        UpdateMode::None => AtOnce::Nothing,
    }
}

fn timers(asked: &AskedTimers, problems: &mut Problems) -> SafetyTimers {
    let mut timer = |name: &str, asked: &Option<DurationText>, default: SignedDuration| {
        let Some(text) = asked else { return default };
        let read = text.length().map(signed).ok_or_else(|| format!("{:?} is no duration", text.0));
        problems.unless_wrong(
            &format!("spec.automationOptions.safetyTimers.{name}"),
            read,
            default,
            "a duration such as 90s or 5m",
        )
    };
    let default = SafetyTimers::default();
    SafetyTimers {
        recovery_before_exclusion: timer(
            "minimumRecoveryTimeForExclusion",
            &asked.minimum_recovery_time_for_exclusion,
            default.recovery_before_exclusion,
        ),
        recovery_before_inclusion: timer(
            "minimumRecoveryTimeForInclusion",
            &asked.minimum_recovery_time_for_inclusion,
            default.recovery_before_inclusion,
        ),
        recovery_before_undesired_coordinator: timer(
            "minimumUptimeForCoordinatorChangeWithUndesiredProcess",
            &asked.minimum_uptime_for_coordinator_change_with_undesired_process,
            default.recovery_before_undesired_coordinator,
        ),
        recovery_before_missing_coordinator: timer(
            "minimumUptimeForCoordinatorChangeWithMissingProcess",
            &asked.minimum_uptime_for_coordinator_change_with_missing_process,
            default.recovery_before_missing_coordinator,
        ),
        recovery_before_configuration: timer(
            "minimumUptimeForConfigurationChanges",
            &asked.minimum_uptime_for_configuration_changes,
            default.recovery_before_configuration,
        ),
        ended_pod_age: timer(
            "minimumAgeForTerminalPodDeletion",
            &asked.minimum_age_for_terminal_pod_deletion,
            default.ended_pod_age,
        ),
    }
}

/// The lock is used where several operators are to be expected, or where the user says so.
pub(super) fn lock(spec: &FoundationDBClusterSpec, problems: &mut Problems) -> Option<LockWish> {
    let asked = spec.lock_options.clone().unwrap_or_default();
    let zones = spec.fault_domain.as_ref().and_then(|domain| domain.zone_count).unwrap_or(0);
    let regions = spec.database_configuration.as_ref().and_then(|database| database.regions.as_ref()).map_or(0, Vec::len);
    let several = zones > 1 || regions > 1 || spec.redundancy_mode().spans_halls();
    if asked.disable_locks.unwrap_or(!several) {
        return None;
    }
    let mut deny = BTreeMap::new();
    for (index, entry) in asked.deny_list.iter().flatten().enumerate() {
        match entry.id.as_deref().filter(|id| !id.is_empty()) {
            Some(id) => drop(deny.insert(id.to_owned(), !entry.allow.unwrap_or(false))),
            None => problems.add(
                format!("spec.lockOptions.denyList[{index}].id"),
                "it is not said which operator is meant",
                "the processGroupIDPrefix of its cluster",
            ),
        }
    }
    let duration = signed(asked.lock_duration());
    let prefix = asked.lock_key_prefix.filter(|prefix| !prefix.is_empty());
    if prefix.as_ref().is_some_and(|prefix| !prefix.as_bytes().starts_with(LOCK_PREFIX)) {
        problems.add(
            "spec.lockOptions.lockKeyPrefix".to_owned(),
            "Quorate writes no other keys than its own",
            "leaving it out, for the keys of the existing operator",
        );
    }
    Some(LockWish {
        prefix: prefix.map_or_else(|| LOCK_PREFIX.to_vec(), String::into_bytes),
        owner: spec.process_group_id_prefix.clone().unwrap_or_default(),
        duration,
        deny,
    })
}

pub(super) fn buggify(spec: &FoundationDBClusterSpec) -> Buggify {
    let asked = spec.buggify.clone().unwrap_or_default();
    let set = |list: Option<Vec<String>>| list.into_iter().flatten().collect::<BTreeSet<String>>();
    let mut crash_loop: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let older = (Some(MAIN_CONTAINER.to_owned()), asked.crash_loop);
    let newer = asked.crash_loop_containers.into_iter().flatten().map(|one| (one.container_name, one.targets));
    for (container, targets) in newer.chain([older]) {
        if let (Some(container), Some(targets)) = (container, targets) {
            crash_loop.entry(container).or_default().extend(targets);
        }
    }
    Buggify {
        no_schedule: set(asked.no_schedule),
        crash_loop,
        empty_monitor_configuration: asked.empty_monitor_conf.unwrap_or(false),
        ignore_during_restart: set(asked.ignore_during_restart),
        block_removal: set(asked.block_removal),
    }
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(FOR_EVER).min(FOR_EVER)
}
