//! Replacement buckets: which kind of process a class is, when it comes to how many may be replaced at once.

use std::collections::BTreeMap;
use std::fmt;

use crate::{BucketLimits, ProcessClass};

/// A kind of process. Storage takes hours to replace, logs minutes, everything else seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bucket {
    /// Storage.
    Storage,
    /// Log, transaction, coordinator.
    Log,
    /// All others.
    Stateless,
}

impl Bucket {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Storage, Self::Log, Self::Stateless];

    /// Every class has a bucket.
    pub const fn of(class: ProcessClass) -> Self {
        match class {
            ProcessClass::Storage => Self::Storage,
            ProcessClass::Log | ProcessClass::Transaction | ProcessClass::Coordinator => Self::Log,
            _ => Self::Stateless,
        }
    }

    pub(crate) fn limits(limits: BucketLimits) -> BTreeMap<Self, i64> {
        let BucketLimits { storage, log, stateless } = limits;
        BTreeMap::from([(Self::Storage, storage), (Self::Log, log), (Self::Stateless, stateless)])
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Storage => "storage",
            Self::Log => "log",
            Self::Stateless => "stateless",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_a_bucket() {
        let of = |bucket| {
            ProcessClass::ALL.iter().filter(|class| Bucket::of(**class) == bucket).map(|class| class.name()).collect::<Vec<_>>()
        };
        assert_eq!(of(Bucket::Storage), ["storage"]);
        assert_eq!(of(Bucket::Log), ["coordinator", "log", "transaction"]);
        assert_eq!(of(Bucket::Stateless).len(), ProcessClass::ALL.len() - 4);
    }
}
