//! One run: a world is built, disturbed for a while, then left in peace; it must come to rest, and then nobody writes anything.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_operator::{LeaseSettings, Operator, Settings};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::chance::Chance;
use super::clock::SimulatedClock;
use super::faults::{Faults, OPERATOR};
use super::invariants::{Invariants, Violation};
use crate::kubelet::{Fault, KubeletSettings, Reach, Window};
use crate::kubernetes::Kubernetes;
use crate::scenery::{self, CLUSTER, NAMESPACE, NODES};
use crate::{Cluster, ModelDatabases};

/// For how long things go wrong.
const DISTURBED: Duration = Duration::from_secs(900);
/// After the last fault the cluster must be as it should be within this time: ten minutes, and the longest wait there is, which is the
/// five minutes a pod stays on a lost node.
const PATIENCE: Duration = Duration::from_secs(600 + 300);
/// For how long nobody may write anything then.
const QUIET: Duration = Duration::from_secs(120);

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its seed.
    pub seed: u64,
    /// What was broken; a run ends with the first.
    pub violation: Option<Violation>,
    /// How long it took in the simulated world.
    pub simulated: Duration,
    /// What went wrong how often.
    pub faults: BTreeMap<&'static str, u64>,
    /// How often each invariant was checked.
    pub invariants: BTreeMap<u32, u64>,
    /// What happened, line by line.
    pub story: Vec<String>,
}

/// Runs a world from a seed.
pub fn simulate(seed: u64) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    // Inside, so that even the first look at the clock sees virtual time.
    runtime.expect("a runtime without I/O can always be built").block_on(async { World::new(seed).run().await })
}

struct World {
    seed: u64,
    chance: Chance,
    clock: Arc<SimulatedClock>,
    cluster: Cluster,
    faults: Arc<Faults>,
    invariants: Invariants,
    operators_started: u64,
    checked: u64,
}

/// Liveness has no number of its own in the list; it is the second half of 58.
const COMES_TO_REST: u32 = 58;

impl World {
    fn new(seed: u64) -> Self {
        let clock = Arc::new(SimulatedClock::new());
        let time = Arc::clone(&clock);
        let kubernetes = Kubernetes::new(move || time.true_now());
        let faults = Arc::new(Faults::new(seed, Arc::clone(&clock)));
        kubernetes.intercept(Arc::clone(&faults) as Arc<_>);
        let provisioners = BTreeMap::from([(scenery::PROVISIONER.to_owned(), Reach::Anywhere)]);
        let cluster = Cluster::new(kubernetes, KubeletSettings { provisioners, ..KubeletSettings::default() });
        Self {
            seed,
            chance: Chance::new(seed, 0),
            clock,
            cluster,
            faults,
            invariants: Invariants::default(),
            operators_started: 0,
            checked: 0,
        }
    }

    async fn run(mut self) -> Report {
        let started = Instant::now();
        scenery::build(&self.cluster.kubernetes).expect("the scenery is made of objects the API takes");
        let violation = self.live_through(started).await.err();
        let (story, faults) = self.faults.finish();
        Report {
            seed: self.seed,
            violation,
            simulated: started.elapsed(),
            faults,
            invariants: self.invariants.checks().clone(),
            story,
        }
    }

    async fn live_through(&mut self, started: Instant) -> Result<(), Violation> {
        let mut operator = self.start_operator();
        // First in peace, then disturbed, then in peace again.
        operator = self.let_time_pass(operator, started + Duration::from_secs(60), false).await?;
        self.faults.tell("the disturbances begin");
        self.faults.activate(true);
        operator = self.let_time_pass(operator, started + Duration::from_secs(60) + DISTURBED, true).await?;
        self.faults.activate(false);
        self.release_all();
        self.end_lasting_faults();
        self.faults.tell("the disturbances end");
        // At rest is: as it should be, and nobody writes anything any more.
        let deadline = Instant::now() + PATIENCE;
        loop {
            let before = self.faults.operator_writes();
            operator = self.let_time_pass(operator, Instant::now() + QUIET, false).await?;
            let written = self.faults.operator_writes() - before;
            if self.is_at_rest() && written == 0 {
                self.faults.tell("at rest");
                operator.1.abort();
                return Ok(());
            }
            if Instant::now() >= deadline + QUIET {
                let state = if self.is_at_rest() { "as it should be" } else { "not as it should be" };
                let what = format!(
                    "{} s after the last disturbance: {state}, {written} writes in {} s",
                    PATIENCE.as_secs(),
                    QUIET.as_secs()
                );
                return Err(Violation { invariant: COMES_TO_REST, what });
            }
        }
    }

