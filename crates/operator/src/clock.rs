//! The time, which comes from the world the operator runs in.

use jiff::Timestamp;

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
