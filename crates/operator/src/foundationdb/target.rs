//! Which database is spoken to, and how: the connection, the version, how long it may take, and what it is asked.

use std::time::Duration;

use quorate_api::foundationdb::{FoundationDBCluster, FoundationDBClusterStatus};
use quorate_fdb_client::{Look, Octets, Range, Row, Seen, Target, TlsIdentity};
use quorate_foundationdb::LockWish;
use quorate_foundationdb::decide::READ_BACK;
use quorate_foundationdb::lock::{self, LockReport};

use super::recorded_journal;
use crate::ClusterKey;

/// How long the database may take to answer; it is slowest exactly when it matters.
const ANSWER: Duration = Duration::from_secs(20);
/// How long one may take that nobody ever saw: a database that was not created yet answers slowly.
const FIRST_ANSWER: Duration = Duration::from_secs(60);

/// The database of an object, or why it can't be spoken to.
///
/// The connection is the one the status recorded, or else the seed: once there is a record, it has followed changes of coordinators that
/// the seed knows nothing of. The version is the one that runs, or else the one asked for: during an upgrade the processes speak the old
/// protocol until they are restarted. The identity is the operator's own, and shown to those that speak TLS only.
pub(crate) fn target(key: &ClusterKey, object: &FoundationDBCluster, identity: Option<&TlsIdentity>) -> Result<Target, String> {
    let status = object.status.as_ref();
    let recorded = status.and_then(|status| said(status.connection_string.as_ref()));
    let Some(connection) = recorded.or_else(|| said(object.spec.seed_connection_string.as_ref())) else {
        let why = "its connection string is not known: neither status.connectionString nor spec.seedConnectionString says it";
        return Err(why.to_owned());
    };
    let tls = speaks_tls(connection);
    if tls && identity.is_none() {
        let why = "it speaks TLS, and this operator has no identity to show: set FDB_TLS_CERTIFICATE_FILE, FDB_TLS_KEY_FILE and \
                   FDB_TLS_CA_FILE for it";
        return Err(why.to_owned());
    }
    let running = status.and_then(|status| said(status.running_version.as_ref()));
    Ok(Target {
        cluster: key.to_string(),
        connection: connection.clone(),
        version: running.unwrap_or(&object.spec.version).clone(),
        tls: identity.filter(|_| tls).cloned(),
    })
}

/// Whether a coordinator is spoken to by TLS.
fn speaks_tls(connection: &str) -> bool {
    let (_, coordinators) = connection.split_once('@').unwrap_or_default();
    coordinators.split(',').any(|coordinator| coordinator.trim().ends_with(":tls"))
}

/// What is read in one look. Exclusions and the database's own connection string can be read only from one that exists.
pub(crate) fn look(object: &FoundationDBCluster, lock: Option<&LockWish>) -> Look {
    let exists = may_exist(object);
    let ranges = lock.filter(|_| exists).map(|lock| {
        let (first, last) = lock::deny_list(lock);
        let key = lock::key(lock);
        let after = [key.as_slice(), b"\0"].concat();
        vec![Range { begin: Octets(key), end: Octets(after) }, Range { begin: Octets(first), end: Octets(last) }]
    });
    Look { exclusions: exists, ranges: ranges.unwrap_or_default() }
}

/// Whether anybody has created it: we, as far as is recorded or was on a record that was lost, or somebody before us.
pub(crate) fn may_exist(object: &FoundationDBCluster) -> bool {
    is_configured(object) || was_read_back(object) || said(object.spec.seed_connection_string.as_ref()).is_some()
}

fn was_read_back(object: &FoundationDBCluster) -> bool {
    recorded_journal(object.status.as_ref()).0.values().any(|entry| entry.what == READ_BACK)
}

