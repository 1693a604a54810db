//! Which calls were made and which failures were seen.

use std::collections::BTreeSet;

use crate::contract::{Answer, Call, Commit, Expectation, Failure, Management, Write};

/// Every call there is, by name.
pub const ALL_CALLS: &[&str] = &[
    "commit",
    "commit: clear",
    "commit: clear range",
    "commit: configure",
    "commit: configure new",
    "commit: coordinators",
    "commit: end maintenance",
    "commit: exclude",
    "commit: expect key",
    "commit: expect range",
    "commit: include",
    "commit: include blindly",
    "commit: maintain",
    "commit: process class",
    "commit: set",
    "kill",
    "look",
    "look: exclusions",
    "look: ranges",
];

/// Every failure there is, by name.
pub const ALL_FAILURES: &[&str] = &[
    "already created",
    "changed",
    "conflict",
    "database",
    "incompatible",
    "invalid",
    "locked",
    "no library",
    "refused",
    "timeout",
    "unavailable",
    "unknown result",
];

/// What was seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Names from [`ALL_CALLS`].
    pub calls: BTreeSet<&'static str>,
    /// Names from [`ALL_FAILURES`].
    pub failures: BTreeSet<&'static str>,
}

impl Coverage {
    /// Notes a call and what came of it.
    pub fn note(&mut self, call: &Call, result: &Result<Answer, Failure>) {
        match call {
            Call::Look(look) => {
                self.calls.insert("look");
                if look.exclusions {
                    self.calls.insert("look: exclusions");
                }
                if !look.ranges.is_empty() {
                    self.calls.insert("look: ranges");
                }
            }
            Call::Commit(commit) => self.note_commit(commit),
            Call::Kill(_) => {
                self.calls.insert("kill");
            }
        }
        match result {
            Err(failure) => self.note_failure(failure),
            Ok(Answer::Seen(seen)) => {
                let parts = [
                    seen.in_progress.as_ref().and_then(|part| part.as_ref().err()),
                    seen.connection.as_ref().and_then(|part| part.as_ref().err()),
                    seen.ranges.as_ref().and_then(|part| part.as_ref().err()),
                ];
                parts.into_iter().flatten().for_each(|failure| self.note_failure(failure));
            }
            Ok(_) => {}
        }
    }

    fn note_commit(&mut self, commit: &Commit) {
        self.calls.insert("commit");
        self.calls.extend(commit.expect.iter().map(|expectation| match expectation {
            Expectation::Key(..) => "commit: expect key",
            Expectation::Range(..) => "commit: expect range",
        }));
        self.calls.extend(commit.writes.iter().map(|write| match write {
            Write::Set(..) => "commit: set",
            Write::Clear(_) => "commit: clear",
            Write::ClearRange(_) => "commit: clear range",
        }));
        self.calls.extend(commit.manage.as_ref().map(|change| match change {
            Management::Exclude(_) => "commit: exclude",
            Management::Include(_) => "commit: include",
            Management::IncludeBlindly(_) => "commit: include blindly",
            Management::Coordinators(_) => "commit: coordinators",
            Management::Configure(change) if change.new.is_some() => "commit: configure new",
            Management::Configure(_) => "commit: configure",
            Management::Maintain { .. } => "commit: maintain",
            Management::EndMaintenance => "commit: end maintenance",
            Management::ProcessClass { .. } => "commit: process class",
        }));
    }

    fn note_failure(&mut self, failure: &Failure) {
        self.failures.insert(match failure {
            Failure::Timeout { .. } => "timeout",
            Failure::Changed { .. } => "changed",
            Failure::Conflict => "conflict",
            Failure::UnknownResult => "unknown result",
            Failure::AlreadyCreated => "already created",
            Failure::Incompatible { .. } => "incompatible",
            Failure::Refused { .. } => "refused",
            Failure::Locked => "locked",
            Failure::Invalid { .. } => "invalid",
            Failure::NoLibrary { .. } => "no library",
            Failure::Unavailable(_) => "unavailable",
            Failure::Database { .. } => "database",
        });
    }

    /// Adds what another case saw.
    pub fn add(&mut self, other: &Self) {
        self.calls.extend(&other.calls);
        self.failures.extend(&other.failures);
    }

    /// What no case saw: calls, then failures.
    pub fn missing(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let not_in = |all: &[&'static str], seen: &BTreeSet<&'static str>| {
            all.iter().copied().filter(|name| !seen.contains(name)).collect()
        };
        (not_in(ALL_CALLS, &self.calls), not_in(ALL_FAILURES, &self.failures))
    }
}
