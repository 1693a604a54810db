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

    /// Writes down what is about to begin.
    pub fn begin(&mut self, name: impl Into<String>, entry: JournalEntry) {
        self.0.insert(name.into(), entry);
    }
}
