//! What survives what: the losses that were tried on real clusters of several datacenters and halls, and how they ended.

use serde_json::Value;

use crate::story::{Story, address, recording};

/// What is left of a cluster after a loss.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    Down,
    /// Zones that may fail without losing availability, and without losing data.
    Up(i64, i64),
}

/// The database of a recorded cluster with these coordinators, led from one of these ports.
fn cluster(name: &str, coordinators: &[u16], led_from: &[u16]) -> Story {
    let mut recorded = recording(name);
    let addresses: Vec<String> = coordinators.iter().map(|port| address(*port)).collect();
    recorded["cluster"]["connection_string"] = format!("losses:id@{}", addresses.join(",")).into();
    let mut story = Story::created(&recorded);
    let mut leader = story.with_role("cluster_controller")[0];
    while !led_from.contains(&leader) {
        story.lead_from_elsewhere(&[leader]);
        leader = story.with_role("cluster_controller")[0];
    }
    story
}

fn lose(story: &mut Story, ports: &[u16]) -> Left {
    story.stop(ports);
    story.pass(30.0);
    let status: Value = story.status();
    if status["client"]["database_status"]["available"] != true {
        return Left::Down;
    }
    let tolerance = |name: &str| status["cluster"]["fault_tolerance"][name].as_i64().unwrap();
    Left::Up(tolerance("max_zone_failures_without_losing_availability"), tolerance("max_zone_failures_without_losing_data"))
}

#[test]
fn six_processes_survive_a_datacenter_and_no_coordinator_more() {
    let coordinators = [4730, 4731, 4732, 4733, 4734];
    let mut story = cluster("three_datacenter-6proc-healthy", &coordinators, &[4730, 4731]);
    assert_eq!(lose(&mut story, &[4734, 4735]), Left::Up(-1, 1), "the datacenter with one coordinator");
    let mut story = cluster("three_datacenter-6proc-healthy", &coordinators, &[4730, 4731]);
    assert_eq!(lose(&mut story, &[4730, 4731]), Left::Up(-1, 0), "a datacenter with two");
    assert_eq!(lose(&mut story, &[4732]), Left::Down, "and a coordinator");
}

#[test]
fn nine_processes_with_nine_coordinators_survive_a_datacenter_and_a_zone() {
    let coordinators: Vec<u16> = (4740..=4748).collect();
    let mut story = cluster("three_datacenter-healthy", &coordinators, &[4740, 4741, 4742]);
    assert!(matches!(lose(&mut story, &[4746, 4747, 4748]), Left::Up(0, _)));
    assert!(matches!(lose(&mut story, &[4745]), Left::Up(-1, 0)));
    assert_eq!(lose(&mut story, &[4743]), Left::Down, "four of nine coordinators are left");
    story.start(&[4743, 4745, 4746, 4747, 4748]);
    story.pass(3.0);
    assert!(story.database.available(), "all come back by starting the processes");
}

#[test]
fn nine_processes_with_five_coordinators_survive_a_zone_that_holds_none() {
    let coordinators = [4740, 4741, 4743, 4744, 4746];
    let mut story = cluster("three_datacenter-healthy", &coordinators, &[4740, 4741, 4742]);
    assert_eq!(lose(&mut story, &[4743, 4744, 4745, 4747]), Left::Up(-1, 0));
    assert_eq!(lose(&mut story, &[4746]), Left::Down);
}

#[test]
fn fifteen_processes_survive_a_datacenter_and_two_zones() {
    let coordinators = [4740, 4741, 4742, 4745, 4746, 4747, 4750, 4751, 4752];
    let mut story = cluster("three_datacenter-15proc-healthy", &coordinators, &[4744]);
    assert!(matches!(lose(&mut story, &[4740, 4741, 4742, 4743, 4744]), Left::Up(1, 1)), "with the leader in it");
    assert!(matches!(lose(&mut story, &[4750]), Left::Up(0, 0)), "a zone with a coordinator");
    assert!(matches!(lose(&mut story, &[4753]), Left::Up(_, 0)), "a zone with a log; a storage process becomes one");
}

#[test]
fn two_zones_for_logs_in_every_hall_do_not_survive_a_hall_and_a_zone_and_three_do() {
    let coordinators: Vec<u16> = (5000..=5008).collect();
    let mut story = cluster("three_data_hall-9proc-healthy", &coordinators, &[5005, 5008]);
    assert!(matches!(lose(&mut story, &[5000, 5001, 5002]), Left::Up(0, 1)));
    assert_eq!(lose(&mut story, &[5003]), Left::Down, "though five of nine coordinators are there");

    let mut story = cluster("three_data_hall-9proc-healthy", &coordinators, &[5005, 5008]);
    for (like, port) in [(5004, 5104), (5007, 5107)] {
        let mut spec = story.spec(like);
        spec.address = address(port);
        spec.volume = address(port);
        spec.localities.insert("zoneid".into(), format!("zone of {port}"));
        story.database.start_process(spec);
    }
    story.pass(60.0);
    assert!(matches!(lose(&mut story, &[5000, 5001, 5002]), Left::Up(..)));
    assert!(matches!(lose(&mut story, &[5003]), Left::Up(..)), "with a third zone for logs in each of the halls that are left");
}
