//! The loop: watches feed an index, an event marks its cluster, a bounded number of rounds runs at once, one per cluster.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use kube::Client;
use quorate_fdb_client::{FoundationDb, TlsIdentity};
use quorate_foundationdb::KubeFacts;
use quorate_foundationdb::decide::ClusterDecision;
use quorate_quorum::Epoch;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::backoff::Backoff;
use crate::clock::SteadyClock;
use crate::decided::Decided;
use crate::events::Recorder;
use crate::index::{Change, Index, Kind};
use crate::lease::{LeaseKeeper, LeaseSettings};
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::round::{Ended as RoundEnded, Expected, Hands, Outcome, Remembered, Unseen};
use crate::watches::Watches;
use crate::{Clock, ClusterKey, Leadership};

/// How long a round waits for the watches to show what the last one did. Longer than a watch usually lags, short enough to go on if an
/// event was lost; what a stale view may then decide is caught by guards.
const CATCH_UP: Duration = Duration::from_secs(5);

/// How long any answer of the API server may take to begin.
const ANSWER: Duration = Duration::from_secs(60);

/// How many changes may wait to be taken in.
const CHANGES: usize = 1024;

/// How the operator runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace to watch; all of them if unset.
    pub namespace: Option<String>,
    /// How many clusters are worked on at once.
    pub rounds_at_once: usize,
    /// The lease that says who leads.
    pub lease: LeaseSettings,
}

/// The operator.
pub struct Operator {
    client: Client,
    clock: Arc<dyn Clock>,
    database: Arc<dyn FoundationDb>,
    settings: Settings,
    identity: Option<TlsIdentity>,
    shown: Arc<Shown>,
}

/// What the operator shows of itself: readiness, metrics, and the last decision of each cluster.
#[derive(Debug)]
pub struct Shown {
    pub(crate) metrics: Arc<Metrics>,
    decided: Arc<Decided>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pending: Vec<Kind>,
    started: bool,
    leads: bool,
    unreadable: BTreeMap<ClusterKey, String>,
}

/// What is not ready yet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Readiness {
    pub(crate) ready: bool,
    pub(crate) leads: bool,
    pub(crate) pending: Vec<Kind>,
    pub(crate) unreadable: BTreeMap<String, String>,
}

impl Default for Shown {
    fn default() -> Self {
        let decided: Arc<Decided> = Arc::default();
        Self { metrics: Arc::new(Metrics::new(Arc::clone(&decided))), decided, state: Mutex::default() }
    }
}

impl Shown {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn readiness(&self) -> Readiness {
        let state = self.lock();
        Readiness {
            ready: state.started && state.pending.is_empty(),
            leads: state.leads,
            pending: if state.started { state.pending.clone() } else { Kind::ALL.into() },
            unreadable: state.unreadable.iter().map(|(key, why)| (key.to_string(), why.clone())).collect(),
        }
    }

    /// All metrics, in the text format of OpenMetrics.
    pub fn metrics(&self) -> String {
        self.metrics.text()
    }

    /// The last decision of each cluster.
    pub fn decisions(&self) -> BTreeMap<ClusterKey, Arc<ClusterDecision>> {
        self.decided.decisions()
    }
}

impl Operator {
    /// An operator that is not running yet.
    pub fn new(client: Client, clock: Arc<dyn Clock>, database: Arc<dyn FoundationDb>, settings: Settings) -> Self {
        let shown: Arc<Shown> = Arc::default();
        Self { client: looked_after(client, Arc::clone(&shown.metrics)), clock, database, settings, identity: None, shown }
    }

    /// With an identity for databases that speak TLS.
    #[must_use]
    pub fn with_identity(mut self, identity: Option<TlsIdentity>) -> Self {
        self.identity = identity;
        self
    }

    /// What it shows of itself.
    pub fn shown(&self) -> Arc<Shown> {
        Arc::clone(&self.shown)
    }

