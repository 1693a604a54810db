//! The databases of a world, spoken to as the operator speaks to real ones: on tokio's clock, with faults on the way.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{self, BoxFuture};
use jiff::{SignedDuration, Timestamp};
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Target, validate};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use super::status::without_storage_servers;
use super::{Database, Exit, Progress, Ticket};

/// What goes wrong with a call, between the operator and the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It is done, and the answer never comes.
    AnswerLost,
    /// It is done, and nobody can tell.
    UnknownThoughDone,
    /// It is not done, and nobody can tell.
    UnknownAndNotDone,
    /// Nothing happens until the deadline.
    Hangs,
    /// The client library speaks another protocol.
    Incompatible,
    /// The client dies before it has sent anything.
    ClientDies,
    /// The client dies after the database has done it.
    ClientDiesAfterwards,
    /// The status is answered, but the storage servers could not be asked in time and are left out.
    StorageLeftOut,
}

/// The databases of a world, each known to one cluster object or to several.
#[derive(Clone)]
pub struct Databases {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    state: Arc<Mutex<State>>,
    /// Counts what the world does to databases, so that waiting calls look again.
    changes: Arc<watch::Sender<u64>>,
    /// Tells the world that a call has killed a process.
    killed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    databases: Vec<Database>,
    clusters: BTreeMap<String, usize>,
    faults: BTreeMap<String, VecDeque<Fault>>,
}

impl State {
    fn of(&mut self, cluster: &str) -> Option<&mut Database> {
        let position = *self.clusters.get(cluster)?;
        self.databases.get_mut(position)
    }
}

impl Databases {
    /// No databases yet; the time is the world's.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { now: Arc::new(now), state: Arc::default(), changes: Arc::new(watch::Sender::new(0)), killed: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A database for a cluster object, by `namespace/name`.
    pub fn host(&self, cluster: &str, database: Database) {
        let mut state = self.state();
        let position = state.databases.len();
        state.databases.push(database);
        state.clusters.insert(cluster.to_owned(), position);
    }

    /// Another cluster object has its processes in the same database. Says whether there is one.
    pub fn share(&self, cluster: &str, with: &str) -> bool {
        let mut state = self.state();
        let Some(position) = state.clusters.get(with).copied() else { return false };
        state.clusters.insert(cluster.to_owned(), position);
        true
    }

    /// Does something to the database of a cluster, now.
    pub fn with<T>(&self, cluster: &str, act: impl FnOnce(&mut Database) -> T) -> Option<T> {
        let now = (self.now)();
        let done = self.state().of(cluster).map(|database| {
            database.advance(now);
            act(database)
        });
        self.changes.send_modify(|count| *count += 1);
        done
    }

    /// Shows the database of a cluster as it is now. Nobody who waits is disturbed by it.
    pub fn look<T>(&self, cluster: &str, at: impl FnOnce(Option<&Database>) -> T) -> T {
        let now = (self.now)();
        let mut state = self.state();
        let database = state.of(cluster).map(|database| {
            database.advance(now);
            &*database
        });
        at(database)
    }

    /// Lets every database come to the present, and gives the processes that ended on the way.
    pub fn advance(&self) -> Vec<Exit> {
        let now = (self.now)();
        let mut exits = Vec::new();
        for database in &mut self.state().databases {
            database.advance(now);
            exits.append(&mut database.exits());
        }
        self.changes.send_modify(|count| *count += 1);
        exits
    }

    /// When something happens next in any of them.
    pub fn next_event(&self) -> Option<Timestamp> {
        self.state().databases.iter().filter_map(Database::next_event).min()
    }

    /// When a killed process ends next in any of them: in the past, if [`Databases::advance`] has not told of it yet.
    pub fn next_exit(&self) -> Option<Timestamp> {
        self.state().databases.iter().filter_map(Database::next_exit).min()
    }

    /// Waits until a call has killed a process, so that [`Databases::next_exit`] is sooner than it was.
    pub async fn killed(&self) {
        self.killed.notified().await;
    }

    /// The next call for a cluster meets this fault. Several wait in line.
    pub fn fail_next(&self, cluster: &str, fault: Fault) {
        self.state().faults.entry(cluster.to_owned()).or_default().push_back(fault);
    }

    /// Makes the call and waits as long as the database takes.
    async fn carry_out(&self, target: &Target, call: Call, deadline: Instant) -> Result<Answer, Failure> {
        let nobody = || Failure::Unavailable(format!("there is no database for {}", target.cluster));
        let allowed = deadline.duration_since(Instant::now());
        let mut ticket: Ticket = {
            let now = (self.now)();
            let mut state = self.state();
            let database = state.of(&target.cluster).ok_or_else(nobody)?;
            database.advance(now);
            database.begin(target, call, now + SignedDuration::try_from(allowed).unwrap_or(SignedDuration::MAX))
        };
        let mut changes = self.changes.subscribe();
        loop {
            let (now, wait) = {
                let now = (self.now)();
                let mut state = self.state();
                let database = state.of(&target.cluster).ok_or_else(nobody)?;
                database.advance(now);
                let before = database.next_exit();
                let progress = database.proceed(&mut ticket);
                if database.next_exit() != before {
                    self.killed.notify_one();
                }
                match progress {
                    Progress::Done(result) => return result,
                    Progress::Waits(until) => (now, until.into_iter().chain(database.next_event()).min()),
                }
            };
            changes.mark_unchanged();
            let rest = wait.map(|wait| Duration::try_from(wait.duration_since(now)).unwrap_or(Duration::ZERO));
            let wake = rest.map_or(deadline, |rest| deadline.min(Instant::now() + rest.max(Duration::from_millis(1))));
            if Instant::now() >= deadline {
                return Err(timeout(allowed));
            }
            future::select(Box::pin(sleep_until(wake)), Box::pin(changes.changed())).await;
        }
    }
}

fn timeout(allowed: Duration) -> Failure {
    Failure::Timeout { milliseconds: u64::try_from(allowed.as_millis()).unwrap_or(u64::MAX) }
}

impl FoundationDb for Databases {
    fn call<'a>(&'a self, target: &'a Target, call: Call, deadline: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            validate(target, &call)?;
            let until = Instant::now() + deadline;
            let fault = self.state().faults.get_mut(&target.cluster).and_then(VecDeque::pop_front);
            let died = || Err(Failure::Unavailable("the client died".to_owned()));
            match fault {
                Some(Fault::Hangs) => {
                    sleep_until(until).await;
                    return Err(timeout(deadline));
                }
                Some(Fault::Incompatible) => return Err(Failure::Incompatible { library: target.version.clone() }),
                Some(Fault::ClientDies) => return died(),
                Some(Fault::UnknownAndNotDone) if matches!(call, Call::Commit(_)) => return Err(Failure::UnknownResult),
                _ => {}
            }
            let result = self.carry_out(target, call, until).await;
            match (fault, &result) {
                (Some(Fault::AnswerLost), _) => {
                    sleep_until(until).await;
                    Err(timeout(deadline))
                }
                (Some(Fault::UnknownThoughDone), Ok(Answer::Committed)) => Err(Failure::UnknownResult),
                (Some(Fault::ClientDiesAfterwards), _) => died(),
                (Some(Fault::StorageLeftOut), Ok(Answer::Seen(seen))) => Ok(Answer::Seen(without_storage_servers(seen))),
                _ => result,
            }
        })
    }
}
