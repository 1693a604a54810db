//! The real child with a libfdb_c that is none: what each of the database's errors becomes, that a call which is given up is cancelled in
//! the library, and what a library does that prints, crashes, hangs or is too old.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../stories/real_child.rs"]
mod real_child;
#[path = "../stories/mod.rs"]
mod stories;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use clap::Parser;
use quorate_fdb_client::suite::Coverage;
use quorate_fdb_client::{
    Answer, Call, Change, Children, Commit, Expectation, Failure, FoundationDb, Look, Management, OWN_KEYS, Octets, Range, Row,
    Seen, Settings, Target, Write,
};

/// Set, this program is the child.
const CHILD: &str = "QUORATE_STUB_CHILD";

const SOON: Duration = Duration::from_secs(20);

/// Libraries of 7.3, of 7.1, and one that is too old, compiled once.
static LIBRARIES: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/child/stub/libfdb_c.rs");
    for (name, cfg) in [("libfdb_c_7.3.63.so", "v73"), ("libfdb_c_7.1.57.so", "v71"), ("libfdb_c_6.3.25.so", "ancient")] {
        let compiled = Command::new("rustc")
            .args(["--edition", "2024", "-A", "unexpected_cfgs", "--cfg", cfg, "-o"])
            .arg(folder.path().join(name))
            .arg(&source)
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    }
    folder
});

static COVERAGE: Mutex<Option<Coverage>> = Mutex::new(None);

fn children(change: impl FnOnce(&mut Settings)) -> Children {
    let mut settings = Settings::new(std::env::current_exe().unwrap(), PathBuf::from(LIBRARIES.path()));
    settings.arguments.clear();
    settings.environment.insert(CHILD.to_owned(), "1".to_owned());
    change(&mut settings);
    Children::new(settings)
}

/// A database; the name decides how it behaves.
fn target(name: &str) -> Target {
    Target {
        cluster: format!("ns/{name}"),
        connection: format!("{name}:id@10.0.0.1:4501"),
        version: "7.3.27".to_owned(),
        tls: None,
    }
}

async fn call(children: &Children, target: &Target, call: Call) -> Result<Answer, Failure> {
    within(children, target, call, SOON).await
}

async fn within(children: &Children, target: &Target, call: Call, deadline: Duration) -> Result<Answer, Failure> {
    let answer = children.call(target, call.clone(), deadline).await;
    let mut coverage = COVERAGE.lock().unwrap_or_else(PoisonError::into_inner);
    coverage.get_or_insert_default().note(&call, &answer);
    answer
}

fn own(name: &str) -> Octets {
    Octets([OWN_KEYS, name.as_bytes()].concat())
}

fn sets(names: &[&str]) -> Commit {
    Commit { writes: names.iter().map(|name| Write::Set(own(name), "x".into())).collect(), ..Commit::default() }
}

fn manage(change: Management) -> Call {
    Call::Commit(Commit { manage: Some(change), ..Commit::default() })
}

async fn a_look_has_its_parts_and_standard_output_stays_ours() {
    let children = children(|_| {});
    let written = call(&children, &target("good"), Call::Commit(sets(&["a/1", "a/2"]))).await;
    assert_eq!(written, Ok(Answer::Committed));
    let ranges = vec![Range { begin: own("a/"), end: own("a0") }, Range { begin: own("b/"), end: own("b0") }];
    let Ok(Answer::Seen(seen)) = call(&children, &target("good"), Call::Look(Look { exclusions: true, ranges })).await else {
        panic!("no look")
    };
    let rows = seen.ranges.unwrap().unwrap();
    let row = |name: &str| Row { key: own(name), value: "x".into() };
    assert_eq!((rows.version, rows.ranges), (7, vec![vec![row("a/1"), row("a/2")], vec![]]));
    assert_eq!((seen.in_progress, seen.connection), (Some(Ok(vec![])), Some(Ok(String::new()))));
    children.close().await;
}

