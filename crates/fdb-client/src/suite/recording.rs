//! Recordings of a case: what was asked of a real FoundationDB, in which order, and what it answered. Played back, the same questions
//! must be asked in the same order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bench::{Bench, Process};
use crate::contract::{Answer, Call, Failure, FoundationDb, Look, Seen, Target};

/// What happened in a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The database.
    pub target: Option<Target>,
    /// In the order in which it happened.
    pub events: VecDeque<Event>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// A process was started, at this address.
    Start(Process, String),
    /// A process was stopped.
    Stop(String),
    /// A call was answered, the second client's or the first's.
    Call {
        /// Whose.
        second: bool,
        /// What was asked.
        call: Box<Call>,
        /// What came of it.
        answer: Box<Result<Answer, Failure>>,
    },
    /// A look was repeated until this was seen.
    Until(Look, Box<Seen>),
}

impl Recording {
    /// As text, one event per line; status documents are written as what they are, not as a quoted text.
    pub fn to_text(&self) -> Result<String, String> {
        let wrong = |error: serde_json::Error| error.to_string();
        let mut lines = vec![serde_json::to_string(&self.target).map_err(wrong)?];
        for event in &self.events {
            let mut value = serde_json::to_value(event).map_err(wrong)?;
            for_each_status(&mut value, &|status| {
                let document = status.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
                if let Some(document) = document {
                    *status = document;
                }
            });
            lines.push(value.to_string());
        }
        Ok(lines.join("\n") + "\n")
    }

    /// From its text.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let wrong = |error: serde_json::Error| error.to_string();
        let mut lines = text.lines();
        let target = serde_json::from_str(lines.next().unwrap_or("null")).map_err(wrong)?;
        let mut events = VecDeque::new();
        for line in lines {
            let mut value: Value = serde_json::from_str(line).map_err(wrong)?;
            for_each_status(&mut value, &|status| {
                if status.is_object() {
                    *status = Value::String(crate::Octets(status.to_string().into_bytes()).to_string());
                }
            });
            events.push_back(serde_json::from_value(value).map_err(wrong)?);
        }
        Ok(Self { target, events })
    }
}

/// Visits every `status` that stands beside `in_progress`: a status document has others of that name in it.
fn for_each_status(value: &mut Value, change: &dyn Fn(&mut Value)) {
    match value {
        Value::Object(fields) if fields.contains_key("inProgress") => {
            if let Some(status) = fields.get_mut("status") {
                change(status);
            }
        }
        Value::Object(fields) => fields.values_mut().for_each(|value| for_each_status(value, change)),
        Value::Array(list) => list.iter_mut().for_each(|value| for_each_status(value, change)),
        _ => {}
    }
}

type Shared = Arc<Mutex<Recording>>;

fn lock(shared: &Shared) -> MutexGuard<'_, Recording> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A bench whose events are written down.
pub struct Recorder<'b> {
    bench: &'b mut dyn Bench,
    recording: Shared,
}

impl<'b> Recorder<'b> {
    /// Listens to a bench.
    pub fn new(bench: &'b mut dyn Bench) -> Self {
        Self { bench, recording: Arc::new(Mutex::new(Recording { target: None, events: VecDeque::new() })) }
    }

    /// What was heard.
    pub fn finish(self) -> Recording {
        let mut recording = lock(&self.recording).clone();
        recording.target = Some(self.bench.target());
        recording
    }

    fn client(&self, second: bool) -> Arc<dyn FoundationDb> {
        let client = if second { self.bench.second_client() } else { self.bench.client() };
        Arc::new(Listening { client, second, recording: Arc::clone(&self.recording) })
    }
}

struct Listening {
    client: Arc<dyn FoundationDb>,
    second: bool,
    recording: Shared,
}

impl FoundationDb for Listening {
    fn call<'a>(&'a self, target: &'a Target, call: Call, deadline: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        async move {
            let answer = self.client.call(target, call.clone(), deadline).await;
            let event = Event::Call { second: self.second, call: Box::new(call), answer: Box::new(answer.clone()) };
            lock(&self.recording).events.push_back(event);
            answer
        }
        .boxed()
    }
}

