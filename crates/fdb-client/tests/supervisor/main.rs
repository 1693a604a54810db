//! The supervisor and children that behave badly: whatever they do is bounded, other clusters go on, each call gets one answer, and no
//! process is left behind. The child is this test itself, started again with a word in its environment.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fake_child;
#[path = "../stories/real_child.rs"]
mod real_child;
#[path = "../stories/mod.rs"]
mod stories;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use futures::future::join_all;
use quorate_fdb_client::{
    Answer, Call, Children, Commit, Failure, FoundationDb, Look, Octets, Seen, Settings, Target, TlsIdentity, Write,
};

const SOON: Duration = Duration::from_secs(20);

struct World {
    children: Children,
    _libraries: tempfile::TempDir,
}

/// A supervisor whose children are fake; `start` is how they behave before they greet.
fn world(start: &str, change: impl FnOnce(&mut Settings)) -> World {
    let libraries = tempfile::tempdir().unwrap();
    for name in ["libfdb_c_7.3.63.so", "libfdb_c_7.1.57.so"] {
        std::fs::write(libraries.path().join(name), "").unwrap();
    }
    let mut settings = Settings::new(std::env::current_exe().unwrap(), libraries.path().to_owned());
    settings.arguments.clear();
    settings.environment.insert(fake_child::VARIABLE.to_owned(), start.to_owned());
    settings.backoff = (Duration::from_millis(1), Duration::from_millis(50));
    change(&mut settings);
    World { children: Children::new(settings), _libraries: libraries }
}

fn target(cluster: &str) -> Target {
    Target {
        cluster: cluster.to_owned(),
        connection: "sample:id@10.0.0.1:4501".to_owned(),
        version: "7.3.63".to_owned(),
        tls: None,
    }
}

fn look() -> Call {
    Call::Look(Look::default())
}

fn change() -> Call {
    let key = [quorate_fdb_client::OWN_KEYS, b"claim"].concat();
    Call::Commit(Commit { writes: vec![Write::Set(Octets(key), "me".into())], ..Commit::default() })
}

impl World {
    async fn look(&self, cluster: &str) -> Result<String, Failure> {
        self.look_at(&target(cluster)).await
    }

    async fn look_at(&self, target: &Target) -> Result<String, Failure> {
        match self.children.call(target, look(), SOON).await? {
            Answer::Seen(Seen { status, .. }) => Ok(status.to_string()),
            other => panic!("{other:?}"),
        }
    }

    /// Ends everything and checks that these processes are gone, zombies included.
    async fn end(self, processes: &[u32]) {
        let mut processes = processes.to_vec();
        processes.extend(self.children.process_ids());
        self.children.close().await;
        for process in processes {
            assert!(!Path::new(&format!("/proc/{process}")).exists(), "process {process} is left");
        }
    }
}

async fn a_call_is_answered() {
    let world = world("greet", |_| {});
    assert!(world.look("ns/good").await.unwrap().starts_with("ns/good sample:id@10.0.0.1:4501 "));
    assert_eq!(world.children.process_ids().len(), 1);
    world.end(&[]).await;
}

async fn a_child_that_dies_costs_the_calls_it_was_busy_with_and_the_next_one_works() {
    let world = world("greet", |_| {});
    world.look("ns/good").await.unwrap();
    let first = world.children.process_ids();
    let waiting = world.look("ns/waits");
    let (waiting, dying) = tokio::join!(waiting, world.look("ns/dies"));
    assert!(matches!(waiting, Err(Failure::Unavailable(_))), "{waiting:?}");
    assert!(matches!(&dying, Err(Failure::Unavailable(reason)) if reason.contains("exit status: 3")), "{dying:?}");
    assert!(matches!(world.children.call(&target("ns/dies"), change(), SOON).await, Err(Failure::UnknownResult)));
    world.look("ns/good").await.unwrap();
    assert_ne!(world.children.process_ids(), first);
    world.end(&first).await;
}

async fn a_change_that_was_sent_before_the_client_was_closed_is_of_unknown_result() {
    let world = world("greet", |_| {});
    let busy = target("ns/waits");
    let close = async {
        // Calls are sent in the order in which they were made, so the others are with the child by now.
        world.look("ns/good").await.unwrap();
        world.children.close().await;
    };
    let (changed, looked, ()) =
        tokio::join!(world.children.call(&busy, change(), SOON), world.children.call(&busy, look(), SOON), close);
    assert_eq!(changed, Err(Failure::UnknownResult));
    assert!(matches!(&looked, Err(Failure::Unavailable(reason)) if reason.contains("being closed")), "{looked:?}");
    world.end(&[]).await;
}

