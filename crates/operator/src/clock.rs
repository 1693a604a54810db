//! The time, which comes from the world the operator runs in.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A wall clock. Waiting is tokio's business, whose time stands still or runs as the world likes.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that differs by more than this from one that never jumps was put forward or back; what drifts does so more slowly.
const JUMP: SignedDuration = SignedDuration::from_secs(2);

/// A wall clock that notices when it was put forward or back: how long something has lasted is then not known any more.
#[derive(Clone)]
pub(crate) struct SteadyClock {
    clock: Arc<dyn Clock>,
    last: Arc<Mutex<Reading>>,
}

struct Reading {
    wall: Timestamp,
    elapsed: Instant,
    steady_since: Timestamp,
}

impl SteadyClock {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let wall = clock.now();
        let last = Reading { wall, elapsed: Instant::now(), steady_since: wall };
        Self { clock, last: Arc::new(Mutex::new(last)) }
    }

    /// The time now, and since when the clock has gone steadily: since it was last put forward or back, or since we look at it.
    pub(crate) fn now(&self) -> (Timestamp, Timestamp) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (wall, elapsed) = (self.clock.now(), Instant::now());
        let passed = SignedDuration::try_from(elapsed - last.elapsed).unwrap_or(SignedDuration::MAX);
        let jumped = (wall.duration_since(last.wall) - passed).abs() > JUMP;
        let steady_since = if jumped { wall } else { last.steady_since };
        *last = Reading { wall, elapsed, steady_since };
        (wall, steady_since)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::time::Duration;

    use super::*;

    /// Tokio's time, put forward or back.
    struct Wall(Instant, AtomicI64);

    impl Clock for Wall {
        fn now(&self) -> Timestamp {
            let passed = SignedDuration::try_from(self.0.elapsed()).unwrap();
            Timestamp::UNIX_EPOCH + passed + SignedDuration::from_secs(self.1.load(Ordering::Relaxed))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_lasted_before_the_clock_was_put_forward_or_back_is_not_known() {
        let wall = Arc::new(Wall(Instant::now(), AtomicI64::new(0)));
        let clock = SteadyClock::new(Arc::clone(&wall) as Arc<_>);
        let started = Timestamp::UNIX_EPOCH;
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(clock.now().1, started, "an hour between two looks is no jump");
        for jump in [160, -300] {
            wall.1.fetch_add(jump, Ordering::Relaxed);
            let (now, steady_since) = clock.now();
            assert_eq!(steady_since, now, "{jump} s");
            tokio::time::advance(Duration::from_secs(60)).await;
            assert_eq!(clock.now().1, now, "it goes steadily again");
        }
    }
}
