//! The databases of a world, on tokio's paused clock.

use std::time::Duration;

use jiff::Timestamp;
use quorate_fdb_client::{
    Answer, Call, Commit, Expectation, Failure, FoundationDb, Look, Management, OWN_KEYS, Octets, Target, Write,
};
use quorate_world::database::{Databases, Fault};
use tokio::time::Instant;

use crate::story::{Story, recording};

const CLUSTER: &str = "ns/sample";

/// A healthy cluster in a world that starts when the database is ready.
fn world() -> (Databases, Target) {
    let story = Story::created(&recording("triple-12proc-healthy"));
    let (beginning, started): (Timestamp, Instant) = (story.database.now(), Instant::now());
    let databases = Databases::new(move || beginning + jiff::SignedDuration::try_from(started.elapsed()).unwrap());
    let connection = story.database.connection();
    databases.host(CLUSTER, story.database);
    (databases, Target { cluster: CLUSTER.into(), connection, version: "7.3.80".into(), tls: None })
}

fn claim(value: &str) -> Call {
    let key = Octets([OWN_KEYS, b"claim"].concat());
    Call::Commit(Commit { expect: vec![], manage: None, writes: vec![Write::Set(key, value.into())] })
}

fn claimed(value: Option<&str>) -> Call {
    let key = Octets([OWN_KEYS, b"claim"].concat());
    Call::Commit(Commit { expect: vec![Expectation::Key(key, value.map(Octets::from))], ..Commit::default() })
}

const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn calls_take_the_time_that_the_database_takes() {
    let (databases, target) = world();
    let before = Instant::now();
    let coordinators = [4701, 4702, 4703].map(|port| format!("127.0.0.1:{port}")).to_vec();
    let change = Call::Commit(Commit { manage: Some(Management::Coordinators(coordinators)), ..Commit::default() });
    assert_eq!(databases.call(&target, change, PATIENCE).await, Ok(Answer::Committed));
    let took = before.elapsed().as_secs_f64();
    assert!((1.0..1.6).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_goes_on_when_the_world_changes() {
    let (databases, target) = world();
    let stopped = databases.with(CLUSTER, |database| {
        for port in [4700, 4701, 4705] {
            database.stop_process(&format!("127.0.0.1:{port}"));
        }
    });
    assert!(stopped.is_some());
    let waiting = databases.call(&target, claim("1"), Duration::from_secs(60));
    let story = Story::of(&recording("triple-12proc-healthy"));
    let restart = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        databases.with(CLUSTER, |database| {
            for port in [4700, 4701, 4705] {
                database.start_process(story.spec(port));
            }
        });
    };
    let before = Instant::now();
    let (result, ()) = tokio::join!(waiting, restart);
    assert_eq!(result, Ok(Answer::Committed));
    let took = before.elapsed().as_secs_f64();
    assert!((21.0..24.0).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn a_fault_hides_what_was_done_and_what_was_not() {
    let (databases, target) = world();
    let mut before: Option<String> = None;
    for (fault, done, expected) in [
        (Fault::AnswerLost, true, Failure::Timeout { milliseconds: 10_000 }),
        (Fault::UnknownThoughDone, true, Failure::UnknownResult),
        (Fault::UnknownAndNotDone, false, Failure::UnknownResult),
        (Fault::Hangs, false, Failure::Timeout { milliseconds: 10_000 }),
        (Fault::Incompatible, false, Failure::Incompatible { library: "7.3.80".into() }),
        (Fault::ClientDies, false, Failure::Unavailable("the client died".into())),
        (Fault::ClientDiesAfterwards, true, Failure::Unavailable("the client died".into())),
    ] {
        let value = format!("{fault:?}");
        databases.fail_next(CLUSTER, fault);
        assert_eq!(databases.call(&target, claim(&value), PATIENCE).await, Err(expected), "{fault:?}");
        if done {
            before = Some(value);
        }
        assert_eq!(databases.call(&target, claimed(before.as_deref()), PATIENCE).await, Ok(Answer::Committed), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_cluster_objects_share_a_database() {
    let (databases, target) = world();
    assert!(databases.share("other/sample", CLUSTER));
    assert!(!databases.share("other/sample", "nobody/here"));
    let other = Target { cluster: "other/sample".into(), ..target.clone() };
    assert_eq!(databases.call(&target, claim("mine"), PATIENCE).await, Ok(Answer::Committed));
    assert_eq!(databases.call(&other, claimed(Some("mine")), PATIENCE).await, Ok(Answer::Committed));
    let nobody = Target { cluster: "nobody/here".into(), ..target };
    let refused = databases.call(&nobody, Call::Look(Look::default()), PATIENCE).await;
    assert!(matches!(refused, Err(Failure::Unavailable(_))), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_right_is_not_sent() {
    let (databases, target) = world();
    let bad = Call::Commit(Commit { manage: Some(Management::Exclude(vec!["nonsense".into()])), ..Commit::default() });
    assert!(matches!(databases.call(&target, bad, PATIENCE).await, Err(Failure::Invalid { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_kill_is_seen_by_whoever_restarts() {
    let (databases, target) = world();
    let kill = Call::Kill(vec!["127.0.0.1:4700".into()]);
    assert_eq!(databases.call(&target, kill, PATIENCE).await, Ok(Answer::Killed(true)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let exits: Vec<String> = databases.advance().into_iter().map(|exit| exit.volume).collect();
    assert_eq!(exits, ["volume of 127.0.0.1:4700"]);
    assert!(databases.next_event().is_some());
}
