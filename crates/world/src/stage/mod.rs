//! A world in virtual time for stories and measurements: one operator, nothing goes wrong by itself, and all that is done is written down.
//!
//! The simulation looks for what nobody thought of; on a stage somebody knows what should happen. Both are made of the same parts.

mod ledger;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use quorate_operator::{LeaseSettings, Operator, Settings, Shown};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use ledger::{Did, Entry, Ledger};

use crate::database::Databases;
use crate::kubelet::{KubeletSettings, Reach};
use crate::kubernetes::{Kubernetes, Status};
use crate::monitor::MonitorSettings;
use crate::scenery::{self, NAMESPACE};
use crate::simulation::SimulatedClock;
use crate::{Cluster, Fdbservers};
use ledger::Noted;

/// What is waited for is looked at at least so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A world with one operator. It must be made, and lives, in a runtime whose clock is paused.
pub struct Stage {
    /// The API, and everybody who works on it.
    pub cluster: Cluster,
    /// The databases that come up.
    pub databases: Databases,
    /// What the operator did.
    pub ledger: Arc<Ledger>,
    /// What the operator shows of itself.
    pub shown: Arc<Shown>,
    clock: Arc<SimulatedClock>,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
}

/// Plays something on a clock that moves only when nobody has anything left to do.
///
/// # Errors
/// If the runtime can't be built.
pub fn in_virtual_time<T>(play: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(play))
}

impl Stage {
    /// An empty world with these nodes (the letter in a name is its zone, as in `node-a1`), and an operator that begins at once.
    ///
    /// # Errors
    /// If the API refuses the scenery.
    pub fn new<'a>(nodes: impl IntoIterator<Item = &'a str>) -> Result<Self, Status> {
        let clock = Arc::new(SimulatedClock::new());
        let time = Arc::clone(&clock);
        let kubernetes = Kubernetes::new(move || time.true_now());
        scenery::land(&kubernetes, nodes)?;
        let ledger = Arc::new(Ledger::new());
        kubernetes.intercept(Arc::clone(&ledger) as Arc<_>);
        let time = Arc::clone(&clock);
        let databases = Databases::new(move || time.true_now());
        let servers = Fdbservers::new(databases.clone(), 0, MonitorSettings::default());
        let provisioners = BTreeMap::from([(scenery::PROVISIONER.to_owned(), Reach::Anywhere)]);
        let settings = KubeletSettings { provisioners, ..KubeletSettings::default() };
        let cluster = Cluster::new(kubernetes.clone(), settings).with_servers(servers);
        let noted = Noted { databases: databases.clone(), ledger: Arc::clone(&ledger) };
        let lease = LeaseSettings::new(NAMESPACE, "quorate", "stage");
        let settings = Settings { namespace: None, rounds_at_once: 4, lease };
        let client = kubernetes.client_of("operator", NAMESPACE);
        let operator = Operator::new(client, Arc::clone(&clock) as Arc<_>, Arc::new(noted), settings);
        let (shown, stop) = (operator.shown(), CancellationToken::new());
        let running = Some(tokio::spawn(operator.run(stop.clone())));
        Ok(Self { cluster, databases, ledger, shown, clock, stop, running })
    }

    /// The API.
    pub fn kubernetes(&self) -> &Kubernetes {
        &self.cluster.kubernetes
    }

    /// The time of the world.
    pub fn now(&self) -> Timestamp {
        self.clock.true_now()
    }

    /// How long the world has existed.
    pub fn elapsed(&self) -> Duration {
        Duration::try_from(self.clock.elapsed()).unwrap_or_default()
    }

    /// From now on the API is so far away: an answer takes so long, and so does an event of a watch.
    pub fn set_latency(&self, latency: Duration) {
        self.ledger.set_latency(latency);
    }

    /// Lets a while pass.
    pub async fn pass(&self, while_long: Duration) {
        self.until(while_long, |_| false).await;
    }

    /// Lets time pass until something is so, or until patience ends; says whether it is so.
    pub async fn until(&self, patience: Duration, mut is_so: impl FnMut(&Self) -> bool) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            for watch in self.ledger.arrived() {
                self.kubernetes().release(watch, usize::MAX);
            }
            let wake = self.cluster.settle(self.now());
            if is_so(self) {
                return true;
            }
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            let wait = wake.map_or(LOOK_EVERY, |wake| self.wait_for(wake)).min(LOOK_EVERY);
            let next = self.ledger.next_arrival().into_iter().chain([deadline, now + wait]).min().unwrap_or(deadline);
            tokio::select! {
                biased;
                () = self.ledger.happened.notified() => {}
                () = self.databases.killed() => {}
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }

    fn wait_for(&self, time: Timestamp) -> Duration {
        let wait = time.duration_since(self.now()).max(SignedDuration::ZERO);
        Duration::try_from(wait).unwrap_or_default().max(Duration::from_millis(1))
    }

    /// Asks the operator to end, and waits until it has.
    pub async fn end(mut self) {
        self.stop.cancel();
        if let Some(running) = self.running.take() {
            running.await.ok();
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort();
        }
    }
}
