//! Facts that many snapshots share.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Something that is copied by reference. Whoever changes it gets a copy of its own first.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shared<T>(Arc<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_by_nobody_else() {
        let one = Shared::from(vec![1]);
        let mut other = one.clone();
        assert!(Arc::ptr_eq(&one.0, &other.0));
        other.push(2);
        assert_eq!((&*one, &*other), (&vec![1], &vec![1, 2]));
    }
}
