//! A cluster comes into the world, once.

use super::cluster::{Cluster, codes, told};
use crate::ProcessClass::{Coordinator, Log, Storage};
use crate::{RedundancyMode, Topology, Zone};

#[test]
fn a_new_cluster_is_made_in_order_and_then_comes_to_rest() {
    let mut cluster = Cluster::new(&[(Storage, 3), (Log, 1)]);
    let first = told(&cluster.round(5));
    assert_eq!(
        first,
        [
            "create service sample",
            "create the ConfigMap",
            "create claim sample-log-1-data",
            "create claim sample-storage-2-data",
            "create claim sample-storage-3-data",
            "create claim sample-storage-4-data",
            "create pod sample-log-1",
            "create pod sample-storage-2",
            "create pod sample-storage-3",
            "create pod sample-storage-4",
            "create the disruption budget",
        ]
    );
    let later = cluster.rounds(20);
    assert_eq!(later.first().map(String::as_str), Some("write the ConfigMap"), "with the first coordinators: {later:?}");
    assert_eq!(later.iter().filter(|step| *step == "create the database").count(), 1, "{later:?}");
}

#[test]
fn a_cluster_at_rest_has_nothing_to_do_and_nothing_to_write() {
    let cluster = Cluster::usual();
    let decision = cluster.decided();
    assert_eq!((told(&decision), codes(&decision)), (vec![], vec![]));
    assert_eq!(decision.status.reconciled, Some(1));
    assert_eq!(decision.status.groups, cluster.kube.recorded.groups);
}

#[test]
fn no_server_runs_before_there_are_coordinators() {
    let mut cluster = Cluster::new(&[(Storage, 3), (Log, 1)]);
    cluster.unplaceable = ["storage-2", "storage-3"].map(str::to_owned).into();
    let decisions: Vec<_> = (0..10).map(|_| cluster.round(5)).collect();
    assert!(decisions.iter().skip(1).all(|decision| codes(decision).contains(&"WaitingForCoordinators")));
    assert!(cluster.database.servers.is_empty());
    assert_eq!(cluster.kube.recorded.connection, None);
}

#[test]
fn where_pods_have_two_addresses_coordinators_are_written_by_the_one_that_servers_announce() {
    for (family, begins) in [(None, "198.18."), (Some(4), "198.18."), (Some(6), "[fd00::")] {
        let mut cluster = Cluster::new(&[(Storage, 3), (Log, 1)]);
        cluster.desired.routing.dns_in_cluster_file = false;
        cluster.desired.routing.family = family;
        let first = cluster.decided();
        cluster.carry_out(&first);
        for (number, pod) in cluster.kube.pods.values_mut().enumerate() {
            pod.addresses = vec![format!("198.18.0.{number}"), format!("fd00::{number}")];
        }
        let written = cluster.decided().status.connection.unwrap_or_default();
        let coordinators: Vec<&str> = written.split_once('@').map_or(vec![], |(_, all)| all.split(',').collect());
        assert!(coordinators.len() == 3 && coordinators.iter().all(|one| one.starts_with(begins)), "{family:?}: {written}");
    }
}

#[test]
fn where_a_variable_names_the_zone_of_pods_coordinators_wait_until_monitors_say_what_it_is() {
    let mut cluster = Cluster::new(&[(Storage, 4), (Log, 1)]);
    cluster.desired.topology = Topology { zone: Zone::Pod, zone_variable: Some("RACK".to_owned()), ..Topology::default() };
    let first = cluster.decided();
    cluster.carry_out(&first);
    assert_eq!(cluster.decided().status.connection, None, "all of them might be in one rack");
    for (id, rack) in [("log-1", "a"), ("storage-2", "a"), ("storage-3", "a"), ("storage-4", "b"), ("storage-5", "c")] {
        cluster.pod(id).environment.insert("RACK".to_owned(), rack.to_owned());
    }
    let written = cluster.decided().status.connection.unwrap_or_default();
    assert_eq!(written.split(',').count(), 3);
    assert!(["log-1", "storage-4", "storage-5"].iter().all(|id| written.contains(&format!("sample-{id}."))), "{written}");
}

#[test]
fn a_coordinator_is_chosen_without_the_late_ones_only_after_a_while() {
    let mut cluster = Cluster::new(&[(Storage, 5), (Log, 3)]);
    cluster.unplaceable.insert("storage-8".to_owned());
    cluster.rounds(10);
    assert_eq!(cluster.kube.recorded.connection, None, "the last one may still come");
    cluster.pass(300);
    cluster.rounds(2);
    assert!(cluster.kube.recorded.connection.is_some());
}

