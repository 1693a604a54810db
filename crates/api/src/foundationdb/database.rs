//! `spec.databaseConfiguration`: what FoundationDB itself is told.

use quorate_foundationdb::RedundancyMode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The database's configuration, under FoundationDB's own names.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseConfiguration {
    /// How many copies there are of everything, and where; `double` if unset.
    #[schemars(schema_with = "redundancy_mode_schema")]
    #[serde(default)]
    pub redundancy_mode: Option<RedundancyMode>,
    /// The storage engine.
    #[schemars(extend("default" = "ssd-2"))]
    pub storage_engine: Option<StorageEngine>,
    /// In how many regions the data is kept.
    pub usable_regions: Option<i32>,
    /// The regions, the first the preferred one.
    pub regions: Option<Vec<Region>>,
    /// How storage servers are moved to another engine.
    pub storage_migration_type: Option<StorageMigrationType>,
    /// 1 rewrites one storage server after the other.
    pub perpetual_storage_wiggle: Option<i32>,
    /// Limits the rewriting to processes with this locality, `key:value`; `0` lifts the limit.
    #[schemars(regex(pattern = r"^([\w.-]+:[\w.-]+|0)$"))]
    pub perpetual_storage_wiggle_locality: Option<String>,
    /// The engine that rewritten storage servers get.
    pub perpetual_storage_wiggle_engine: Option<WiggleEngine>,
    /// Servers that are excluded; shown, never set from here.
    #[schemars(length(max = 1024))]
    pub excluded_servers: Option<Vec<ExcludedServer>>,
    #[expect(missing_docs, reason = "each role is documented where it is defined")]
    #[serde(flatten)]
    pub roles: RoleCounts,
}

/// How many of each role FoundationDB recruits; unset is the database's default.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleCounts {
    /// Storage servers; counts process groups, the database takes all there are.
    pub storage: Option<i32>,
    /// Transaction logs.
    pub logs: Option<i32>,
    /// Proxies of both kinds together.
    pub proxies: Option<i32>,
    /// Commit proxies.
    pub commit_proxies: Option<i32>,
    /// GRV proxies.
    pub grv_proxies: Option<i32>,
    /// Resolvers.
    pub resolvers: Option<i32>,
    /// Log routers between regions.
    pub log_routers: Option<i32>,
    /// Transaction logs in the remote region.
    pub remote_logs: Option<i32>,
    /// How logs spill to disk.
    pub log_spill: Option<i32>,
    /// The format of logs on disk.
    pub log_version: Option<i32>,
}

/// A region of a multi-region database.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Region {
    /// Its datacenters, with the satellites.
    pub datacenters: Option<Vec<RegionDatacenter>>,
    /// Logs in each satellite.
    pub satellite_logs: Option<i32>,
    /// How satellites replicate.
    #[schemars(length(max = 100))]
    pub satellite_redundancy_mode: Option<String>,
}

/// A datacenter of a region.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegionDatacenter {
    /// The locality `dcid` of its processes.
    pub id: Option<String>,
    /// The highest is primary; below 0 never becomes it.
    pub priority: Option<i32>,
    /// 1 for a satellite.
    #[schemars(range(min = 0, max = 1))]
    pub satellite: Option<i32>,
}

/// An entry of the database's exclusion list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExcludedServer {
    /// By address.
    #[schemars(length(max = 48))]
    pub address: Option<String>,
    /// By locality.
    #[schemars(length(max = 200))]
    pub locality: Option<String>,
}

macro_rules! storage_engines {
    ($(#[doc = $doc:literal])+ $name:ident $(, $extra:ident = $extra_text:literal)*) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[expect(missing_docs, reason = "the names are FoundationDB's")]
        pub enum $name {
            $(#[serde(rename = $extra_text)] $extra,)*
            #[serde(rename = "ssd")] Ssd,
            #[serde(rename = "ssd-1")] Ssd1,
            #[serde(rename = "ssd-2")] Ssd2,
            #[serde(rename = "memory")] Memory,
            #[serde(rename = "memory-1")] Memory1,
            #[serde(rename = "memory-2")] Memory2,
            #[serde(rename = "ssd-redwood-1-experimental")] SsdRedwood1Experimental,
            #[serde(rename = "ssd-redwood-1")] SsdRedwood1,
            #[serde(rename = "ssd-rocksdb-experimental")] SsdRocksdbExperimental,
            #[serde(rename = "ssd-rocksdb-v1")] SsdRocksdbV1,
            #[serde(rename = "ssd-sharded-rocksdb")] SsdShardedRocksdb,
            #[serde(rename = "memory-radixtree-beta")] MemoryRadixtreeBeta,
            #[serde(rename = "custom")] Custom,
        }
    };
}

storage_engines!(
    /// A storage engine.
    StorageEngine
);
storage_engines!(
    /// A storage engine, or none, for the perpetual wiggle.
    WiggleEngine, Unset = "", None = "none"
);

/// How fast storage servers move to another engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StorageMigrationType {
    /// The database's default.
    #[serde(rename = "")]
    Unset,
    /// Not at all.
    Disabled,
    /// All at once.
    Aggressive,
    /// One after the other.
    Gradual,
}

fn redundancy_mode_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = RedundancyMode::ALL.iter().map(|mode| mode.name()).collect();
    json_schema!({"type": "string", "enum": names})
}
