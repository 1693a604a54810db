//! What the database says of itself, in one round trip.

use jiff::SignedDuration;
use quorate_api::foundationdb::FoundationDBCluster;
use quorate_fdb_client::{Answer, Call, Seen};
use quorate_foundationdb::{DatabaseReport, LockWish};
use quorate_quorum::{Shared, Sighting};
use tokio::time::Instant;

use super::{Hands, Remembered};
use crate::ClusterKey;
use crate::foundationdb::target::{lock_report, look, may_exist, patience, target};

/// A burst of events asks the database once.
const ASK_AT_MOST_EVERY: SignedDuration = SignedDuration::from_secs(1);

impl Hands {
    /// Asks the database, unless it was asked just now and nothing was done to it since. Also says when it was asked.
    pub(super) async fn ask(
        &self,
        key: &ClusterKey,
        object: &FoundationDBCluster,
        lock: Option<&LockWish>,
        before: &Remembered,
    ) -> (Sighting<Shared<DatabaseReport>>, Option<Instant>) {
        let (now, _) = self.clock.now();
        let asked = Some(Instant::now());
        // Nobody has created it yet, or nobody knows of it any more: then it is created, and asked afterwards.
        if before.sighting == Sighting::NotAsked && !before.database_changed && !may_exist(object) {
            return (Sighting::NotAsked, None);
        }
        if let Sighting::Seen { at, .. } = &before.sighting
            && !before.database_changed
            && *at <= now
            && now.duration_since(*at) < ASK_AT_MOST_EVERY
        {
            return (before.sighting.clone(), before.asked);
        }
        let why = match self.report(key, object, lock).await {
            Ok(facts) => return (Sighting::Seen { at: self.clock.now().0, facts: facts.into() }, asked),
            Err(why) => why,
        };
        let since = match before.sighting {
            Sighting::Unreachable { since, .. } => since,
            _ => now,
        };
        (Sighting::Unreachable { since, why }, asked)
    }

    /// The database's own report, or why there is none.
    async fn report(
        &self,
        key: &ClusterKey,
        object: &FoundationDBCluster,
        lock: Option<&LockWish>,
    ) -> Result<DatabaseReport, String> {
        let target = target(key, object, self.identity.as_ref())?;
        match self.database.call(&target, Call::Look(look(object, lock)), patience(object)).await {
            Ok(Answer::Seen(seen)) => read(seen),
            Ok(other) => Err(format!("it answered a look with {other:?}")),
            Err(failure) => Err(failure.to_string()),
        }
    }
}

/// One report of all that was read. A part that failed is a part that is not known.
fn read(seen: Seen) -> Result<DatabaseReport, String> {
    let mut report = DatabaseReport::parse(&seen.status.0).map_err(|error| error.to_string())?;
    report.lock = lock_report(&seen);
    report.exclusions_in_progress = seen.in_progress.and_then(Result::ok).map(|addresses| addresses.into_iter().collect());
    if let Some(Ok(connection)) = seen.connection {
        report.connection = Some(connection);
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_fdb_client::{Failure, Octets};

    fn seen(in_progress: Option<Result<Vec<String>, Failure>>, connection: Option<Result<String, Failure>>) -> Seen {
        let status = br#"{"client": {"database_status": {"available": true, "healthy": true}},
            "cluster": {"connection_string": "d:document@10.0.0.1:4501", "processes": {}}}"#;
        Seen { status: Octets(status.to_vec()), in_progress, connection, ranges: None }
    }

    #[test]
    fn the_databases_own_word_comes_before_the_documents() {
        let own = read(seen(None, Some(Ok("d:own@10.0.0.1:4501".into())))).unwrap();
        assert_eq!(own.connection.as_deref(), Some("d:own@10.0.0.1:4501"));
        let failed = read(seen(None, Some(Err(Failure::Conflict)))).unwrap();
        assert_eq!(failed.connection.as_deref(), Some("d:document@10.0.0.1:4501"));
    }

    #[test]
    fn exclusions_that_could_not_be_read_are_not_known() {
        let in_progress = |part| read(seen(part, None)).unwrap().exclusions_in_progress;
        assert_eq!(in_progress(None), None);
        assert_eq!(in_progress(Some(Err(Failure::Conflict))), None);
        assert_eq!(in_progress(Some(Ok(vec![]))), Some([].into()));
        assert_eq!(in_progress(Some(Ok(vec!["10.0.0.1:4501".into()]))), Some(["10.0.0.1:4501".to_owned()].into()));
    }
}
