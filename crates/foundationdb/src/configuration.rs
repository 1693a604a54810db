//! What `configure` writes: the keys below `\xff/conf/`, byte for byte as fdbcli does.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::RedundancyMode;

/// Keys without their prefix, and their values.
pub type ConfigurationKeys = BTreeMap<String, Vec<u8>>;

/// What every serialised replication policy begins with: FoundationDB's protocol version at the time the format was fixed.
const POLICY_PREFIX: [u8; 8] = [0x01, 0x00, 0x01, 0x62, 0xb0, 0x00, 0xdb, 0x0f];

/// Where copies may be, as FoundationDB writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Policy {
    /// Anywhere.
    One,
    /// In so many different values of a locality, each of which fulfils the inner policy.
    Across(&'static str, i32, Box<Self>),
}

impl Policy {
    fn across(locality: &'static str, count: i32, inner: Self) -> Self {
        Self::Across(locality, count, Box::new(inner))
    }

    fn zones(count: i32) -> Self {
        if count == 1 { Self::One } else { Self::across("zoneid", count, Self::One) }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = POLICY_PREFIX.to_vec();
        self.append(&mut bytes);
        bytes
    }

    fn append(&self, bytes: &mut Vec<u8>) {
        let text = |bytes: &mut Vec<u8>, text: &str| {
            bytes.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend(text.as_bytes());
        };
        match self {
            Self::One => text(bytes, "One"),
            Self::Across(locality, count, inner) => {
                text(bytes, "Across");
                text(bytes, locality);
                bytes.extend(count.to_le_bytes());
                inner.append(bytes);
            }
        }
    }
}

/// Storage engines by the names users give them.
///
/// `ssd` and `memory` stand for the newest version of each.
pub fn engine_keys(engine: &str) -> Option<ConfigurationKeys> {
    let (log, storage) = stores(engine)?;
    Some(keys([("log_engine", log.to_string()), ("storage_engine", storage.to_string())]))
}

/// Whether a configuration is that of an engine. Since 7.3 a status names what keeps logs and what keeps data, each by itself, and logs are never
/// kept in memory, whatever was asked for; before, both had one name.
pub fn is_engine(engine: &str, storage: &str, log: Option<&str>) -> bool {
    let on_disk = |log: u8| if log == MEMORY { SSD_2 } else { log };
    match log {
        Some(log) => stores(engine).is_some_and(|(wanted_log, wanted)| {
            store(storage) == Some(wanted) && store(log).map(on_disk) == Some(on_disk(wanted_log))
        }),
        None => stores(engine).is_some() && stores(engine) == stores(storage),
    }
}

/// Whether a storage server keeps its data as an engine does; nothing if nobody knows what it says.
pub fn keeps_data_as(engine: &str, storage: &str) -> Option<bool> {
    Some(stores(engine)?.1 == store(storage)?)
}

/// What keeps logs and what keeps data, by the number of each.
fn stores(engine: &str) -> Option<(u8, u8)> {
    let storage = store(engine)?;
    // But for the two oldest engines, logs are kept by the B-tree, whatever keeps the data.
    let log = if matches!(engine, "ssd-1" | "memory-1") { storage } else { SSD_2 };
    Some((log, storage))
}

const MEMORY: u8 = 1;
const SSD_2: u8 = 2;

/// The number of what keeps data or logs, by all names that users and databases have for it.
fn store(name: &str) -> Option<u8> {
    Some(match name {
        "ssd-1" => 0,
        "memory" | "memory-1" | "memory-2" => MEMORY,
        "ssd" | "ssd-2" => SSD_2,
        "ssd-redwood-1" | "ssd-redwood-1-experimental" => 3,
        "memory-radixtree" | "memory-radixtree-beta" => 4,
        "ssd-rocksdb-v1" | "ssd-rocksdb-experimental" => 5,
        "ssd-sharded-rocksdb" => 6,
        _ => return None,
    })
}

/// How storage servers of another engine than is configured are made again, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migration {
    /// Not at all; fdbcli then refuses another engine.
    Disabled,
    /// As fast as data moves.
    Aggressive,
    /// By the perpetual wiggle, while that is on.
    Gradual,
}

impl Migration {
    const ALL: [Self; 3] = [Self::Disabled, Self::Aggressive, Self::Gradual];
    /// The name and the key of its setting.
    pub const SETTING: &'static str = "storage_migration_type";

    /// Its name, in the status and for `configure`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Aggressive => "aggressive",
            Self::Gradual => "gradual",
        }
    }

    /// What `configure` writes for it.
    pub fn keys(self) -> ConfigurationKeys {
        let number = match self {
            Self::Disabled => 1,
            Self::Aggressive => 2,
            Self::Gradual => 3,
        };
        keys([(Self::SETTING, number.to_string())])
    }
}

impl fmt::Display for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Migration {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|migration| migration.name() == name).ok_or(())
    }
}

