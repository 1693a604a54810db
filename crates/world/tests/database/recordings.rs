//! The model and a real server, in the same situations: the same fields, and the same values where the situation determines them.
//!
//! Each test builds the recorded cluster, brings it into the recorded state, and compares. What is excepted is named with its reason.

use quorate_fdb_client::{Change, Management, Octets};
use quorate_world::database::mode_keys;
use serde_json::Value;

use crate::comparison::differences;
use crate::story::{Story, recording};

/// Which equal process draws which stateless role is chance, and so is whether a second log lands on it.
fn assert_alike(name: &str, model: &Value, except: &[&str]) {
    let found = differences(&recording(name), model, except);
    assert!(found.is_empty(), "{name}:\n{}", found.join("\n"));
}

#[test]
fn a_healthy_triple_cluster() {
    let recorded = recording("triple-12proc-healthy");
    let mut story = Story::of(&recorded);
    story.pass(2.0);
    story.create("triple").unwrap();
    story.pass(47.0);
    assert_alike("triple-12proc-healthy", &story.status(), &[]);
}

/// The twelve processes of the recorded triple cluster with its later coordinators.
fn twelve() -> Value {
    let mut cluster = recording("triple-12proc-healthy");
    cluster["cluster"]["connection_string"] = recording("after-exclusion-done")["cluster"]["connection_string"].clone();
    cluster
}

#[test]
fn healthy_clusters_of_the_other_modes() {
    for (name, seconds) in [
        ("three_datacenter-healthy", 36.6),
        ("three_datacenter-15proc-healthy", 36.2),
        ("three_datacenter-6proc-healthy", 36.2),
        ("three_data_hall-9proc-healthy", 64.0),
        ("double-5proc-healthy", 102.3),
    ] {
        let recorded = recording(name);
        let mut story = Story::of(&recorded);
        story.pass(2.0);
        story.create(recorded["cluster"]["configuration"]["redundancy_mode"].as_str().unwrap()).unwrap();
        story.pass(seconds);
        assert_alike(name, &story.status(), &[]);
    }
}

#[test]
fn a_new_set_of_coordinators_starts_data_distribution_anew() {
    let recorded = recording("three_data_hall-initializing");
    let nine = recorded["cluster"]["connection_string"].as_str().unwrap().split_once('@').unwrap().1;
    let nine: Vec<String> = nine.split(',').map(str::to_owned).collect();
    let mut before = recorded.clone();
    before["cluster"]["connection_string"] = format!("halls:id@{}", nine[..3].join(",")).into();
    let mut story = Story::created(&before);
    story.commit(Management::Coordinators(nine)).unwrap();
    story.pass(20.0);
    assert_alike("three_data_hall-initializing", &story.status(), &[]);
}

#[test]
fn a_single_process_with_memory_storage() {
    let recorded = recording("single-1proc");
    let mut story = Story::of(&recorded);
    story.pass(2.0);
    story.create("single").unwrap();
    story.pass(367.0);
    // It was created with the memory engine.
    assert_alike("single-1proc", &story.status(), &[".cluster.configuration"]);
}

#[test]
fn a_database_that_nobody_created() {
    let mut story = Story::of(&recording("unconfigured"));
    story.pass(2.0);
    assert_alike("unconfigured", &story.status(), &[]);
}

#[test]
fn a_locked_database_under_maintenance() {
    let mut story = Story::created(&recording("double-5proc-healthy"));
    story.database.lock(Some("0123456789abcdef0123456789abcdef"));
    story.commit(Management::Maintain { zone: "zone-4604".into(), seconds: 600 }).unwrap();
    story.pass(0.6);
    assert_alike("double-5proc-locked-maintenance", &story.status(), &[]);
}

#[test]
fn one_process_of_five_is_excluded() {
    let mut story = Story::created(&recording("double-5proc-healthy"));
    let log = story.with_role("log")[2];
    story.commit(Management::Exclude(vec![format!("127.0.0.1:{log}")])).unwrap();
    story.pass(3.6);
    // Its storage role had moved away when it was recorded: it had been excluded before.
    let except = [".cluster.processes.127", ".cluster.configuration", ".roles", ".cluster.clients"];
    assert_alike("double-5proc-excluding-4606", &story.status(), &except);
}