async fn a_change_that_was_not_sent_before_the_client_was_closed_did_not_happen() {
    let world = world("silent", |_| {});
    let close = async {
        while world.children.process_ids().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        world.children.close().await;
    };
    let good = target("ns/good");
    let (changed, ()) = tokio::join!(world.children.call(&good, change(), SOON), close);
    assert!(matches!(&changed, Err(Failure::Unavailable(reason)) if reason.contains("being closed")), "{changed:?}");
    world.end(&[]).await;
}

async fn garbage_half_a_frame_and_an_endless_frame_end_the_child_only() {
    let world = world("greet", |_| {});
    let mut seen = Vec::new();
    for cluster in ["ns/garbage", "ns/cut", "ns/oversized", "ns/greets-again"] {
        world.look("ns/good").await.unwrap();
        seen.extend(world.children.process_ids());
        let answer = world.look(cluster).await;
        assert!(
            matches!(&answer, Err(Failure::Unavailable(reason)) if reason.starts_with("the client ")),
            "{cluster}: {answer:?}"
        );
        world.look("ns/good").await.unwrap();
    }
    assert_eq!(seen.len(), 4);
    world.end(&seen).await;
}

async fn fifty_megabytes_are_an_answer() {
    let world = world("greet", |_| {});
    let (large, good) = tokio::join!(world.look("ns/large"), world.look("ns/good"));
    assert_eq!(large.unwrap().len(), 50 << 20);
    good.unwrap();
    world.end(&[]).await;
}

async fn ten_thousand_calls_behind_a_hung_one_are_refused_at_once_and_other_clusters_go_on() {
    let world = world("greet", |_| {});
    let hung = target("ns/waits");
    let calls = (0..10_000).map(|_| world.children.call(&hung, look(), Duration::from_secs(3)));
    let (answers, good) = tokio::join!(join_all(calls), world.look("ns/good"));
    good.unwrap();
    let refused = answers.iter().filter(|answer| matches!(answer, Err(Failure::Unavailable(_)))).count();
    let late = answers.iter().filter(|answer| matches!(answer, Err(Failure::Timeout { milliseconds: 3000 }))).count();
    assert_eq!((refused, late), (10_000 - 64, 64));
    assert_eq!(world.children.process_ids().len(), 1);
    let cancelled = world.look("ns/good").await.unwrap();
    assert!(cancelled.ends_with(" cancelled 64"), "{cancelled}");
    world.end(&[]).await;
}

async fn the_queue_of_all_clusters_together_is_bounded_in_calls_and_in_bytes() {
    let world = world("greet", |settings| {
        settings.limits.waiting = 10;
        settings.limits.waiting_bytes = 3000;
    });
    let hung: Vec<Target> = (0..20).map(|number| target(&format!("ns/waits-{number}"))).collect();
    let calls = hung.iter().map(|target| world.children.call(target, look(), Duration::from_secs(2)));
    let refused = join_all(calls).await.iter().filter(|answer| matches!(answer, Err(Failure::Unavailable(_)))).count();
    assert_eq!(refused, 10);
    let large = Write::Set(Octets([quorate_fdb_client::OWN_KEYS, b"a"].concat()), Octets(vec![b'x'; 3000]));
    let call = Call::Commit(Commit { writes: vec![large], ..Commit::default() });
    let answer = world.children.call(&target("ns/good"), call, SOON).await;
    assert!(matches!(answer, Err(Failure::Unavailable(_))), "{answer:?}");
    world.look("ns/good").await.unwrap();
    world.end(&[]).await;
}

async fn a_call_that_is_too_large_is_not_sent() {
    let world = world("greet", |_| {});
    let large = Write::Set(Octets([quorate_fdb_client::OWN_KEYS, b"a"].concat()), Octets(vec![b'x'; 5 << 20]));
    let call = Call::Commit(Commit { writes: vec![large], ..Commit::default() });
    let answer = world.children.call(&target("ns/good"), call, SOON).await;
    assert!(matches!(answer, Err(Failure::Invalid { .. })), "{answer:?}");
    world.end(&[]).await;
}

async fn a_late_answer_is_dropped_and_the_next_call_gets_its_own() {
    let world = world("greet", |_| {});
    let late = world.children.call(&target("ns/late"), look(), Duration::from_millis(50)).await;
    assert!(matches!(late, Err(Failure::Timeout { milliseconds: 50 })), "{late:?}");
    assert!(world.look("ns/good").await.unwrap().starts_with("ns/good "));
    world.end(&[]).await;
}

async fn a_flood_on_standard_error_stops_nobody() {
    let world = world("greet", |_| {});
    world.look("ns/floods").await.unwrap();
    world.look("ns/good").await.unwrap();
    assert_eq!(world.children.process_ids().len(), 1);
    world.end(&[]).await;
}