#[test]
fn the_database_is_not_created_while_processes_are_still_joining() {
    let mut cluster = Cluster::new(&[(Storage, 3), (Log, 3)]);
    cluster.dead = ["storage-4", "storage-5", "storage-6"].map(str::to_owned).into();
    cluster.rounds(3);
    let decision = cluster.round(5);
    assert_eq!(told(&decision), [""; 0]);
    assert!(codes(&decision).contains(&"WaitingForProcesses"), "{decision:#?}");
    cluster.dead.clear();
    cluster.until(|decision| told(decision) == ["create the database"]);
}

/// A database that nobody created answers after half a minute. So it is not asked, and the pods are gone by.
fn unasked() -> Cluster {
    let mut cluster = Cluster::new(&[(Storage, 3), (Log, 3)]);
    cluster.unasked = true;
    cluster
}

#[test]
fn a_database_that_was_not_asked_is_created_as_soon_as_every_monitor_has_its_coordinators() {
    let mut cluster = unasked();
    cluster.until(|decision| told(decision).contains(&"create pod sample-storage-6".to_owned()));
    cluster.pass(1);
    cluster.out_of_date.insert("sample-storage-6".to_owned());
    let done = cluster.rounds(10);
    assert!(!done.contains(&"create the database".to_owned()), "one monitor has not started its server: {done:?}");
    let hold = cluster.decided().holds.into_iter().find(|hold| hold.reason.0 == "WaitingForProcesses").unwrap();
    assert_eq!((hold.measured.as_str(), hold.threshold.as_str()), ("5 of 6 processes", "all of them"));
    cluster.out_of_date.clear();
    let decision = cluster.until(|decision| told(decision) == ["create the database"]);
    assert_eq!(decision.steps[0].why, "nobody has created the database yet; it is created as double");
    cluster.until(|decision| decision.status.configured);
}

#[test]
fn who_is_late_is_waited_for_but_not_for_ever() {
    let mut cluster = unasked();
    cluster.unplaceable.insert("storage-6".to_owned());
    assert!(!cluster.rounds(20).contains(&"create the database".to_owned()));
    cluster.pass(300);
    assert!(cluster.rounds(3).contains(&"create the database".to_owned()));
}

#[test]
fn logs_alone_make_no_database_however_long_storage_was_waited_for() {
    let mut cluster = unasked();
    cluster.unplaceable.extend(["storage-4", "storage-5"].map(str::to_owned));
    cluster.rounds(20);
    cluster.pass(600);
    assert!(!cluster.rounds(20).contains(&"create the database".to_owned()), "storage is in one zone for two copies");
    cluster.unplaceable.remove("storage-4");
    cluster.until(|decision| told(decision).contains(&"create the database".to_owned()));
}

/// What the creation of a database waits for, in a sentence and in numbers.
fn waits_for(cluster: &Cluster) -> (String, String, String) {
    let hold = cluster.decided().holds.into_iter().find(|hold| hold.reason.0 == "WaitingForProcesses").unwrap();
    (hold.sentence, hold.measured, hold.threshold)
}

#[test]
fn which_class_lacks_zones_is_said_with_its_own_numbers() {
    let mut cluster = unasked();
    cluster.unplaceable.extend(["storage-4", "storage-5"].map(str::to_owned));
    cluster.rounds(2);
    cluster.pass(600);
    cluster.rounds(3);
    let (sentence, measured, threshold) = waits_for(&cluster);
    assert_eq!(sentence, "the database is not created yet: double needs storage processes in 2 zones");
    assert_eq!(
        (measured.as_str(), threshold.as_str()),
        ("4 of 6 processes, storage in 1 zones", "all of them, storage in 2 zones")
    );
    // Four copies of the log need a zone more than three of the data do.
    let mut cluster = over_halls(&[(Storage, 3), (Log, 3), (Coordinator, 9)], 9);
    let done = rounds_in_racks(&mut cluster, 20, |node| node % 3);
    assert!(!done.contains(&"create the database".to_owned()), "{done:?}");
    let (sentence, measured, threshold) = waits_for(&cluster);
    assert_eq!(sentence, "the database is not created yet: three_data_hall needs log or storage processes in 4 zones");
    assert_eq!(
        (measured.as_str(), threshold.as_str()),
        ("15 of 15 processes, log or storage in 3 zones", "all of them, log or storage in 4 zones")
    );
}