    /// Runs until it is cancelled, or until it has lost the lease; then the process should end and be started again.
    pub async fn run(self, stop: CancellationToken) {
        let mut tasks = JoinSet::new();
        let (changes, receiver) = mpsc::channel(CHANGES);
        Watches { client: self.client.clone(), namespace: self.settings.namespace.clone(), changes }.start(&mut tasks);
        let (keeper, leadership) = LeaseKeeper::new(self.client.clone(), self.settings.lease.clone(), Arc::clone(&self.clock));
        let stop_keeping = CancellationToken::new();
        let keeping = tokio::spawn(keeper.keep(stop_keeping.clone()));
        let hands = Hands {
            client: self.client.clone(),
            clock: SteadyClock::new(Arc::clone(&self.clock)),
            leadership: leadership.clone(),
            database: Arc::clone(&self.database),
            identity: self.identity.clone(),
            recorder: Recorder::new(self.client.clone(), Arc::clone(&self.clock)),
            metrics: Arc::clone(&self.shown.metrics),
            rehearsed: Arc::default(),
        };
        Loop::new(hands, self.settings, Arc::clone(&self.shown), leadership).run(receiver, stop).await;
        // Effects have ended; only now the lease is given back.
        tasks.shutdown().await;
        stop_keeping.cancel();
        keeping.await.ok();
    }
}

/// A client whose requests are counted, and given up when no answer begins: a list that is never answered would otherwise hold up
/// everything for ever, because kube's watcher has no limit of its own.
fn looked_after(client: Client, metrics: Arc<Metrics>) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (client, metrics, method) = (client.clone(), Arc::clone(&metrics), request.method().clone());
        async move {
            let answer: Result<_, Box<dyn std::error::Error + Send + Sync>> = match timeout(ANSWER, client.send(request)).await {
                Ok(answer) => answer.map_err(Into::into),
                Err(_) => Err(format!("no answer from the API server within {} s", ANSWER.as_secs()).into()),
            };
            let code = answer.as_ref().map_or_else(|_| "<error>".to_owned(), |answer| answer.status().as_u16().to_string());
            metrics.request(method.as_str(), code);
            answer
        }
    });
    Client::new(service, namespace)
}

/// What the loop remembers of a cluster between two rounds. All of it can be lost: it is only saved work.
struct Memory {
    remembered: Remembered,
    expected: Expected,
    expected_until: Instant,
    /// What was made beside the round that is under way.
    beside: Expected,
    unseen: Unseen,
    backoff: Backoff,
}

impl Memory {
    fn new(now: Instant) -> Self {
        Self {
            remembered: Remembered::default(),
            expected: Expected::default(),
            expected_until: now,
            beside: Expected::default(),
            unseen: Unseen::default(),
            backoff: Backoff::default(),
        }
    }
}

/// A round that ended, with what it led to; nothing if it panicked.
type Ended = (ClusterKey, Instant, Option<Outcome>);

struct Loop {
    hands: Hands,
    settings: Settings,
    shown: Arc<Shown>,
    leadership: Leadership,
    index: Index,
    queue: Queue,
    memories: BTreeMap<ClusterKey, Memory>,
    rounds: JoinSet<Ended>,
    /// Lost pods that are made again beside rounds.
    beside: JoinSet<(ClusterKey, Option<Expected>)>,
    /// The clusters of those, and whether more pods were lost meanwhile.
    lost: BTreeMap<ClusterKey, bool>,
    /// Events that are being written and that nobody waits for.
    said: JoinSet<()>,
}

impl Loop {
    fn new(hands: Hands, settings: Settings, shown: Arc<Shown>, leadership: Leadership) -> Self {
        Self {
            hands,
            settings,
            shown,
            leadership,
            index: Index::default(),
            queue: Queue::default(),
            memories: BTreeMap::new(),
            rounds: JoinSet::new(),
            beside: JoinSet::new(),
            lost: BTreeMap::new(),
            said: JoinSet::new(),
        }
    }

