//! The safety gates, by name.
//!
//! Each stands where something dangerous would otherwise happen. A build with the feature `mutants` can take one away, to see whether
//! the simulation notices; in every other build there is nothing here but the condition itself.

/// A place where something dangerous is kept from happening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// What is about to exist is recorded before it is made.
    RecordedFirst,
    /// A status is written only over the one it was decided from.
    StatusCompareAndSet,
    /// An operator of an older leadership changes nothing.
    EpochFence,
    /// An operator that could not renew its lease stops.
    StopsWhenNotLeading,
    /// A pod is deleted only if it is the one that was seen, unchanged.
    DeleteGuard,
    /// A pod of somebody else is left alone, whatever its name.
    OnlyOurPods,
    /// A cluster with `spec.skip` is not touched.
    Skip,
    /// A database is created only when enough zones are there to hold its copies.
    EnoughZonesAtBirth,
    /// Failed process groups are replaced only while the database is available.
    ReplacesOnlyWhenAvailable,
    /// Automatic replacements are rationed.
    ReplacementBuckets,
    /// A zone is taken down only when everything else is whole.
    WholeBeforeDisruption,
    /// Nobody becomes a coordinator who is to go.
    EligibleCoordinators,
    /// Nothing is taken away by a report that is not whole.
    WholeReport,
    /// A coordinator goes only when another has taken its place.
    CoordinatorsFirst,
    /// A process that serves is excluded only if enough others do.
    ExclusionHeadroom,
    /// Enough zones are left to hold all copies.
    ZonesForCopies,
    /// A process group is removed only when nothing is left on it.
    DrainedBeforeRemoval,
    /// Servers are restarted only when every monitor has the new configuration.
    ConfigurationEverywhere,
    /// Servers that just started are not restarted.
    UptimeBeforeRestart,
    /// What costs a recovery keeps its distance to the last one.
    RecoverySpacing,
    /// No more process groups change places at once than one fault domain has.
    MovesAtOnce,
    /// As many logical fault domains stay in use as the redundancy mode needs.
    EnoughDomains,
    /// Nobody takes more coordinators down at once than can be missing.
    CoordinatorMajority,
}

impl Gate {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::RecordedFirst,
        Self::StatusCompareAndSet,
        Self::EpochFence,
        Self::StopsWhenNotLeading,
        Self::DeleteGuard,
        Self::OnlyOurPods,
        Self::Skip,
        Self::EnoughZonesAtBirth,
        Self::ReplacesOnlyWhenAvailable,
        Self::ReplacementBuckets,
        Self::WholeBeforeDisruption,
        Self::EligibleCoordinators,
        Self::WholeReport,
        Self::CoordinatorsFirst,
        Self::ExclusionHeadroom,
        Self::ZonesForCopies,
        Self::DrainedBeforeRemoval,
        Self::ConfigurationEverywhere,
        Self::UptimeBeforeRestart,
        Self::RecoverySpacing,
        Self::MovesAtOnce,
        Self::EnoughDomains,
        Self::CoordinatorMajority,
    ];

    /// The name it is listed under.
    pub fn name(self) -> &'static str {
        match self {
            Self::RecordedFirst => "recorded-first",
            Self::StatusCompareAndSet => "status-compare-and-set",
            Self::EpochFence => "epoch-fence",
            Self::StopsWhenNotLeading => "stops-when-not-leading",
            Self::DeleteGuard => "delete-guard",
            Self::OnlyOurPods => "only-our-pods",
            Self::Skip => "skip",
            Self::EnoughZonesAtBirth => "enough-zones-at-birth",
            Self::ReplacesOnlyWhenAvailable => "replaces-only-when-available",
            Self::ReplacementBuckets => "replacement-buckets",
            Self::WholeBeforeDisruption => "whole-before-disruption",
            Self::EligibleCoordinators => "eligible-coordinators",
            Self::WholeReport => "whole-report",
            Self::CoordinatorsFirst => "coordinators-first",
            Self::ExclusionHeadroom => "exclusion-headroom",
            Self::ZonesForCopies => "zones-for-copies",
            Self::DrainedBeforeRemoval => "drained-before-removal",
            Self::ConfigurationEverywhere => "configuration-everywhere",
            Self::UptimeBeforeRestart => "uptime-before-restart",
            Self::RecoverySpacing => "recovery-spacing",
            Self::MovesAtOnce => "moves-at-once",
            Self::EnoughDomains => "enough-domains",
            Self::CoordinatorMajority => "coordinator-majority",
        }
    }

    /// Whether the gate is passed: what it asks for is so.
    #[inline]
    pub fn passes(self, condition: bool) -> bool {
        condition || self.is_removed()
    }

    /// Whether it stands.
    #[inline]
    pub fn stands(self) -> bool {
        !self.is_removed()
    }

    #[cfg(not(feature = "mutants"))]
    #[inline]
    #[expect(clippy::unused_self, reason = "the same shape as with the feature")]
    const fn is_removed(self) -> bool {
        false
    }

    #[cfg(feature = "mutants")]
    fn is_removed(self) -> bool {
        REMOVED.get() == Some(self)
    }

    /// Runs something on this thread with this gate taken away.
    #[cfg(feature = "mutants")]
    pub fn removed_during<T>(self, run: impl FnOnce() -> T) -> T {
        let before = REMOVED.replace(Some(self));
        let result = run();
        REMOVED.set(before);
        result
    }
}

#[cfg(feature = "mutants")]
std::thread_local! {
    static REMOVED: std::cell::Cell<Option<Gate>> = const { std::cell::Cell::new(None) };
}