#[test]
fn two_storage_a_log_and_the_master_are_excluded() {
    let mut story = Story::created(&twelve());
    let log = format!("log-{}", story.with_role("log")[1] - 4704);
    let master = format!("stateless-{}", story.with_role("master")[0] - 4708);
    story.exclude(&["storage-1", "storage-2", &log, &master]).unwrap();
    story.pass(6.2);
    let other_places = [".cluster.processes.127", ".cluster.configuration"];
    assert_alike("excluding-several", &story.status(), &[&other_places[..], &[".roles.log"]].concat());
    story.pass(40.0);
    assert_alike(
        "after-exclusion-done",
        &story.status(),
        &[&other_places[..], &[".cluster.processes.*.roles[storage].read"]].concat(),
    );
}

#[test]
fn too_much_storage_is_excluded_and_logs_become_storage() {
    let mut story = Story::created(&twelve());
    story.exclude(&["storage-1", "storage-2", "log-1", "stateless-3"]).unwrap();
    story.pass(60.0);
    story.exclude(&["storage-3"]).unwrap();
    story.pass(60.0);
    assert_alike("excluded-too-many-storage", &story.status(), &[]);
}

#[test]
fn too_many_logs_are_excluded_and_the_database_is_down() {
    let mut story = Story::created(&twelve());
    story.exclude(&["storage-1", "storage-2", "storage-3", "storage-4"]).unwrap();
    story.pass(60.0);
    story.exclude(&["storage-5"]).unwrap();
    story.pass(60.0);
    story.exclude(&["log-1", "log-2", "log-3"]).unwrap();
    story.pass(20.0);
    assert_alike("excluded-too-many-logs", &story.status(), &[]);
}

#[test]
fn dead_coordinators() {
    let mut story = Story::created(&recording("triple-12proc-healthy"));
    story.stop(&[4705]);
    story.pass(13.2);
    // Recorded after four recoveries in a row.
    let except = [".cluster.recovery_state.active_generations", ".cluster.logs", ".roles.log", ".roles.stateless"];
    assert_alike("coordinator-dead", &story.status(), &except);

    let mut story = Story::created(&twelve());
    story.stop(&[4702, 4703]);
    story.pass(58.0);
    assert_alike("two-coordinators-dead", &story.status(), &[]);

    let mut cluster = recording("triple-12proc-healthy");
    let coordinators = recording("majority-of-coordinators-dead")["client"]["coordinators"]["coordinators"].clone();
    let addresses: Vec<&str> = coordinators.as_array().unwrap().iter().map(|it| it["address"].as_str().unwrap()).collect();
    cluster["cluster"]["connection_string"] = format!("sample:id@{}", addresses.join(",")).into();
    let mut story = Story::created(&cluster);
    story.stop(&[4700, 4707, 4709]);
    story.pass(10.0);
    assert_alike("majority-of-coordinators-dead", &story.status(), &[]);
}

#[test]
fn a_dead_storage_process_that_nobody_noticed() {
    let mut story = Story::created(&twelve());
    story.pass(40.0);
    story.stop(&[4704]);
    story.pass(39.0);
    assert_alike("storage-process-dead-not-rereplicated", &story.status(), &[]);
}

#[test]
fn a_zone_under_maintenance_that_is_down() {
    let mut story = Story::created(&twelve());
    story.commit(Management::Maintain { zone: "z-storage-1".into(), seconds: 90 }).unwrap();
    story.pass(2.0);
    story.stop(&[4700]);
    story.pass(75.0);
    assert_alike("maintenance-zone-down", &story.status(), &[]);
}

#[test]
fn all_processes_bounce_at_once() {
    let mut story = Story::created(&twelve());
    let all = story.ports();
    story.stop(&all);
    story.pass(0.3);
    assert_alike("during-bounce-all-down", &story.status(), &[]);
    story.start(&all.iter().copied().filter(|port| *port != 4705).collect::<Vec<_>>());
    story.pass(1.5);
    // Recorded in the middle of a recruitment, of which roles, logs and the numbers of the new leader are chance.
    let except = [".cluster.logs", ".roles", ".cluster.clients", ".cluster.processes.*.roles"];
    assert_alike("during-bounce", &story.status(), &except);
}

