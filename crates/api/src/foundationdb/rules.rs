//! What a `FoundationDBCluster` must be to be accepted. Every message says what is wrong, where, and what would be right.

use quorate_foundationdb::{ProcessClass, RedundancyMode, Version};

use super::{KUBERNETES_CLUSTER_FAULT_DOMAIN, LOCALITY_SPELLINGS, NO_FAULT_DOMAIN, RESERVED_LOCALITIES};
use crate::Rule;
use crate::rule::duration;

/// All rules, in the order of the fields.
pub fn rules() -> Vec<Rule> {
    let mut rules = vec![
        version_supported(),
        process_group_prefix(),
        coordinator_class(),
        pod_ip_family(),
        custom_parameter_has_value(),
        bucket_not_negative(),
        synchronization_mode_once(),
    ];
    rules.extend(localities());
    rules.extend(no_contradiction());
    rules.extend(distribution());
    rules.extend(safety_timers());
    rules
}

fn version_supported() -> Rule {
    let Version { major, minor, .. } = Version::MINIMUM;
    let shape = r"self.matches('^[0-9]{1,4}\\.[0-9]{1,4}\\.[0-9]{1,4}(-.*)?$')";
    let (has_major, has_minor) = ("int(self.split('.')[0])", "int(self.split('.')[1])");
    Rule::new(
        "version-supported",
        "spec.version",
        format!("{shape} && ({has_major} > {major} || ({has_major} == {major} && {has_minor} >= {minor}))"),
        format!("spec.version must be {} or newer, written as major.minor.patch, for example 7.3.69", Version::MINIMUM),
    )
    .with_values(
        format!(
            "spec.version is \"%s\"; it must be {} or newer, written as major.minor.patch, for example 7.3.69",
            Version::MINIMUM
        ),
        &["self"],
    )
}

fn process_group_prefix() -> Rule {
    Rule::new(
        "process-group-prefix",
        "spec.processGroupIDPrefix",
        r"self.size() <= 43 && self.matches('^[a-z0-9A-Z]([\\-._a-z0-9A-Z])*[a-z0-9A-Z]$')",
        "spec.processGroupIDPrefix must be 2 to 43 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit, for example dc1",
    )
    .with_values(
        "spec.processGroupIDPrefix is \"%s\"; it must be 2 to 43 letters, digits, \"-\", \"_\" or \".\", beginning and ending with a letter or digit, for example dc1",
        &["self"],
    )
}

fn coordinator_class() -> Rule {
    let stateful: Vec<_> = ProcessClass::ALL.iter().filter(|class| class.is_stateful()).map(|class| class.name()).collect();
    Rule::new(
        "coordinator-class",
        "spec.coordinatorSelection.[]",
        format!("!has(self.processClass) || self.processClass in {stateful:?}"),
        format!(
            "spec.coordinatorSelection names a class that keeps nothing on disk; coordinators need one of {}",
            stateful.join(", ")
        ),
    )
    .with_values(
        format!(
            "spec.coordinatorSelection names the class \"%s\", which keeps nothing on disk; coordinators need one of {}",
            stateful.join(", ")
        ),
        &["self.processClass"],
    )
    .naming(".processClass")
}

fn pod_ip_family() -> Rule {
    Rule::new(
        "pod-ip-family",
        "spec.routing.podIPFamily",
        "self in [0, 4, 6]",
        "spec.routing.podIPFamily must be 4 or 6, or 0 to take the pod's first address",
    )
    .with_values("spec.routing.podIPFamily is %d; it must be 4 or 6, or 0 to take the first address of the pod", &["self"])
}

fn custom_parameter_has_value() -> Rule {
    Rule::new(
        "custom-parameter-has-value",
        "spec.processes.{}.customParameters.[]",
        "self.matches('^[^=]+=')",
        "a custom parameter must be name=value, for example knob_disable_posix_kernel_aio=1",
    )
    .with_values(
        "custom parameter \"%s\" has no name or no value; write it as name=value, for example knob_disable_posix_kernel_aio=1",
        &["self"],
    )
}

