//! What happens to a database, told as stories: the traps a real one was seen to have.

use jiff::SignedDuration;
use quorate_fdb_client::{Answer, Call, Change, Commit, Expectation, Failure, Management, Octets, Target, Write};
use quorate_world::database::{Copies, Lost, Progress, Ticket, mode_keys};
use serde_json::json;

use crate::story::{Story, recording};

fn twelve() -> Story {
    Story::created(&recording("triple-12proc-healthy"))
}

fn fence() -> Octets {
    Octets(b"\xff\x02/org.foundationdb.kubernetes-operator/fence".to_vec())
}

fn seconds(story: &mut Story, act: impl FnOnce(&mut Story)) -> f64 {
    let before = story.database.now();
    act(story);
    story.since(before)
}

#[test]
fn for_a_minute_nobody_notices_that_a_copy_is_missing() {
    let mut story = twelve();
    story.stop(&[4704]);
    story.pass(60.0);
    assert_eq!(story.database.copies().unwrap(), Copies { wanted: 3, kept: 3, served: 2 });
    let status = story.status();
    assert_eq!(status["client"]["database_status"]["healthy"], true);
    assert_eq!(status["cluster"]["data"]["state"]["min_replicas_remaining"], 3);
    story.pass(25.0);
    assert_eq!(story.database.copies().unwrap().served, 3);
}

#[test]
fn data_that_nobody_serves_is_said_to_be_missing_until_somebody_does() {
    let mut story = twelve();
    let state = |story: &Story| {
        let state = &story.status()["cluster"]["data"]["state"];
        (state["name"].as_str().unwrap().to_owned(), state["min_replicas_remaining"].as_u64())
    };
    // Not those with the first shard, which the database itself lives from.
    let ports = &story.ports();
    let all = ports.iter().flat_map(|a| ports.iter().flat_map(move |b| ports.iter().map(move |c| [*a, *b, *c])));
    let team = { all }.find(|team| {
        let volumes = team.map(|port| format!("volume of 127.0.0.1:{port}"));
        let lost = story.database.lost_without(&volumes.each_ref().map(String::as_str));
        matches!(lost, Some(Lost::Shards(shards)) if !shards.contains(&0))
    });
    let team = team.unwrap();
    story.stop(&team);
    for _ in 0..2 {
        story.pass(90.0);
        assert_eq!(story.database.copies().unwrap(), Copies { wanted: 3, kept: 3, served: 0 });
        assert_eq!(state(&story), ("missing_data".to_owned(), Some(0)));
    }
    story.start(&team[..1]);
    story.pass(30.0);
    assert_eq!(state(&story), ("healthy".to_owned(), Some(3)));
    assert_eq!(story.database.copies().unwrap(), Copies { wanted: 3, kept: 3, served: 3 });
}

#[test]
fn data_is_lost_when_the_last_volume_with_a_copy_is() {
    let mut story = twelve();
    for port in [4700, 4701, 4702] {
        assert_eq!(story.database.data_lost(), None);
        story.database.lose_volume(&format!("volume of 127.0.0.1:{port}"));
    }
    assert!(matches!(story.database.data_lost(), Some(Lost::Shards(_))), "{:?}", story.database.data_lost());
}

#[test]
fn commits_are_lost_with_all_the_logs_they_are_on() {
    let mut story = twelve();
    let logs = story.with_role("log");
    for port in &logs {
        assert_eq!(story.database.data_lost(), None);
        story.database.lose_volume(&format!("volume of 127.0.0.1:{port}"));
    }
    assert!(matches!(story.database.data_lost(), Some(Lost::Logs { .. })));
    story.pass(60.0);
    assert_eq!(story.status()["cluster"]["recovery_state"]["name"], "locking_old_transaction_servers");
}

