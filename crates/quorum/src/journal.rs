//! What was begun and not seen to finish.
//!
//! A watch lags behind: for a moment after a pod was deleted it still looks alive, and a second decision made then would take another one
//! away. So what takes something away is written into the object's status first, by compare-and-set, and stays there until its end was
//! seen. A restart loses nothing: the journal is in the API server, not in memory.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Everything that is under way, by what it is done to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Journal(pub BTreeMap<String, JournalEntry>);

/// One thing that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// What is being done.
    pub what: String,
    /// The uid of what it is done to; when that is gone, it is done.
    pub uid: String,
    /// The zone it disrupts.
    pub zone: String,
    /// Since when.
    pub since: Timestamp,
}

impl Journal {
    /// Takes out what has ended.
    #[must_use]
    pub fn without_what_ended(&self, under_way: impl Fn(&str, &JournalEntry) -> bool) -> Self {
        let left = self.0.iter().filter(|(name, entry)| under_way(name, entry));
        Self(left.map(|(name, entry)| (name.clone(), entry.clone())).collect())
    }

    /// Writes down what is about to begin. What is only tried again, with the same object, began when it was first tried.
    pub fn begin(&mut self, name: impl Into<String>, entry: JournalEntry) {
        let name = name.into();
        let again = |before: &&JournalEntry| before.what == entry.what && before.uid == entry.uid && !entry.uid.is_empty();
        let since = self.0.get(&name).filter(again).map_or(entry.since, |before| before.since);
        self.0.insert(name, JournalEntry { since, ..entry });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tried_again_began_when_it_was_first_tried() {
        let entry = |uid: &str, second| JournalEntry {
            what: "removed".to_owned(),
            uid: uid.to_owned(),
            zone: String::new(),
            since: Timestamp::from_second(second).unwrap(),
        };
        let mut journal = Journal::default();
        journal.begin("pod", entry("a", 1));
        journal.begin("pod", entry("a", 2));
        assert_eq!(journal.0["pod"], entry("a", 1));
        journal.begin("pod", entry("b", 3));
        assert_eq!(journal.0["pod"], entry("b", 3));
    }
}
