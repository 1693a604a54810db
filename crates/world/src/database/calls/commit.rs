//! One transaction: it reads at one moment and commits at another, and what it read must not have changed in between.

use jiff::Timestamp;
use quorate_fdb_client::{Answer, Commit, Failure, Management};

use super::super::Database;
use super::super::recovery::Phase;
use super::super::times;
use super::manage::{Consequence, Prepared};
use super::{Progress, Stage, Ticket};

/// A commit under way.
#[derive(Debug)]
pub(super) struct Committing {
    commit: Commit,
    step: Step,
}

#[derive(Clone, Debug)]
enum Step {
    /// What is expected is to be read.
    Read,
    /// It is committed at this moment. A blind commit has read nothing.
    Commit { read: Option<ReadAt>, at: Timestamp },
    /// The database will refuse it at this moment.
    Refuse { failure: Failure, at: Timestamp },
    /// It is done, and known to be at this moment, if the database can be read then.
    Confirm { at: Timestamp },
}

/// When a transaction read.
#[derive(Clone, Copy, Debug)]
struct ReadAt {
    version: i64,
    generation: u64,
}

/// What comes of a step.
enum Turn {
    Next(Step),
    Stop(Progress),
}

impl Turn {
    fn failed(failure: Failure) -> Self {
        Self::Stop(Progress::Done(Err(failure)))
    }

    const WAITS: Self = Self::Stop(Progress::Waits(None));
}

impl Committing {
    pub(super) fn new(commit: Commit) -> Self {
        Self { commit, step: Step::Read }
    }
}

impl Database {
    pub(super) fn commit(&mut self, ticket: &mut Ticket) -> Progress {
        loop {
            let Stage::Commit(committing) = &ticket.stage else { return Progress::Waits(None) };
            let step = match committing.step.clone() {
                Step::Read => self.read(ticket),
                Step::Commit { at, .. } | Step::Refuse { at, .. } | Step::Confirm { at } if at > self.now => {
                    return Progress::Waits(Some(at));
                }
                Step::Refuse { failure, .. } => return Progress::Done(Err(failure)),
                Step::Confirm { .. } if !self.serves(&ticket.connection) => return Progress::Waits(None),
                Step::Confirm { .. } => return Progress::Done(Ok(Answer::Committed)),
                Step::Commit { read, .. } => self.write(ticket, read),
            };
            match step {
                Turn::Next(step) => {
                    let Stage::Commit(committing) = &mut ticket.stage else { return Progress::Waits(None) };
                    committing.step = step;
                }
                Turn::Stop(progress) => return progress,
            }
        }
    }

    fn read(&mut self, ticket: &Ticket) -> Turn {
        let Stage::Commit(Committing { commit, .. }) = &ticket.stage else { return Turn::WAITS };
        match &commit.manage {
            Some(Management::IncludeBlindly(_)) => return self.read_nothing(ticket),
            Some(Management::Configure(change)) if change.new.is_some() && !self.available() => return self.read_nothing(ticket),
            Some(Management::Exclude(_)) if !self.serves(&ticket.connection) => {
                let at = ticket.began + times::EXCLUSION_GIVES_UP;
                if self.now < at {
                    return Turn::Stop(Progress::Waits(Some(at)));
                }
                let message =
                    "ERROR: Could not calculate the impact of this exclude on the total available space in the cluster.\n";
                return Turn::failed(refused("exclude", message, false));
            }
            _ if !self.serves(&ticket.connection) => return Turn::WAITS,
            _ => {}
        }
        if let Some(key) = self.keys.unmet(&commit.expect) {
            return Turn::failed(Failure::Changed { key });
        }
        let read = Some(ReadAt { version: self.versions.read(self.now), generation: self.generation });
        match commit.manage.as_ref().map_or(Prepared::After(times::QUICK), |manage| self.prepare(manage, &ticket.connection)) {
            Prepared::After(takes) => Turn::Next(Step::Commit { read, at: self.now + takes }),
            Prepared::Refused(failure, takes) => Turn::Next(Step::Refuse { failure, at: self.now + takes }),
        }
    }

    /// A creation and a blind include go through whatever leader there is, without reading.
    fn read_nothing(&self, ticket: &Ticket) -> Turn {
        let led = !matches!(self.phase, Phase::Leaderless(_)) && self.routes_here(&ticket.connection);
        if !led {
            return Turn::WAITS;
        }
        Turn::Next(Step::Commit { read: None, at: self.now + times::QUICK })
    }

    fn write(&mut self, ticket: &Ticket, read: Option<ReadAt>) -> Turn {
        let Stage::Commit(Committing { commit, .. }) = &ticket.stage else { return Turn::WAITS };
        if let Some(ReadAt { version, generation }) = read {
            // The generation it was sent to is gone with it, or it took too long. Whoever asks finds that nothing happened, and tries
            // again.
            if generation != self.generation || self.keys.is_too_old(version) {
                return Turn::Next(Step::Read);
            }
            if !self.serves(&ticket.connection) {
                return Turn::WAITS;
            }
            let writes = !commit.writes.is_empty() || commit.manage.as_ref().is_some_and(|manage| self.would_write(manage));
            // What turns out to write nothing is not checked.
            if writes && self.keys.conflicts(&commit.expect, version) {
                return Turn::failed(Failure::Conflict);
            }
        }
        let consequence = match &commit.manage {
            None => Consequence::None,
            Some(manage) => match self.manage(manage) {
                Ok(consequence) => consequence,
                Err(failure) => return Turn::failed(failure),
            },
        };
        if !matches!(consequence, Consequence::LosesWrites(_)) && !commit.writes.is_empty() {
            let version = self.versions.commit(self.now);
            self.keys.write(&commit.writes, version);
        }
        self.reconfigure_unless_forgotten();
        match consequence {
            Consequence::None => {
                self.settle();
                Turn::Stop(Progress::Done(Ok(Answer::Committed)))
            }
            Consequence::Confirmed => {
                self.settle();
                Turn::Next(Step::Confirm { at: self.now + times::QUICK })
            }
            Consequence::Recovery(takes) | Consequence::LosesWrites(takes) => {
                self.begin_recovery(takes, None);
                self.replace_distributor();
                self.settle();
                Turn::Next(Step::Confirm { at: self.now + takes })
            }
        }
    }

    fn reconfigure_unless_forgotten(&mut self) {
        if self.configuration.is_some() || !self.forgotten {
            self.reconfigure();
        }
    }
}

/// A refusal in the database's own words.
pub(super) fn refused(command: &str, message: &str, retriable: bool) -> Failure {
    Failure::Refused { command: command.to_owned(), message: message.to_owned(), retriable }
}