async fn an_unknown_result_is_found_out() {
    let children = children(|_| {});
    let good = target("good");
    for (names, expected) in [
        (&["unknown-done"][..], Ok(Answer::Committed)),
        (&["unknown-lost"], Ok(Answer::Committed)),
        (&["half", "unknown-half"], Err(Failure::UnknownResult)),
    ] {
        assert_eq!(call(&children, &good, Call::Commit(sets(names))).await, expected, "{names:?}");
    }
    // Tried again after an unknown result that was none, it finds somebody else's claim, and says so.
    let mut taken = sets(&["claim", "unknown-then-taken"]);
    taken.expect = vec![Expectation::Key(own("claim"), None)];
    assert_eq!(call(&children, &good, Call::Commit(taken)).await, Err(Failure::Changed { key: own("claim") }));
    children.close().await;
}

async fn each_error_becomes_what_it_means() {
    let children = children(|_| {});
    let good = target("good");
    let timeout = Failure::Timeout { milliseconds: 20_000 };
    let large = Failure::Database { code: 2101, message: "stub error 2101".to_owned() };
    for (name, expected) in [
        ("again", Ok(Answer::Committed)),
        ("conflict", Err(Failure::Conflict)),
        ("locked", Err(Failure::Locked)),
        ("too-large", Err(large)),
        ("timed-out", Err(timeout)),
    ] {
        assert_eq!(call(&children, &good, Call::Commit(sets(&[name]))).await, expected, "{name}");
    }
    assert_eq!(call(&children, &good, Call::Kill(vec!["10.0.0.1:4501".into()])).await, Ok(Answer::Killed(true)));
    assert_eq!(call(&children, &good, Call::Kill(vec!["10.0.0.1:1".into()])).await, Ok(Answer::Killed(false)));
    children.close().await;
}

async fn a_refusal_comes_in_the_databases_own_words() {
    let children = children(|_| {});
    let refused = call(&children, &target("good"), manage(Management::Exclude(vec!["10.9.9.9".into()]))).await;
    let expected = Failure::Refused { command: "exclude".into(), message: "not now".into(), retriable: true };
    assert_eq!(refused, Err(expected));
    let coordinators = || manage(Management::Coordinators(vec!["10.0.0.1:4501".into()]));
    assert_eq!(call(&children, &target("good"), coordinators()).await, Ok(Answer::Committed), "after 1021");
    let again = call(&children, &target("good"), coordinators()).await;
    assert!(matches!(&again, Err(Failure::Refused { message, .. }) if message == "No change"), "{again:?}");
    children.close().await;
}

async fn a_database_is_created_by_its_id() {
    let children = children(|_| {});
    let create = |id: &str| {
        let names = [
            "log_anti_quorum",
            "log_engine",
            "log_replicas",
            "log_replication_policy",
            "storage_engine",
            "storage_replicas",
            "storage_replication_policy",
        ];
        let keys = names.iter().map(|name| ((*name).to_owned(), "1".into())).collect();
        manage(Management::Configure(Change { new: Some(id.repeat(16)), keys }))
    };
    let good = target("new");
    assert_eq!(call(&children, &good, create("aa")).await, Ok(Answer::Committed));
    assert_eq!(call(&children, &good, create("aa")).await, Ok(Answer::Committed));
    assert_eq!(call(&children, &good, create("bb")).await, Err(Failure::AlreadyCreated));
    children.close().await;
}

async fn servers_of_another_protocol_are_named_at_once() {
    let children = children(|_| {});
    // A real one would never answer; the stub does, until the protocol is known.
    let mut answer = Ok(Answer::Committed);
    while answer == Ok(Answer::Committed) {
        answer = call(&children, &target("foreign"), Call::Commit(sets(&["a"]))).await;
    }
    assert_eq!(answer, Err(Failure::Incompatible { library: "7.3.63".to_owned() }));
    children.close().await;
}

