//! What goes wrong between the operators and the API, as the script says: refused, late and lost calls, answers that lie, watches that
//! lag and miss things, and crashes of an operator before and after any of its writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quorate_fdb_client::{Answer, Failure};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::clock::SimulatedClock;
use super::crashes::Change;
use super::news::{Arrival, Asked, Effect, News};
use super::script::{CallFault, Disturbance, EventFault, Script};
use crate::kubernetes::{CallInfo, Delivery, Done, Interceptor, Metadata, Status, Verdict, WatchInfo};

/// How the names of the operators' clients begin.
pub(crate) const OPERATOR: &str = "operator-";

/// Disturbs the operators' calls, counts what it did, and keeps the story.
pub(crate) struct Faults {
    state: Mutex<State>,
    clock: Arc<SimulatedClock>,
    /// Something happened that the world should look at.
    pub(crate) happened: Notify,
}

#[derive(Default)]
struct State {
    calls: BTreeMap<u64, CallFault>,
    events: BTreeMap<u64, EventFault>,
    call: u64,
    event: u64,
    active: bool,
    lease_outage: bool,
    revision: u64,
    crashed: BTreeSet<String>,
    news: News,
    counts: BTreeMap<&'static str, u64>,
    operator_writes: u64,
    /// What operators changed while things could go wrong.
    changes: Vec<Change>,
    /// When an operator sent a write, by the call's number, and whether it had seen everything then.
    sent: BTreeMap<u64, (Instant, bool)>,
    /// Operators whose last report of the database was partial.
    saw_a_part: BTreeSet<String>,
    story: Vec<String>,
}

/// What becomes of a call to a database.
pub(crate) enum DatabaseVerdict {
    /// It is made.
    Pass,
    /// It meets a fault.
    Fault(crate::database::Fault),
    /// The operator dies before it is made.
    CrashBefore,
    /// The operator dies while it is under way; it is carried out.
    CrashAfter,
}

impl State {
    /// The call that is being made changes something.
    fn note_change(&mut self, what: String) {
        if self.active {
            self.changes.push(Change { call: self.call, what });
        }
    }
}

impl Faults {
    pub(crate) fn new(script: &Script, clock: Arc<SimulatedClock>) -> Self {
        let mut state = State::default();
        for disturbance in &script.disturbances {
            match disturbance {
                Disturbance::Call(number, fault) => drop(state.calls.insert(*number, *fault)),
                Disturbance::Event(number, fault) => drop(state.events.insert(*number, *fault)),
                Disturbance::At(..) => {}
            }
        }
        Self { state: Mutex::new(state), clock, happened: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins or ends the disturbances of calls and events.
    pub(crate) fn activate(&self, active: bool) {
        self.lock().active = active;
    }

    /// From now on calls about leases fail, or no longer.
    pub(crate) fn lease_outage(&self, lasts: bool) {
        self.lock().lease_outage = lasts;
    }

    /// Writes a line into the story.
    pub(crate) fn tell(&self, what: impl AsRef<str>) {
        let line = format!("{:>10.3}s {}", self.clock.elapsed().as_secs_f64(), what.as_ref());
        self.lock().story.push(line);
    }

    /// Something went wrong elsewhere: it is counted and told.
    pub(crate) fn fault(&self, fault: &'static str, what: impl AsRef<str>) {
        *self.lock().counts.entry(fault).or_default() += 1;
        self.tell(what);
    }

    /// How often something went wrong.
    pub(crate) fn count(&self, fault: &str) -> u64 {
        self.lock().counts.get(fault).copied().unwrap_or(0)
    }

    pub(crate) fn operator_writes(&self) -> u64 {
        self.lock().operator_writes
    }

    /// How many calls and events of operators there were so far.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        let state = self.lock();
        (state.call, state.event)
    }

    /// What operators changed while things could go wrong, in order.
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.lock().changes.clone()
    }

    /// Tells at which revision the API is, so that a stale answer can be older.
    pub(crate) fn at_revision(&self, revision: u64) {
        self.lock().revision = revision;
    }

