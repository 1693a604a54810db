//! Versions: about a million a second, handed out in steps while nobody commits, and a hundred million more at every recovery.

use jiff::{SignedDuration, Timestamp};

/// An idle database commits something of its own so often; read versions stand still in between.
const IDLE_STEP: SignedDuration = SignedDuration::from_secs(2);
/// What a recovery adds.
const RECOVERY_JUMP: i64 = 100_000_000;

/// The version clock of a database.
#[derive(Clone, Debug)]
pub(super) struct Versions {
    anchor: Timestamp,
    anchor_version: i64,
    last_commit: i64,
}

impl Versions {
    /// A clock that starts now.
    pub(super) fn new(now: Timestamp) -> Self {
        Self { anchor: now, anchor_version: 0, last_commit: 0 }
    }

    fn clock(&self, since: SignedDuration) -> i64 {
        self.anchor_version + i64::try_from(since.as_micros()).unwrap_or(i64::MAX / 2)
    }

    /// The version a transaction reads at.
    pub(super) fn read(&self, now: Timestamp) -> i64 {
        let since = now.duration_since(self.anchor);
        let idle = SignedDuration::from_secs(since.as_secs() / IDLE_STEP.as_secs() * IDLE_STEP.as_secs());
        self.clock(idle).max(self.last_commit)
    }

    /// The version of a commit.
    pub(super) fn commit(&mut self, now: Timestamp) -> i64 {
        self.last_commit = self.clock(now.duration_since(self.anchor)).max(self.last_commit + 1);
        self.last_commit
    }

    /// A new generation begins, far enough ahead that nothing of the old one can come after it. Returns its first version.
    pub(super) fn recover(&mut self, now: Timestamp) -> i64 {
        self.anchor_version = self.read(now) + RECOVERY_JUMP;
        self.anchor = now;
        self.last_commit = self.anchor_version;
        self.anchor_version
    }

    /// The clock stands still: nothing commits in an outage.
    pub(super) fn stop(&mut self, now: Timestamp) {
        self.last_commit = self.read(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    #[test]
    fn an_idle_database_moves_in_steps_of_two_seconds() {
        let versions = Versions::new(at(0));
        assert_eq!(versions.read(at(1_900)), 0);
        assert_eq!(versions.read(at(2_100)), 2_000_000);
        assert_eq!(versions.read(at(60_000)), 60_000_000);
    }

    #[test]
    fn a_recovery_costs_a_hundred_seconds_of_versions() {
        let mut versions = Versions::new(at(0));
        let before = versions.commit(at(10_000));
        let first = versions.recover(at(10_500));
        assert_eq!(first - before, 100_000_000);
        assert!(versions.read(at(10_600)) >= first);
    }
}
