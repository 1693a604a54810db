//! An operator's connection to the databases of the world, with what goes wrong on the way: answers that are lost, results that nobody
//! knows, clients that die, and crashes of the operator before and after anything it asks a database to do.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{self, BoxFuture};
use quorate_fdb_client::{Answer, Call, Failure, FoundationDb, Management, Target};

use super::faults::{DatabaseVerdict, Faults};
use crate::database::Databases;

/// The connection of one operator.
pub(super) struct Connection {
    operator: String,
    databases: Databases,
    faults: Arc<Faults>,
}

impl Connection {
    pub(super) fn new(operator: String, databases: Databases, faults: Arc<Faults>) -> Self {
        Self { operator, databases, faults }
    }
}

impl FoundationDb for Connection {
    fn call<'a>(&'a self, target: &'a Target, call: Call, deadline: Duration) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let what = described(&call);
            let verdict = self.faults.disturb_database(&self.operator, what.as_deref());
            match verdict {
                DatabaseVerdict::Pass => {}
                DatabaseVerdict::Fault(fault) => self.databases.fail_next(&target.cluster, fault),
                // A process that is gone waits for nothing any more.
                DatabaseVerdict::CrashBefore => return future::pending().await,
                DatabaseVerdict::CrashAfter => {
                    let _ = self.databases.call(target, call, deadline).await;
                    return future::pending().await;
                }
            }
            if let Some(what) = &what {
                self.faults.asks_database(&self.operator, what);
            }
            let answer = self.databases.call(target, call, deadline).await;
            if let Some(what) = what {
                self.faults.database_answered(&self.operator, &what, &answer);
            }
            answer
        })
    }
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