    /// Lets the world go on until a moment, restarting the operator when it crashes.
    async fn let_time_pass(&mut self, mut operator: Running, until: Instant, disturbed: bool) -> Result<Running, Violation> {
        let mut restart_at: Option<Instant> = None;
        let mut next_trouble = Instant::now() + Duration::from_secs(self.chance.below(60));
        loop {
            let wake = self.cluster.settle(self.clock.true_now());
            let revision = self.cluster.kubernetes.revision();
            let changed = std::mem::replace(&mut self.checked, revision) != revision;
            let broken = if changed { self.invariants.check(&self.cluster.kubernetes) } else { Vec::new() };
            if let Some(violation) = broken.into_iter().next() {
                self.faults.tell(format!("broken: {}", violation.what));
                return Err(violation);
            }
            if Instant::now() >= until && restart_at.is_none() {
                return Ok(operator);
            }
            let mut next =
                wake.map_or(until, |wake| self.instant_of(wake)).min(until.max(Instant::now() + Duration::from_millis(1)));
            if disturbed {
                next = next.min(next_trouble);
            }
            next = restart_at.map_or(next, |at| next.min(at));
            tokio::select! {
                biased;
                () = self.faults.crash.notified() => {
                    operator.1.abort();
                    self.forget_watches();
                    restart_at = Some(Instant::now() + Duration::from_secs(1 + self.chance.below(30)));
                }
                () = self.faults.changed.notified() => {}
                ended = &mut operator.1, if restart_at.is_none() => {
                    drop(ended);
                    self.faults.tell("the operator ended by itself");
                    restart_at = Some(Instant::now() + Duration::from_secs(1));
                }
                () = tokio::time::sleep_until(next) => {}
            }
            let now = Instant::now();
            if restart_at.is_some_and(|at| at <= now) {
                restart_at = None;
                operator = self.start_operator();
            }
            if disturbed && now >= next_trouble {
                self.make_trouble();
                next_trouble = now + Duration::from_secs(5 + self.chance.below(90));
            }
        }
    }

    fn instant_of(&self, time: Timestamp) -> Instant {
        let wait = time.duration_since(self.clock.true_now()).max(SignedDuration::ZERO);
        Instant::now() + Duration::try_from(wait).unwrap_or_default().max(Duration::from_millis(1))
    }

    fn start_operator(&mut self) -> Running {
        self.operators_started += 1;
        self.faults.restarted();
        let identity = format!("operator-{}", self.operators_started);
        self.faults.tell(format!("{identity} starts"));
        let kubernetes = &self.cluster.kubernetes;
        let time = Arc::clone(&self.clock);
        let databases = ModelDatabases::new(kubernetes.clone(), move || time.true_now());
        let settings = Settings { namespace: None, rounds_at_once: 4, lease: LeaseSettings::new(NAMESPACE, "quorate", identity) };
        let clock = Arc::clone(&self.clock);
        let operator = Operator::new(kubernetes.client_of(OPERATOR, NAMESPACE), clock, Arc::new(databases), settings);
        let stop = CancellationToken::new();
        Running(stop.clone(), tokio::spawn(operator.run(stop)))
    }

