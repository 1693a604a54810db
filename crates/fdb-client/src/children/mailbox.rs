//! What is to be said to one child and what is awaited from it. Each call that is posted gets exactly one answer, or is abandoned by
//! whoever posted it.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::lock;
use crate::contract::{Answer, Call, Failure, Target};
use crate::libraries;
use crate::protocol::{self, FrameError, REQUEST_LIMIT, ToChild, encode};

/// Where an answer arrives.
pub(crate) type Waiting = oneshot::Receiver<Result<Answer, Failure>>;

/// A call, ready to be sent.
pub(crate) struct Request {
    id: u64,
    frame: Vec<u8>,
    version: String,
    /// Whether it may have changed something once it was sent.
    changes: bool,
}

impl Request {
    pub(crate) fn new(id: u64, target: &Target, call: Call, deadline: Duration) -> Result<Self, Failure> {
        let changes = !matches!(call, Call::Look(_));
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        let message = ToChild::Request(Box::new(protocol::Request { id, target: target.clone(), call, deadline_ms }));
        let frame = encode(&message, REQUEST_LIMIT).map_err(|error| match error {
            FrameError::TooLong { length, limit } => Failure::Invalid {
                field: "call".to_owned(),
                problem: format!("{length} bytes are too many for one call; {limit} are allowed"),
            },
            other => Failure::Invalid { field: "call".to_owned(), problem: other.to_string() },
        })?;
        Ok(Self { id, frame, version: target.version.clone(), changes })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.frame.len()
    }
}

#[derive(Default)]
struct State {
    /// Not written yet. Words without an id are about no call.
    outgoing: VecDeque<(Option<u64>, Vec<u8>)>,
    awaited: BTreeMap<u64, Awaited>,
    /// The child is left alone until then, because of this.
    resting: Option<(Instant, String)>,
    process_id: Option<u32>,
    /// To close as soon as nothing is awaited.
    closing: bool,
    /// To close now.
    closed: bool,
}

struct Awaited {
    answer: oneshot::Sender<Result<Answer, Failure>>,
    version: String,
    changes: bool,
    sent: bool,
}

pub(crate) struct Mailbox {
    libraries: PathBuf,
    state: Mutex<State>,
    bell: Notify,
}

/// Whether a child has to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Child,
    Nothing,
    /// Never again.
    End,
}

/// What a child's writer does next.
pub(crate) enum Next {
    Write(Vec<u8>),
    Wait,
    Close,
}

impl Mailbox {
    pub(crate) fn new(libraries: PathBuf) -> Self {
        Self { libraries, state: Mutex::default(), bell: Notify::new() }
    }