#[test]
fn one_can_ask_before_what_a_volume_would_cost() {
    let mut story = twelve();
    let volumes: Vec<String> = [4700, 4701, 4702].map(|port| format!("volume of 127.0.0.1:{port}")).to_vec();
    let volumes: Vec<&str> = volumes.iter().map(String::as_str).collect();
    assert_eq!(story.database.lost_without(&volumes[..2]), None);
    assert!(matches!(story.database.lost_without(&volumes), Some(Lost::Shards(_))));
    story.exclude(&["storage-1", "storage-2"]).unwrap();
    story.pass(30.0);
    assert_eq!(story.database.lost_without(&volumes[..2]), None, "they are drained");
    story.stop(&[4700, 4701]);
    story.pass(10.0);
    assert_eq!(story.database.data_lost(), None);
}

#[test]
fn an_exclusion_is_finished_when_the_data_is_elsewhere() {
    let mut story = twelve();
    story.exclude(&["storage-1", "stateless-3"]).unwrap();
    let seen = story.look();
    assert_eq!(seen.in_progress, Some(Ok(vec!["127.0.0.1:4700".to_owned()])), "a stateless process is never listed");
    story.pass(30.0);
    assert_eq!(story.look().in_progress, Some(Ok(vec![])));
    assert!(!story.with_role("storage").contains(&4700));
}

#[test]
fn a_dead_process_that_is_excluded_stays_listed_until_its_data_is_elsewhere() {
    let mut story = twelve();
    story.stop(&[4704]);
    story.pass(8.0);
    story.exclude(&["storage-5"]).unwrap();
    let seen = story.look();
    let status: serde_json::Value = serde_json::from_slice(&seen.status.0).unwrap();
    let here = status["cluster"]["processes"].as_object().unwrap().values().any(|it| it["address"] == "127.0.0.1:4704");
    assert!(!here, "the report does not know it any more");
    assert_eq!(seen.in_progress, Some(Ok(vec!["127.0.0.1:4704".to_owned()])), "its data is nowhere else yet");
    story.pass(12.0);
    assert_eq!(story.look().in_progress, Some(Ok(vec![])));
}

#[test]
fn a_log_that_died_is_listed_without_an_address_though_nothing_is_excluded() {
    let mut story = twelve();
    let log = story.with_role("log")[1];
    story.stop(&[log]);
    story.pass(6.0);
    assert_eq!(story.database.exclusions_in_progress(), ["0.0.0.0:0"]);
    story.pass(10.0);
    assert!(story.database.exclusions_in_progress().is_empty());
}

#[test]
fn a_process_says_who_it_is_only_after_five_seconds() {
    let mut story = twelve();
    story.stop(&[4704]);
    story.pass(1.0);
    story.start(&[4704]);
    let entry = |story: &Story| {
        let status = story.status();
        status["cluster"]["processes"].as_object().unwrap().values().find(|it| it["address"] == "127.0.0.1:4704").unwrap().clone()
    };
    story.pass(0.1);
    assert!(entry(&story).get("command_line").is_none());
    story.pass(2.0);
    assert!(entry(&story).get("command_line").is_some() && entry(&story).get("locality").is_none());
    story.pass(4.0);
    assert_eq!(entry(&story)["locality"]["instance_id"], "storage-5");
}

#[test]
fn who_comes_back_after_his_data_was_replicated_elsewhere_has_nothing_to_do() {
    let mut story = twelve();
    story.stop(&[4704]);
    story.pass(100.0);
    story.start(&[4704]);
    story.pass(60.0);
    assert!(!story.with_role("storage").contains(&4704));
    let mut spec = story.spec(4704);
    spec.address = "127.0.0.1:4799".into();
    spec.volume = "a new volume".into();
    story.database.start_process(spec);
    story.pass(10.0);
    assert!(story.with_role("storage").contains(&4799), "an empty volume is put to use");
}