async fn a_child_that_hangs_is_ended_and_replaced() {
    let world = world("greet", |settings| {
        settings.pulse.every = Duration::from_millis(50);
        settings.pulse.patience = Duration::from_millis(500);
    });
    world.look("ns/good").await.unwrap();
    let first = world.children.process_ids();
    let answer = world.look("ns/deaf").await;
    assert!(matches!(&answer, Err(Failure::Unavailable(reason)) if reason.contains("has not answered")), "{answer:?}");
    world.look("ns/good").await.unwrap();
    assert_ne!(world.children.process_ids(), first);
    world.end(&first).await;
}

async fn a_network_thread_that_hangs_is_noticed_though_the_child_answers() {
    let world = world("greet", |settings| {
        settings.pulse.every = Duration::from_millis(50);
        settings.pulse.network_patience = Duration::from_millis(500);
    });
    let answer = world.look("ns/network-hangs").await;
    assert!(matches!(&answer, Err(Failure::Unavailable(reason)) if reason.contains("network thread")), "{answer:?}");
    world.look("ns/good").await.unwrap();
    world.end(&[]).await;
}

async fn a_child_that_can_not_start_says_why_and_is_not_started_for_every_call() {
    for (start, reason) in [
        ("unusable", "wrong ELF class"),
        ("old-protocol", "speaks protocol 0"),
        ("exits", "ended at its start"),
        ("garbage", "the client said"),
    ] {
        let log = tempfile::NamedTempFile::new().unwrap();
        let world = world(start, |settings| {
            settings.backoff = (Duration::from_secs(60), Duration::from_secs(60));
            settings.environment.insert(fake_child::LOG.to_owned(), log.path().display().to_string());
        });
        for _ in 0..20 {
            let answer = world.look("ns/good").await;
            assert!(matches!(&answer, Err(Failure::Unavailable(said)) if said.contains(reason)), "{start}: {answer:?}");
        }
        assert_eq!(std::fs::read_to_string(log.path()).unwrap().lines().count(), 1, "{start}: starts");
        world.end(&[]).await;
    }
}

async fn a_file_that_is_no_library_is_named_by_the_real_child() {
    let world = world("real", |_| {});
    let answer = world.look("ns/good").await;
    assert!(
        matches!(&answer, Err(Failure::Unavailable(reason)) if reason.contains("libfdb_c_7.3.63.so can't be loaded")),
        "{answer:?}"
    );
    world.end(&[]).await;
}

async fn a_child_that_never_greets_is_given_up() {
    let world = world("silent", |settings| settings.pulse.start = Duration::from_millis(200));
    let answer = world.look("ns/good").await;
    assert!(matches!(&answer, Err(Failure::Unavailable(reason)) if reason.contains("did not greet")), "{answer:?}");
    world.end(&[]).await;
}

async fn a_program_that_is_not_there_is_named() {
    let world = world("greet", |settings| settings.program = "/no/such/program".into());
    let answer = world.look("ns/good").await;
    assert!(matches!(&answer, Err(Failure::Unavailable(reason)) if reason.contains("/no/such/program")), "{answer:?}");
    world.end(&[]).await;
}

async fn a_version_without_library_is_a_failure_of_its_own_and_starts_nothing() {
    let world = world("greet", |_| {});
    let answer = world.look_at(&Target { version: "8.0.1".into(), ..target("ns/good") }).await;
    assert!(
        matches!(&answer, Err(Failure::NoLibrary { version, looked_for }) if version == "8.0.1" && looked_for.ends_with("libfdb_c_8.0.so")),
        "{answer:?}"
    );
    assert!(world.children.process_ids().is_empty());
    world.end(&[]).await;
}

async fn sixteen_clusters_share_a_child_and_the_seventeenth_starts_another() {
    let world = world("greet", |_| {});
    for number in 0..17 {
        world.look(&format!("ns/good-{number}")).await.unwrap();
        assert_eq!(world.children.process_ids().len(), if number < 16 { 1 } else { 2 });
    }
    let all = world.children.process_ids();
    world.children.forget("ns/good-16");
    world.look("ns/good-0").await.unwrap();
    assert_eq!(world.children.process_ids(), all[..1]);
    world.end(&all).await;
}

