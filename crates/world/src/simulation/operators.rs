//! The operators of a world: usually one, two while one hands over to the other. One that dies is started again.

use std::sync::Arc;
use std::time::Duration;

use quorate_operator::{LeaseSettings, Operator, Settings};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::chance::Chance;
use super::clock::{MachineClock, SimulatedClock};
use super::connection::Connection;
use super::faults::{Faults, OPERATOR};
use crate::database::Databases;
use crate::kubernetes::Kubernetes;
use crate::scenery::NAMESPACE;

pub(super) struct Operators {
    kubernetes: Kubernetes,
    clock: Arc<SimulatedClock>,
    faults: Arc<Faults>,
    databases: Databases,
    chance: Chance,
    started: u64,
    running: Vec<Running>,
    starts: Vec<Instant>,
}

struct Running {
    name: String,
    /// Each runs on another machine.
    clock: MachineClock,
    stop: CancellationToken,
    /// It was asked to end, so it is not started again.
    ends: bool,
    task: JoinHandle<()>,
}

impl Operators {
    pub(super) fn new(
        kubernetes: Kubernetes,
        clock: Arc<SimulatedClock>,
        faults: Arc<Faults>,
        databases: Databases,
        seed: u64,
    ) -> Self {
        let chance = Chance::new(seed, 3);
        Self { kubernetes, clock, faults, databases, chance, started: 0, running: Vec::new(), starts: Vec::new() }
    }

    pub(super) fn start(&mut self) {
        self.started += 1;
        let name = format!("{OPERATOR}{}", self.started);
        self.faults.tell(format!("{name} starts"));
        let databases = Connection::new(name.clone(), self.databases.clone(), Arc::clone(&self.faults));
        let lease = LeaseSettings::new(NAMESPACE, "quorate", name.clone());
        let settings = Settings { namespace: None, rounds_at_once: 4, lease };
        let client = self.kubernetes.client_of(&name, NAMESPACE);
        let clock = MachineClock::new(Arc::clone(&self.clock));
        let operator = Operator::new(client, Arc::new(clock.clone()), Arc::new(databases), settings);
        let stop = CancellationToken::new();
        let task = tokio::spawn(operator.run(stop.clone()));
        self.running.push(Running { name, clock, stop, ends: false, task });
    }

    /// The clock of one of them jumps; says whose.
    pub(super) fn jump(&self, seconds: i64) -> Option<&str> {
        let one = self.running.get(usize::try_from(seconds.unsigned_abs()).unwrap_or(0) % self.running.len().max(1))?;
        one.clock.jump(seconds);
        Some(&one.name)
    }

    /// Asks the oldest one to end, if another one is there.
    pub(super) fn retire_oldest(&mut self) {
        if self.running.iter().filter(|one| !one.ends).count() > 1
            && let Some(oldest) = self.running.iter_mut().find(|one| !one.ends)
        {
            self.faults.tell(format!("{} is asked to end", oldest.name));
            oldest.ends = true;
            oldest.stop.cancel();
        }
    }

    /// One has died: nothing of it goes on.
    pub(super) fn crash(&mut self, name: &str) {
        if let Some(at) = self.running.iter().position(|one| one.name == name) {
            let dead = self.running.remove(at);
            dead.task.abort();
            self.kubernetes.end_watches(|watch| watch.client == name);
            if !dead.ends || self.running.is_empty() {
                self.starts.push(Instant::now() + Duration::from_secs(1 + self.chance.below(30)));
            }
        }
    }

    /// Takes note of those that ended by themselves, and starts those that are due.
    pub(super) fn look_after(&mut self) {
        let ended: Vec<String> = self.running.iter().filter(|one| one.task.is_finished()).map(|one| one.name.clone()).collect();
        for name in ended {
            self.faults.tell(format!("{name} has ended"));
            self.crash(&name);
        }
        let now = Instant::now();
        let due = self.starts.iter().filter(|at| **at <= now).count();
        self.starts.retain(|at| *at > now);
        for _ in 0..due {
            self.start();
        }
    }

    /// When the next one is to be started.
    pub(super) fn next_start(&self) -> Option<Instant> {
        self.starts.iter().min().copied()
    }

    /// Ends when one of them does.
    pub(super) async fn one_ended(&mut self) {
        let tasks = self.running.iter_mut().map(|one| &mut one.task);
        // How it ended is looked at by `look_after`.
        let _ = futures::future::select_all(tasks).await;
    }

    pub(super) fn are_running(&self) -> bool {
        !self.running.is_empty()
    }

    pub(super) fn end_all(&mut self) {
        self.running.drain(..).for_each(|one| one.task.abort());
    }
}