#[test]
fn a_database_that_is_down_for_too_many_exclusions_needs_a_blind_include() {
    let mut story = twelve();
    story.exclude(&["storage-1", "storage-2", "storage-3", "storage-4"]).unwrap();
    story.pass(60.0);
    story.exclude(&["storage-5"]).unwrap();
    story.pass(60.0);
    assert_eq!(story.exclude(&["log-1", "log-2", "log-3"]), Ok(Answer::Committed), "nobody warns");
    story.pass(60.0);
    assert!(!story.database.available());
    let logs: Vec<String> = ["log-1", "log-2", "log-3"].map(|id| format!("locality_instance_id:{id}")).to_vec();
    assert!(matches!(story.commit(Management::Include(logs.clone())), Err(Failure::Timeout { .. })));
    assert_eq!(story.commit(Management::IncludeBlindly(logs)), Ok(Answer::Committed));
    assert!(story.database.available());
}

#[test]
fn excluding_every_storage_server_is_refused() {
    let mut story = twelve();
    let refused = story.commit(Management::Exclude(vec!["127.0.0.1".into()]));
    assert!(matches!(&refused, Err(Failure::Refused { message, .. }) if message.contains("below 10%")), "{refused:?}");
}

#[test]
fn new_coordinators_have_a_new_id_and_the_old_string_still_leads_to_them() {
    let mut story = twelve();
    let old = story.database.connection();
    let new: Vec<String> = [4701, 4702, 4703, 4706, 4708].map(|port| format!("127.0.0.1:{port}")).to_vec();
    let write = Write::Set(fence(), "1".into());
    let commit = Commit { manage: Some(Management::Coordinators(new.clone())), writes: vec![write], ..Commit::default() };
    let takes = seconds(&mut story, |story| assert_eq!(story.call(Call::Commit(commit)), Ok(Answer::Committed)));
    assert!((1.0..1.6).contains(&takes), "{takes}");
    assert_ne!(story.database.connection().split('@').next(), old.split('@').next());
    // Every other write of the transaction is lost.
    let kept = Commit { expect: vec![Expectation::Key(fence(), None)], ..Commit::default() };
    assert_eq!(story.call(Call::Commit(kept)), Ok(Answer::Committed));
    let again = story.commit(Management::Coordinators(new));
    assert!(matches!(&again, Err(Failure::Refused { message, .. }) if message.starts_with("No change")), "{again:?}");
    // The old string works as long as one of the old ones remembers.
    let places = old.split_once('@').unwrap().1.split(',');
    for port in places.map(|place| place.rsplit_once(':').unwrap().1.parse().unwrap()) {
        assert_eq!(story.database.status(&old)["client"]["database_status"]["available"], true);
        story.database.lose_volume(&format!("volume of 127.0.0.1:{port}"));
        story.start(&[port]);
        story.pass(150.0);
    }
    assert_eq!(story.database.status(&old)["client"]["messages"][0]["name"], "no_cluster_controller");
    assert_eq!(story.database.data_lost(), None);
}

#[test]
fn coordinators_that_can_not_be_reached_are_refused_late_and_the_same_one_twice_at_once() {
    let mut story = twelve();
    story.stop(&[4703]);
    let with = |last: u16| Management::Coordinators([4700, 4701, last].map(|port| format!("127.0.0.1:{port}")).to_vec());
    let refused = |result: &Result<Answer, Failure>| matches!(result, Err(Failure::Refused { retriable: true, .. }));
    let takes = seconds(&mut story, |story| assert!(refused(&story.commit(with(4703)))));
    assert!((4.9..5.2).contains(&takes), "{takes}");
    let takes = seconds(&mut story, |story| assert!(refused(&story.commit(with(4701)))));
    assert!(takes < 0.1, "{takes}");
}

#[test]
fn coordinators_without_their_disks_forget_the_database() {
    let mut story = twelve();
    for port in [4700, 4701, 4705] {
        assert_eq!(story.database.data_lost(), None);
        story.database.lose_volume(&format!("volume of 127.0.0.1:{port}"));
    }
    story.start(&[4700, 4701, 4705]);
    story.pass(10.0);
    assert_eq!(story.database.data_lost(), Some(Lost::Coordinators));
    assert_eq!(story.status()["cluster"]["recovery_state"]["name"], "configuration_never_created");
}

