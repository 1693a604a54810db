//! Speaks to FoundationDB through child processes. The C++ client can crash, hang and print; here that costs one child, which is ended
//! and started anew, and the calls that it was busy with, each of which gets exactly one answer.
//!
//! A child serves up to sixteen clusters with one client library and one TLS identity (both are a process's, not a database's, in
//! libfdb_c). It starts with the first call, and nothing is started because time passes.

mod assignment;
mod backoff;
mod lines;
mod mailbox;
mod process;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::contract::{Answer, Call, Failure, FoundationDb, Target};
use crate::validate::validate;
use assignment::Assignments;
use mailbox::Mailbox;

/// How children are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program, which is this executable.
    pub program: PathBuf,
    /// Its arguments; those that name library and identity are added.
    pub arguments: Vec<String>,
    /// Environment variables for it. FoundationDB's own, which would change what the library does, are not passed on.
    pub environment: BTreeMap<String, String>,
    /// The folder with client libraries.
    pub libraries: PathBuf,
    /// How much may wait.
    pub limits: Limits,
    /// How a child that hangs is noticed.
    pub pulse: Pulse,
    /// How long a child is left alone after it failed: first, and at most.
    pub backoff: (Duration, Duration),
}

/// How much may wait. What is beyond fails at once, so that a hung database costs bounded memory.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Clusters per child; the next one starts another child.
    pub clusters_per_child: usize,
    /// Calls that wait for one cluster.
    pub waiting_per_cluster: usize,
    /// Calls that wait in all.
    pub waiting: usize,
    /// Bytes of calls that wait in all.
    pub waiting_bytes: usize,
}

/// How a child that hangs is noticed.
#[derive(Clone, Copy, Debug)]
pub struct Pulse {
    /// How often it is asked.
    pub every: Duration,
    /// After how long without its own answer it is ended.
    pub patience: Duration,
    /// After how long without a sign of the library's network thread it is ended.
    pub network_patience: Duration,
    /// How long it may take to start.
    pub start: Duration,
}

impl Settings {
    /// The usual ones: the child is a hidden subcommand of this executable.
    pub fn new(program: PathBuf, libraries: PathBuf) -> Self {
        Self {
            program,
            arguments: vec!["fdb-child".to_owned()],
            environment: BTreeMap::new(),
            libraries,
            limits: Limits { clusters_per_child: 16, waiting_per_cluster: 64, waiting: 4096, waiting_bytes: 64 << 20 },
            pulse: Pulse {
                every: Duration::from_secs(5),
                patience: Duration::from_secs(15),
                network_patience: Duration::from_secs(60),
                start: Duration::from_secs(20),
            },
            backoff: (Duration::from_millis(100), Duration::from_secs(30)),
        }
    }
}

/// The client: children by library and identity.
pub struct Children {
    assignments: Arc<Mutex<Assignments>>,
}

impl Children {
    /// No child is started yet.
    pub fn new(settings: Settings) -> Self {
        Self { assignments: Arc::new(Mutex::new(Assignments::new(Arc::new(settings)))) }
    }

    /// The process ids of the children that run, for whoever looks at them from outside.
    pub fn process_ids(&self) -> Vec<u32> {
        lock(&self.assignments).process_ids()
    }

    /// Ends all children and waits for their end. Calls that are still waiting fail.
    pub async fn close(&self) {
        let tasks = lock(&self.assignments).close();
        for task in tasks {
            // A task that panicked has no child left: it is killed when dropped.
            let _ = task.await;
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        drop(lock(&self.assignments).close());
    }
}

impl FoundationDb for Children {
    /// Its database is closed, and the child too if it serves nobody else.
    fn forget(&self, cluster: &str) {
        lock(&self.assignments).forget(cluster);
    }

    fn call<'a>(&'a self, target: &'a Target, call: Call, deadline: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        async move {
            validate(target, &call)?;
            let mut ticket = Ticket::take(&self.assignments, target, call, deadline)?;
            match tokio::time::timeout(deadline, &mut ticket.answer).await {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => Err(Failure::Unavailable("the client is being closed".to_owned())),
                Err(_) => Err(Failure::Timeout { milliseconds: u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX) }),
            }
        }
        .boxed()
    }
}

/// A place in the queue. However the call ends, answered, out of time or dropped, the place is given back.
struct Ticket {
    assignments: Arc<Mutex<Assignments>>,
    mailbox: Arc<Mailbox>,
    cluster: String,
    id: u64,
    bytes: usize,
    answer: mailbox::Waiting,
}

impl Ticket {
    fn take(assignments: &Arc<Mutex<Assignments>>, target: &Target, call: Call, deadline: Duration) -> Result<Self, Failure> {
        let mut held = lock(assignments);
        let (mailbox, id) = held.assign(target)?;
        let request = mailbox::Request::new(id, target, call, deadline)?;
        let bytes = request.bytes();
        held.admit(&target.cluster, bytes)?;
        let answer = match mailbox.post(request, deadline) {
            Ok(answer) => answer,
            Err(failure) => {
                held.release(&target.cluster, bytes);
                return Err(failure);
            }
        };
        Ok(Self { assignments: Arc::clone(assignments), mailbox, cluster: target.cluster.clone(), id, bytes, answer })
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.mailbox.abandon(self.id);
        lock(&self.assignments).release(&self.cluster, self.bytes);
    }
}

/// A lock whose holder panicked guards data that is still whole: every change under these locks is one assignment or one insertion.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