/// Nine processes in three datacenters, led from the second, with logs in the two others.
fn three_datacenters() -> Story {
    let mut story = Story::created(&recording("three_datacenter-healthy"));
    story.lead_from_elsewhere(&[4740, 4741, 4742, 4743]);
    story.stop(&[4748]);
    story.pass(1.0);
    story.start(&[4748]);
    story.pass(70.0);
    story
}

#[test]
fn a_datacenter_is_lost_and_then_a_zone() {
    let mut story = three_datacenters();
    story.stop(&[4740, 4741, 4742]);
    story.pass(18.5);
    // A second or a third commit proxy among processes with other duties is chance.
    assert_alike("three_datacenter-one-dc-lost", &story.status(), &[".roles.commit_proxy"]);
    // The old generation of the log is never drained: it waits for storage servers that are gone. In the run that was watched for so long
    // all its logs were alive.
    story.pass(131.5);
    let except = [".cluster.logs", ".roles.log: log of", ".roles.storage: log of", ".roles.commit_proxy"];
    assert_alike("three_datacenter-one-dc-lost-150s", &story.status(), &except);

    let mut story = three_datacenters();
    story.stop(&[4740, 4741, 4742]);
    story.pass(45.0);
    story.stop(&[4743]);
    story.pass(21.7);
    assert_alike("three_datacenter-dc-and-zone-lost", &story.status(), &[]);
}

#[test]
fn a_datacenter_is_lost_on_the_smallest_cluster() {
    let mut story = Story::created(&recording("three_datacenter-6proc-healthy"));
    let controller = story.with_role("cluster_controller")[0];
    assert!([4730, 4731].contains(&controller), "the recorded datacenter was the leader's");
    story.stop(&[4730, 4731]);
    story.pass(16.4);
    // Two processes had been restarted a moment before.
    let except =
        [".cluster.logs", ".roles.unset: log of", ".cluster.recovery_state.active_generations", ".cluster.fault_tolerance"];
    assert_alike("three_datacenter-6proc-one-dc-lost", &story.status(), &except);
    story.stop(&[4732]);
    story.pass(10.0);
    assert_alike("three_datacenter-6proc-dc-and-zone-lost", &story.status(), &[]);
}

#[test]
fn the_fallback_mode_while_a_datacenter_is_lost() {
    let mut story = three_datacenters();
    story.stop(&[4740, 4741, 4742]);
    story.pass(150.0);
    let keys = mode_keys("three_datacenter_fallback").unwrap().into_iter().map(|(key, value)| (key, Octets(value))).collect();
    story.commit(Management::Configure(Change { new: None, keys })).unwrap();
    story.pass(52.5);
    let except = [".cluster.logs", ".roles", ".cluster.recovery_state.active_generations", ".cluster.data"];
    assert_alike("three_datacenter_fallback-one-dc-lost", &story.status(), &except);
}

#[test]
fn connection_strings_that_lead_nowhere() {
    let mut story = Story::created(&recording("double-5proc-healthy"));
    story.pass(1.0);
    assert_alike("no-cluster-controller", &story.database.status("ctwo:wrong@127.0.0.1:4602"), &[]);
    assert_alike("coordinators-unreachable", &story.database.status("ctwo:wrong@127.0.0.1:4901"), &[]);
}

#[test]
fn a_hall_is_lost_and_then_a_zone() {
    let mut story = Story::created(&recording("three_data_hall-9proc-healthy"));
    story.lead_from_elsewhere(&[5002]);
    story.stop(&[5000, 5001, 5002]);
    story.pass(10.7);
    let except = [".cluster.recovery_state.active_generations", ".cluster.logs", ".roles.log", ".roles.storage: log of"];
    assert_alike("three_data_hall-hall-lost", &story.status(), &except);
    story.stop(&[5003]);
    story.pass(20.0);
    assert_alike(
        "three_data_hall-hall-and-zone-lost",
        &story.status(),
        &[".roles.log: log of", ".cluster.processes.*.roles[log]"],
    );
}
