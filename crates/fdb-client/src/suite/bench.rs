//! What a case is played on.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::contract::{Answer, Call, FoundationDb, Look, Seen, Target};

/// A server process. It listens on an address of the bench's choice, and is started again when it ends by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its name, which is also its locality `instance_id`.
    pub name: String,
    /// Its class, as on the command line.
    pub class: String,
    /// Its zone.
    pub zone: String,
}

/// Clients, a target, and the processes of one database. The first process that is started is its coordinator.
pub trait Bench: Send {
    /// The client that is on trial.
    fn client(&self) -> Arc<dyn FoundationDb>;

    /// Somebody else who speaks to the same database at the same time.
    fn second_client(&self) -> Arc<dyn FoundationDb>;

    /// The database, from the first process on.
    fn target(&self) -> Target;

    /// Starts a process, and gives its address (`ip:port`, with `:tls` where that is spoken). One that was stopped comes back where it was, with its data.
    fn start<'a>(&'a mut self, process: &'a Process) -> BoxFuture<'a, Result<String, String>>;

    /// Stops a process for good.
    fn stop<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<(), String>>;

    /// Lets time pass.
    fn wait(&mut self, duration: Duration) -> BoxFuture<'_, ()>;

    /// Looks until something is so. [`poll_until`] does it; a recording keeps only what was seen at last.
    fn until<'a>(
        &'a mut self,
        look: Look,
        what: &'a str,
        holds: &'a (dyn Fn(&Seen) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<Seen, String>>;
}

/// Looks twice a second. A look gets a minute: the status of a database that does not exist or is down was seen to take 33 s.
pub fn poll_until<'a>(
    bench: &'a mut dyn Bench,
    look: Look,
    what: &'a str,
    holds: &'a (dyn Fn(&Seen) -> bool + Send + Sync),
) -> BoxFuture<'a, Result<Seen, String>> {
    async move {
        let (client, target) = (bench.client(), bench.target());
        let mut last = String::new();
        for _ in 0..180 {
            match client.call(&target, Call::Look(look.clone()), Duration::from_secs(60)).await {
                Ok(Answer::Seen(seen)) if holds(&seen) => return Ok(seen),
                Ok(answer) => last = format!("{answer:?}").chars().take(4000).collect(),
                Err(failure) => last = failure.to_string(),
            }
            bench.wait(Duration::from_millis(500)).await;
        }
        Err(format!("{what}: not so after many looks; the last answer was {last}"))
    }
    .boxed()
}
