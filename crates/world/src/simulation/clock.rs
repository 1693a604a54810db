//! Virtual time: it moves when nobody has anything left to do.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use quorate_operator::Clock;
use tokio::time::Instant;

/// When every simulated world begins: 2026-01-01T00:00:00Z.
const BEGINNING: i64 = 1_767_225_600;

/// A wall clock on top of tokio's paused one. It can jump, as the clocks of machines do.
#[derive(Debug)]
pub struct SimulatedClock {
    started: Instant,
    jumped: AtomicI64,
}

impl SimulatedClock {
    /// A clock that shows the beginning. It must be made inside the simulated runtime.
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), jumped: AtomicI64::new(0) }
    }

    /// The time at which every world begins.
    pub(crate) fn beginning() -> Timestamp {
        Timestamp::from_second(BEGINNING).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// How long the world has existed.
    pub(crate) fn elapsed(&self) -> SignedDuration {
        SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::MAX)
    }

    /// The time without jumps, which the cluster itself goes by.
    pub(crate) fn true_now(&self) -> Timestamp {
        Self::beginning() + self.elapsed()
    }

    /// Puts the clock forward or back.
    pub(crate) fn jump(&self, seconds: i64) {
        self.jumped.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        self.true_now() + SignedDuration::from_secs(self.jumped.load(Ordering::Relaxed))
    }
}