#[test]
fn a_database_that_spans_halls_is_not_created_before_three_are_there() {
    let mut cluster = over_halls(&[(Storage, 5), (Log, 5), (Coordinator, 9)], 9);
    let in_halls = |halls: usize| {
        move |report: &mut crate::DatabaseReport| {
            for (index, process) in report.processes.values_mut().enumerate() {
                process.hall = Some(format!("hall-{}", index % halls));
            }
        }
    };
    cluster.spoil(in_halls(1));
    let done = rounds_in_racks(&mut cluster, 60, |node| node % 3);
    assert!(!done.contains(&"create the database".to_owned()), "{done:?}");
    let (sentence, measured, threshold) = waits_for(&cluster);
    assert_eq!(
        sentence,
        "the database is not created yet: three_data_hall needs storage or log processes in three halls or datacenters"
    );
    assert!(measured.starts_with("hall-0 with ") && threshold == "exactly 3, 2 of them with 2 zones", "{measured}, {threshold}");
    cluster.spoil(in_halls(3));
    assert!(cluster.rounds(10).contains(&"create the database".to_owned()));
}

#[test]
fn a_database_that_was_asked_and_did_not_answer_is_not_created() {
    let mut cluster = unasked();
    cluster.rounds(2);
    cluster.unasked = false;
    cluster.silent_since = Some(cluster.now);
    assert!(!cluster.rounds(20).contains(&"create the database".to_owned()));
}

#[test]
fn a_database_is_never_created_twice_even_if_its_coordinators_know_nothing_of_it() {
    let mut cluster = Cluster::usual();
    cluster.database.keys.clear();
    let done = cluster.rounds(20);
    assert!(!done.contains(&"create the database".to_owned()), "{done:?}");
}

#[test]
fn who_goes_on_after_a_crash_creates_the_same_database() {
    let mut cluster = Cluster::new(&[(Storage, 3), (Log, 1)]);
    let first = cluster.until(|decision| told(decision) == ["create the database"]);
    cluster.database.keys.clear();
    assert_eq!(cluster.decided().steps, first.steps);
}

#[test]
fn a_running_database_is_joined_and_not_created() {
    let mut cluster = Cluster::new(&[(Storage, 3), (Log, 1)]);
    cluster.desired.seed_connection = Some("other:abc@192.0.2.1:4501".to_owned());
    let done = cluster.rounds(10);
    assert!(!done.contains(&"create the database".to_owned()));
    assert_eq!(cluster.kube.config_map.as_ref().unwrap().data["cluster-file"], "other:abc@192.0.2.1:4501");
    // Where nobody answers there, that is said as loudly as of one's own.
    cluster.spoil(|report| {
        report.available = false;
        report.coordinators = vec![crate::report::CoordinatorReport { address: "192.0.2.1:4501".to_owned(), reachable: false }];
    });
    let codes = codes(&cluster.decided());
    assert!(codes.contains(&"CoordinatorsLost") && codes.contains(&"DatabaseUnavailable"), "{codes:?}");
}

#[test]
fn where_the_first_coordinators_are_known_by_addresses_that_are_gone_that_is_said() {
    let mut cluster = Cluster::new(&[(Storage, 4), (Log, 4)]);
    cluster.desired.routing.dns_in_cluster_file = false;
    cluster.unasked = true;
    cluster.until(|decision| decision.status.connection.is_some());
    for (number, pod) in cluster.kube.pods.values_mut().enumerate() {
        pod.addresses = vec![format!("10.9.9.{number}")];
    }
    let decision = cluster.decided();
    assert!(codes(&decision).contains(&"CoordinatorsLost"), "{:#?}", decision.holds);
    assert!(!told(&decision).contains(&"create the database".to_owned()));
}

/// Monitors say in which racks their pods are, by the number of the node.
fn in_racks(cluster: &mut Cluster, rack: impl Fn(usize) -> usize) {
    for pod in cluster.kube.pods.values_mut() {
        let number: usize = pod.node.as_ref().and_then(|node| node.rsplit('-').next()?.parse().ok()).unwrap_or(0);
        pod.environment.insert("RACK".to_owned(), format!("rack-{}", rack(number)));
    }
}

