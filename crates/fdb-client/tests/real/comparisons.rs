//! What the contract's cases don't say: the bytes of a configuration beside fdbcli's, the child under the microscope, a foreign protocol.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use quorate_fdb_client::suite::{Bench, Process};
use quorate_fdb_client::{
    Answer, Call, Change, Commit, Failure, FoundationDb, Look, Management, Octets, Range, Row, Seen, Target,
};

use crate::bench::{Real, children, free_port, programs, version};
use crate::stories::Story;

pub const STORIES: &[Story] = crate::stories![
    a_new_database_has_the_same_bytes_as_one_of_fdbcli,
    a_coordinator_change_is_followed_without_a_new_target,
    another_connection_string_is_followed_without_a_new_child,
    a_locked_database_is_served_all_the_same,
    servers_of_another_protocol_are_told_from_servers_that_are_down,
    a_hung_cluster_does_not_hold_up_another_in_the_same_child,
    a_child_that_is_killed_during_a_look_is_replaced,
    the_memory_of_a_child_with_one_and_with_sixteen_clusters,
];

pub const SOON: Duration = Duration::from_secs(30);

fn process(number: usize) -> Process {
    Process { name: format!("unset-{number}"), class: "unset".to_owned(), zone: format!("zone-{number}") }
}

async fn started(count: usize) -> (Real, Vec<String>) {
    let mut bench = Real::new(&programs().unwrap());
    let mut addresses = Vec::new();
    for number in 1..=count {
        addresses.push(bench.start(&process(number)).await.unwrap());
    }
    (bench, addresses)
}

fn text(value: &str) -> Octets {
    value.into()
}

/// A replication policy as FoundationDB stores it: across so many zones.
fn across_zones(count: i32) -> Octets {
    let word = |word: &str| [&u32::try_from(word.len()).unwrap().to_le_bytes()[..], word.as_bytes()].concat();
    let prefix = [0x01, 0x00, 0x01, 0x62, 0xb0, 0x00, 0xdb, 0x0f];
    Octets([&prefix[..], &word("Across"), &word("zoneid"), &count.to_le_bytes(), &word("One")].concat())
}

pub fn create(id: &str) -> Call {
    let keys = [
        ("log_anti_quorum", text("0")),
        ("log_engine", text("2")),
        ("log_replicas", text("2")),
        ("log_replication_policy", across_zones(2)),
        ("storage_engine", text("2")),
        ("storage_replicas", text("2")),
        ("storage_replication_policy", across_zones(2)),
    ];
    let keys = keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Call::Commit(Commit { manage: Some(Management::Configure(Change { new: Some(id.to_owned()), keys })), ..Commit::default() })
}

pub const ID: &str = "00000000000000000000000000000001";

async fn seen(bench: &Real, look: Look) -> Seen {
    match bench.client().call(&bench.target(), Call::Look(look), SOON).await {
        Ok(Answer::Seen(seen)) => seen,
        other => panic!("{other:?}"),
    }
}

async fn rows(bench: &Real, begin: &[u8], end: &[u8]) -> Vec<Row> {
    let ranges = vec![Range { begin: begin.into(), end: end.into() }];
    seen(bench, Look { ranges, ..Look::default() }).await.ranges.unwrap().unwrap().ranges.remove(0)
}

