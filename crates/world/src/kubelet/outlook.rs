//! What one object has before it.

use jiff::Timestamp;

use super::changes::Change;

/// What is to be written about an object now, and when it is to be looked at again.
#[derive(Debug, Default)]
pub(super) struct Outlook {
    pub(super) change: Option<Change>,
    pub(super) wake: Option<Timestamp>,
}

impl Outlook {
    /// Nothing, until something else happens.
    pub(super) fn rest() -> Self {
        Self::default()
    }

    /// A change; what comes after it is seen at the next look.
    pub(super) fn now(change: Change) -> Self {
        Self { change: Some(change), wake: None }
    }

    /// Nothing before this.
    pub(super) fn at(wake: Timestamp) -> Self {
        Self { change: None, wake: Some(wake) }
    }

    /// The same, but looked at no later than this.
    pub(super) fn no_later_than(mut self, wake: Option<Timestamp>) -> Self {
        self.wake = earliest(self.wake, wake);
        self
    }
}

/// The earlier of two instants, where there are two.
pub(super) fn earliest(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}
