//! What goes wrong between the operator and the API: refused and lost calls, answers that lie, watches that lag and end, and crashes of
//! the operator before and after any of its writes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::chance::Chance;
use super::clock::SimulatedClock;
use crate::kubernetes::{CallInfo, Delivery, Interceptor, Status, Verdict, WatchInfo};

/// The name of the operator's client.
pub(crate) const OPERATOR: &str = "operator";

/// Disturbs the operator's calls, counts what it did, and keeps the story.
pub(crate) struct Faults {
    state: Mutex<State>,
    clock: Arc<SimulatedClock>,
    /// Somebody wrote something.
    pub(crate) changed: Notify,
    /// The operator is to crash now.
    pub(crate) crash: Notify,
}

struct State {
    chance: Chance,
    active: bool,
    crashed: bool,
    counts: BTreeMap<&'static str, u64>,
    operator_writes: u64,
    story: Vec<String>,
}

impl Faults {
    pub(crate) fn new(seed: u64, clock: Arc<SimulatedClock>) -> Self {
        let chance = Chance::new(seed, 1);
        let state =
            State { chance, active: false, crashed: false, counts: BTreeMap::new(), operator_writes: 0, story: Vec::new() };
        Self { state: Mutex::new(state), clock, changed: Notify::new(), crash: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins or ends the disturbances.
    pub(crate) fn activate(&self, active: bool) {
        self.lock().active = active;
    }

    /// A new operator has started.
    pub(crate) fn restarted(&self) {
        self.lock().crashed = false;
    }

    /// Writes a line into the story.
    pub(crate) fn tell(&self, what: impl AsRef<str>) {
        let line = format!("{:>10.3}s {}", self.clock.elapsed().as_secs_f64(), what.as_ref());
        self.lock().story.push(line);
    }

    /// Counts something that went wrong elsewhere.
    pub(crate) fn count(&self, fault: &'static str) {
        *self.lock().counts.entry(fault).or_default() += 1;
    }

    pub(crate) fn operator_writes(&self) -> u64 {
        self.lock().operator_writes
    }

    /// The story and what went wrong how often.
    pub(crate) fn finish(&self) -> (Vec<String>, BTreeMap<&'static str, u64>) {
        let state = self.lock();
        (state.story.clone(), state.counts.clone())
    }

    fn disturb(&self, call: &CallInfo) -> (Verdict, Option<&'static str>) {
        let mut state = self.lock();
        if state.crashed {
            // A process that is gone sends nothing any more.
            return (Verdict::Lose, None);
        }
        if !state.active || !state.chance.one_in(12) {
            return (Verdict::Pass, None);
        }
        let injected = |code, reason, message: &str| Status::injected(code, reason, message);
        match state.chance.below(8) {
            0 => (Verdict::Refuse(injected(429, "TooManyRequests", "too many requests")), Some("429")),
            1 => (Verdict::Refuse(injected(500, "InternalError", "etcdserver: request timed out")), Some("500 before")),
            2 => (Verdict::Refuse(injected(504, "Timeout", "the request timed out")), Some("504 before")),
            3 => (Verdict::Mislead(injected(504, "Timeout", "the request timed out")), Some("504 after")),
            4 if is_write(call) => (Verdict::Refuse(injected(409, "Conflict", "the object has been modified")), Some("409")),
            5 if is_write(call) => {
                state.crashed = true;
                (Verdict::Lose, Some("crash before"))
            }
            6 if is_write(call) => {
                state.crashed = true;
                (Verdict::Silence, Some("crash after"))
            }
            7 => (Verdict::Silence, Some("no answer")),
            _ => (Verdict::Pass, None),
        }
    }
}

fn is_write(call: &CallInfo) -> bool {
    !matches!(call.verb, "get" | "list" | "watch")
}

fn described(call: &CallInfo) -> String {
    let sub = if call.subresource.is_empty() { String::new() } else { format!("/{}", call.subresource) };
    format!("{} {}{sub} {}", call.verb, call.resource, call.name)
}

impl Interceptor for Faults {
    fn before(&self, call: &CallInfo) -> Verdict {
        if call.client != OPERATOR || call.verb == "watch" {
            return Verdict::Pass;
        }
        let (verdict, fault) = self.disturb(call);
        if let Some(fault) = fault {
            self.count(fault);
            self.tell(format!("fault: {fault}: {}", described(call)));
            if fault.starts_with("crash") {
                self.crash.notify_one();
            }
        }
        verdict
    }

    fn after(&self, call: &CallInfo, code: u16) {
        if is_write(call) {
            if call.client == OPERATOR && !call.resource.starts_with("leases") {
                self.lock().operator_writes += 1;
                self.tell(format!("operator: {} -> {code}", described(call)));
            }
            self.changed.notify_one();
        }
    }

    fn deliver(&self, watch: &WatchInfo, _event: &str, _name: &str) -> Delivery {
        let mut state = self.lock();
        if watch.client == OPERATOR && state.active && state.chance.one_in(15) {
            *state.counts.entry("watch lag").or_default() += 1;
            return Delivery::Hold;
        }
        Delivery::Now
    }
}
