//! The database's configuration, as the status shows it.

use std::collections::BTreeMap;

use quorate_api::foundationdb::{ObservedDatabaseConfiguration, RoleCounts};

/// Puts what the database says, by the names of `configure`, over what was shown before. Nothing said is nothing new.
pub(super) fn shown(
    before: Option<ObservedDatabaseConfiguration>,
    configuration: &BTreeMap<String, String>,
) -> Option<ObservedDatabaseConfiguration> {
    if configuration.is_empty() {
        return before;
    }
    let text = |name: &str| configuration.get(name).cloned();
    let number = |name: &str| configuration.get(name).and_then(|value| value.parse().ok());
    let before = before.unwrap_or_default();
    Some(ObservedDatabaseConfiguration {
        redundancy_mode: text("redundancy_mode"),
        storage_engine: text("storage_engine"),
        usable_regions: number("usable_regions"),
        regions: before.regions,
        storage_migration_type: text("storage_migration_type"),
        perpetual_storage_wiggle: number("perpetual_storage_wiggle"),
        perpetual_storage_wiggle_locality: text("perpetual_storage_wiggle_locality"),
        perpetual_storage_wiggle_engine: text("perpetual_storage_wiggle_engine"),
        excluded_servers: before.excluded_servers,
        roles: RoleCounts {
            storage: number("storage"),
            logs: number("logs"),
            proxies: number("proxies"),
            commit_proxies: number("commit_proxies"),
            grv_proxies: number("grv_proxies"),
            resolvers: number("resolvers"),
            log_routers: number("log_routers"),
            remote_logs: number("remote_logs"),
            log_spill: number("log_spill"),
            log_version: number("log_version"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_database_says_is_shown_and_silence_changes_nothing() {
        let said = [("redundancy_mode", "three_data_hall_fallback"), ("logs", "4"), ("log_spill", "2")];
        let said = said.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let shown_now = shown(None, &said).unwrap();
        assert_eq!(shown_now.redundancy_mode.as_deref(), Some("three_data_hall_fallback"));
        assert_eq!((shown_now.roles.logs, shown_now.roles.log_spill, shown_now.roles.proxies), (Some(4), Some(2), None));
        assert_eq!(shown(Some(shown_now.clone()), &BTreeMap::new()), Some(shown_now));
    }
}
