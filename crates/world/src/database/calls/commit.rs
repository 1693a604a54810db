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
    /// It was read at this version of this generation, and is committed at this moment.
    Commit { version: i64, generation: u64, at: Timestamp },
    /// The database will refuse it at this moment.
    Refuse { failure: Failure, at: Timestamp },
    /// It is done, and known to be at this moment, if the database can be read then.
    Confirm { at: Timestamp },
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
                Step::Commit { version, generation, .. } => self.write(ticket, version, generation),
            };
            match step {
                Ok(step) => {
                    let Stage::Commit(committing) = &mut ticket.stage else { return Progress::Waits(None) };
                    committing.step = step;
                }
                Err(progress) => return progress,
            }
        }
    }

    fn read(&mut self, ticket: &Ticket) -> Result<Step, Progress> {
        let Stage::Commit(Committing { commit, .. }) = &ticket.stage else { return Err(Progress::Waits(None)) };
        match &commit.manage {
            Some(Management::IncludeBlindly(_)) => return self.read_nothing(ticket),
            Some(Management::Configure(change)) if change.new.is_some() && !self.available() => return self.read_nothing(ticket),
            Some(Management::Exclude(_)) if !self.serves(&ticket.connection) => {
                let at = ticket.began + times::EXCLUSION_GIVES_UP;
                if self.now < at {
                    return Err(Progress::Waits(Some(at)));
                }
                let message =
                    "ERROR: Could not calculate the impact of this exclude on the total available space in the cluster.\n";
                return Err(Progress::Done(Err(refused("exclude", message, false))));
            }
            _ if !self.serves(&ticket.connection) => return Err(Progress::Waits(None)),
            _ => {}
        }
        if let Some(key) = self.keys.unmet(&commit.expect) {
            return Err(Progress::Done(Err(Failure::Changed { key })));
        }
        let (version, generation) = (self.versions.read(self.now), self.generation);
        match commit.manage.as_ref().map_or(Prepared::After(times::QUICK), |manage| self.prepare(manage, &ticket.connection)) {
            Prepared::After(takes) => Ok(Step::Commit { version, generation, at: self.now + takes }),
            Prepared::Refused(failure, takes) => Ok(Step::Refuse { failure, at: self.now + takes }),
        }
    }

    /// A creation and a blind include go through whatever leader there is, without reading.
    fn read_nothing(&self, ticket: &Ticket) -> Result<Step, Progress> {
        let led = !matches!(self.phase, Phase::Leaderless(_)) && self.routes_here(&ticket.connection);
        if !led {
            return Err(Progress::Waits(None));
        }
        Ok(Step::Commit { version: i64::MAX, generation: self.generation, at: self.now + times::QUICK })
    }

    fn write(&mut self, ticket: &Ticket, version: i64, generation: u64) -> Result<Step, Progress> {
        let Stage::Commit(Committing { commit, .. }) = &ticket.stage else { return Err(Progress::Waits(None)) };
        let blind = version == i64::MAX;
        if !blind {
            if generation != self.generation {
                // The generation it was sent to is gone with it. Whoever asks finds that nothing happened, and tries again.
                return Ok(Step::Read);
            }
            if !self.serves(&ticket.connection) {
                return Err(Progress::Waits(None));
            }
            let writes = !commit.writes.is_empty() || commit.manage.as_ref().is_some_and(|manage| self.would_write(manage));
            // What turns out to write nothing is not checked.
            if writes && self.keys.conflicts(&commit.expect, version) {
                return Err(Progress::Done(Err(Failure::Conflict)));
            }
        }
        let consequence = match &commit.manage {
            None => Consequence::None,
            Some(manage) => self.manage(manage).map_err(|failure| Progress::Done(Err(failure)))?,
        };
        if !matches!(consequence, Consequence::LosesWrites(_)) && !commit.writes.is_empty() {
            let version = self.versions.commit(self.now);
            self.keys.write(&commit.writes, version);
        }
        self.reconfigure_unless_forgotten();
        match consequence {
            Consequence::None => {
                self.settle();
                Err(Progress::Done(Ok(Answer::Committed)))
            }
            Consequence::Confirmed => {
                self.settle();
                Ok(Step::Confirm { at: self.now + times::QUICK })
            }
            Consequence::Recovery(takes) | Consequence::LosesWrites(takes) => {
                self.begin_recovery(takes, None);
                self.replace_distributor();
                self.settle();
                Ok(Step::Confirm { at: self.now + takes })
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
