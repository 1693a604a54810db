//! What is configured: the keys below `\xff/conf/`, read as FoundationDB reads them.

use std::collections::BTreeMap;

use super::exclusion::Exclusion;
use super::policy::Policy;

/// The configuration of a database that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Configuration {
    pub log_replicas: usize,
    pub storage_replicas: usize,
    pub log_policy: Policy,
    pub storage_policy: Policy,
    pub log_engine: i64,
    pub storage_engine: i64,
    pub logs: usize,
    pub commit_proxies: usize,
    pub grv_proxies: usize,
    pub resolvers: usize,
    pub exclusions: Vec<Exclusion>,
    /// Classes set in the database, by address; they win over the command line.
    pub classes: BTreeMap<String, String>,
    others: BTreeMap<String, i64>,
}

impl Configuration {
    /// Reads the keys, given without their prefix; `None` while the database was not created.
    pub(super) fn read<'a>(keys: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Option<Self> {
        let mut values: BTreeMap<&str, &[u8]> = BTreeMap::new();
        let mut exclusions = Vec::new();
        let mut classes = BTreeMap::new();
        for (key, value) in keys {
            let Ok(key) = std::str::from_utf8(key) else { continue };
            if let Some(target) = key.strip_prefix("excluded/") {
                exclusions.push(Exclusion::address(target));
            } else if let Some(target) = key.strip_prefix("excluded_locality/") {
                exclusions.push(Exclusion::locality(target));
            } else if let Some(address) = key.strip_prefix("process_classes/") {
                classes.insert(address.to_owned(), String::from_utf8_lossy(value).into_owned());
            } else {
                values.insert(key, value);
            }
        }
        values.get("initialized")?;
        let number = |key: &str| values.get(key).and_then(|value| std::str::from_utf8(value).ok()?.parse::<i64>().ok());
        let count = |key: &str, default: usize| {
            number(key).and_then(|number| usize::try_from(number).ok()).filter(|number| *number > 0).unwrap_or(default)
        };
        let policy = |key: &str, replicas| {
            values.get(key).and_then(|bytes| Policy::decode(bytes)).unwrap_or_else(|| Policy::zones(replicas))
        };
        let (log_replicas, storage_replicas) = (count("log_replicas", 1), count("storage_replicas", 1));
        Some(Self {
            log_replicas,
            storage_replicas,
            log_policy: policy("log_replication_policy", log_replicas),
            storage_policy: policy("storage_replication_policy", storage_replicas),
            // Whoever asks for logs in memory gets them on disk.
            log_engine: number("log_engine").filter(|engine| *engine != 1).unwrap_or(2),
            storage_engine: number("storage_engine").unwrap_or(2),
            logs: count("logs", 3),
            commit_proxies: count("commit_proxies", 3),
            grv_proxies: count("grv_proxies", 1),
            resolvers: count("resolvers", 1),
            others: values.keys().filter_map(|key| Some(((*key).to_owned(), number(key)?))).collect(),
            exclusions,
            classes,
        })
    }

    /// Any other number of the configuration.
    pub(super) fn number(&self, key: &str) -> i64 {
        self.others.get(key).copied().unwrap_or(0)
    }

    /// Whether storage servers of another engine are made again.
    pub(super) fn migrates(&self) -> bool {
        match self.migration() {
            "aggressive" => true,
            "gradual" => self.number("perpetual_storage_wiggle") > 0,
            _ => false,
        }
    }

    /// How they are, as `status json` shows it.
    pub(super) fn migration(&self) -> &'static str {
        match self.number("storage_migration_type") {
            2 => "aggressive",
            3 => "gradual",
            _ => "disabled",
        }
    }

    /// What was set of a setting that is not shown otherwise.
    pub(super) fn set(&self, key: &str) -> Option<i64> {
        self.others.get(key).copied()
    }

    /// How many zones may fail by the replication alone.
    pub(super) fn tolerated_failures(&self) -> i64 {
        let smaller = self.log_replicas.min(self.storage_replicas);
        i64::try_from(smaller).unwrap_or(1) - 1
    }

    /// The name of the mode, as `status json` shows it.
    pub(super) fn redundancy_mode(&self) -> &'static str {
        MODES
            .iter()
            .find(|mode| {
                let (name, log_replicas, storage_replicas) = **mode;
                (log_replicas, storage_replicas) == (self.log_replicas, self.storage_replicas)
                    && policies(name) == (self.log_policy.clone(), self.storage_policy.clone())
            })
            .map_or("custom", |(name, _, _)| name)
    }
}

/// Every redundancy mode: its name, log replicas and storage replicas.
const MODES: [(&str, usize, usize); 7] = [
    ("single", 1, 1),
    ("double", 2, 2),
    ("triple", 3, 3),
    ("three_data_hall", 4, 3),
    ("three_data_hall_fallback", 4, 2),
    ("three_datacenter", 4, 6),
    ("three_datacenter_fallback", 4, 4),
];

/// The log and the storage policy of a mode.
fn policies(mode: &str) -> (Policy, Policy) {
    let in_pairs = |attribute, count| Policy::across(attribute, count, Policy::zones(2));
    match mode {
        "double" => (Policy::zones(2), Policy::zones(2)),
        "triple" => (Policy::zones(3), Policy::zones(3)),
        "three_data_hall" => (in_pairs("data_hall", 2), Policy::across("data_hall", 3, Policy::One)),
        "three_data_hall_fallback" => (in_pairs("data_hall", 2), Policy::across("data_hall", 2, Policy::One)),
        "three_datacenter" => (in_pairs("dcid", 2), in_pairs("dcid", 3)),
        "three_datacenter_fallback" => (in_pairs("dcid", 2), in_pairs("dcid", 2)),
        _ => (Policy::One, Policy::One),
    }
}

/// The keys, without their prefix, that `configure new <mode> ssd` writes; `None` for a mode that does not exist.
pub fn mode_keys(mode: &str) -> Option<BTreeMap<String, Vec<u8>>> {
    let (_, log_replicas, storage_replicas) = MODES.into_iter().find(|(name, _, _)| *name == mode)?;
    let (log_policy, storage_policy) = policies(mode);
    Some(
        [
            ("log_anti_quorum", b"0".to_vec()),
            ("log_engine", b"2".to_vec()),
            ("storage_engine", b"2".to_vec()),
            ("log_replicas", log_replicas.to_string().into_bytes()),
            ("storage_replicas", storage_replicas.to_string().into_bytes()),
            ("log_replication_policy", log_policy.encode()),
            ("storage_replication_policy", storage_policy.encode()),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect(),
    )
}

/// The name of a storage engine by its number.
pub(super) fn engine(number: i64) -> &'static str {
    match number {
        0 => "ssd-1",
        1 => "memory",
        2 => "ssd-2",
        3 => "ssd-redwood-1",
        4 => "memory-radixtree",
        5 => "ssd-rocksdb-v1",
        6 => "ssd-sharded-rocksdb",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_recognised_by_what_it_writes() {
        for (mode, _, _) in MODES {
            let mut keys = mode_keys(mode).unwrap();
            keys.insert("initialized".to_owned(), b"1".to_vec());
            let read = Configuration::read(keys.iter().map(|(key, value)| (key.as_bytes(), value.as_slice()))).unwrap();
            assert_eq!(read.redundancy_mode(), mode);
        }
    }

    #[test]
    fn nothing_is_configured_before_the_database_was_created() {
        assert_eq!(Configuration::read([(b"logs".as_slice(), b"3".as_slice())].into_iter()), None);
    }
}