    pub(crate) fn take_news(&self) -> News {
        std::mem::take(&mut self.lock().news)
    }

    /// The story and what went wrong how often.
    pub(crate) fn finish(&self) -> (Vec<String>, BTreeMap<&'static str, u64>) {
        let mut state = self.lock();
        (std::mem::take(&mut state.story), state.counts.clone())
    }

    /// What becomes of a call to a database; `what` says what it would change, if anything.
    pub(crate) fn disturb_database(&self, client: &str, what: Option<&str>) -> DatabaseVerdict {
        let mut state = self.lock();
        if state.crashed.contains(client) {
            return DatabaseVerdict::CrashBefore;
        }
        state.call += 1;
        let number = state.call;
        if let Some(what) = what {
            state.note_change(format!("database: {what}"));
        }
        let Some(fault) = state.calls.get(&number).copied().filter(|_| state.active) else { return DatabaseVerdict::Pass };
        let Some((verdict, name)) = database_fault(fault, what.is_some()) else { return DatabaseVerdict::Pass };
        let crashes = matches!(verdict, DatabaseVerdict::CrashBefore | DatabaseVerdict::CrashAfter);
        if crashes {
            state.crashed.insert(client.to_owned());
            state.news.crashes.push(client.to_owned());
        }
        drop(state);
        self.fault(name, format!("fault: {name}: {client} database: {}", what.unwrap_or("look")));
        if crashes {
            self.happened.notify_one();
        }
        verdict
    }

    /// An operator got a report of a database.
    pub(crate) fn saw(&self, client: &str, everything: bool) {
        let mut state = self.lock();
        if everything {
            state.saw_a_part.remove(client);
        } else {
            state.saw_a_part.insert(client.to_owned());
        }
    }

    /// Whether the last report that an operator got left nobody out.
    pub(crate) fn saw_everything(&self, client: &str) -> bool {
        !self.lock().saw_a_part.contains(client)
    }

    /// An operator asks a database to change something.
    pub(crate) fn asks_database(&self, what: &str, asked: Asked) {
        let (client, what) = (asked.client.clone(), format!("database: {what}"));
        let effects = [Effect::Sent { client, what, at: asked.at }, Effect::Asked(Box::new(asked))];
        self.lock().news.effects.extend(effects);
        self.happened.notify_one();
    }

    /// A database has killed servers.
    pub(crate) fn killed(&self, asked: Asked) {
        self.lock().news.effects.push(Effect::Killed(Box::new(asked)));
    }

    /// A database answered an operator that wanted something changed.
    pub(crate) fn database_answered(&self, client: &str, what: &str, answer: &Result<Answer, Failure>) {
        let said = match answer {
            Ok(answer) => format!("{answer:?}"),
            Err(failure) => failure.to_string(),
        };
        self.lock().operator_writes += 1;
        self.tell(format!("{client}: database: {what} -> {said}"));
        self.happened.notify_one();
    }

