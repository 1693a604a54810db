//! Every reason for which something about a FoundationDB cluster is not done. The codes never change.

use quorate_quorum::Reason;

/// `spec.skip` is set.
pub const SKIPPED: Reason = Reason("Skipped");
/// The object is being deleted; its volumes stay.
pub const BEING_DELETED: Reason = Reason("BeingDeleted");
/// A newer leader has written the status.
pub const NOT_LEADING: Reason = Reason("NotLeading");
/// The database does not answer.
pub const DATABASE_UNREACHABLE: Reason = Reason("DatabaseUnreachable");
/// A pod was not placed on a node.
pub const POD_PENDING: Reason = Reason("PodPending");
/// A pod is being deleted.
pub const POD_TERMINATING: Reason = Reason("PodTerminating");
/// A pod with the name of a process group belongs to somebody else.
pub const POD_NOT_OURS: Reason = Reason("PodNotOurs");
/// A pod runs but is not ready.
pub const POD_NOT_READY: Reason = Reason("PodNotReady");
/// A pod is ready and the database does not see its process.
pub const PROCESS_NOT_REPORTING: Reason = Reason("ProcessNotReporting");
/// A volume claim is being deleted.
pub const CLAIM_TERMINATING: Reason = Reason("ClaimTerminating");
/// There are more process groups than asked for.
pub const SURPLUS_PROCESS_GROUPS: Reason = Reason("SurplusProcessGroups");

/// All of them.
pub const ALL: [Reason; 11] = [
    SKIPPED,
    BEING_DELETED,
    NOT_LEADING,
    DATABASE_UNREACHABLE,
    POD_PENDING,
    POD_TERMINATING,
    POD_NOT_OURS,
    POD_NOT_READY,
    PROCESS_NOT_REPORTING,
    CLAIM_TERMINATING,
    SURPLUS_PROCESS_GROUPS,
];