async fn another_connection_string_reopens_one_database_and_another_version_or_identity_moves_it() {
    let world = world("greet", |_| {});
    world.look("ns/other").await.unwrap();
    world.look("ns/good").await.unwrap();
    let first = world.children.process_ids();
    let moved = Target { connection: "sample:id2@10.0.0.2:4501".into(), ..target("ns/good") };
    assert!(world.look_at(&moved).await.unwrap().starts_with("ns/good sample:id2@10.0.0.2:4501 "));
    assert_eq!(world.children.process_ids(), first);

    let older = Target { version: "7.1.57".into(), ..moved.clone() };
    assert!(world.look_at(&older).await.unwrap().contains("libfdb_c_7.1.57.so"));
    assert_eq!(world.children.process_ids().len(), 2);
    assert!(world.look("ns/other").await.unwrap().contains(" closed ns/good "), "the old child was told");

    let tls = TlsIdentity { certificate: "c".into(), key: "k".into(), ca: "a".into(), verify_peers: "Check.Valid=1".into() };
    let secret = Target { tls: Some(tls), ..moved };
    let answer = world.look_at(&secret).await.unwrap();
    assert!(answer.contains("--tls-certificate c --tls-key k --tls-ca a --tls-verify-peers Check.Valid=1"), "{answer}");
    assert_eq!(world.children.process_ids().len(), 2, "the child for 7.1 served nobody else, so it ended");
    assert_eq!(world.children.process_ids()[..1], first, "and the other cluster's child was left alone");
    world.end(&first).await;
}

async fn a_library_of_another_version_than_its_name_is_found_out() {
    let world = world("greet-as-7.1", |_| {});
    let answer = world.look("ns/good").await;
    assert!(matches!(&answer, Err(Failure::NoLibrary { .. })), "{answer:?}");
    world.end(&[]).await;
}

async fn a_child_killed_at_any_moment_loses_nothing() {
    let world = world("greet", |_| {});
    let mut processes = Vec::new();
    let mut answers = std::collections::BTreeMap::<&str, usize>::new();
    for run in 0_u64..500 {
        world.look("ns/good").await.unwrap();
        let process = world.children.process_ids()[0];
        processes.push(process);
        let targets = [target("ns/good"), target("ns/good-2"), target("ns/slow")];
        let calls = targets.iter().flat_map(|target| [look(), change()].map(|call| world.children.call(target, call, SOON)));
        let kill = async {
            tokio::time::sleep(Duration::from_micros(run * 7919 % 3000)).await;
            let process = rustix::process::Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        };
        let (all, ()) = tokio::join!(join_all(calls), kill);
        assert_eq!(all.len(), 6);
        while world.children.process_ids().contains(&process) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for (index, answer) in all.into_iter().enumerate() {
            *answers
                .entry(match answer {
                    Ok(_) => "answered",
                    Err(Failure::Unavailable(_)) if index % 2 == 0 => "look failed",
                    Err(Failure::UnknownResult) if index % 2 == 1 => "commit of unknown result",
                    other => panic!("run {run}: {other:?}"),
                })
                .or_default() += 1;
        }
    }
    println!("  {answers:?}");
    assert_eq!(answers.len(), 3, "the kills came at different moments");
    world.end(&processes).await;
}

fn main() -> ExitCode {
    if let Ok(start) = std::env::var(fake_child::VARIABLE) {
        if start == "real" {
            return quorate_fdb_client::child_main(&real_child::Child::parse().arguments);
        }
        return fake_child::main(&start);
    }
    stories::tell(stories![
        a_call_is_answered,
        a_child_that_dies_costs_the_calls_it_was_busy_with_and_the_next_one_works,
        a_change_that_was_sent_before_the_client_was_closed_is_of_unknown_result,
        a_change_that_was_not_sent_before_the_client_was_closed_did_not_happen,
        garbage_half_a_frame_and_an_endless_frame_end_the_child_only,
        fifty_megabytes_are_an_answer,
        ten_thousand_calls_behind_a_hung_one_are_refused_at_once_and_other_clusters_go_on,
        the_queue_of_all_clusters_together_is_bounded_in_calls_and_in_bytes,
        a_call_that_is_too_large_is_not_sent,
        a_late_answer_is_dropped_and_the_next_call_gets_its_own,
        a_flood_on_standard_error_stops_nobody,
        a_child_that_hangs_is_ended_and_replaced,
        a_network_thread_that_hangs_is_noticed_though_the_child_answers,
        a_child_that_can_not_start_says_why_and_is_not_started_for_every_call,
        a_file_that_is_no_library_is_named_by_the_real_child,
        a_child_that_never_greets_is_given_up,
        a_program_that_is_not_there_is_named,
        a_version_without_library_is_a_failure_of_its_own_and_starts_nothing,
        sixteen_clusters_share_a_child_and_the_seventeenth_starts_another,
        another_connection_string_reopens_one_database_and_another_version_or_identity_moves_it,
        a_library_of_another_version_than_its_name_is_found_out,
        a_child_killed_at_any_moment_loses_nothing,
    ])
}