/// What a redundancy mode is made of.
pub fn redundancy_keys(mode: RedundancyMode) -> ConfigurationKeys {
    let (log_replicas, storage_replicas, log, storage) = match mode {
        RedundancyMode::Single => (1, 1, Policy::One, Policy::One),
        RedundancyMode::Double => (2, 2, Policy::zones(2), Policy::zones(2)),
        RedundancyMode::Triple => (3, 3, Policy::zones(3), Policy::zones(3)),
        RedundancyMode::ThreeDataHall => {
            (4, 3, Policy::across("data_hall", 2, Policy::zones(2)), Policy::across("data_hall", 3, Policy::One))
        }
        RedundancyMode::ThreeDatacenter => {
            (4, 6, Policy::across("dcid", 2, Policy::zones(2)), Policy::across("dcid", 3, Policy::zones(2)))
        }
    };
    let mut keys = keys([
        ("log_anti_quorum", "0".to_owned()),
        ("log_replicas", log_replicas.to_string()),
        ("storage_replicas", storage_replicas.to_string()),
    ]);
    keys.insert("log_replication_policy".to_owned(), log.bytes());
    keys.insert("storage_replication_policy".to_owned(), storage.bytes());
    keys
}

/// Settings by the names that `configure` gives them. `storage` is no setting of the database: it says how many processes there are.
pub fn setting_keys(settings: &BTreeMap<String, i64>) -> ConfigurationKeys {
    settings.iter().map(|(name, number)| (name.clone(), number.to_string().into_bytes())).collect()
}

/// How many of each role the database recruits where nobody has said how many; -1 stands for as many as it likes.
pub const ROLES_UNASKED: [(&str, i64); 6] =
    [("commit_proxies", 3), ("grv_proxies", 1), ("log_routers", -1), ("logs", 3), ("remote_logs", -1), ("resolvers", 1)];

fn keys<const N: usize>(values: [(&str, String); N]) -> ConfigurationKeys {
    values.into_iter().map(|(key, value)| (key.to_owned(), value.into_bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(mode: RedundancyMode, key: &str) -> Vec<u8> {
        redundancy_keys(mode)[key][8..].to_vec()
    }

    #[test]
    fn triple_has_the_bytes_that_fdbcli_writes() {
        let expected = b"\x06\0\0\0Across\x06\0\0\0zoneid\x03\0\0\0\x03\0\0\0One";
        assert_eq!(policy(RedundancyMode::Triple, "storage_replication_policy"), expected);
        assert_eq!(redundancy_keys(RedundancyMode::Triple)["log_replication_policy"][..8], [1, 0, 1, 0x62, 0xb0, 0, 0xdb, 0x0f]);
    }

    #[test]
    fn policies_nest() {
        let expected = b"\x06\0\0\0Across\x09\0\0\0data_hall\x02\0\0\0\x06\0\0\0Across\x06\0\0\0zoneid\x02\0\0\0\x03\0\0\0One";
        assert_eq!(policy(RedundancyMode::ThreeDataHall, "log_replication_policy"), expected);
        assert_eq!(policy(RedundancyMode::Single, "log_replication_policy"), b"\x03\0\0\0One");
    }

    #[test]
    fn every_mode_says_how_many_copies_there_are() {
        let copies = |mode| {
            let keys = redundancy_keys(mode);
            let number = |key: &str| String::from_utf8_lossy(&keys[key]).into_owned();
            (number("log_replicas"), number("storage_replicas"))
        };
        let expected = [("1", "1"), ("2", "2"), ("3", "3"), ("4", "3"), ("4", "6")];
        for (mode, (log, storage)) in RedundancyMode::ALL.into_iter().zip(expected) {
            assert_eq!(copies(mode), (log.to_owned(), storage.to_owned()), "{}", mode.name());
        }
    }

    #[test]
    fn memory_keeps_its_log_on_disk() {
        let keys = engine_keys("memory").unwrap();
        assert_eq!((keys["log_engine"].as_slice(), keys["storage_engine"].as_slice()), (b"2".as_slice(), b"1".as_slice()));
        assert_eq!(engine_keys("floppy"), None);
    }

    #[test]
    fn an_engine_is_known_by_what_each_version_says_of_it() {
        for (asked, storage, log, is) in [
            ("ssd", "ssd-2", Some("ssd-2"), true),
            ("memory", "memory", Some("ssd-2"), true),
            ("memory-1", "memory", Some("ssd-2"), true),
            ("memory-1", "ssd-2", Some("ssd-2"), false),
            ("ssd-1", "ssd-1", Some("ssd-1"), true),
            ("ssd-1", "ssd-1", Some("ssd-2"), false),
            ("memory-1", "memory-1", None, true),
            ("memory", "memory-2", None, true),
            ("memory", "memory-1", None, false),
            ("memory-radixtree-beta", "memory-radixtree", Some("ssd-2"), true),
            ("ssd-2", "custom", None, false),
        ] {
            assert_eq!(is_engine(asked, storage, log), is, "{asked}: {storage}, {log:?}");
        }
        assert_eq!(keeps_data_as("memory-1", "memory"), Some(true));
        assert_eq!(keeps_data_as("ssd", "memory"), Some(false));
        assert_eq!(keeps_data_as("ssd", "none"), None);
    }

    #[test]
    fn migrations_have_the_numbers_that_fdbcli_writes() {
        let written = Migration::ALL.map(|migration| migration.keys()[Migration::SETTING].clone());
        assert_eq!(written, [b"1", b"2", b"3"]);
        assert!(Migration::ALL.into_iter().all(|migration| migration.name().parse() == Ok(migration)));
        assert_eq!("slow".parse::<Migration>(), Err(()));
    }
}