    fn disturb(&self, call: &CallInfo) -> (Verdict, Option<&'static str>) {
        let mut state = self.lock();
        if state.crashed.contains(&call.client) {
            // A process that is gone sends nothing any more.
            return (Verdict::Lose, None);
        }
        state.call += 1;
        if is_write(call) && is_effect(&call.resource) {
            state.note_change(described(call));
        }
        let is_lease = call.resource.starts_with("leases");
        if state.lease_outage && is_lease {
            return (Verdict::Refuse(injected(500, "InternalError", "etcdserver: request timed out")), Some("lease outage"));
        }
        let number = state.call;
        let Some(fault) = state.calls.get(&number).copied().filter(|_| state.active) else { return (Verdict::Pass, None) };
        let writes = is_write(call);
        // A watch is opened or it is not.
        let may_be_refused = matches!(fault, CallFault::TooManyRequests | CallFault::ServerError | CallFault::TimeoutBefore);
        if call.verb == "watch" && !may_be_refused {
            return (Verdict::Pass, None);
        }
        match fault {
            CallFault::TooManyRequests => (Verdict::Refuse(injected(429, "TooManyRequests", "too many requests")), Some("429")),
            CallFault::ServerError => {
                (Verdict::Refuse(injected(500, "InternalError", "etcdserver: request timed out")), Some("500 before"))
            }
            CallFault::ServerErrorAfter => {
                (Verdict::Mislead(injected(500, "InternalError", "etcdserver: request timed out")), Some("500 after"))
            }
            CallFault::TimeoutBefore => (Verdict::Refuse(injected(504, "Timeout", "the request timed out")), Some("504 before")),
            CallFault::TimeoutAfter => (Verdict::Mislead(injected(504, "Timeout", "the request timed out")), Some("504 after")),
            CallFault::Conflict if writes => {
                (Verdict::Refuse(injected(409, "Conflict", "the object has been modified")), Some("409"))
            }
            CallFault::ConflictAfter if writes => {
                (Verdict::Mislead(injected(409, "Conflict", "the object has been modified")), Some("409 after"))
            }
            CallFault::TooManyRequestsAfter => {
                (Verdict::Mislead(injected(429, "TooManyRequests", "too many requests")), Some("429 after"))
            }
            CallFault::CrashBefore | CallFault::CrashAfter if writes => {
                state.crashed.insert(call.client.clone());
                state.news.crashes.push(call.client.clone());
                if fault == CallFault::CrashBefore {
                    (Verdict::Lose, Some("crash before"))
                } else {
                    (Verdict::Silence, Some("crash after"))
                }
            }
            CallFault::NoAnswer => (Verdict::Silence, Some("no answer")),
            CallFault::SlowAnswer(seconds) => (Verdict::Slow(Duration::from_secs(seconds)), Some("slow answer")),
            CallFault::Late(seconds) if writes => (Verdict::Late(Duration::from_secs(seconds)), Some("late write")),
            CallFault::Stale(revisions) if !writes => {
                (Verdict::Stale(state.revision.saturating_sub(revisions).max(1)), Some("stale read"))
            }
            _ => (Verdict::Pass, None),
        }
    }
}

/// What the fault of a call means where a database is called.
fn database_fault(fault: CallFault, writes: bool) -> Option<(DatabaseVerdict, &'static str)> {
    use crate::database::Fault;
    Some(match fault {
        CallFault::CrashBefore if writes => (DatabaseVerdict::CrashBefore, "crash before"),
        CallFault::CrashAfter if writes => (DatabaseVerdict::CrashAfter, "crash after"),
        CallFault::TimeoutBefore | CallFault::ServerError if writes => {
            (DatabaseVerdict::Fault(Fault::UnknownAndNotDone), "database: unknown, not done")
        }
        CallFault::TimeoutAfter | CallFault::ServerErrorAfter | CallFault::Conflict | CallFault::ConflictAfter if writes => {
            (DatabaseVerdict::Fault(Fault::UnknownThoughDone), "database: unknown, though done")
        }
        CallFault::NoAnswer => (DatabaseVerdict::Fault(Fault::AnswerLost), "database: answer lost"),
        CallFault::SlowAnswer(_) | CallFault::Late(_) => (DatabaseVerdict::Fault(Fault::Hangs), "database: hangs"),
        CallFault::TooManyRequests | CallFault::TooManyRequestsAfter => {
            (DatabaseVerdict::Fault(Fault::ClientDies), "database: client dies")
        }
        CallFault::TimeoutBefore | CallFault::ServerError => {
            (DatabaseVerdict::Fault(Fault::ClientDiesAfterwards), "database: client dies afterwards")
        }
        CallFault::Stale(_) if !writes => (DatabaseVerdict::Fault(Fault::StorageLeftOut), "database: partial report"),
        _ => return None,
    })
}

fn injected(code: u16, reason: &'static str, message: &str) -> Status {
    Status::injected(code, reason, message)
}

fn is_write(call: &CallInfo) -> bool {
    !matches!(call.verb, "get" | "list" | "watch")
}

