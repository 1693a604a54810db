//! Why nothing more is done.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

/// A stable code for a reason, for alerts and scripts. It never changes once released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Reason(pub &'static str);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Something that is not done now, and everything a person on call needs to know about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// The code.
    pub reason: Reason,
    /// What it concerns: a process group, a pod, or the whole cluster.
    pub about: String,
    /// What is not done, and why.
    pub sentence: String,
    /// The value that was measured.
    pub measured: String,
    /// The value it was compared with.
    pub threshold: String,
    /// Since when it holds.
    pub since: Option<Timestamp>,
    /// What would release it.
    pub released_by: String,
}

/// A hold that does not say yet what was measured. No other can be made: whoever is held may ask by how much.
#[derive(Clone, Debug)]
#[must_use]
pub struct Unmeasured {
    reason: Reason,
    about: String,
    sentence: String,
    released_by: String,
}

impl Unmeasured {
    /// The two values that were compared. They must not change while nothing else does: every change is written down.
    pub fn compared(self, measured: impl fmt::Display, threshold: impl fmt::Display) -> Hold {
        let Self { reason, about, sentence, released_by } = self;
        Hold {
            reason,
            about,
            sentence,
            measured: measured.to_string(),
            threshold: threshold.to_string(),
            since: None,
            released_by,
        }
    }
}

impl Hold {
    /// A hold with its sentence and what would release it.
    #[expect(clippy::new_ret_no_self, reason = "it is one once its values are told")]
    pub fn new(
        reason: Reason,
        about: impl Into<String>,
        sentence: impl Into<String>,
        released_by: impl Into<String>,
    ) -> Unmeasured {
        Unmeasured { reason, about: about.into(), sentence: sentence.into(), released_by: released_by.into() }
    }

    /// Since when it holds.
    #[must_use]
    pub fn since(mut self, since: Timestamp) -> Self {
        self.since = Some(since);
        self
    }
}

/// A hold as people read it, whether it comes from a decision or from the status of an object.
#[derive(Clone, Copy, Debug)]
pub struct Explained<'a> {
    /// The code.
    pub reason: &'a str,
    /// What it concerns.
    pub about: &'a str,
    /// What is not done, and why.
    pub sentence: &'a str,
    /// The value that was measured, and the one it was compared with; a status that somebody else wrote may have none.
    pub compared: Option<(&'a str, &'a str)>,
    /// Since when it holds.
    pub since: Option<Timestamp>,
    /// What would release it.
    pub released_by: &'a str,
}

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})\n  {}", self.reason, self.about, self.sentence)?;
        if let Some((measured, threshold)) = self.compared {
            write!(f, "\n  measured: {measured}, needed: {threshold}")?;
        }
        if let Some(since) = self.since {
            write!(f, "\n  since: {since}")?;
        }
        write!(f, "\n  released by: {}", self.released_by)
    }
}

/// As `quorate explain` prints it.
impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, about, sentence, measured, threshold, since, released_by } = self;
        Explained { reason: reason.0, about, sentence, compared: Some((measured, threshold)), since: *since, released_by }.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_prints_everything_a_person_on_call_needs() {
        let hold =
            Hold::new(Reason("PodPending"), "storage-3", "its pod can't be scheduled", "a node with 2 free CPUs in zone b")
                .compared("7 min", "5 min")
                .since(Timestamp::UNIX_EPOCH);
        assert_eq!(
            hold.to_string(),
            "PodPending (storage-3)\n  its pod can't be scheduled\n  measured: 7 min, needed: 5 min\n  since: 1970-01-01T00:00:00Z\n  \
             released by: a node with 2 free CPUs in zone b"
        );
    }
}