impl Bench for Recorder<'_> {
    fn client(&self) -> Arc<dyn FoundationDb> {
        Self::client(self, false)
    }

    fn second_client(&self) -> Arc<dyn FoundationDb> {
        Self::client(self, true)
    }

    fn target(&self) -> Target {
        self.bench.target()
    }

    fn start<'a>(&'a mut self, process: &'a Process) -> BoxFuture<'a, Result<String, String>> {
        async move {
            let address = self.bench.start(process).await?;
            lock(&self.recording).events.push_back(Event::Start(process.clone(), address.clone()));
            Ok(address)
        }
        .boxed()
    }

    fn stop<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<(), String>> {
        lock(&self.recording).events.push_back(Event::Stop(name.to_owned()));
        self.bench.stop(name)
    }

    fn wait(&mut self, duration: Duration) -> BoxFuture<'_, ()> {
        self.bench.wait(duration)
    }

    fn until<'a>(
        &'a mut self,
        look: Look,
        what: &'a str,
        holds: &'a (dyn Fn(&Seen) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<Seen, String>> {
        async move {
            let seen = self.bench.until(look.clone(), what, holds).await?;
            lock(&self.recording).events.push_back(Event::Until(look, Box::new(seen.clone())));
            Ok(seen)
        }
        .boxed()
    }
}

/// A bench on which a recording is played.
pub struct Player {
    target: Option<Target>,
    recording: Shared,
}

impl Player {
    /// Plays a recording.
    pub fn new(recording: Recording) -> Self {
        Self { target: recording.target.clone(), recording: Arc::new(Mutex::new(recording)) }
    }

    /// Whether everything was played.
    pub fn finish(self) -> Result<(), String> {
        match lock(&self.recording).events.front() {
            None => Ok(()),
            Some(event) => Err(format!("the recording goes on with {}", short(event))),
        }
    }

    fn next<T>(&self, asked: &str, fits: impl FnOnce(&Event) -> Option<T>) -> Result<T, String> {
        let mut recording = lock(&self.recording);
        let Some(event) = recording.events.front() else { return Err(format!("{asked}: the recording is at its end")) };
        let found = fits(event).ok_or_else(|| format!("{asked}: the recording has {}", short(event)))?;
        recording.events.pop_front();
        Ok(found)
    }
}

fn short(event: &Event) -> String {
    format!("{event:?}").chars().take(300).collect()
}

struct Playing {
    second: bool,
    recording: Shared,
}

impl FoundationDb for Playing {
    /// Calls that race were written down in the order of their answers, so the next but one may be the one.
    fn call<'a>(&'a self, _: &'a Target, call: Call, _: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        async move {
            let mut recording = lock(&self.recording);
            let fits = |event: &Event| {
                matches!(event, Event::Call { second, call: recorded, .. } if *second == self.second && **recorded == call)
            };
            let place = recording.events.iter().take(2).position(fits);
            if let Some(Event::Call { answer, .. }) = place.and_then(|place| recording.events.remove(place)) {
                return *answer;
            }
            let next = recording.events.front().map_or_else(|| "its end".to_owned(), short);
            Err(Failure::Unavailable(format!("{call:?} was asked, and the recording has {next}")))
        }
        .boxed()
    }
}

impl Bench for Player {
    fn client(&self) -> Arc<dyn FoundationDb> {
        Arc::new(Playing { second: false, recording: Arc::clone(&self.recording) })
    }

    fn second_client(&self) -> Arc<dyn FoundationDb> {
        Arc::new(Playing { second: true, recording: Arc::clone(&self.recording) })
    }

    fn target(&self) -> Target {
        self.target.clone().unwrap_or_else(|| Target {
            cluster: String::new(),
            connection: String::new(),
            version: String::new(),
            tls: None,
        })
    }

    fn start<'a>(&'a mut self, process: &'a Process) -> BoxFuture<'a, Result<String, String>> {
        let address = self.next(&format!("starting {}", process.name), |event| match event {
            Event::Start(recorded, address) if recorded == process => Some(address.clone()),
            _ => None,
        });
        futures::future::ready(address).boxed()
    }

    fn stop<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let stopped = self
            .next(&format!("stopping {name}"), |event| matches!(event, Event::Stop(recorded) if recorded == name).then_some(()));
        futures::future::ready(stopped).boxed()
    }

    fn wait(&mut self, _: Duration) -> BoxFuture<'_, ()> {
        futures::future::ready(()).boxed()
    }

    fn until<'a>(
        &'a mut self,
        look: Look,
        what: &'a str,
        holds: &'a (dyn Fn(&Seen) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<Seen, String>> {
        let seen = self.next(what, |event| match event {
            Event::Until(recorded, seen) if *recorded == look => Some(Seen::clone(seen)),
            _ => None,
        });
        let seen = seen.and_then(|seen| if holds(&seen) { Ok(seen) } else { Err(format!("{what}: not in the recording")) });
        futures::future::ready(seen).boxed()
    }
}