fn is_operator(client: &str) -> bool {
    client.starts_with(OPERATOR)
}

fn described(call: &CallInfo) -> String {
    let sub = if call.subresource.is_empty() { String::new() } else { format!("/{}", call.subresource) };
    let name = if call.name.is_empty() { String::new() } else { format!(" {}", call.name) };
    format!("{} {}{sub}{name}", call.verb, call.resource)
}

/// A write as a story tells it; of an event, what it says.
fn written(call: &CallInfo, done: &Done<'_>) -> String {
    let made = done.after.filter(|_| call.name.is_empty());
    if let Some(event) = made.filter(|_| call.resource.starts_with("events")) {
        let note = event["note"].as_str().or_else(|| event["message"].as_str()).unwrap_or_default();
        return format!("{} says {}: {note}", call.client, event["reason"].as_str().unwrap_or_default());
    }
    let made = made.map_or_else(String::new, |object| format!(" {}", object.name()));
    format!("{}: {}{made} -> {}", call.client, described(call), done.code)
}

impl Interceptor for Faults {
    fn before(&self, call: &CallInfo) -> Verdict {
        if !is_operator(&call.client) {
            return Verdict::Pass;
        }
        let (verdict, fault) = self.disturb(call);
        if let Some(fault) = fault {
            self.fault(fault, format!("fault: {fault}: {} {}", call.client, described(call)));
            if fault.starts_with("crash") {
                self.happened.notify_one();
            }
        }
        if is_write(call) && verdict != Verdict::Lose && is_effect(&call.resource) {
            let (client, what, at) = (call.client.clone(), described(call), Instant::now());
            let mut state = self.lock();
            let saw_everything = !state.saw_a_part.contains(&client);
            state.sent.insert(call.number, (at, saw_everything));
            state.news.effects.push(Effect::Sent { client, what, at });
        }
        verdict
    }

    fn after(&self, call: &CallInfo, done: &Done<'_>) {
        if !is_write(call) {
            return;
        }
        self.happened.notify_one();
        if !is_operator(&call.client) {
            return;
        }
        if !call.resource.starts_with("leases") {
            self.lock().operator_writes += 1;
            self.tell(written(call, done));
        }
        if done.code < 300 && !call.resource.starts_with("events") {
            let at = Instant::now();
            let sent = self.lock().sent.remove(&call.number);
            let (sent, saw_everything) = sent.unwrap_or((at, true));
            let arrival = Arrival {
                client: call.client.clone(),
                verb: call.verb,
                resource: call.resource.clone(),
                name: call.name.clone(),
                before: done.before.cloned(),
                after: done.after.cloned(),
                sent,
                saw_everything,
                at,
            };
            self.lock().news.effects.push(Effect::Done(Box::new(arrival)));
        }
    }

    fn deliver(&self, watch: &WatchInfo, event: &str, name: &str) -> Delivery {
        if !is_operator(&watch.client) {
            return Delivery::Now;
        }
        let mut state = self.lock();
        state.event += 1;
        let number = state.event;
        let Some(fault) = state.events.get(&number).copied().filter(|_| state.active) else { return Delivery::Now };
        let (kind, delivery) = match fault {
            EventFault::Lag(seconds) => {
                state.news.lagging.push((watch.id, Instant::now() + Duration::from_secs(seconds)));
                ("watch lag", Delivery::Hold)
            }
            EventFault::Missed(seconds) => {
                let ends = Instant::now() + Duration::from_secs(seconds);
                state.news.missed.push((watch.client.clone(), watch.resource.clone(), ends));
                (if event == "DELETED" { "missed delete" } else { "missed event" }, Delivery::Drop)
            }
        };
        drop(state);
        self.fault(kind, format!("fault: {kind}: {} {} {event} {name}", watch.client, watch.resource));
        self.happened.notify_one();
        delivery
    }
}

/// What an operator does to the world, besides telling and leading.
fn is_effect(resource: &str) -> bool {
    !resource.starts_with("leases") && !resource.starts_with("events")
}