async fn fdbcli(bench: &Real, command: &str) {
    let output = tokio::process::Command::new(programs().unwrap().join("fdbcli"))
        .current_dir(bench.folder())
        .args(["-C", "fdb.cluster", "--timeout", "30", "--exec", command])
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

async fn a_new_database_has_the_same_bytes_as_one_of_fdbcli() {
    let (ours, _) = started(3).await;
    assert_eq!(ours.client().call(&ours.target(), create(ID), SOON).await, Ok(Answer::Committed));
    let (theirs, _) = started(3).await;
    fdbcli(&theirs, "configure new double ssd").await;
    let (begin, end) = (b"\xff/conf/", b"\xff/conf0");
    assert_eq!(rows(&ours, begin, end).await, rows(&theirs, begin, end).await);
    let owner = |rows: Vec<Row>| rows.iter().map(|row| row.value.0.len()).collect::<Vec<_>>();
    assert_eq!(owner(rows(&ours, b"\xff/init_id", b"\xff/init_id\0").await), [32]);
    assert_eq!(owner(rows(&theirs, b"\xff/init_id", b"\xff/init_id\0").await), [32]);
    ours.end().await;
    theirs.end().await;
}

async fn a_coordinator_change_is_followed_without_a_new_target() {
    let (bench, addresses) = started(3).await;
    assert_eq!(bench.client().call(&bench.target(), create(ID), SOON).await, Ok(Answer::Committed));
    let change = Call::Commit(Commit { manage: Some(Management::Coordinators(vec![addresses[1].clone()])), ..Commit::default() });
    assert_eq!(bench.client().call(&bench.target(), change, SOON).await, Ok(Answer::Committed));
    let after = seen(&bench, Look { exclusions: true, ranges: vec![] }).await;
    assert!(after.connection.unwrap().unwrap().ends_with(&format!("@{}", addresses[1])));
    bench.end().await;
}

async fn another_connection_string_is_followed_without_a_new_child() {
    let (one, _) = started(3).await;
    let (other, _) = started(3).await;
    for bench in [&one, &other] {
        assert_eq!(bench.client().call(&bench.target(), create(ID), SOON).await, Ok(Answer::Committed));
    }
    let child = one.children().process_ids();
    let moved = Target { connection: other.target().connection, ..one.target() };
    let look = Call::Look(Look { exclusions: true, ranges: vec![] });
    let Ok(Answer::Seen(seen)) = one.client().call(&moved, look, SOON).await else { panic!("no look") };
    assert_eq!(seen.connection, Some(Ok(other.target().connection)));
    assert_eq!(one.children().process_ids(), child);
    one.end().await;
    other.end().await;
}

async fn a_locked_database_is_served_all_the_same() {
    let (bench, addresses) = started(3).await;
    assert_eq!(bench.client().call(&bench.target(), create(ID), SOON).await, Ok(Answer::Committed));
    fdbcli(&bench, "lock").await;
    let claim = quorate_fdb_client::Write::Set(Octets([quorate_fdb_client::OWN_KEYS, b"a"].concat()), text("b"));
    let exclude = Management::Exclude(vec!["locality_instance_id:nobody".to_owned()]);
    let commit = Commit { manage: Some(exclude), writes: vec![claim], ..Commit::default() };
    assert_eq!(bench.client().call(&bench.target(), Call::Commit(commit), SOON).await, Ok(Answer::Committed));
    let look = seen(&bench, Look { exclusions: true, ranges: vec![Range { begin: "".into(), end: "a".into() }] }).await;
    assert!(matches!((look.in_progress, look.connection, look.ranges), (Some(Ok(_)), Some(Ok(_)), Some(Ok(_)))));
    let kill = bench.client().call(&bench.target(), Call::Kill(vec![addresses[2].clone()]), SOON).await;
    assert_eq!(kill, Ok(Answer::Killed(true)));
    bench.end().await;
}

/// A coordinator of 7.1: it sends the first packet of a connection, which has its protocol in it, and reads whatever comes.
fn foreign_coordinator() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let protocol: u64 = 0x0fdb_00b0_7101_0000;
            let mut packet = Vec::new();
            packet.extend(protocol.to_le_bytes());
            packet.extend(port.to_le_bytes());
            packet.extend(7_u64.to_le_bytes());
            packet.extend(u32::from_be_bytes([127, 0, 0, 1]).to_le_bytes());
            packet.extend(0_u16.to_le_bytes());
            packet.extend([0; 16]);
            let length = u32::try_from(packet.len()).unwrap();
            std::thread::spawn(move || {
                let _ = connection.write_all(&[&length.to_le_bytes()[..], &packet].concat());
                let _ = connection.read_to_end(&mut Vec::new());
            });
        }
    });
    port
}