#[test]
fn of_two_transactions_that_read_the_same_key_one_wins() {
    let mut story = twelve();
    let target = Target { cluster: "a/b".into(), connection: story.database.connection(), version: "7.3.80".into(), tls: None };
    let commit = |value: &str| {
        let writes = vec![Write::Set(fence(), value.into())];
        Call::Commit(Commit { expect: vec![Expectation::Key(fence(), None)], manage: None, writes })
    };
    let deadline = story.database.now() + SignedDuration::from_secs(5);
    let mut tickets: Vec<Ticket> = ["1", "2"].map(|value| story.database.begin(&target, commit(value), deadline)).into();
    for ticket in &mut tickets {
        assert!(matches!(story.database.proceed(ticket), Progress::Waits(_)));
    }
    story.pass(0.1);
    let results: Vec<Progress> = tickets.iter_mut().map(|ticket| story.database.proceed(ticket)).collect();
    assert_eq!(results, [Progress::Done(Ok(Answer::Committed)), Progress::Done(Err(Failure::Conflict))]);
    let changed = story.call(commit("3"));
    assert_eq!(changed, Err(Failure::Changed { key: fence() }));
}

#[test]
fn a_kill_reaches_all_or_none() {
    let mut story = twelve();
    let some = |ports: &[u16]| Call::Kill(ports.iter().map(|port| format!("127.0.0.1:{port}")).collect());
    assert_eq!(story.call(some(&[4700, 9999])), Ok(Answer::Killed(false)));
    story.pass(1.0);
    assert!(story.database.exits().is_empty());
    assert_eq!(story.call(some(&[4700, 4701])), Ok(Answer::Killed(true)));
    story.pass(1.0);
    let exits: Vec<String> = story.database.exits().into_iter().map(|exit| exit.address).collect();
    assert_eq!(exits, ["127.0.0.1:4700", "127.0.0.1:4701"]);
    assert!(!story.database.runs("127.0.0.1:4700"));
}

#[test]
fn a_database_is_created_once() {
    let mut story = twelve();
    assert_eq!(story.create("triple"), Ok(Answer::Committed), "the same creation again");
    let keys = mode_keys("single").unwrap().into_iter().map(|(key, value)| (key, Octets(value))).collect();
    let other = story.commit(Management::Configure(Change { new: Some("another".into()), keys }));
    assert_eq!(other, Err(Failure::AlreadyCreated));
    assert_eq!(story.status()["cluster"]["configuration"]["redundancy_mode"], "triple");
}

#[test]
fn three_datacenters_need_six_zones_before_there_is_a_database() {
    let mut cluster = recording("three_datacenter-6proc-healthy");
    let sixth = {
        let processes = cluster["cluster"]["processes"].as_object_mut().unwrap();
        let id = processes.iter().find(|(_, it)| it["address"] == "127.0.0.1:4735").unwrap().0.clone();
        processes.remove(&id).unwrap()
    };
    let mut story = Story::of(&cluster);
    story.pass(2.0);
    assert!(matches!(story.create("three_datacenter"), Err(Failure::Timeout { .. })));
    assert_eq!(story.status()["cluster"]["recovery_state"]["name"], "recruiting_transaction_servers");
    let mut spec = story.spec(4734);
    spec.address = "127.0.0.1:4735".into();
    spec.volume = "volume of 127.0.0.1:4735".into();
    spec.localities.insert("zoneid".into(), sixth["locality"]["zoneid"].as_str().unwrap().into());
    story.database.start_process(spec);
    story.pass(4.0);
    assert!(story.database.available(), "without another word");
}

#[test]
fn a_status_is_slow_when_it_matters() {
    let mut story = twelve();
    let takes = |story: &mut Story| seconds(story, |story| drop(story.look()));
    assert!(takes(&mut story) < 0.1);
    story.stop(&[4704]);
    story.pass(1.0);
    assert!(takes(&mut story) >= 2.0, "a process died");
    story.pass(20.0);
    assert!((1.5..2.5).contains(&takes(&mut story)), "its data is not replicated yet");
    story.pass(80.0);
    assert!(takes(&mut story) < 0.1);
    story.stop(&[4700, 4701, 4706]);
    story.pass(10.0);
    let seen = story.look();
    assert!(matches!(seen.connection, Some(Err(Failure::Timeout { .. }))), "{:?}", seen.connection);
    assert!(story.status()["cluster"].get("processes").is_none());
}