    /// Takes a call, unless its deadline lies before the child's next start.
    pub(crate) fn post(&self, request: Request, deadline: Duration) -> Result<Waiting, Failure> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(Failure::Unavailable("the client is being closed".to_owned()));
        }
        if let Some((until, reason)) = &state.resting
            && *until > Instant::now() + deadline
        {
            return Err(Failure::Unavailable(reason.clone()));
        }
        let (answer, waiting) = oneshot::channel();
        let Request { id, frame, version, changes } = request;
        state.awaited.insert(id, Awaited { answer, version, changes, sent: false });
        state.outgoing.push_back((Some(id), frame));
        self.bell.notify_one();
        Ok(waiting)
    }

    /// Nobody waits for this call any more. If it was sent, the child is told.
    pub(crate) fn abandon(&self, id: u64) {
        let mut state = lock(&self.state);
        if let Some(awaited) = state.awaited.remove(&id) {
            if awaited.sent {
                state.outgoing.push_back((None, say(&ToChild::Cancel { id })));
            } else {
                state.outgoing.retain(|(queued, _)| *queued != Some(id));
            }
        }
        self.bell.notify_one();
    }

    /// The child is to close a database that was moved or is gone.
    pub(crate) fn close_database(&self, cluster: &str) {
        let word = say(&ToChild::Close { cluster: cluster.to_owned() });
        let mut state = lock(&self.state);
        if state.process_id.is_some() {
            state.outgoing.push_back((None, word));
            self.bell.notify_one();
        }
    }

    /// Asks whether the child is there, before everything else that waits.
    pub(crate) fn ping(&self, id: u64) {
        lock(&self.state).outgoing.push_front((None, say(&ToChild::Ping { id })));
        self.bell.notify_one();
    }

    pub(crate) fn close_when_done(&self) {
        lock(&self.state).closing = true;
        self.bell.notify_one();
    }

    pub(crate) fn close_now(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.awaited.clear();
        state.outgoing.clear();
        self.bell.notify_one();
    }

    pub(crate) fn process_id(&self) -> Option<u32> {
        lock(&self.state).process_id
    }

    pub(crate) fn started(&self, process_id: Option<u32>) {
        let mut state = lock(&self.state);
        state.process_id = process_id;
        state.resting = None;
    }

    /// Waits until something has changed since the last look.
    pub(crate) async fn changed(&self) {
        self.bell.notified().await;
    }

    pub(crate) fn need(&self) -> Need {
        let state = lock(&self.state);
        if state.closed || (state.closing && state.awaited.is_empty()) {
            Need::End
        } else if state.awaited.is_empty() {
            Need::Nothing
        } else {
            Need::Child
        }
    }

    /// What is written next to a child with a library of this version. A library of a wrong version is found out here.
    pub(crate) fn next(&self, library: &str) -> Next {
        let mut state = lock(&self.state);
        loop {
            if state.closed || (state.closing && state.awaited.is_empty()) {
                return Next::Close;
            }
            let Some((id, frame)) = state.outgoing.pop_front() else { return Next::Wait };
            let Some(id) = id else { return Next::Write(frame) };
            let Some(awaited) = state.awaited.get_mut(&id) else { continue };
            if libraries::compatible(library, &awaited.version) {
                awaited.sent = true;
                return Next::Write(frame);
            }
            let failure = libraries::missing(&self.libraries, &awaited.version);
            if let Some(awaited) = state.awaited.remove(&id) {
                // Whoever asked may be gone.
                let _ = awaited.answer.send(Err(failure));
            }
        }
    }

    /// An answer has come. One that nobody awaits was abandoned.
    pub(crate) fn answer(&self, id: u64, result: Result<Answer, Failure>) {
        let awaited = lock(&self.state).awaited.remove(&id);
        if let Some(awaited) = awaited {
            // Whoever asked may be gone.
            let _ = awaited.answer.send(result);
        }
        self.bell.notify_one();
    }

    /// The child is gone. What it was busy with fails; what was not sent waits for the next one, unless this one never spoke.
    pub(crate) fn failed(&self, reason: &str, never_spoke: bool, rest: Duration) {
        let mut state = lock(&self.state);
        state.process_id = None;
        state.resting = Some((Instant::now() + rest, reason.to_owned()));
        state.outgoing.retain(|(id, _)| id.is_some() && !never_spoke);
        let lost: Vec<u64> = state.awaited.iter().filter(|(_, call)| call.sent || never_spoke).map(|(id, _)| *id).collect();
        for id in lost {
            if let Some(call) = state.awaited.remove(&id) {
                let failure =
                    if call.sent && call.changes { Failure::UnknownResult } else { Failure::Unavailable(reason.to_owned()) };
                // Whoever asked may be gone.
                let _ = call.answer.send(Err(failure));
            }
        }
    }

    /// How long the child is still to be left alone.
    pub(crate) fn rest(&self) -> Option<Instant> {
        lock(&self.state).resting.as_ref().map(|(until, _)| *until)
    }
}

/// A word that always fits a frame.
fn say(message: &ToChild) -> Vec<u8> {
    encode(message, REQUEST_LIMIT).unwrap_or_default()
}
