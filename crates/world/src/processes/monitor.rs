//! A pod's monitor: it keeps its servers running, each with the configuration as it was when it started.
//!
//! As fdb-kubernetes-monitor does it: a new configuration restarts nobody; whoever ends is started again with the configuration of that
//! time, after a pause that grows with the failures.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::process::{Bind, Process, Program};
use super::servers::Launch;

/// The shortest pause before a server is started again.
const SHORTEST_PAUSE: Duration = Duration::from_millis(300);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Who ran this long is forgiven earlier failures.
const FORGIVEN_AFTER: Duration = Duration::from_mins(5);
/// How long a server may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// Where a pod's servers run.
#[derive(Clone, Debug)]
pub(super) struct Room {
    pub(super) executable: PathBuf,
    pub(super) namespace: String,
    pub(super) binds: Vec<Bind>,
    pub(super) output: PathBuf,
}

enum Order {
    Signal(Signal),
    KillForGood,
    End,
}

struct Keeper {
    orders: mpsc::UnboundedSender<Order>,
    process: watch::Receiver<Option<u32>>,
    task: JoinHandle<()>,
}

/// The monitor of one pod.
pub(super) struct Monitor {
    room: Room,
    launch: watch::Sender<Option<Arc<Launch>>>,
    keepers: BTreeMap<i64, Keeper>,
    /// Servers that were killed for good.
    lost: BTreeSet<i64>,
}

impl Monitor {
    pub(super) fn new(room: Room) -> Self {
        Self { room, launch: watch::Sender::new(None), keepers: BTreeMap::new(), lost: BTreeSet::new() }
    }

    /// What it was told last.
    pub(super) fn launch(&self) -> Option<Arc<Launch>> {
        self.launch.borrow().clone()
    }

    /// Takes a configuration: servers that run go on as they are, those that are missing are started.
    pub(super) fn accept(&mut self, launch: Launch) {
        let numbers: Vec<i64> = launch.servers.iter().map(|server| server.number).collect();
        if self.launch.borrow().as_deref() != Some(&launch) {
            self.launch.send_replace(Some(Arc::new(launch)));
        }
        self.keepers.retain(|_, keeper| !keeper.task.is_finished());
        for number in numbers.into_iter().filter(|number| !self.lost.contains(number)) {
            self.keepers.entry(number).or_insert_with(|| Keeper::start(number, self.room.clone(), self.launch.subscribe()));
        }
    }

    /// The process id of a server that runs.
    pub(super) fn process(&self, number: i64) -> Option<u32> {
        *self.keepers.get(&number)?.process.borrow()
    }

    /// Sends a server a signal; says whether there is such a server.
    pub(super) fn signal(&self, number: i64, signal: Signal) -> bool {
        self.keepers.get(&number).is_some_and(|keeper| keeper.orders.send(Order::Signal(signal)).is_ok())
    }

    /// Kills a server and never starts it again; says whether there was such a server.
    pub(super) fn kill_for_good(&mut self, number: i64) -> bool {
        self.lost.insert(number);
        self.keepers.get(&number).is_some_and(|keeper| keeper.orders.send(Order::KillForGood).is_ok())
    }

    /// Ends every server and waits for it.
    pub(super) async fn end(self) {
        for keeper in self.keepers.values() {
            keeper.orders.send(Order::End).ok();
        }
        for keeper in self.keepers.into_values() {
            keeper.task.await.ok();
        }
    }
}

impl Keeper {
    fn start(number: i64, room: Room, launch: watch::Receiver<Option<Arc<Launch>>>) -> Self {
        let (orders, ordered) = mpsc::unbounded_channel();
        let (running, process) = watch::channel(None);
        let task = tokio::spawn(keep(number, room, launch, ordered, running));
        Self { orders, process, task }
    }
}

/// Keeps a server running until its monitor ends it or its configuration has no such server any more.
async fn keep(
    number: i64,
    room: Room,
    launch: watch::Receiver<Option<Arc<Launch>>>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    running: watch::Sender<Option<u32>>,
) {
    let mut failures = 0;
    loop {
        let Some(program) = launch.borrow().as_deref().and_then(|launch| program(number, &room, launch)) else { return };
        let started = Instant::now();
        let well = match Process::start(&program) {
            Ok(mut process) => {
                running.send_replace(process.id());
                let ended = attend(&mut process, &mut orders).await;
                running.send_replace(None);
                let Some(well) = ended else { return };
                well
            }
            Err(error) => {
                say(&room, &format!("{error:#}"));
                false
            }
        };
        if started.elapsed() >= FORGIVEN_AFTER {
            failures = 0;
        }
        let pause = tokio::time::sleep(pause(well, failures));
        failures += u32::from(!well);
        tokio::select! {
            () = pause => {}
            () = ended(&mut orders) => return,
        }
    }
}

fn program(number: i64, room: &Room, launch: &Launch) -> Option<Program> {
    let server = launch.servers.iter().find(|server| server.number == number)?;
    Some(Program {
        executable: room.executable.clone(),
        arguments: server.arguments.clone(),
        environment: launch.environment.clone(),
        namespace: room.namespace.clone(),
        binds: room.binds.clone(),
        output: room.output.clone(),
    })
}

/// Waits for the end of a process: whether it ended well, or nothing if it was ended for good.
async fn attend(process: &mut Process, orders: &mut mpsc::UnboundedReceiver<Order>) -> Option<bool> {
    loop {
        tokio::select! {
            ended = process.wait() => return Some(ended.is_ok_and(|status| status.success())),
            order = orders.recv() => match order {
                Some(Order::Signal(signal)) => drop(process.signal(signal)),
                Some(Order::KillForGood) => {
                    process.signal(Signal::KILL).ok();
                    process.wait().await.ok();
                    return None;
                }
                Some(Order::End) | None => {
                    process.signal(Signal::TERM).ok();
                    if tokio::time::timeout(GRACE, process.wait()).await.is_err() {
                        process.signal(Signal::KILL).ok();
                        process.wait().await.ok();
                    }
                    return None;
                }
            },
        }
    }
}

/// While nothing runs, only the end matters.
async fn ended(orders: &mut mpsc::UnboundedReceiver<Order>) {
    while let Some(Order::Signal(_)) = orders.recv().await {}
}

/// How long to wait before the next start, after so many failures before this end.
fn pause(well: bool, failures: u32) -> Duration {
    let grown = Duration::from_secs(u64::from(failures).pow(2)).min(LONGEST_PAUSE);
    if well { SHORTEST_PAUSE } else { grown.max(SHORTEST_PAUSE) }
}

/// Puts a sentence among what the servers say.
fn say(room: &Room, sentence: &str) {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(&room.output);
    if let Ok(mut output) = opened {
        writeln!(output, "monitor: {sentence}").ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_failures_and_not_without() {
        let seconds: Vec<f32> = (0..10).map(|failures| pause(false, failures).as_secs_f32()).collect();
        assert_eq!(seconds, [0.3, 1.0, 4.0, 9.0, 16.0, 25.0, 36.0, 49.0, 60.0, 60.0]);
        assert_eq!(pause(true, 7), SHORTEST_PAUSE);
    }
}
