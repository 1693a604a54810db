//! The lock between operators of one database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The lock that operators of one database share, kept in the database.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LockOptions {
    /// Whether to do without; unset locks only where several operators are to be expected.
    pub disable_locks: Option<bool>,
    /// The keys the lock is kept under.
    pub lock_key_prefix: Option<String>,
    /// How long a lock is held at most; unset means 10.
    pub lock_duration_minutes: Option<i32>,
    /// Operators that may not take the lock.
    pub deny_list: Option<Vec<LockDenyListEntry>>,
}

/// One operator on the deny list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockDenyListEntry {
    /// Its process group ID prefix.
    pub id: Option<String>,
    /// True takes it off the list again.
    pub allow: Option<bool>,
}
