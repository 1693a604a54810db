//! An operator's connection to the databases of the world, with what goes wrong on the way: answers that are lost, results that nobody
//! knows, clients that die, and crashes of the operator before and after anything it asks a database to do.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{self, BoxFuture};
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Management, Target};
use tokio::time::Instant;

use super::faults::{DatabaseVerdict, Faults};
use super::news::Asked;
use crate::database::{Database, Databases, Fault};

/// The connection of one operator.
#[derive(Clone)]
pub(super) struct Connection {
    operator: String,
    databases: Databases,
    faults: Arc<Faults>,
}

impl Connection {
    pub(super) fn new(operator: String, databases: Databases, faults: Arc<Faults>) -> Self {
        Self { operator, databases, faults }
    }

    /// Reads, which changes nothing.
    async fn look(&self, target: &Target, call: Call, deadline: Duration) -> Result<Answer, Failure> {
        let mut everything = true;
        match self.faults.disturb_database(&self.operator, None) {
            DatabaseVerdict::Fault(fault) => {
                everything = fault != Fault::StorageLeftOut;
                self.databases.fail_next(&target.cluster, fault);
            }
            DatabaseVerdict::CrashBefore | DatabaseVerdict::CrashAfter => return future::pending().await,
            DatabaseVerdict::Pass => {}
        }
        let answer = self.databases.call(target, call, deadline).await;
        if answer.is_ok() {
            self.faults.saw(&self.operator, everything);
        }
        answer
    }

    /// Changes something, whether anybody still waits for the answer or not.
    async fn change(self, target: Target, asked: Asked, what: String, deadline: Duration) -> Result<Answer, Failure> {
        let (client, call) = (asked.client.clone(), asked.call.clone());
        let killed = Asked { before: asked.before.clone(), call: call.clone(), client, ..asked };
        self.faults.asks_database(&what, asked);
        let answer = self.databases.call(&target, call, deadline).await;
        if answer == Ok(Answer::Killed(true)) {
            self.faults.killed(killed);
        }
        self.faults.database_answered(&self.operator, &what, &answer);
        answer
    }
}

impl FoundationDb for Connection {
    fn call<'a>(&'a self, target: &'a Target, call: Call, deadline: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let Some(what) = described(&call) else { return self.look(target, call, deadline).await };
            let asked = || Asked {
                client: self.operator.clone(),
                call: call.clone(),
                before: self.databases.look(&target.cluster, as_it_was),
                saw_everything: self.faults.saw_everything(&self.operator),
                at: Instant::now(),
            };
            match self.faults.disturb_database(&self.operator, Some(&what)) {
                DatabaseVerdict::Pass => {}
                DatabaseVerdict::Fault(fault) => self.databases.fail_next(&target.cluster, fault),
                // A process that is gone waits for nothing any more.
                DatabaseVerdict::CrashBefore => return future::pending().await,
                DatabaseVerdict::CrashAfter => {
                    // Nothing of the operator goes on, but what it sent does.
                    tokio::spawn(self.clone().change(target.clone(), asked(), what, deadline));
                    return future::pending().await;
                }
            }
            self.clone().change(target.clone(), asked(), what, deadline).await
        })
    }
}

fn as_it_was(database: Option<&Database>) -> Option<Database> {
    database.cloned()
}

/// What a call changes, in words; reading changes nothing.
fn described(call: &Call) -> Option<String> {
    let commit = match call {
        Call::Look(_) => return None,
        Call::Kill(addresses) => return Some(format!("kill {}", addresses.join(" "))),
        Call::Commit(commit) => commit,
    };
    Some(match &commit.manage {
        None => "write".to_owned(),
        Some(Management::Exclude(places)) => format!("exclude {}", places.join(" ")),
        Some(Management::Include(places)) => format!("include {}", places.join(" ")),
        Some(Management::IncludeBlindly(places)) => format!("include blindly {}", places.join(" ")),
        Some(Management::Coordinators(addresses)) => format!("coordinators {}", addresses.join(" ")),
        Some(Management::Configure(change)) if change.new.is_some() => "configure new".to_owned(),
        Some(Management::Configure(change)) => {
            format!("configure {}", change.keys.keys().map(String::as_str).collect::<Vec<_>>().join(" "))
        }
        Some(Management::Maintain { zone, seconds }) => format!("maintain {zone} for {seconds} s"),
        Some(Management::EndMaintenance) => "end maintenance".to_owned(),
        Some(Management::ProcessClass { address, class }) => format!("class of {address}: {class}"),
    })
}
