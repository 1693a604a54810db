//! Faults to inject into a cluster under test.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Faults to inject into a cluster under test. `*` stands for every process group.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Buggify {
    /// Process groups whose pods can't be scheduled.
    #[schemars(inner(length(max = 63), regex(pattern = r"^(([\w-]+)-(\d+)|\*)$")))]
    pub no_schedule: Option<Vec<String>>,
    /// Process groups whose main container crashes; superseded by `crashLoopContainers`.
    #[schemars(inner(length(max = 63), regex(pattern = r"^(([\w-]+)-(\d+)|\*)$")))]
    pub crash_loop: Option<Vec<String>>,
    /// Containers that crash.
    #[schemars(length(max = 8))]
    pub crash_loop_containers: Option<Vec<CrashLoopContainer>>,
    /// Whether every monitor gets a configuration without processes.
    pub empty_monitor_conf: Option<bool>,
    /// Process groups that are left out of restarts.
    #[schemars(length(max = 1000), inner(length(max = 63), regex(pattern = r"^(([\w-]+)-(\d+)|\*)$")))]
    pub ignore_during_restart: Option<Vec<String>>,
    /// Process groups that are not removed, although they could be.
    #[schemars(length(max = 1000), inner(length(max = 63), regex(pattern = r"^(([\w-]+)-(\d+)|\*)$")))]
    pub block_removal: Option<Vec<String>>,
}

/// A container that crashes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrashLoopContainer {
    /// Which one.
    #[schemars(length(min = 1, max = 253))]
    pub container_name: Option<String>,
    /// In which process groups.
    #[schemars(length(max = 10000), inner(length(max = 63), regex(pattern = r"^(([\w-]+)-(\d+)|\*)$")))]
    pub targets: Option<Vec<String>>,
}
