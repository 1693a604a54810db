//! The keys and values that matter here, with the conflicts of transactions that overlap.

use std::collections::BTreeMap;

use quorate_fdb_client::{Expectation, Octets, Range, Row, Write};

/// Writes are remembered for five seconds of versions; an older transaction can't commit.
const WINDOW: i64 = 5_000_000;

/// The prefix of the configuration.
pub(super) const CONFIGURATION: &[u8] = b"\xff/conf/";
/// The connection string, as the database itself has it.
pub(super) const COORDINATORS: &[u8] = b"\xff/coordinators";
/// Who created the database.
pub(super) const INIT_ID: &[u8] = b"\xff/init_id";
/// Who may move data; a change of it restarts data distribution.
pub(super) const MOVE_KEYS_LOCK: &[u8] = b"\xff/moveKeysLock/Owner";
/// The lock of the whole database.
pub(super) const LOCKED: &[u8] = b"\xff/dbLocked";

/// Keys from the first to before the second.
type Span = (Vec<u8>, Vec<u8>);

/// A transactional map.
#[derive(Clone, Debug, Default)]
pub(super) struct KeySpace {
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    recent: Vec<(Span, i64)>,
    oldest: i64,
}

impl KeySpace {
    /// The value of a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.rows.get(key).map(Vec::as_slice)
    }

    /// The rows of a range.
    pub(super) fn rows(&self, range: &Range) -> Vec<Row> {
        if range.begin.0 >= range.end.0 {
            return Vec::new();
        }
        self.rows
            .range(range.begin.0.clone()..range.end.0.clone())
            .map(|(key, value)| Row { key: Octets(key.clone()), value: Octets(value.clone()) })
            .collect()
    }

    /// The rows below a prefix, without it.
    pub(super) fn below<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.rows.range(prefix.to_vec()..).map_while(move |(key, value)| Some((key.strip_prefix(prefix)?, value.as_slice())))
    }

    /// The first expectation that is not met.
    pub(super) fn unmet(&self, expected: &[Expectation]) -> Option<Octets> {
        expected.iter().find_map(|expectation| match expectation {
            Expectation::Key(key, value) => {
                (self.get(&key.0) != value.as_ref().map(|value| value.0.as_slice())).then(|| key.clone())
            }
            Expectation::Range(range, rows) => (self.rows(range) != *rows).then(|| range.begin.clone()),
        })
    }

    /// Whether what was read at this version can't be checked any more.
    pub(super) fn is_too_old(&self, version: i64) -> bool {
        version < self.oldest
    }

    /// Whether anything that was read at this version was written since.
    pub(super) fn conflicts(&self, read: &[Expectation], version: i64) -> bool {
        self.is_too_old(version)
            || read.iter().map(span).any(|(begin, end)| {
                self.recent.iter().any(|((from, to), written)| *written > version && *from < end && begin < *to)
            })
    }

    /// Writes at a version.
    pub(super) fn write(&mut self, writes: &[Write], version: i64) {
        for write in writes {
            let span = match write {
                Write::Set(key, value) => {
                    self.rows.insert(key.0.clone(), value.0.clone());
                    single(key)
                }
                Write::Clear(key) => {
                    self.rows.remove(&key.0);
                    single(key)
                }
                Write::ClearRange(range) => {
                    for row in self.rows(range) {
                        self.rows.remove(&row.key.0);
                    }
                    (range.begin.0.clone(), range.end.0.clone())
                }
            };
            self.recent.push((span, version));
        }
        self.recent.retain(|(_, written)| *written > version - WINDOW);
        self.oldest = self.oldest.max(version - WINDOW);
    }

    /// Sets one key.
    pub(super) fn set(&mut self, key: &[u8], value: &[u8], version: i64) {
        self.write(&[Write::Set(Octets(key.to_vec()), Octets(value.to_vec()))], version);
    }

    /// No transaction that read before this version can commit: its generation is gone.
    pub(super) fn forget_before(&mut self, version: i64) {
        self.oldest = version;
        self.recent.clear();
    }
}

fn span(expectation: &Expectation) -> Span {
    match expectation {
        Expectation::Key(key, _) => single(key),
        Expectation::Range(range, _) => (range.begin.0.clone(), range.end.0.clone()),
    }
}

fn single(key: &Octets) -> Span {
    let mut end = key.0.clone();
    end.push(0);
    (key.0.clone(), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(key: &str, value: &str) -> Write {
        Write::Set(key.into(), value.into())
    }

    #[test]
    fn a_write_in_a_range_that_was_read_is_a_conflict_and_one_beside_it_is_none() {
        let mut keys = KeySpace::default();
        keys.write(&[set("dc1/a", "1")], 10);
        let read = Expectation::Range(Range { begin: "dc1/".into(), end: "dc10".into() }, vec![]);
        assert!(!keys.conflicts(std::slice::from_ref(&read), 10));
        keys.write(&[set("dc10/a", "1")], 20);
        assert!(!keys.conflicts(std::slice::from_ref(&read), 10));
        keys.write(&[set("dc1/b", "1")], 30);
        assert!(keys.conflicts(std::slice::from_ref(&read), 10));
        assert!(!keys.conflicts(std::slice::from_ref(&read), 30));
    }

    #[test]
    fn clearing_what_is_not_there_still_conflicts() {
        let mut keys = KeySpace::default();
        keys.write(&[Write::Clear("fence".into())], 20);
        assert!(keys.conflicts(&[Expectation::Key("fence".into(), None)], 10));
    }

    #[test]
    fn a_transaction_from_before_a_recovery_can_not_commit() {
        let mut keys = KeySpace::default();
        keys.forget_before(100);
        assert!(keys.conflicts(&[], 99));
        assert!(!keys.conflicts(&[], 100));
    }
}