fn bucket_not_negative() -> Rule {
    let kinds = ["storage", "log", "stateless"];
    let holds: Vec<_> = kinds.iter().map(|kind| format!("(!has(self.{kind}) || self.{kind} >= 0)")).collect();
    let limits = kinds.map(|kind| format!("has(self.{kind}) ? self.{kind} : 1"));
    Rule::new(
        "bucket-not-negative",
        "spec.automationOptions.replacements.replacementBucket",
        holds.join(" && "),
        "replacementBucket has a limit below 0; use 0 to stop replacements of that kind, or a larger number",
    )
    .with_values(
        "replacementBucket has a limit below 0 (storage %d, log %d, stateless %d); use 0 to stop replacements of that kind, or a larger number",
        &limits.each_ref().map(String::as_str),
    )
}

fn synchronization_mode_once() -> Rule {
    Rule::new(
        "synchronization-mode-once",
        "spec.automationOptions",
        "!has(self.synronizationMode) || !has(self.synchronizationMode) || self.synchronizationMode == self.synronizationMode \
         || self.synchronizationMode == 'local'",
        "automationOptions has synchronizationMode and synronizationMode, and they differ; keep synchronizationMode only",
    )
    .naming(".synronizationMode")
}

/// `self.<field>` is there and not empty: the design's own example writes `value: ""` for what is not set.
fn is_set(object: &str, field: &str) -> String {
    format!("(has({object}.{field}) && {object}.{field} != '')")
}

/// A key in the spelling FoundationDB reads.
fn fdb_spelling(key: &str) -> String {
    let cases: String = LOCALITY_SPELLINGS.iter().map(|(ours, theirs)| format!("{key} == '{ours}' ? '{theirs}' : ")).collect();
    format!("({cases}{key})")
}

fn localities() -> [Rule; 4] {
    let reserved = format!("{RESERVED_LOCALITIES:?}");
    let (value, env, topology) = (is_set("self", "value"), is_set("self", "envValue"), is_set("self", "topologyKey"));
    let (one, other) = (fdb_spelling("one.key"), fdb_spelling("other.key"));
    [
        Rule::new(
            "locality-key",
            "spec.localities.[]",
            "self.key.matches('^[A-Za-z0-9][A-Za-z0-9_.-]*$') && !self.key.startsWith('locality_')",
            "spec.localities has a key that is no name; use letters, digits, '_', '.' or '-' without the prefix locality_, for example data_hall",
        )
        .with_values(
            "spec.localities has the key \"%s\"; use letters, digits, \"_\", \".\" or \"-\" without the prefix locality_, for example data_hall",
            &["self.key"],
        )
        .naming(".key"),
        Rule::new(
            "locality-source",
            "spec.localities.[]",
            format!("{value} || {env} || {topology}"),
            "spec.localities has a key without a source; set one of value, envValue or topologyKey",
        )
        .with_values("spec.localities: \"%s\" has no source; set one of value, envValue or topologyKey", &["self.key"]),
        Rule::new(
            "locality-reserved",
            "spec.localities.[]",
            format!("!(self.key in {reserved})"),
            "spec.localities sets a key that Quorate itself sets on every process (instance_id, process_id); remove it",
        )
        .with_values("spec.localities sets \"%s\", which Quorate itself sets on every process; remove it", &["self.key"])
        .naming(".key"),
        Rule::new(
            "locality-once",
            "spec.localities",
            format!("self.all(one, self.exists_one(other, {one} == {other}))"),
            "spec.localities has one key twice (zone is zoneid, datacenter is dcid, machine is machineid); keep one of them",
        )
        .with_values(
            "spec.localities has \"%s\" twice (zone is zoneid, datacenter is dcid, machine is machineid); keep one of them",
            &[&format!("self.filter(one, !self.exists_one(other, {one} == {other}))[0].key")],
        ),
    ]
}

