//! How long to wait after a failure. Without jitter: two runs with the same seed must wait alike.

use std::time::Duration;

/// Doubles from one second to one minute.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    pub(crate) fn failed(&mut self) -> Duration {
        self.failures += 1;
        Duration::from_secs((1u64 << (self.failures - 1).min(6)).min(60))
    }

    pub(crate) fn succeeded(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..8).map(|_| backoff.failed().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        backoff.succeeded();
        assert_eq!(backoff.failed().as_secs(), 1);
    }
}
