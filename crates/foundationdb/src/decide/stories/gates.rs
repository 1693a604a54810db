//! Every gate keeps something from happening; each is taken away to see that it was the gate.

use jiff::SignedDuration;
use quorate_quorum::{Epoch, Gate};

use super::cluster::{Cluster, group_id, told};
use super::moves;
use crate::ProcessClass::{Log, Stateless, Storage};
use crate::{BucketLimits, ClassTemplate, PodPhase, PodUpdate, decide};

/// For each gate that decisions pass, whether what it keeps from happening happens.
const DANGERS: [(Gate, fn() -> bool); 19] = [
    (Gate::EpochFence, an_old_leader_acts),
    (Gate::Skip, a_skipped_cluster_is_changed),
    (Gate::OnlyOurPods, somebody_elses_pod_is_deleted),
    (Gate::EnoughZonesAtBirth, a_database_is_created_in_one_zone),
    (Gate::ReplacesOnlyWhenAvailable, a_group_is_replaced_while_the_database_is_down),
    (Gate::ReplacementBuckets, two_are_replaced_at_once),
    (Gate::WholeBeforeDisruption, a_zone_goes_while_a_copy_is_lost),
    (Gate::EligibleCoordinators, a_coordinator_is_chosen_that_is_to_go),
    (Gate::WholeReport, a_process_is_excluded_by_a_partial_report),
    (Gate::CoordinatorsFirst, a_coordinator_is_excluded),
    (Gate::ExclusionHeadroom, a_process_is_excluded_before_its_successor_serves),
    (Gate::ZonesForCopies, a_zone_too_many_is_excluded),
    (Gate::DrainedBeforeRemoval, a_volume_goes_with_data_on_it),
    (Gate::ConfigurationEverywhere, servers_restart_with_old_arguments),
    (Gate::UptimeBeforeRestart, servers_restart_that_just_started),
    (Gate::RecoverySpacing, one_recovery_follows_another_at_once),
    (Gate::MovesAtOnce, everybody_moves_at_once),
    (Gate::EnoughDomains, too_few_domains_are_left),
    (Gate::CoordinatorMajority, two_of_three_coordinators_go_at_once),
];

#[test]
fn gates_stand() {
    for (gate, happens) in DANGERS {
        assert!(!happens(), "{} is open", gate.name());
    }
}

#[test]
fn without_a_gate_the_danger_is_real() {
    for (gate, happens) in DANGERS {
        assert!(gate.removed_during(happens), "nobody notices that {} is gone", gate.name());
    }
}

fn everybody_moves_at_once() -> bool {
    let mut cluster = Cluster::usual();
    moves::into(&mut cluster, 2);
    let marked = cluster.decided().status.groups.into_values().filter(|group| group.removal.is_some() && group.class == Storage);
    marked.count() > 2
}

fn too_few_domains_are_left() -> bool {
    let mut cluster = moves::packed(4, 2);
    for group in ["storage-6", "storage-7", "storage-8", "storage-9"] {
        let pod = cluster.pod(group);
        (pod.node, pod.ready, pod.phase) = (None, false, PodPhase::Pending);
        cluster.unplaceable.insert(group.to_owned());
    }
    let decision = cluster.decided();
    cluster.carry_out(&decision);
    cluster.pass(400);
    !cluster.decided().status.set_aside.is_empty()
}

fn two_of_three_coordinators_go_at_once() -> bool {
    let cluster = moves::several_coordinators_in_a_domain();
    let gone = told(&cluster.decided());
    let goes =
        |address: &&String| gone.iter().any(|step| step.strip_prefix("delete pod ").is_some_and(|pod| address.starts_with(pod)));
    cluster.database.coordinators.iter().filter(goes).count() > 1
}

fn does(cluster: &Cluster, what: &str) -> bool {
    told(&cluster.decided()).iter().any(|step| step.starts_with(what))
}

/// Whether something is done within so many rounds.
fn ever(mut cluster: Cluster, rounds: usize, what: impl Fn(&str) -> bool) -> bool {
    (0..rounds).any(|_| {
        cluster.pass(5);
        let decision = cluster.decided();
        cluster.carry_out(&decision);
        told(&decision).iter().any(|step| what(step))
    })
}

fn an_old_leader_acts() -> bool {
    let mut cluster = Cluster::usual();
    cluster.kube.pods.remove("sample-storage-8");
    cluster.kube.recorded.epoch = Epoch(7);
    does(&cluster, "create pod")
}

fn a_skipped_cluster_is_changed() -> bool {
    let mut cluster = Cluster::usual();
    cluster.kube.pods.remove("sample-storage-8");
    cluster.desired.skip = true;
    does(&cluster, "create pod")
}

