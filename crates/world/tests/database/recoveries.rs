//! How many recoveries things cost, and how long the database is down meanwhile.

use quorate_fdb_client::{Answer, Management};

use crate::story::{Story, address, recording};

fn twelve() -> Story {
    let mut cluster = recording("triple-12proc-healthy");
    cluster["cluster"]["connection_string"] = recording("after-exclusion-done")["cluster"]["connection_string"].clone();
    Story::created(&cluster)
}

fn generation(story: &Story) -> u64 {
    story.status()["cluster"]["generation"].as_u64().unwrap()
}

/// How many recoveries follow within a minute, and for how many seconds the database is down.
fn cost(story: &mut Story, deed: impl FnOnce(&mut Story)) -> (u64, f64) {
    let before = generation(story);
    deed(story);
    let mut down = 0.0;
    for _ in 0..600 {
        if !story.database.available() {
            down += 0.1;
        }
        story.pass(0.1);
    }
    ((generation(story) - before) / 2, down)
}

fn bounce(story: &mut Story, ports: &[u16]) {
    story.stop(ports);
    story.pass(0.3);
    story.start(ports);
}

fn assert_near(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1.5, "{what}: {found} s instead of {expected}");
}

#[test]
fn a_bounce_of_everything_costs_two_recoveries() {
    let mut story = twelve();
    let all = story.ports();
    let (recoveries, down) = cost(&mut story, |story| bounce(story, &all));
    assert_eq!(recoveries, 2);
    assert_near(down, 2.1, "all at once");
}

#[test]
fn a_class_at_once_costs_less_than_one_by_one() {
    let mut story = twelve();
    let (recoveries, down) = cost(&mut story, |story| bounce(story, &[4705, 4706, 4707, 4708]));
    assert_eq!(recoveries, 1, "logs");
    assert_near(down, 1.2, "logs");
    let (recoveries, down) = cost(&mut story, |story| bounce(story, &[4709, 4710, 4711]));
    assert_eq!(recoveries, 2, "stateless");
    assert_near(down, 3.0, "stateless");
    let (recoveries, down) = cost(&mut story, |story| bounce(story, &[4700, 4701, 4702, 4703, 4704]));
    assert_eq!(recoveries, 1, "storage, with three of the five coordinators");
    assert_near(down, 0.9, "storage");
    let (recoveries, down) = cost(&mut story, |story| bounce(story, &[4700]));
    assert_eq!((recoveries, down), (0, 0.0), "a storage process");
}

#[test]
fn exclusions_cost_a_recovery_only_where_a_role_is() {
    let mut story = twelve();
    let exclude = |story: &mut Story, who: &str| assert_eq!(story.exclude(&[who]), Ok(Answer::Committed));
    assert_eq!(cost(&mut story, |story| exclude(story, "storage-1")).0, 0, "storage");
    let idle: Vec<u16> = (4705..=4708).filter(|port| !story.with_role("log").contains(port)).collect();
    assert_eq!(cost(&mut story, |story| exclude(story, &format!("log-{}", idle[0] - 4704))).0, 0, "a log without a role");
    let log = story.with_role("log")[0];
    let (recoveries, down) = cost(&mut story, |story| exclude(story, &format!("log-{}", log - 4704)));
    assert_eq!(recoveries, 1, "a log");
    assert_near(down, 0.2, "a log");
    let storage_as_log = story.with_role("log").into_iter().filter(|port| *port < 4705).count();
    assert_eq!(storage_as_log, 1, "with two logs left, a storage process is the third");
    let back = |story: &mut Story| {
        let targets = (1..=4).map(|number| format!("locality_instance_id:log-{number}")).collect();
        story.commit(Management::Include(targets)).unwrap();
    };
    assert_eq!(cost(&mut story, back).0, 1, "a better place for a log appears");
    let nobody = |story: &mut Story| drop(story.commit(Management::Include(vec!["locality_instance_id:nobody".into()])).unwrap());
    assert_eq!(cost(&mut story, nobody).0, 0, "nobody was excluded");
}

#[test]
fn a_change_of_coordinators_costs_one() {
    let mut story = twelve();
    let (recoveries, down) = cost(&mut story, |story| {
        let five = [4700, 4704, 4705, 4707, 4709].map(address).to_vec();
        story.commit(Management::Coordinators(five)).unwrap();
    });
    assert_eq!(recoveries, 1);
    assert!(down <= 1.3, "{down}");
}

#[test]
fn another_class_at_the_next_start_moves_the_data_away() {
    let mut story = twelve();
    let mut spec = story.spec(4704);
    spec.class = "log".into();
    story.stop(&[4704]);
    story.pass(0.3);
    story.database.start_process(spec);
    story.pass(1.0);
    assert!(story.with_role("storage").contains(&4704), "at first it stays");
    story.pass(60.0);
    assert!(!story.with_role("storage").contains(&4704));
    assert_eq!(story.database.copies().map(|copies| copies.served), Some(3));
}

#[test]
fn a_drained_process_that_is_gone_leaves_its_exclusion_behind() {
    let mut story = twelve();
    story.exclude(&["storage-1"]).unwrap();
    story.pass(30.0);
    let (recoveries, _) = cost(&mut story, |story| story.database.lose_volume(&format!("volume of {}", address(4700))));
    assert_eq!(recoveries, 0);
    assert_eq!(story.status()["cluster"]["configuration"]["excluded_servers"][0]["locality"], "locality_instance_id:storage-1");
    assert_eq!(story.look().in_progress, Some(Ok(vec![])));
    story.start(&[4700]);
    story.pass(30.0);
    let status = story.status();
    let back = status["cluster"]["processes"].as_object().unwrap().values().find(|it| it["address"] == address(4700)).unwrap();
    assert_eq!((&back["excluded"], back["roles"].as_array().unwrap().len()), (&true.into(), 0), "still excluded, with no role");
}
