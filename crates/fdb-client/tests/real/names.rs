//! What the contract's cases don't say of names and identities: coordinators by name, a name that comes later, a wrong identity.

use std::path::Path;
use std::time::Duration;

use quorate_fdb_client::suite::{Bench, Process};
use quorate_fdb_client::{Answer, Call, Commit, Failure, Look, Management, Octets, Seen, TlsIdentity, Write};
use serde_json::Value;

use crate::bench::{Real, Ways, programs};
use crate::certificates::identity;
use crate::comparisons::{ID, SOON, create};
use crate::stories::Story;

pub const STORIES: &[Story] = crate::stories![a_coordinator_is_known_by_its_name, a_name_that_comes_later_is_waited_for];

pub const IDENTITIES: &[Story] =
    crate::stories![somebody_whom_the_servers_do_not_trust_gets_no_answer, an_identity_with_a_missing_file_says_which,];

const NAME: &str = "coordinator.example.test";

/// Why no program can have a hosts file of its own here, if it can't.
pub fn missing() -> Option<&'static str> {
    let tried = std::process::Command::new("unshare").args(["--mount", "true"]).output();
    (!tried.is_ok_and(|output| output.status.success())).then_some("no mount namespaces: that takes root and unshare")
}

fn write_hosts(file: &Path, more: &str) {
    // In place: whoever has it mounted sees it.
    std::fs::write(file, format!("127.0.0.1 localhost\n{more}")).unwrap();
}

fn ways(hosts: &Path) -> Ways {
    Ways { tls: None, name: Some((NAME.to_owned(), hosts.to_owned())) }
}

async fn start(bench: &mut Real) -> Vec<String> {
    let mut addresses = Vec::new();
    for number in 1..=3 {
        let process = Process { name: format!("unset-{number}"), class: "unset".to_owned(), zone: format!("zone-{number}") };
        addresses.push(bench.start(&process).await.unwrap());
    }
    addresses
}

async fn created(bench: &Real) {
    assert_eq!(bench.client().call(&bench.target(), create(ID), SOON).await, Ok(Answer::Committed));
}

async fn look(bench: &Real, deadline: Duration) -> Result<Seen, Failure> {
    let look = Look { exclusions: true, ranges: vec![] };
    match bench.client().call(&bench.target(), Call::Look(look), deadline).await? {
        Answer::Seen(seen) => Ok(seen),
        other => panic!("{other:?}"),
    }
}

fn claim() -> Call {
    let key = Octets([quorate_fdb_client::OWN_KEYS, b"a"].concat());
    Call::Commit(Commit { writes: vec![Write::Set(key, "b".into())], ..Commit::default() })
}

fn said(seen: &Seen, path: &str) -> Value {
    let document: Value = serde_json::from_slice(&seen.status.0).unwrap();
    document.pointer(path).cloned().unwrap_or_default()
}

async fn a_coordinator_is_known_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = folder.path().join("hosts");
    write_hosts(&hosts, &format!("127.0.0.1 {NAME}\n127.0.0.1 other.example.test\n"));
    let mut bench = Real::with(&programs().unwrap(), ways(&hosts));
    let addresses = start(&mut bench).await;
    created(&bench).await;
    let seen = look(&bench, SOON).await.unwrap();
    // What the database calls its coordinators: the name in its own string, in the status whatever it has made of it.
    assert_eq!(seen.connection, Some(Ok(bench.target().connection)));
    println!("  in the status: {}", said(&seen, "/client/coordinators/coordinators"));
    // Another name of another server, which the client follows by itself.
    let port = addresses[1].rsplit(':').next().unwrap();
    let other = format!("other.example.test:{port}");
    let change = Commit { manage: Some(Management::Coordinators(vec![other.clone()])), ..Commit::default() };
    assert_eq!(bench.client().call(&bench.target(), Call::Commit(change), SOON).await, Ok(Answer::Committed));
    let seen = look(&bench, SOON).await.unwrap();
    let connection = seen.connection.unwrap().unwrap();
    assert!(connection.ends_with(&format!("@{other}")), "{connection}");
    bench.end().await;
}

async fn a_name_that_comes_later_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = folder.path().join("hosts");
    write_hosts(&hosts, "");
    let mut bench = Real::with(&programs().unwrap(), ways(&hosts));
    start(&mut bench).await;
    let before = look(&bench, Duration::from_secs(10)).await;
    match &before {
        Ok(seen) => {
            assert_eq!(said(seen, "/client/database_status/available"), Value::Bool(false));
            assert_eq!(said(seen, "/client/coordinators/quorum_reachable"), Value::Bool(false));
        }
        Err(failure) => assert!(matches!(failure, Failure::Timeout { .. }), "{failure}"),
    }
    println!("  without the name: {}", before.map_or_else(|failure| failure.to_string(), |_| "a report".to_owned()));
    let commit = bench.client().call(&bench.target(), claim(), Duration::from_secs(3)).await;
    assert_eq!(commit, Err(Failure::Timeout { milliseconds: 3000 }));
    let child = bench.children().process_ids();

    write_hosts(&hosts, &format!("127.0.0.1 {NAME}\n"));
    created(&bench).await;
    assert_eq!(bench.client().call(&bench.target(), claim(), SOON).await, Ok(Answer::Committed));
    assert_eq!(bench.children().process_ids(), child, "nobody had to be started again for it");
    bench.end().await;
}

async fn somebody_whom_the_servers_do_not_trust_gets_no_answer() {
    let (folder, another) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tls = Some(identity(folder.path()));
    let mut bench = Real::with(&programs().unwrap(), Ways { tls, name: None });
    start(&mut bench).await;
    created(&bench).await;
    let mut stranger = bench.target();
    stranger.tls = Some(identity(another.path()));
    let answer = bench.client().call(&stranger, claim(), Duration::from_secs(5)).await;
    assert_eq!(answer, Err(Failure::Timeout { milliseconds: 5000 }));
    assert_eq!(bench.client().call(&bench.target(), claim(), SOON).await, Ok(Answer::Committed));
    bench.end().await;
}

async fn an_identity_with_a_missing_file_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let identity = identity(folder.path());
    let mut bench = Real::with(&programs().unwrap(), Ways { tls: Some(identity.clone()), name: None });
    start(&mut bench).await;
    let mut target = bench.target();
    target.tls = Some(TlsIdentity { key: "/no/such/tls.key".to_owned(), ..identity });
    let answer = bench.client().call(&target, claim(), SOON).await;
    let names = |reason: &str| reason.contains("the TLS key: /no/such/tls.key: No such file");
    assert!(matches!(&answer, Err(Failure::Unavailable(reason)) if names(reason)), "{answer:?}");
    bench.end().await;
}