/// What was read of the lock, if it was asked for and could be read.
pub(crate) fn lock_report(seen: &Seen) -> Option<LockReport> {
    let Some(Ok(rows)) = &seen.ranges else { return None };
    let [lock, denied] = rows.ranges.as_slice() else { return None };
    let name = |row: &Row| String::from_utf8_lossy(&row.value.0).into_owned();
    Some(LockReport { value: lock.first().map(|row| row.value.0.clone()), denied: denied.iter().map(name).collect() })
}

/// How long an answer may take.
pub(crate) fn patience(object: &FoundationDBCluster) -> Duration {
    if is_configured(object) { ANSWER } else { FIRST_ANSWER }
}

fn is_configured(object: &FoundationDBCluster) -> bool {
    let configured = |status: &FoundationDBClusterStatus| status.configured == Some(true);
    object.status.as_ref().is_some_and(configured)
}

/// An empty text says nothing.
fn said(text: Option<&String>) -> Option<&String> {
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn cluster(seed: &str, status: &Value) -> FoundationDBCluster {
        let object = json!({
            "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster", "metadata": {"name": "sample"},
            "spec": {"version": "7.3.69", "seedConnectionString": seed}, "status": status,
        });
        serde_json::from_value(object).unwrap()
    }

    fn of(seed: &str, status: &Value) -> Result<(String, String), String> {
        let key = ClusterKey { namespace: "ns".into(), name: "sample".into() };
        target(&key, &cluster(seed, status), None).map(|target| (target.connection, target.version))
    }

    #[test]
    fn the_record_comes_before_the_seed() {
        let connection = |seed: &str, status: &Value| of(seed, status).map(|(connection, _)| connection);
        assert_eq!(connection("seed", &json!({"connectionString": "recorded"})), Ok("recorded".into()));
        assert_eq!(connection("seed", &json!({"connectionString": ""})), Ok("seed".into()));
        assert_eq!(connection("seed", &json!({})), Ok("seed".into()));
        assert!(connection("", &json!({})).unwrap_err().contains("not known"));
    }

    #[test]
    fn what_runs_comes_before_what_was_asked_for() {
        let version = |status: &Value| of("seed", status).map(|(_, version)| version);
        assert_eq!(version(&json!({"runningVersion": "7.1.67"})), Ok("7.1.67".into()));
        assert_eq!(version(&json!({"runningVersion": ""})), Ok("7.3.69".into()));
    }

    #[test]
    fn an_identity_is_shown_to_those_that_speak_tls_and_missed_by_them() {
        let identity = TlsIdentity { certificate: "c".into(), key: "k".into(), ca: "a".into(), verify_peers: String::new() };
        let key = ClusterKey { namespace: "ns".into(), name: "sample".into() };
        let tls = |connection: &str, identity: Option<&TlsIdentity>| {
            target(&key, &cluster(connection, &json!({})), identity).map(|target| target.tls)
        };
        assert_eq!(tls("a:b@10.0.0.1:4501,10.0.0.2:4501", Some(&identity)), Ok(None));
        assert_eq!(tls("a:b@10.0.0.1:4501,10.0.0.2:4501", None), Ok(None));
        assert_eq!(tls("a:b@10.0.0.1:4500:tls,10.0.0.2:4500:tls", Some(&identity)), Ok(Some(identity.clone())));
        assert!(tls("a:b@10.0.0.1:4500:tls", None).unwrap_err().contains("FDB_TLS_KEY_FILE"));
    }

    #[test]
    fn exclusions_are_asked_for_once_there_is_a_database() {
        assert!(!look(&cluster("", &json!({})), None).exclusions);
        assert!(look(&cluster("", &json!({"configured": true})), None).exclusions);
        assert!(look(&cluster("seed", &json!({})), None).exclusions);
    }

    #[test]
    fn only_a_database_that_was_never_seen_is_waited_for_longer() {
        assert_eq!(patience(&cluster("", &json!({}))), FIRST_ANSWER);
        assert_eq!(patience(&cluster("", &json!({"configured": true}))), ANSWER);
    }
}