/// Says the same thing twice only if it is the same thing.
fn no_contradiction() -> [Rule; 3] {
    let fixed = |name: &'static str, field: &'static str, keys: &str, word: &str| {
        let said = is_set("self", field);
        let agrees = format!("({} && l.value == self.{field})", is_set("l", "value"));
        Rule::new(
            name,
            "spec",
            format!("!{said} || !has(self.localities) || self.localities.all(l, !(l.key in {keys}) || {agrees})"),
            format!("spec.{field} and spec.localities say different things about the {word}; remove spec.{field}"),
        )
        .with_values(
            format!("spec.{field} is \"%s\" and spec.localities says something else about the {word}; remove spec.{field}"),
            &[&format!("self.{field}")],
        )
    };
    let domain = |field: &str| is_set("self.faultDomain", field);
    let (by_value, by_env, by_key) = (is_set("l", "value"), is_set("l", "envValue"), "self.faultDomain.key == l.topologyKey");
    let agrees = format!(
        "{by_value} ? ({value} && self.faultDomain.value == l.value) : \
         {by_env} ? ({from} && self.faultDomain.valueFrom == '$' + l.envValue) : \
         ({key} && {by_key} && !{value} && !{from})",
        value = domain("value"),
        from = domain("valueFrom"),
        key = domain("key"),
    );
    let zone = Rule::new(
        "zone-once",
        "spec",
        format!(
            "!has(self.faultDomain) || !({} || {} || {}) || !has(self.localities) || \
             self.localities.all(l, !(l.key in ['zone', 'zoneid']) || ({agrees}))",
            domain("key"),
            domain("value"),
            domain("valueFrom"),
        ),
        "spec.faultDomain and spec.localities say different things about the zone; remove key, value and valueFrom from spec.faultDomain",
    );
    [
        zone.naming(".faultDomain"),
        fixed("datacenter-once", "dataCenter", "['datacenter', 'dcid']", "datacenter").naming(".dataCenter"),
        fixed("data-hall-once", "dataHall", "['data_hall']", "data hall").naming(".dataHall"),
    ]
}

const PACKS: &str = "has(self.distribution) && has(self.distribution.enabled) && self.distribution.enabled";

fn distribution() -> [Rule; 3] {
    let mode = format!(
        "(has(self.databaseConfiguration) && has(self.databaseConfiguration.redundancy_mode) \
         ? self.databaseConfiguration.redundancy_mode : '{}')",
        RedundancyMode::default()
    );
    let cases: String =
        RedundancyMode::ALL.iter().map(|each| format!("{mode} == '{each}' ? {} : ", each.minimum_fault_domains())).collect();
    let minimum = format!("({cases}1)");
    let chosen = "self.distribution.desiredFaultDomains";
    let from_node = format!(
        "l.key in ['data_hall', 'datacenter', 'dcid'] && !{} && !{} && {}",
        is_set("l", "value"),
        is_set("l", "envValue"),
        is_set("l", "topologyKey")
    );
    [
        Rule::new(
            "distribution-enough-domains",
            "spec",
            format!("!({PACKS}) || !has({chosen}) || {chosen} >= {minimum}"),
            "spec.distribution.desiredFaultDomains is smaller than the redundancy mode needs; raise it (single 1, double 2, the others 3)",
        )
        .with_values(
            "spec.distribution.desiredFaultDomains is %d, but redundancy mode %s needs at least %d; raise it, or choose another redundancy mode",
            &[chosen, &mode, &minimum],
        )
        .naming(".distribution.desiredFaultDomains"),
        Rule::new(
            "distribution-real-fault-domain",
            "spec",
            format!(
                "!({PACKS}) || !has(self.faultDomain) || !has(self.faultDomain.key) || \
                 !(self.faultDomain.key in ['{NO_FAULT_DOMAIN}', '{KUBERNETES_CLUSTER_FAULT_DOMAIN}'])"
            ),
            "spec.distribution needs hosts to spread over, and spec.faultDomain.key says there are none; remove spec.faultDomain.key or use a node label",
        )
        .with_values(
            "spec.distribution needs hosts to spread over, and spec.faultDomain.key is %s; remove it or use a node label such as kubernetes.io/hostname",
            &["self.faultDomain.key"],
        )
        .naming(".faultDomain"),
        Rule::new(
            "distribution-fixed-hall",
            "spec",
            format!("!({PACKS}) || !has(self.localities) || !self.localities.exists(l, {from_node})"),
            "spec.distribution can't be used with a data hall or datacenter from a topologyKey, because a logical fault domain could span two of them; \
             give that locality a fixed value, with one cluster object per hall",
        )
        .naming(".distribution"),
    ]
}

fn safety_timers() -> Vec<Rule> {
    [
        "minimumRecoveryTimeForExclusion",
        "minimumRecoveryTimeForInclusion",
        "minimumRequiredUptimeForCcBounce",
        "minimumUptimeForCoordinatorChangeWithUndesiredProcess",
        "minimumUptimeForCoordinatorChangeWithMissingProcess",
        "minimumUptimeForConfigurationChanges",
        "maintenanceListStaleDuration",
        "maintenanceListWaitDuration",
        "globalSynchronizationWaitDuration",
        "minimumAgeForTerminalPodDeletion",
    ]
    .map(|timer| duration("safety-timer-duration", format!("spec.automationOptions.safetyTimers.{timer}")))
    .into()
}