    /// Something happens to the cluster itself.
    fn make_trouble(&mut self) {
        let now = self.clock.true_now();
        match self.chance.below(6) {
            0 | 1 => {
                let pods: Vec<Pod> = self.cluster.kubernetes.list(NAMESPACE).unwrap_or_default();
                let names: Vec<_> = pods.iter().filter_map(|pod| pod.metadata.name.clone()).collect();
                if let Some(name) = self.chance.pick(&names) {
                    self.faults.count("pod deleted");
                    self.faults.tell(format!("a user deletes pod {name}"));
                    self.cluster.kubernetes.delete::<Pod>(NAMESPACE, name, None).ok();
                }
            }
            2 => {
                let node = self.chance.pick(&NODES).copied().unwrap_or(NODES[0]).to_owned();
                let lasts = SignedDuration::from_secs(20 + i64::try_from(self.chance.below(400)).unwrap_or(0));
                let keeps_running = self.chance.one_in(2);
                self.faults.count("node lost");
                self.faults.tell(format!("{node} is lost for {} s", lasts.as_secs()));
                let during = Window { from: now, until: Some(now + lasts) };
                self.cluster.change_settings(|settings| settings.faults.push(Fault::NodeLost { node, during, keeps_running }));
            }
            3 => {
                self.release_all();
                self.faults.count("watches ended");
                self.faults.tell("the operator's watches end");
                self.cluster.kubernetes.end_watches(|watch| watch.client == OPERATOR);
            }
            4 => {
                let seconds = i64::try_from(self.chance.below(600)).unwrap_or(0) - 300;
                self.faults.count("clock jump");
                self.faults.tell(format!("the operator's clock jumps by {seconds} s"));
                self.clock.jump(seconds);
            }
            _ => self.edit(),
        }
        if self.chance.one_in(2) {
            self.release_all();
        }
    }

    /// A user changes the number of logs, never below what there is: this version never removes any.
    fn edit(&mut self) {
        let Ok(mut cluster) = self.cluster.kubernetes.get::<FoundationDBCluster>(NAMESPACE, CLUSTER) else { return };
        let Some(logs) = cluster.spec.process_counts.as_mut().and_then(|counts| counts.log.as_mut()) else { return };
        if *logs < 6 {
            *logs += 1;
            let wanted = *logs;
            self.faults.count("edit");
            self.faults.tell(format!("a user asks for {wanted} logs"));
            self.cluster.kubernetes.update(&cluster).ok();
        }
    }

    /// What still lasts ends now; its beginning is kept, because pods and nodes remember it.
    fn end_lasting_faults(&self) {
        let now = self.clock.true_now();
        self.cluster.change_settings(|settings| {
            for fault in &mut settings.faults {
                if let Fault::NodeLost { during, .. } = fault {
                    during.until = during.until.map(|until| until.min(now));
                }
            }
        });
    }

    /// Lets through what was held back from the operator's watches.
    fn release_all(&self) {
        for (watch, held) in self.cluster.kubernetes.watches() {
            if held > 0 {
                self.cluster.kubernetes.release(watch.id, held);
            }
        }
    }

    fn forget_watches(&self) {
        self.cluster.kubernetes.end_watches(|watch| watch.client == OPERATOR);
    }

    /// The newest wish is carried out and nothing is held.
    fn is_at_rest(&self) -> bool {
        let Ok(cluster) = self.cluster.kubernetes.get::<FoundationDBCluster>(NAMESPACE, CLUSTER) else { return false };
        let Some(status) = cluster.status else { return false };
        let reconciled = status.generations.and_then(|generations| generations.reconciled);
        let held = status.quorate.and_then(|quorate| quorate.holds).is_some_and(|holds| !holds.is_empty());
        reconciled == cluster.metadata.generation && !held && status.reconciled_process_groups == status.desired_process_groups
    }
}

/// A running operator.
struct Running(#[expect(dead_code, reason = "cancelled when it is dropped, never before")] CancellationToken, JoinHandle<()>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_seeds_come_to_rest_without_breaking_anything() {
        for seed in 0..6 {
            let report = simulate(seed);
            assert_eq!(report.violation, None, "seed {seed}\n{}", report.story.join("\n"));
        }
    }

    #[test]
    fn the_same_seed_tells_the_same_story() {
        let (one, other) = (simulate(3).story, simulate(3).story);
        let difference = one.iter().zip(&other).find(|(one, other)| one != other);
        assert_eq!(difference, None);
        assert_eq!(one.len(), other.len());
    }
}