#[test]
fn a_recovery_costs_a_hundred_million_versions() {
    let mut story = twelve();
    let version = |story: &mut Story| {
        let ranges = vec![quorate_fdb_client::Range { begin: "a".into(), end: "b".into() }];
        let look = quorate_fdb_client::Look { exclusions: false, ranges };
        let Ok(Answer::Seen(seen)) = story.call(Call::Look(look)) else { panic!("nothing seen") };
        seen.ranges.unwrap().unwrap().version
    };
    let before = version(&mut story);
    story.exclude(&["log-1", "log-2"]).unwrap();
    story.pass(1.0);
    let jump = version(&mut story) - before;
    assert!((100_000_000..103_000_000).contains(&jump), "{jump}");
}

#[test]
fn another_protocol_is_not_understood() {
    let mut story = twelve();
    let target = Target { cluster: "a/b".into(), connection: story.database.connection(), version: "7.1.57".into(), tls: None };
    let deadline = story.database.now() + SignedDuration::from_secs(5);
    let mut ticket = story.database.begin(&target, Call::Kill(vec![]), deadline);
    assert_eq!(story.database.proceed(&mut ticket), Progress::Done(Err(Failure::Incompatible { library: "7.1.57".into() })));
    // One by one, the processes with the new protocol are no part of the cluster, until their coordinators are the majority.
    for port in story.ports() {
        let mut spec = story.spec(port);
        spec.version = "7.4.1".into();
        story.stop(&[port]);
        story.database.start_process(spec);
        story.pass(0.1);
    }
    story.pass(20.0);
    assert_eq!(story.status()["cluster"]["protocol_version"], json!("fdb00b074000000"));
    assert!(story.database.available());
}

#[test]
fn a_process_comes_back_at_another_address_with_the_same_volume() {
    let mut story = twelve();
    for port in [4704, story.with_role("log")[1]] {
        let mut spec = story.spec(port);
        story.stop(&[port]);
        spec.address = format!("127.0.0.2:{port}");
        story.pass(1.0);
        story.database.start_process(spec);
        story.pass(90.0);
    }
    assert_eq!(story.database.copies().unwrap(), Copies { wanted: 3, kept: 3, served: 3 });
    assert_eq!(story.database.data_lost(), None);
    assert!(story.database.exclusions_in_progress().is_empty());
    let status = story.status();
    assert_eq!(status["client"]["database_status"], json!({"available": true, "healthy": true}));
    let moved =
        status["cluster"]["processes"].as_object().unwrap().values().find(|it| it["address"] == "127.0.0.2:4704").unwrap();
    assert_eq!(moved["roles"][0]["role"], "storage");
}

#[test]
fn coordinators_may_have_names() {
    let mut story = twelve();
    for port in [4701, 4702, 4703] {
        let mut spec = story.spec(port);
        spec.name = Some(format!("pod-{port}.svc:{port}"));
        story.stop(&[port]);
        story.database.start_process(spec);
    }
    story.pass(10.0);
    let names = [4701, 4702, 4703].map(|port| format!("pod-{port}.svc:{port}")).to_vec();
    story.commit(Management::Coordinators(names)).unwrap();
    assert_eq!(story.with_role("coordinator"), [4701, 4702, 4703]);
    // A name outlives the address.
    let mut spec = story.spec(4701);
    spec.name = Some("pod-4701.svc:4701".into());
    spec.address = "127.0.0.2:4701".into();
    story.stop(&[4701]);
    story.database.start_process(spec);
    story.stop(&[4702]);
    story.pass(10.0);
    assert!(story.database.available());
}
