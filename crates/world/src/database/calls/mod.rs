//! Calls: what is asked of a database takes time, and the database changes meanwhile.
//!
//! A call begins, proceeds whenever time has passed, and ends with an answer or when its caller gives up. Giving up undoes nothing that
//! was done.

mod commit;
mod look;
mod manage;

use jiff::Timestamp;
use quorate_fdb_client::{Answer, Call, Failure, Target};

use super::Database;
use super::coordination::Route;
use super::process::protocol;
use super::recovery::Phase;
use super::times;

/// A call under way.
#[derive(Debug)]
pub struct Ticket {
    connection: String,
    version: String,
    began: Timestamp,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Look(look::Looking),
    Commit(commit::Committing),
    Kill { addresses: Vec<String>, at: Timestamp },
}

/// How far a call is.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// It goes on at this moment at the latest, and perhaps at the database's next event.
    Waits(Option<Timestamp>),
    /// It is answered.
    Done(Result<Answer, Failure>),
}

impl Database {
    /// Begins a call; its caller waits until the deadline.
    pub fn begin(&mut self, target: &Target, call: Call, deadline: Timestamp) -> Ticket {
        let connection = target.connection.clone();
        let stage = match call {
            Call::Look(look) => Stage::Look(look::Looking::new(self, &connection, look, deadline)),
            Call::Commit(commit) => Stage::Commit(commit::Committing::new(commit)),
            Call::Kill(addresses) => Stage::Kill { addresses, at: self.now + times::QUICK },
        };
        Ticket { connection, version: target.version.clone(), began: self.now, stage }
    }

    /// Goes on with a call, at the database's present time.
    pub fn proceed(&mut self, ticket: &mut Ticket) -> Progress {
        if self.spoken().is_some_and(|spoken| spoken != protocol(&ticket.version)) {
            return Progress::Done(Err(Failure::Incompatible { library: ticket.version.clone() }));
        }
        match &mut ticket.stage {
            Stage::Look(looking) => self.look(looking, &ticket.connection),
            Stage::Commit(_) => self.commit(ticket),
            Stage::Kill { addresses, at } => {
                let (addresses, at) = (std::mem::take(addresses), *at);
                self.kill(ticket, addresses, at)
            }
        }
    }

    /// Whether a client with this connection string can read and commit.
    fn serves(&self, connection: &str) -> bool {
        self.available() && self.keys_are_served() && self.route(connection) == Some(Route::Here)
    }

    /// All, or nothing if one of them is unknown. Without a leader nobody answers at all.
    fn kill(&mut self, ticket: &mut Ticket, addresses: Vec<String>, at: Timestamp) -> Progress {
        let led = !matches!(self.phase, Phase::Leaderless(_)) && self.route(&ticket.connection) == Some(Route::Here);
        if !led || at > self.now {
            ticket.stage = Stage::Kill { addresses, at };
            return Progress::Waits(Some(at));
        }
        let known = addresses.iter().all(|address| self.members.contains(address));
        if known {
            for address in addresses {
                self.kills.entry(address).or_insert(self.now + times::EXITS);
            }
        }
        Progress::Done(Ok(Answer::Killed(known)))
    }
}
