//! The lock that operators of one database share, in the keys and bytes of the existing operator, so that both can share a database.
//!
//! Who holds it is a key in the database. Whatever is done under it is done in a transaction that reads that key, so an operator that
//! lost the lock without knowing has no effect.

use std::collections::BTreeSet;

use foundationdb_tuple::{pack, unpack};
use jiff::Timestamp;

use crate::LockWish;

/// What was read of the lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockReport {
    /// The value of its key, if it has one.
    pub value: Option<Vec<u8>>,
    /// Operators that may not take it.
    pub denied: BTreeSet<String>,
}

/// How we stand with the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is ours, if only until a moment ago, or may be: the value to write, so that it is ours from then on.
    Ours {
        /// What it says once it is taken or kept for longer.
        renewed: Vec<u8>,
        /// Whether it was ours before.
        already: bool,
    },
    /// We may not take it.
    Denied,
    /// Somebody else has it.
    Others {
        /// Who.
        owner: String,
        /// Until when.
        until: Timestamp,
    },
    /// Nobody can read what it says, so nobody may take it.
    Unreadable,
}

/// The key of the lock.
pub fn key(wish: &LockWish) -> Vec<u8> {
    [wish.prefix.as_slice(), b"/global"].concat()
}

/// The keys of the deny list: from the first up to the second, which is none of them.
pub fn deny_list(wish: &LockWish) -> (Vec<u8>, Vec<u8>) {
    // After a slash comes a zero.
    ([wish.prefix.as_slice(), b"/denyList/"].concat(), [wish.prefix.as_slice(), b"/denyList0"].concat())
}

/// The key by which an operator is denied the lock.
pub fn denied_key(wish: &LockWish, operator: &str) -> Vec<u8> {
    [deny_list(wish).0.as_slice(), operator.as_bytes()].concat()
}

/// How we stand with the lock now. The deny list is read first: one who is denied may not take a free lock either.
pub fn standing(wish: &LockWish, report: &LockReport, now: Timestamp) -> Standing {
    if report.denied.contains(&wish.owner) {
        return Standing::Denied;
    }
    let renewed = pack(&(&wish.owner, now.as_second(), (now + wish.duration).as_second()));
    let Some(value) = &report.value else { return Standing::Ours { renewed, already: false } };
    let Ok((owner, _, end)) = unpack::<(String, i64, i64)>(value) else { return Standing::Unreadable };
    let until = Timestamp::from_second(end).unwrap_or(Timestamp::MAX);
    if owner == wish.owner {
        return Standing::Ours { renewed, already: true };
    }
    if until <= now || report.denied.contains(&owner) {
        return Standing::Ours { renewed, already: false };
    }
    Standing::Others { owner, until }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    fn wish() -> LockWish {
        let deny = std::collections::BTreeMap::new();
        LockWish { prefix: b"\xff\x02/p".to_vec(), owner: "dc1".into(), duration: SignedDuration::from_mins(10), deny }
    }

    fn held(owner: &str, end: i64) -> LockReport {
        LockReport { value: Some(pack(&(owner, 0_i64, end))), denied: BTreeSet::new() }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_bytes_are_those_of_the_existing_operator() {
        let Standing::Ours { renewed, already: false } = standing(&wish(), &LockReport::default(), at(1)) else { panic!() };
        assert_eq!(renewed, b"\x02dc1\x00\x15\x01\x16\x02\x59");
    }

    #[test]
    fn a_lock_is_taken_when_it_is_free_or_over_or_ours() {
        let ours = |report: &LockReport| matches!(standing(&wish(), report, at(100)), Standing::Ours { .. });
        assert!(ours(&LockReport::default()) && ours(&held("dc2", 100)) && ours(&held("dc1", 500)));
        assert_eq!(standing(&wish(), &held("dc2", 101), at(100)), Standing::Others { owner: "dc2".into(), until: at(101) });
        let garbage = LockReport { value: Some(b"\xff\xff".to_vec()), denied: BTreeSet::new() };
        assert_eq!(standing(&wish(), &garbage, at(100)), Standing::Unreadable);
    }

    #[test]
    fn who_is_denied_does_not_even_take_a_free_lock() {
        let denied = LockReport { value: None, denied: ["dc1".to_owned()].into() };
        assert_eq!(standing(&wish(), &denied, at(100)), Standing::Denied);
        let other = LockReport { denied: ["dc2".to_owned()].into(), ..held("dc2", 500) };
        assert!(matches!(standing(&wish(), &other, at(100)), Standing::Ours { already: false, .. }));
    }
}