async fn a_call_that_is_given_up_is_cancelled_in_the_library() {
    let children = children(|_| {});
    let hangs = target("hangs");
    let short = Duration::from_millis(200);
    let commit = within(&children, &hangs, Call::Commit(sets(&["a"])), short).await;
    assert_eq!(commit, Err(Failure::Timeout { milliseconds: 200 }));
    let look = Look { exclusions: true, ranges: vec![] };
    let Ok(Answer::Seen(seen)) = within(&children, &hangs, Call::Look(look), short).await else { panic!("no look") };
    assert!(matches!(seen.connection, Some(Err(Failure::Timeout { .. }))), "{:?}", seen.connection);
    let Ok(Answer::Seen(Seen { status, .. })) = call(&children, &target("good"), Call::Look(Look::default())).await else {
        panic!("no look")
    };
    assert_eq!(status.to_string(), r#"{"cancelled":3}"#, "a write's read, the exclusions and the connection string");
    children.close().await;
}

async fn a_library_that_crashes_costs_one_child() {
    let children = children(|settings| settings.backoff.0 = Duration::from_millis(1));
    let crashed = call(&children, &target("crashes"), Call::Look(Look::default())).await;
    assert!(matches!(&crashed, Err(Failure::Unavailable(reason)) if reason.contains("SIGABRT")), "{crashed:?}");
    assert_eq!(call(&children, &target("good"), Call::Commit(sets(&["a"]))).await, Ok(Answer::Committed));
    children.close().await;
}

async fn a_network_thread_that_hangs_costs_one_child() {
    let children = children(|settings| {
        settings.pulse.every = Duration::from_millis(50);
        settings.pulse.network_patience = Duration::from_millis(500);
        settings.backoff.0 = Duration::from_millis(1);
    });
    assert_eq!(call(&children, &target("deaf"), Call::Commit(sets(&["a"]))).await, Ok(Answer::Committed));
    let first = children.process_ids();
    while children.process_ids() == first {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(call(&children, &target("good"), Call::Commit(sets(&["a"]))).await, Ok(Answer::Committed));
    children.close().await;
}

async fn a_library_of_7_1_opens_a_file_and_one_that_is_too_old_is_refused() {
    let children = children(|_| {});
    let older = Target { version: "7.1.25".to_owned(), ..target("good") };
    assert_eq!(call(&children, &older, Call::Commit(sets(&["a"]))).await, Ok(Answer::Committed));
    let ancient = Target { version: "6.3.25".to_owned(), ..target("good") };
    let refused = call(&children, &ancient, Call::Commit(sets(&["a"]))).await;
    assert!(matches!(&refused, Err(Failure::Unavailable(reason)) if reason.contains("API version 630")), "{refused:?}");
    let future = Target { version: "8.0.0".to_owned(), ..target("good") };
    let missing = call(&children, &future, Call::Commit(sets(&["a"]))).await;
    assert!(matches!(missing, Err(Failure::NoLibrary { .. })), "{missing:?}");
    let invalid = call(&children, &future, Call::Kill(vec![])).await;
    assert!(matches!(invalid, Err(Failure::Invalid { .. })), "{invalid:?}");
    children.close().await;
}

async fn every_failure_of_the_contract_was_seen() {
    let coverage = COVERAGE.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default();
    assert_eq!(coverage.missing().1, Vec::<&str>::new());
}

fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_some() {
        return quorate_fdb_client::child_main(&real_child::Child::parse().arguments);
    }
    stories::tell(stories![
        a_look_has_its_parts_and_standard_output_stays_ours,
        an_unknown_result_is_found_out,
        each_error_becomes_what_it_means,
        a_refusal_comes_in_the_databases_own_words,
        a_database_is_created_by_its_id,
        servers_of_another_protocol_are_named_at_once,
        a_call_that_is_given_up_is_cancelled_in_the_library,
        a_library_that_crashes_costs_one_child,
        a_network_thread_that_hangs_costs_one_child,
        a_library_of_7_1_opens_a_file_and_one_that_is_too_old_is_refused,
        every_failure_of_the_contract_was_seen,
    ])
}