fn target(cluster: &str, port: u16) -> Target {
    Target {
        cluster: cluster.to_owned(),
        connection: format!("a:b@127.0.0.1:{port}"),
        version: version(&programs().unwrap()),
        tls: None,
    }
}

async fn servers_of_another_protocol_are_told_from_servers_that_are_down() {
    let client = children(&programs().unwrap());
    let kill = || Call::Kill(vec!["127.0.0.1:1".to_owned()]);
    let foreign = client.call(&target("tests/foreign", foreign_coordinator()), kill(), SOON).await;
    assert!(
        matches!(&foreign, Err(Failure::Incompatible { library }) if *library == version(&programs().unwrap())),
        "{foreign:?}"
    );
    let down = client.call(&target("tests/down", free_port()), kill(), Duration::from_secs(2)).await;
    assert!(matches!(down, Err(Failure::Timeout { .. })), "{down:?}");
    client.close().await;
}

async fn a_hung_cluster_does_not_hold_up_another_in_the_same_child() {
    let (bench, _) = started(3).await;
    assert_eq!(bench.client().call(&bench.target(), create(ID), SOON).await, Ok(Answer::Committed));
    let hung = target("tests/hung", free_port());
    let claim = Commit {
        writes: vec![quorate_fdb_client::Write::Set(Octets([quorate_fdb_client::OWN_KEYS, b"a"].concat()), text("b"))],
        ..Commit::default()
    };
    let calls = (0..40).map(|_| bench.children().call(&hung, Call::Commit(claim.clone()), Duration::from_secs(3)));
    let (hung, good) = tokio::join!(futures::future::join_all(calls), async {
        let mut answered = 0;
        for _ in 0..20 {
            answered += usize::from(bench.client().call(&bench.target(), Call::Commit(claim.clone()), SOON).await.is_ok());
        }
        answered
    });
    assert_eq!(good, 20);
    assert!(hung.iter().all(|answer| matches!(answer, Err(Failure::Timeout { .. }))), "{hung:?}");
    assert_eq!(bench.children().process_ids().len(), 1);
    bench.end().await;
}

async fn a_child_that_is_killed_during_a_look_is_replaced() {
    let (bench, _) = started(3).await;
    assert_eq!(bench.client().call(&bench.target(), create(ID), SOON).await, Ok(Answer::Committed));
    for _ in 0..5 {
        let child = bench.children().process_ids()[0];
        let target = bench.target();
        let look = bench.children().call(&target, Call::Look(Look::default()), SOON);
        let kill = async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let child = rustix::process::Pid::from_raw(i32::try_from(child).unwrap()).unwrap();
            rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
        };
        let (answer, ()) = tokio::join!(look, kill);
        assert!(matches!(answer, Ok(_) | Err(Failure::Unavailable(_))), "{answer:?}");
        while bench.children().process_ids().contains(&child) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        seen(&bench, Look::default()).await;
        assert!(!Path::new(&format!("/proc/{child}")).exists());
    }
    bench.end().await;
}

fn memory_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

async fn the_memory_of_a_child_with_one_and_with_sixteen_clusters() {
    let (bench, _) = started(3).await;
    assert_eq!(bench.client().call(&bench.target(), create(ID), SOON).await, Ok(Answer::Committed));
    let look = || Call::Look(Look { exclusions: true, ranges: vec![] });
    let mut sizes = Vec::new();
    for clusters in [1_u32, 16] {
        for number in 0..clusters {
            let target = Target { cluster: format!("tests/{number}"), ..bench.target() };
            for _ in 0..20 {
                bench.client().call(&target, look(), SOON).await.unwrap();
            }
        }
        if clusters == 16 {
            assert_eq!(bench.children().process_ids().len(), 2, "the bench's own name is the seventeenth");
        }
        sizes.push(memory_kb(bench.children().process_ids()[0]));
    }
    println!("  a child has {} MB with 2 clusters and {} MB with 16", sizes[0] / 1024, sizes[1] / 1024);
    assert!(sizes[1] < 400 << 10, "{sizes:?}");
    bench.end().await;
}