fn somebody_elses_pod_is_deleted() -> bool {
    let mut cluster = Cluster::usual();
    cluster.pod("storage-8").owner = Some("somebody else".to_owned());
    cluster.pod("storage-8").phase = PodPhase::Failed;
    does(&cluster, "delete pod")
}

fn a_database_is_created_in_one_zone() -> bool {
    let mut cluster = Cluster::new(&[(Storage, 3), (Log, 3)]);
    cluster.dead = ["storage-4", "storage-5", "storage-6"].map(str::to_owned).into();
    ever(cluster, 5, |step| step == "create the database")
}

fn is_marked_after_two_hours(mut cluster: Cluster, ids: &[&str]) -> usize {
    for id in ids {
        cluster.kill(id);
    }
    cluster.rounds(3);
    cluster.pass(7200);
    cluster.decided().status.groups.values().filter(|group| group.removal.is_some()).count()
}

fn a_group_is_replaced_while_the_database_is_down() -> bool {
    let mut cluster = Cluster::usual();
    cluster.spoil(|report| report.available = false);
    is_marked_after_two_hours(cluster, &["storage-8"]) > 0
}

fn two_are_replaced_at_once() -> bool {
    let mut cluster = Cluster::usual();
    cluster.desired.automation.replacements.buckets = Some(BucketLimits { storage: 1, log: 1, stateless: 1 });
    is_marked_after_two_hours(cluster, &["storage-8", "storage-9"]) > 1
}

fn a_zone_goes_while_a_copy_is_lost() -> bool {
    let mut cluster = Cluster::usual();
    cluster.kill("storage-8");
    cluster.rounds(3);
    cluster.desired.image = "fdb:another".to_owned();
    cluster.desired.automation.pod_update = PodUpdate::Delete;
    does(&cluster, "delete pod")
}

fn a_coordinator_is_chosen_that_is_to_go() -> bool {
    let mut cluster = Cluster::usual();
    cluster.kube.recorded.groups.get_mut(&group_id("log-4")).unwrap().removal = Some(cluster.now);
    cluster.unplaceable.insert("log-12".to_owned());
    cluster.kill("log-1");
    ever(cluster, 40, |step| step.starts_with("coordinators") && step.contains("log-4"))
}

fn a_process_is_excluded_by_a_partial_report() -> bool {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.round(5);
    // The successor starts, and then says who it is.
    cluster.pass(10);
    cluster.pass(10);
    cluster.complains_of("unreadable_configuration");
    does(&cluster, "exclude")
}

fn a_coordinator_is_excluded() -> bool {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("log-1".to_owned());
    cluster.desired.automation.timers.recovery_before_undesired_coordinator = SignedDuration::from_hours(10);
    cluster.round(5);
    // The successor starts, and then says who it is.
    cluster.pass(10);
    cluster.pass(10);
    does(&cluster, "exclude")
}

fn a_process_is_excluded_before_its_successor_serves() -> bool {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("storage-8".to_owned());
    does(&cluster, "exclude")
}

fn a_zone_too_many_is_excluded() -> bool {
    let mut cluster = Cluster::at_rest(&[(Storage, 2), (Log, 3)]);
    cluster.desired.counts.insert(Storage, 1);
    ever(cluster, 3, |step| step.starts_with("exclude"))
}

fn a_volume_goes_with_data_on_it() -> bool {
    let mut cluster = Cluster::usual();
    cluster.database.drains_in = SignedDuration::from_hours(10);
    cluster.desired.remove.insert("storage-8".to_owned());
    ever(cluster, 10, |step| step.starts_with("delete claim"))
}

fn with_a_new_knob() -> Cluster {
    let mut cluster = Cluster::usual();
    for class in [Storage, Log, Stateless] {
        let parameters = vec![("knob_x".to_owned(), "1".to_owned())];
        cluster.desired.templates.insert(class, ClassTemplate { parameters, ..ClassTemplate::default() });
    }
    cluster
}

fn servers_restart_with_old_arguments() -> bool {
    let mut cluster = with_a_new_knob();
    cluster.out_of_date.insert("sample-storage-9".to_owned());
    ever(cluster, 3, |step| step.starts_with("restart"))
}

fn servers_restart_that_just_started() -> bool {
    let mut cluster = with_a_new_knob();
    cluster.desired.automation.kill_processes = false;
    let now = cluster.now;
    cluster.database.servers.values_mut().for_each(|server| server.started = now);
    cluster.pass(10);
    cluster.round(5);
    cluster.pass(5);
    cluster.desired.automation.kill_processes = true;
    does(&cluster, "restart")
}

fn one_recovery_follows_another_at_once() -> bool {
    let mut cluster = with_a_new_knob();
    cluster.round(5);
    let now = cluster.now;
    cluster.database.recover(now);
    cluster.pass(15);
    let mut seen = cluster.seen();
    seen.desired.automation.kill_processes = true;
    told(&decide(&seen)).iter().any(|step| step.starts_with("restart"))
}
