//! Virtual time: it moves when nobody has anything left to do.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use quorate_operator::Clock;
use tokio::time::Instant;

/// When every simulated world begins: 2026-01-01T00:00:00Z.
const BEGINNING: i64 = 1_767_225_600;

/// Operators that look at their clocks more often than this in one moment work without end, and time never moves again.
const MOST_LOOKS: u32 = 20_000;

/// The time of a world, on top of tokio's paused clock.
#[derive(Debug)]
pub struct SimulatedClock {
    started: Instant,
    /// How often operators looked at their clocks in this moment.
    looks: Mutex<(Instant, u32)>,
}

impl SimulatedClock {
    /// A clock that shows the beginning. It must be made inside the simulated runtime.
    pub(crate) fn new() -> Self {
        let started = Instant::now();
        Self { started, looks: Mutex::new((started, 0)) }
    }

    /// Whether operators keep time from moving.
    pub(crate) fn stands_still(&self) -> bool {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).1 > MOST_LOOKS
    }

    /// Somebody looks at a clock. Who does so without end is ended, for nobody else gets a turn.
    fn look(&self) {
        let now = Instant::now();
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        if looks.1 <= MOST_LOOKS {
            let before = if looks.0 == now { looks.1 } else { 0 };
            *looks = (now, before + 1);
        }
        assert!(looks.1 <= MOST_LOOKS, "an operator works without end, and lets no time pass");
    }

    /// The time at which every world begins.
    pub(crate) fn beginning() -> Timestamp {
        Timestamp::from_second(BEGINNING).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// How long the world has existed.
    pub(crate) fn elapsed(&self) -> SignedDuration {
        SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::MAX)
    }

    /// The time now, which the cluster itself goes by.
    pub(crate) fn true_now(&self) -> Timestamp {
        Self::beginning() + self.elapsed()
    }
}

/// The wall clock of one machine. It can jump, as the clocks of machines do.
#[derive(Clone, Debug)]
pub(crate) struct MachineClock {
    world: Arc<SimulatedClock>,
    jumped: Arc<AtomicI64>,
}

impl MachineClock {
    /// A clock that is right.
    pub(crate) fn new(world: Arc<SimulatedClock>) -> Self {
        Self { world, jumped: Arc::default() }
    }

    /// Puts it forward or back.
    pub(crate) fn jump(&self, seconds: i64) {
        self.jumped.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for MachineClock {
    fn now(&self) -> Timestamp {
        self.world.look();
        self.world.true_now() + SignedDuration::from_secs(self.jumped.load(Ordering::Relaxed))
    }
}

/// Where no clock ever jumps.
impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        self.true_now()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_looks_without_end_in_one_moment_is_ended() {
        let world = Arc::new(SimulatedClock::new());
        let clock = MachineClock::new(Arc::clone(&world));
        let look_often = || {
            for _ in 0..MOST_LOOKS {
                clock.now();
            }
        };
        look_often();
        tokio::time::sleep(Duration::from_millis(1)).await;
        look_often();
        assert!(!world.stands_still(), "time has passed between them");
        let ended = catch_unwind(AssertUnwindSafe(|| clock.now()));
        assert!(ended.is_err() && world.stands_still());
    }
}
