//! Looking: the status always comes, late when it matters; the rest only while the database can be read.

use jiff::Timestamp;
use quorate_fdb_client::{Answer, Failure, Look, Octets, Rows, Seen};

use super::super::Database;
use super::super::keyspace::COORDINATORS;
use super::Progress;

/// A look under way.
#[derive(Debug)]
pub(super) struct Looking {
    look: Look,
    /// The status shows this moment.
    shows: Timestamp,
    /// The status has arrived.
    arrives: Timestamp,
    /// What can't be read by then fails.
    patience: Timestamp,
    allowed: u64,
    status: Option<Octets>,
}

impl Looking {
    pub(super) fn new(database: &Database, connection: &str, look: Look, deadline: Timestamp) -> Self {
        let takes = database.status_takes(connection);
        let arrives = database.now + takes;
        // Parts that hang get nine tenths of the time, so that what did come is still of use.
        let patience = deadline.duration_since(database.now) * 9 / 10;
        Self {
            look,
            shows: database.now + takes / 2,
            arrives,
            patience: database.now + patience,
            allowed: u64::try_from(patience.as_millis()).unwrap_or(0),
            status: None,
        }
    }
}

impl Database {
    pub(super) fn look(&mut self, looking: &mut Looking, connection: &str) -> Progress {
        if looking.status.is_none() && self.now >= looking.shows {
            looking.status = Some(Octets(self.written_status(connection)));
        }
        if self.now >= looking.patience && self.now < looking.arrives {
            return Progress::Done(Err(Failure::Timeout { milliseconds: looking.allowed }));
        }
        let Some(status) = looking.status.take_if(|_| self.now >= looking.arrives) else {
            let next = if self.now < looking.shows { looking.shows } else { looking.arrives };
            return Progress::Waits(Some(next.min(looking.patience)));
        };
        let more = looking.look.exclusions || !looking.look.ranges.is_empty();
        if more && !self.serves(connection) && self.now < looking.patience {
            looking.status = Some(status);
            return Progress::Waits(Some(looking.patience));
        }
        let readable = if self.serves(connection) { Ok(()) } else { Err(Failure::Timeout { milliseconds: looking.allowed }) };
        let exclusions = looking.look.exclusions;
        let ranges = &looking.look.ranges;
        let seen = Seen {
            status,
            in_progress: exclusions.then(|| readable.clone().map(|()| self.exclusions_in_progress())),
            connection: exclusions.then(|| readable.clone().map(|()| self.own_connection())),
            ranges: (!ranges.is_empty()).then(|| {
                readable.map(|()| Rows {
                    version: self.versions.read(self.now),
                    ranges: ranges.iter().map(|range| self.keys.rows(range)).collect(),
                })
            }),
        };
        Progress::Done(Ok(Answer::Seen(seen)))
    }

    /// The connection string as the database itself has it.
    fn own_connection(&self) -> String {
        self.keys.get(COORDINATORS).map_or_else(|| self.connection.to_string(), |text| String::from_utf8_lossy(text).into_owned())
    }
}