fn rounds_in_racks(cluster: &mut Cluster, rounds: usize, rack: impl Fn(usize) -> usize) -> Vec<String> {
    let mut done = Vec::new();
    for _ in 0..rounds {
        in_racks(cluster, &rack);
        done.extend(told(&cluster.round(5)));
    }
    done
}

/// A cluster on so many nodes, each process of which is in the hall that its rack is.
fn over_halls(counts: &[(crate::ProcessClass, u32)], nodes: usize) -> Cluster {
    let mut cluster = Cluster::new(counts);
    cluster.nodes = (1..=nodes).map(|node| format!("node-{node}")).collect();
    cluster.desired.database.redundancy_mode = RedundancyMode::ThreeDataHall;
    for template in cluster.desired.templates.values_mut() {
        template.parameters = vec![("locality_data_hall".to_owned(), "$RACK".to_owned())];
    }
    cluster
}

#[test]
fn where_a_variable_names_the_zone_of_nodes_what_it_says_counts_before_any_server_runs() {
    for (racks, born) in [(1, false), (3, true)] {
        let mut cluster = Cluster::new(&[(Storage, 6), (Log, 6)]);
        cluster.unasked = true;
        let label = "kubernetes.io/hostname".to_owned();
        cluster.desired.topology =
            Topology { zone: Zone::Node { label, value_from: Some("$RACK".to_owned()) }, ..Topology::default() };
        let done = rounds_in_racks(&mut cluster, 100, |node| node % racks);
        assert_eq!(done.contains(&"create the database".to_owned()), born, "{racks} racks: {:?}", cluster.decided().holds);
    }
}

#[test]
fn halls_are_known_by_what_servers_were_started_with() {
    for (halls, born) in [(2, false), (3, true)] {
        let mut cluster = over_halls(&[(Storage, 5), (Log, 5), (Coordinator, 9)], 9);
        cluster.unasked = true;
        let done = rounds_in_racks(&mut cluster, 60, |node| node % halls);
        assert_eq!(done.contains(&"create the database".to_owned()), born, "{halls} halls: {:?}", cluster.decided().holds);
    }
}

#[test]
fn no_hall_has_a_majority_of_the_coordinators() {
    // Nine nodes are in the first hall, three in each of the others.
    let hall = |node: usize| if node <= 9 { 0 } else { node / 13 + 1 };
    let mut cluster = over_halls(&[(Storage, 5), (Log, 5), (Coordinator, 15)], 15);
    rounds_in_racks(&mut cluster, 20, hall);
    let connection = cluster.kube.recorded.connection.clone().unwrap();
    let mut halls = std::collections::BTreeMap::<&str, usize>::new();
    for (_, pod) in cluster.kube.pods.iter().filter(|(name, _)| connection.contains(&format!("{name}."))) {
        *halls.entry(pod.environment["RACK"].as_str()).or_default() += 1;
    }
    assert_eq!(halls.values().copied().collect::<Vec<_>>(), [3, 3, 3], "{connection} {:?}", cluster.decided().holds);
}

#[test]
fn with_fewer_than_three_zones_in_a_hall_five_coordinators_make_do_and_what_that_means_is_said() {
    let hall = |node: usize| if node <= 4 { 0 } else { node / 9 + 1 };
    let mut cluster = over_halls(&[(Storage, 5), (Log, 5), (Coordinator, 10)], 10);
    rounds_in_racks(&mut cluster, 10, hall);
    assert_eq!(cluster.kube.recorded.connection, None, "there may be more to come");
    cluster.pass(300);
    in_racks(&mut cluster, hall);
    let decision = cluster.round(5);
    let connection = decision.status.connection.clone().unwrap();
    assert_eq!(connection.matches(":4501").count(), 5, "{connection}");
    assert!(decision.notices.iter().any(|notice| notice.reason == "TooFewCoordinators"), "{:?}", decision.notices);
}

#[test]
fn monitors_that_write_nothing_down_may_not_be_allowed_to() {
    let mut cluster = unasked();
    cluster.until(|decision| decision.status.connection.is_some());
    for pod in cluster.kube.pods.values_mut() {
        pod.environment.clear();
        pod.active_configuration = None;
    }
    cluster.now += jiff::SignedDuration::from_secs(60);
    let (sentence, ..) = waits_for(&cluster);
    assert!(sentence.ends_with("have said nothing for 60 s: may their service account patch pods?"), "{sentence}");
}