    async fn run(mut self, mut changes: mpsc::Receiver<Change>, stop: CancellationToken) {
        let mut led = false;
        loop {
            let leads = self.leadership.epoch().is_some();
            if (led && !leads) || self.leadership.is_over() {
                warn!("no longer leading; ending");
                break;
            }
            led |= leads;
            self.start_rounds();
            self.show(leads);
            let next_wake = self.queue.next_wake();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = self.leadership.changed() => {}
                Some(ended) = self.rounds.join_next() => self.take_in(ended),
                Some(Ok((cluster, made))) = self.beside.join_next() => self.take_in_beside(&cluster, made),
                Some(_) = self.said.join_next() => {}
                Some(change) = changes.recv() => {
                    let now = Instant::now();
                    let pod_is_gone = matches!(change, Change::Object(Kind::Pods, _, _, None));
                    for cluster in self.index.apply(change) {
                        if pod_is_gone {
                            self.bring_back_beside(&cluster);
                        }
                        self.queue.mark(cluster, now);
                    }
                }
                () = sleep_until(next_wake.unwrap_or_else(Instant::now)), if next_wake.is_some() => self.queue.mark_due(Instant::now()),
            }
        }
        // A round that is under way is ended where it is; what it has written is seen by whoever comes next.
        self.rounds.shutdown().await;
        self.beside.shutdown().await;
        self.show(false);
    }

    fn start_rounds(&mut self) {
        let Some(epoch) = self.leadership.epoch() else { return };
        if !self.index.pending().is_empty() {
            return;
        }
        while self.queue.at_work() < self.settings.rounds_at_once {
            let now = Instant::now();
            let Some((key, waited)) = self.queue.begin(now) else { return };
            self.start_round(key, epoch, now, waited);
        }
    }

    fn start_round(&mut self, key: ClusterKey, epoch: Epoch, now: Instant, waited: Duration) {
        let Some((known, object)) = self.index.get(&key).and_then(|known| Some((known, known.object.clone()?))) else {
            self.forget(&key);
            if let Some(unreadable) = self.index.unreadable().get(&key).cloned() {
                let recorder = self.hands.recorder.clone();
                self.said.spawn(async move { recorder.publish_once(&unreadable.object, &unreadable.notice()).await });
            }
            return;
        };
        if self.lost.contains_key(&key) {
            // Its lost pods are being made again; the round begins when they are, or it would make them too.
            self.queue.end(&key);
            return;
        }
        let memory = self.memories.entry(key.clone()).or_insert_with(|| Memory::new(now));
        if now < memory.expected_until && !memory.expected.is_seen(known) {
            // The watches have not shown yet what the last round did; their events will mark the cluster again.
            self.queue.wake(&key, memory.expected_until);
            self.queue.end(&key);
            return;
        }
        self.hands.metrics.waited(waited.as_secs_f64());
        let facts = KubeFacts { unseen: memory.unseen.names(known, now), ..self.index.facts(known, &object) };
        let (hands, remembered) = (self.hands.clone(), memory.remembered.clone());
        self.rounds.spawn(async move {
            // A panic is a defect of ours; it costs one round of one cluster.
            let round = AssertUnwindSafe(Box::pin(hands.round(&key, &object, facts, epoch, remembered))).catch_unwind().await;
            (key, now, round.ok())
        });
    }

    /// A round may wait for its database for seconds; pods that are lost meanwhile do not.
    fn bring_back_beside(&mut self, key: &ClusterKey) {
        let Some(epoch) = self.leadership.epoch().filter(|_| self.queue.is_at_work(key) && self.index.pending().is_empty())
        else {
            return;
        };
        if let Some(more) = self.lost.get_mut(key) {
            *more = true;
            return;
        }
        let Some((known, object)) = self.index.get(key).and_then(|known| Some((known, known.object.clone()?))) else { return };
        let Some(memory) = self.memories.get_mut(key) else { return };
        let facts = KubeFacts { unseen: memory.unseen.names(known, Instant::now()), ..self.index.facts(known, &object) };
        let (hands, remembered, cluster) = (self.hands.clone(), memory.remembered.clone(), key.clone());
        self.lost.insert(key.clone(), false);
        self.beside.spawn(async move {
            let making = AssertUnwindSafe(Box::pin(hands.bring_back_beside(&object, facts, epoch, &remembered)));
            (cluster, making.catch_unwind().await.ok())
        });
    }

    fn take_in_beside(&mut self, key: &ClusterKey, made: Option<Expected>) {
        let more = self.lost.remove(key).unwrap_or_default();
        match made {
            Some(made) => {
                if let Some(memory) = self.memories.get_mut(key) {
                    let now = Instant::now();
                    memory.unseen.note(&made, now);
                    memory.expected.appears.extend(made.appears.iter().cloned());
                    memory.expected_until = now + CATCH_UP;
                    memory.beside.appears.extend(made.appears);
                }
            }
            None => self.hands.metrics.panicked(),
        }
        if more {
            self.bring_back_beside(key);
        }
        self.queue.mark(key.clone(), Instant::now());
    }

    fn take_in(&mut self, ended: Result<Ended, tokio::task::JoinError>) {
        // Rounds catch their panics, and nobody else ends them.
        let Ok((key, started, outcome)) = ended else { return };
        let now = Instant::now();
        self.queue.end(&key);
        let Some(outcome) = outcome else {
            let wait = self.memories.get_mut(&key).map_or(CATCH_UP, |memory| memory.backoff.failed());
            error!(cluster = %key, "a round panicked; trying again in {} s", wait.as_secs());
            self.hands.metrics.panicked();
            self.queue.wake(&key, now + wait);
            return;
        };
        self.hands.metrics.round((now - started).as_secs_f64(), outcome.ended != RoundEnded::Well);
        let Some(memory) = self.memories.get_mut(&key) else { return };
        let Outcome { remembered, decision, measured, expected, ended } = outcome;
        let told_at = remembered.telling.due();
        memory.remembered = remembered;
        memory.unseen.note(&expected, now);
        memory.expected = expected;
        memory.expected.appears.append(&mut memory.beside.appears);
        memory.expected_until = now + CATCH_UP;
        match &ended {
            RoundEnded::Well => memory.backoff.succeeded(),
            RoundEnded::Partly(why) | RoundEnded::Badly(why) => {
                let wait = memory.backoff.failed();
                info!(cluster = %key, why, "trying again in {} s", wait.as_secs());
                self.queue.wake(&key, now + wait);
            }
        }
        // What failed must not keep the rest from going on in its time.
        if let Some(wake) = decision.wake.0.filter(|_| !matches!(ended, RoundEnded::Badly(_))) {
            self.queue.wake_in(&key, wake.duration_since(self.hands.clock.now().0), now);
        }
        if let Some(told_at) = told_at.filter(|told_at| *told_at > now) {
            self.queue.wake(&key, told_at);
        }
        self.shown.decided.insert(key, decision, measured);
    }

    fn forget(&mut self, key: &ClusterKey) {
        self.queue.end(key);
        if self.memories.remove(key).is_some() {
            self.hands.database.forget(&key.to_string());
        }
        self.shown.decided.forget(key);
    }

    fn show(&self, leads: bool) {
        self.hands.metrics.queue(self.queue.depth(), self.queue.at_work());
        self.hands.metrics.leading(&self.settings.lease.name, leads);
        self.hands.metrics.unreadable(self.index.unreadable().len());
        let mut state = self.shown.lock();
        state.started = true;
        state.leads = leads;
        state.pending = self.index.pending();
        if state.unreadable.len() != self.index.unreadable().len() || !self.index.unreadable().is_empty() {
            state.unreadable = self.index.unreadable().iter().map(|(key, one)| (key.clone(), one.why.clone())).collect();
        }
    }
}
