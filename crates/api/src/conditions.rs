//! The words of the `conditions` that both objects carry.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Names a field that was accepted and is not acted on.
pub const FIELDS_WITHOUT_EFFECT: &str = "FieldsWithoutEffect";
/// Names a field that has a successor.
pub const DEPRECATED_FIELDS: &str = "DeprecatedFields";

/// The database can be read and written.
pub const AVAILABLE: &str = "Available";
/// Something is being changed.
pub const PROGRESSING: &str = "Progressing";
/// Something is not done, and the message says why.
pub const HELD: &str = "Held";

/// Conditions of a LogSet. Other MatrixOne components wait for `Ready` and `Synced`.
pub mod logset {
    /// HAKeeper answers, and every shard has its majority and a leader.
    pub const READY: &str = "Ready";
    /// The newest spec was taken up.
    pub const SYNCED: &str = "Synced";
    /// HAKeeper is running.
    pub const BOOTSTRAPPED: &str = "Bootstrapped";
    /// Every shard has its majority.
    pub const QUORUM_AVAILABLE: &str = "QuorumAvailable";
    /// Every shard has all its replicas on working stores.
    pub const FULLY_REPLICATED: &str = "FullyReplicated";
    /// Something is being changed.
    pub const PROGRESSING: &str = "Progressing";
    /// A store failed and can't be replaced now.
    pub const FAILOVER_BLOCKED: &str = "FailoverBlocked";
}

/// The schema of a list of conditions, one per type. Kubernetes' own limits on the texts are left out: they would make a status
/// write fail where a long reason is what the reader needs.
pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {"type": "string"},
                "status": {"type": "string"},
                "observedGeneration": {"type": "integer", "format": "int64"},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "reason": {"type": "string"},
                "message": {"type": "string"},
            },
        },
    })
}
