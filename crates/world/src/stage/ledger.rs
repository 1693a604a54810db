//! What the operator did, in order: every call to the API and to a database, with the time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Target};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::database::Databases;
use crate::kubernetes::{CallInfo, Delivery, Done, Interceptor, Metadata, Verdict, WatchInfo};

/// One call.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When it was made, since the world began.
    pub at: Duration,
    /// What was called.
    pub did: Did,
}

/// What was called.
#[derive(Clone, Debug)]
pub enum Did {
    /// The API, and its answer's code. A create has the name of what it made.
    Kubernetes(CallInfo, u16),
    /// A database.
    Database(Call),
    /// A database that did not do what it was asked for; why.
    Refused(Failure),
}

impl Did {
    /// Whether it changes anything: not a read, and not refused.
    pub fn writes(&self) -> bool {
        match self {
            Self::Kubernetes(call, code) => !matches!(call.verb, "get" | "list" | "watch") && *code < 300,
            Self::Database(call) => !matches!(call, Call::Look(_)),
            Self::Refused(_) => false,
        }
    }
}

/// The calls of one operator.
pub struct Ledger {
    began: Instant,
    entries: Mutex<Vec<Entry>>,
    distance: Mutex<Distance>,
    /// Something was called, so the world should look.
    pub(super) happened: Notify,
}

/// How far the API is away.
#[derive(Default)]
struct Distance {
    /// How long an answer takes, and how long an event; in-process neither takes any time.
    latency: Duration,
    /// Events that are on their way, by watch.
    under_way: Vec<(Instant, u64)>,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), entries: Mutex::default(), distance: Mutex::default(), happened: Notify::new() }
    }

    fn distance(&self) -> MutexGuard<'_, Distance> {
        self.distance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_latency(&self, latency: Duration) {
        self.distance().latency = latency;
    }

    /// When the next event arrives.
    pub(super) fn next_arrival(&self) -> Option<Instant> {
        self.distance().under_way.iter().map(|(at, _)| *at).min()
    }

    /// The watches whose events have arrived by now.
    pub(super) fn arrived(&self) -> Vec<u64> {
        let now = Instant::now();
        self.distance().under_way.extract_if(.., |(at, _)| *at <= now).map(|(_, watch)| watch).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many calls there were so far; a place to read on from.
    pub fn position(&self) -> usize {
        self.lock().len()
    }

    /// The calls from a place on.
    pub fn since(&self, position: usize) -> Vec<Entry> {
        self.lock().get(position..).unwrap_or_default().to_vec()
    }

    fn note(&self, did: Did) {
        self.lock().push(Entry { at: self.began.elapsed(), did });
        self.happened.notify_one();
    }
}

impl Interceptor for Ledger {
    fn before(&self, _: &CallInfo) -> Verdict {
        let latency = self.distance().latency;
        if latency.is_zero() { Verdict::Pass } else { Verdict::Slow(latency) }
    }

    fn deliver(&self, watch: &WatchInfo, _: &str, _: &str) -> Delivery {
        let mut distance = self.distance();
        if distance.latency.is_zero() {
            return Delivery::Now;
        }
        let arrives = Instant::now() + distance.latency;
        distance.under_way.push((arrives, watch.id));
        self.happened.notify_one();
        Delivery::Hold
    }

    fn after(&self, call: &CallInfo, done: &Done<'_>) {
        let made = done.after.filter(|_| call.name.is_empty()).map(|object| object.name().to_owned());
        let call = CallInfo { name: made.unwrap_or_else(|| call.name.clone()), ..call.clone() };
        self.note(Did::Kubernetes(call, done.code));
    }
}

/// The databases of a world, with a ledger in front.
pub(super) struct Noted {
    pub(super) databases: Databases,
    pub(super) ledger: Arc<Ledger>,
}

impl FoundationDb for Noted {
    fn call<'a>(&'a self, target: &'a Target, call: Call, deadline: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        let reads = matches!(call, Call::Look(_));
        self.ledger.note(Did::Database(call.clone()));
        Box::pin(async move {
            let answer = self.databases.call(target, call, deadline).await;
            if let Some(failure) = answer.as_ref().err().filter(|_| !reads) {
                self.ledger.note(Did::Refused(failure.clone()));
            }
            answer
        })
    }
}
