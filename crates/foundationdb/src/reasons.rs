//! Every reason for which something about a FoundationDB cluster is not done. The codes never change.

use quorate_quorum::buckets::{REPLACEMENTS_IN_FLIGHT, REPLACEMENTS_STOPPED};
use quorate_quorum::budget::ANOTHER_ZONE_IS_DISRUPTED;
use quorate_quorum::{Hold, Reason};

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $constant:ident = $code:literal,)+) => {
        $($(#[doc = $doc])+ pub const $constant: Reason = Reason($code);)+

        /// All of them, with those that are shared with other databases.
        pub const ALL: &[Reason] = &[$($constant,)+ ANOTHER_ZONE_IS_DISRUPTED, REPLACEMENTS_IN_FLIGHT, REPLACEMENTS_STOPPED];
    };
}

reasons! {
    /// `spec.skip` is set.
    SKIPPED = "Skipped",
    /// The object is being deleted; its volumes stay.
    BEING_DELETED = "BeingDeleted",
    /// A newer leader has written the status.
    NOT_LEADING = "NotLeading",
    /// A field can't be carried out as it was written.
    INVALID_SPEC = "InvalidSpec",
    /// Another protocol was asked for.
    VERSION_CHANGE_HELD = "VersionChangeHeld",
    /// Pods of the cluster were made by another operator.
    MADE_BY_ANOTHER_OPERATOR = "MadeByAnotherOperator",
    /// The last attempt at something failed.
    STEP_FAILED = "StepFailed",
    /// The database does not answer.
    DATABASE_UNREACHABLE = "DatabaseUnreachable",
    /// The database answers, and can't be used.
    DATABASE_UNAVAILABLE = "DatabaseUnavailable",
    /// Volumes of a database are there, and nobody knows the way to it.
    VOLUMES_OF_AN_EARLIER_LIFE = "VolumesOfAnEarlierLife",
    /// An object is of a process group that nobody has recorded.
    STRAY = "Stray",
    /// A volume is of a process group that nobody has recorded.
    UNKNOWN_VOLUME = "UnknownVolume",
    /// The first coordinators are not chosen yet.
    WAITING_FOR_COORDINATORS = "WaitingForCoordinators",
    /// The database is not created yet, or process groups are not yet as they should be.
    WAITING_FOR_PROCESSES = "WaitingForProcesses",
    /// The majority of the coordinators does not answer.
    COORDINATORS_LOST = "CoordinatorsLost",
    /// The coordinators should be others, but not now.
    COORDINATORS_HELD = "CoordinatorsHeld",
    /// There are too few places for coordinators.
    NOT_ENOUGH_COORDINATORS = "NotEnoughCoordinators",
    /// A coordinator is to go; another takes its place first.
    COORDINATOR_GOES_FIRST = "CoordinatorGoesFirst",
    /// The database's configuration is not changed yet.
    CONFIGURATION_HELD = "ConfigurationHeld",
    /// Storage servers still have another engine than is configured.
    ENGINE_MIGRATION = "EngineMigration",
    /// The ConfigMap of the cluster's name belongs to somebody else.
    CONFIG_MAP_NOT_OURS = "ConfigMapNotOurs",
    /// Another operator holds the lock of the database.
    LOCKED = "Locked",
    /// This operator may not take the lock of the database.
    LOCK_DENIED = "LockDenied",
    /// A pod is not made yet: others need the hosts first.
    POD_HELD = "PodHeld",
    /// A pod was not placed on a node.
    POD_PENDING = "PodPending",
    /// A pod is being deleted.
    POD_TERMINATING = "PodTerminating",
    /// A pod with the name of a process group belongs to somebody else.
    POD_NOT_OURS = "PodNotOurs",
    /// A pod runs but is not ready, or ended soon after it was made.
    POD_NOT_READY = "PodNotReady",
    /// Pods that should be others are not made again yet.
    POD_UPDATE_HELD = "PodUpdateHeld",
    /// A pod waits for the address of its service.
    SERVICE_WITHOUT_ADDRESS = "ServiceWithoutAddress",
    /// A pod is ready and the database does not see its process.
    PROCESS_NOT_REPORTING = "ProcessNotReporting",
    /// A volume claim is being deleted.
    CLAIM_TERMINATING = "ClaimTerminating",
    /// A volume is asked to be smaller than it is.
    VOLUME_CANT_SHRINK = "VolumeCantShrink",
    /// Whether a volume can grow is not known.
    STORAGE_CLASS_UNKNOWN = "StorageClassUnknown",
    /// There are more process groups than asked for, and which of them go can't be chosen now.
    SURPLUS_PROCESS_GROUPS = "SurplusProcessGroups",
    /// Process groups that change their fault domains wait for those that change them now.
    MOVES_HELD = "MovesHeld",
    /// A logical fault domain found no host.
    TOO_FEW_HOSTS = "TooFewHosts",
    /// A failed process group is not replaced now.
    REPLACEMENT_HELD = "ReplacementHeld",
    /// Too many zones are tainted for taints to mean failures.
    TOO_MANY_TAINTED_ZONES = "TooManyTaintedZones",
    /// A process group is to go and is not excluded yet.
    EXCLUSION_HELD = "ExclusionHeld",
    /// The transaction system is excluded together.
    EXCLUDED_TOGETHER = "ExcludedTogether",
    /// Too few processes would serve without this one.
    NO_HEADROOM = "NoHeadroom",
    /// Too few zones would be left for all copies.
    TOO_FEW_ZONES = "TooFewZones",
    /// A process group is excluded and not empty yet.
    EXCLUSION_IN_PROGRESS = "ExclusionInProgress",
    /// A process group is empty and not removed yet.
    REMOVAL_HELD = "RemovalHeld",
    /// The places of process groups that are gone are not free yet.
    INCLUSION_HELD = "InclusionHeld",
    /// Servers wait for a restart.
    RESTART_HELD = "RestartHeld",
}

/// As long as one of these holds, the others are only what follows from it.
const MOST_URGENT: [Reason; 4] = [INVALID_SPEC, COORDINATORS_LOST, DATABASE_UNAVAILABLE, DATABASE_UNREACHABLE];

/// What is said before everything else: the first of the most urgent, or the first of all.
pub fn most_urgent(holds: &[Hold]) -> Option<&Hold> {
    let urgency = |hold: &&Hold| MOST_URGENT.iter().position(|reason| *reason == hold.reason).unwrap_or(MOST_URGENT.len());
    holds.iter().min_by_key(urgency)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_others_follow_from_is_said_first() {
        let held = |reasons: &[Reason]| {
            let holds: Vec<Hold> =
                reasons.iter().map(|reason| Hold::new(*reason, "it", "is held", "time").compared(1, 2)).collect();
            most_urgent(&holds).map(|hold| hold.reason)
        };
        assert_eq!(held(&[]), None);
        assert_eq!(held(&[POD_PENDING, EXCLUSION_HELD]), Some(POD_PENDING));
        assert_eq!(held(&[POD_PENDING, DATABASE_UNAVAILABLE, COORDINATORS_LOST]), Some(COORDINATORS_LOST));
    }
}
