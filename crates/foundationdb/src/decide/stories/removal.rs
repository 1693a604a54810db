//! Process groups go when nothing is left on them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use super::cluster::{Cluster, codes, group_id, told};
use crate::AtOnce;
use crate::ProcessClass::Storage;

/// A cluster from which a storage process group is to go; its data takes ten minutes.
fn one_goes() -> Cluster {
    let mut cluster = Cluster::usual();
    cluster.database.drains_in = SignedDuration::from_mins(10);
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster
}

#[test]
fn pod_and_volume_go_when_the_database_says_so_then_its_place_is_free_and_it_is_forgotten() {
    let mut cluster = one_goes();
    let done = cluster.rounds(100);
    assert!(!done.iter().any(|step| step.starts_with("delete")), "{done:?}");
    assert!(codes(&cluster.decided()).contains(&"ExclusionInProgress"));
    let done = cluster.rounds(60);
    let order: Vec<_> = done.iter().filter(|step| step.starts_with("delete") || step.starts_with("include")).collect();
    assert_eq!(
        order,
        ["delete pod sample-storage-8", "delete claim sample-storage-8-data", "include locality_instance_id:storage-8"]
    );
    assert!(!cluster.kube.recorded.groups.contains_key(&group_id("storage-8")));
    assert!(cluster.database.excluded.is_empty());
}

#[test]
fn an_address_is_free_again_only_some_time_after_the_last_recovery() {
    let mut cluster = one_goes();
    cluster.desired.automation.exclude_by_locality = false;
    let included = |done: &[String]| done.iter().any(|step| step.starts_with("include"));
    cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("delete claim")));
    let now = cluster.now;
    cluster.database.recover(now);
    assert!(!included(&cluster.rounds(119)), "somebody else may have it by now, and become a log at once");
    assert!(codes(&cluster.decided()).contains(&"InclusionHeld"));
    assert!(included(&cluster.rounds(2)));
    cluster.rounds(2);
    assert!(!cluster.kube.recorded.groups.contains_key(&group_id("storage-8")));
}

#[test]
fn nobody_waits_for_the_name_of_a_group_that_is_gone() {
    let mut cluster = one_goes();
    cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("delete claim")));
    let now = cluster.now;
    cluster.database.recover(now);
    assert!(cluster.rounds(3).iter().any(|step| step.starts_with("include")));
}

#[test]
fn one_that_is_being_drained_stays_while_the_database_is_silent() {
    let mut cluster = one_goes();
    cluster.rounds(10);
    cluster.silent_since = Some(cluster.now);
    cluster.pass(3600);
    assert_eq!(told(&cluster.decided()), ["keep 12 pods"], "and nobody else may evict any");
}

#[test]
fn a_marked_pod_that_is_being_deleted_by_somebody_else_keeps_its_volume_while_nobody_knows() {
    let mut cluster = one_goes();
    cluster.until(|decision| decision.status.groups[&group_id("storage-8")].exclusion.is_some());
    let mut cluster = {
        cluster.desired.buggify.block_removal.insert("storage-8".to_owned());
        cluster
    };
    cluster.kube.pods.entry("sample-storage-8".to_owned()).and_modify(|pod| pod.deleted_since = Some(cluster.now));
    let claims = cluster.kube.claims.len();
    cluster.silent_since = Some(cluster.now);
    cluster.rounds(5);
    assert_eq!(cluster.kube.claims.len(), claims);
}

#[test]
fn one_that_vanished_is_not_empty_before_the_database_can_know() {
    let mut cluster = one_goes();
    cluster.rounds(10);
    cluster.kill("storage-8");
    let done = cluster.rounds(17);
    assert!(!done.iter().any(|step| step.starts_with("delete")), "{done:?}");
    assert!(cluster.rounds(10).contains(&"delete claim sample-storage-8-data".to_owned()));
}

#[test]
fn a_log_that_vanished_does_not_wait_for_data_that_is_copied_for_hours() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("log-4".to_owned());
    cluster.kill("log-4");
    cluster.spoil(|report| report.full_replication = Some(false));
    let removed = |done: &[String]| done.contains(&"delete claim sample-log-4-data".to_owned());
    assert!(removed(&cluster.rounds(60)));
    // What it had is needed as long as older generations are.
    let mut cluster = Cluster::usual();
    cluster.desired.remove_without_exclusion.insert("log-4".to_owned());
    cluster.rounds(5);
    cluster.spoil(|report| {
        if let Some(recovery) = &mut report.recovery {
            recovery.active_generations = Some(2);
        }
    });
    cluster.rounds(60);
    assert!(cluster.kube.recorded.groups.contains_key(&group_id("log-4")), "it is remembered for what it held");
}

#[test]
fn after_a_recovery_the_database_needs_its_time_again_to_know_who_vanished() {
    let mut cluster = one_goes();
    cluster.rounds(10);
    cluster.kill("storage-8");
    cluster.rounds(17);
    let now = cluster.now;
    cluster.database.recover(now);
    let done = cluster.rounds(17);
    assert!(!done.iter().any(|step| step.starts_with("delete")), "{done:?}");
    assert!(cluster.rounds(10).contains(&"delete claim sample-storage-8-data".to_owned()));
}

#[test]
fn isolated_and_blocked_ones_stay() {
    let mut cluster = one_goes();
    cluster.pod("storage-8").isolated = true;
    let done = cluster.rounds(200);
    assert!(!done.iter().any(|step| step.starts_with("delete")));
    assert!(codes(&cluster.decided()).contains(&"RemovalHeld"));
    cluster.pod("storage-8").isolated = false;
    cluster.desired.buggify.block_removal.insert("storage-8".to_owned());
    assert!(!cluster.rounds(20).iter().any(|step| step.starts_with("delete")));
    cluster.desired.buggify.block_removal.clear();
    assert!(cluster.rounds(20).contains(&"delete pod sample-storage-8".to_owned()));
}

#[test]
fn one_zone_is_removed_and_then_a_pause() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove = ["storage-8", "log-4", "storage-11"].map(str::to_owned).into();
    let first = cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("delete pod")));
    assert_eq!(told(&first).iter().filter(|step| step.starts_with("delete pod")).count(), 1);
    // The volume takes its time.
    cluster.desired.automation.between_removals = SignedDuration::from_mins(5);
    let done = cluster.rounds(300);
    assert_eq!(done.iter().filter(|step| step.starts_with("delete pod")).count(), 2, "{done:?}");
}

#[test]
fn nothing_is_removed_where_that_was_asked_for() {
    let mut cluster = one_goes();
    cluster.desired.automation.removal = AtOnce::Nothing;
    let done = cluster.rounds(200);
    assert!(!done.iter().any(|step| step.starts_with("delete")));
    assert!(codes(&cluster.decided()).contains(&"RemovalHeld"));
}

#[test]
fn without_exclusion_it_goes_at_once_but_never_as_a_coordinator() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove_without_exclusion = ["storage-8", "log-1"].map(str::to_owned).into();
    let mut done = told(&cluster.round(5));
    assert!(done.contains(&"delete pod sample-storage-8".to_owned()), "{done:?}");
    assert!(!done.contains(&"delete pod sample-log-1".to_owned()));
    done.extend(cluster.rounds(200));
    let at = |what: &str| done.iter().position(|step| step.starts_with(what)).unwrap();
    assert!(at("coordinators") < at("delete pod sample-log-1"));
}

#[test]
fn without_exclusion_nobody_goes_while_the_database_does_not_say_who_its_coordinators_are() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove_without_exclusion.insert("storage-8".to_owned());
    cluster.silent_since = Some(cluster.now);
    let done = cluster.rounds(3);
    assert!(!done.iter().any(|step| step.starts_with("delete")), "{done:?}");
    assert!(codes(&cluster.decided()).contains(&"RemovalHeld"));
    cluster.silent_since = None;
    let done = cluster.rounds(3);
    assert!(done.contains(&"delete claim sample-storage-8-data".to_owned()), "{done:?}");
}

#[test]
fn whom_only_the_newest_connection_string_names_is_a_coordinator_all_the_same() {
    let mut cluster = one_goes();
    cluster.desired.automation.removal = AtOnce::Nothing;
    cluster.until(|decision| decision.status.groups[&group_id("storage-8")].exclusion.is_some());
    cluster.desired.automation.removal = AtOnce::Zone;
    let removed = |cluster: &Cluster| told(&cluster.decided()).contains(&"delete pod sample-storage-8".to_owned());
    assert!(removed(&cluster));
    // Somebody has just made it one, by hand.
    let connection = "sample:another@sample-storage-8.sample.default.svc.cluster.local:4501";
    cluster.spoil(move |report| report.connection = Some(connection.to_owned()));
    assert!(!removed(&cluster));
    assert!(codes(&cluster.decided()).contains(&"CoordinatorGoesFirst"));
}

#[test]
fn who_went_without_exclusion_is_remembered_until_its_copies_were_made_again() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove_without_exclusion.insert("storage-8".to_owned());
    cluster.until(|decision| told(decision).contains(&"delete claim sample-storage-8-data".to_owned()));
    cluster.desired.image = "fdb:another".to_owned();
    // For more than a minute the database still looks perfect.
    let done = cluster.rounds(10);
    assert!(!done.iter().any(|step| step.starts_with("delete pod")), "{done:?}");
    assert!(codes(&cluster.decided()).contains(&"RemovalHeld"));
    let done = cluster.rounds(60);
    assert!(done.iter().any(|step| step.starts_with("delete pod")), "{done:?}");
    assert!(!cluster.kube.recorded.groups.contains_key(&group_id("storage-8")));
}

#[test]
fn two_in_different_zones_go_without_exclusion_only_one_after_the_copies_of_the_other() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove_without_exclusion.insert("storage-8".to_owned());
    let zones: BTreeSet<String> = ["storage-8", "storage-9"].map(|id| cluster.pod(id).node.clone().unwrap()).into();
    assert_eq!(zones.len(), 2);
    cluster.until(|decision| told(decision).contains(&"delete claim sample-storage-8-data".to_owned()));
    // The next one is asked for when pod and volume are gone, and nothing but the database could tell.
    cluster.rounds(2);
    cluster.desired.remove_without_exclusion.insert("storage-9".to_owned());
    let goes = "delete claim sample-storage-9-data".to_owned();
    assert!(!cluster.rounds(10).contains(&goes));
    let held = cluster.decided().holds;
    assert!(held.iter().any(|hold| hold.about == "storage-9" && hold.sentence.contains("storage-8")), "{held:#?}");
    // All at once is all at once.
    let waits = cluster.desired.automation.removal;
    cluster.desired.automation.removal = AtOnce::All;
    assert!(told(&cluster.decided()).contains(&goes));
    cluster.desired.automation.removal = waits;
    assert!(cluster.rounds(60).contains(&goes));
}

#[test]
fn nothing_else_goes_down_while_the_report_still_lists_who_went_without_exclusion() {
    for rolls_later in [false, true] {
        let (gone, disrupted) = disrupted_beside_a_removal(rolls_later);
        assert!(disrupted.is_subset(&gone), "{disrupted:?}, and {gone:?} went without exclusion");
    }
}

/// The zone of who went without exclusion, and those in which pods are made again in the same moment or a moment later.
fn disrupted_beside_a_removal(rolls_later: bool) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut cluster = Cluster::usual();
    cluster.desired.automation.pod_update = crate::PodUpdate::Delete;
    cluster.desired.remove_without_exclusion.insert("storage-8".to_owned());
    let zones: BTreeMap<String, String> =
        cluster.database.servers.iter().map(|(id, server)| (format!("sample-{id}"), server.zone.clone())).collect();
    let before = cluster.database.report(cluster.now);
    cluster.spoil(move |report| report.clone_from(&before));
    let mut done = if rolls_later { told(&cluster.round(1)) } else { Vec::new() };
    cluster.desired.image = "fdb:another".to_owned();
    for _ in 0..4 {
        done.extend(told(&cluster.round(1)));
    }
    let deleted = done.iter().filter_map(|step| step.strip_prefix("delete pod "));
    ([zones["sample-storage-8"].clone()].into(), deleted.map(|pod| zones[pod].clone()).collect())
}

#[test]
fn who_went_without_exclusion_and_held_nothing_is_forgotten_at_once() {
    let mut cluster = Cluster::usual();
    // One that never found a node, and one that holds no copies.
    cluster.unplaceable.insert("storage-12".to_owned());
    cluster.desired.counts.insert(Storage, 5);
    cluster.rounds(3);
    cluster.desired.counts.insert(Storage, 4);
    cluster.desired.remove_without_exclusion = ["storage-12", "stateless-5"].map(str::to_owned).into();
    cluster.rounds(4);
    assert!(!cluster.kube.recorded.groups.contains_key(&group_id("storage-12")));
    assert!(!cluster.kube.recorded.groups.contains_key(&group_id("stateless-5")));
}

#[test]
fn somebody_elses_pod_in_its_place_does_not_make_a_removed_group_come_back() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("storage-8".to_owned());
    let mut others = cluster.pod("storage-8").clone();
    (others.owner, others.phase, others.ready) = (None, crate::PodPhase::Failed, false);
    let include = "include locality_instance_id:storage-8".to_owned();
    cluster.until(|decision| told(decision).contains(&include));
    cluster.kube.pods.insert("sample-storage-8".to_owned(), others.into());
    let done = cluster.rounds(5);
    assert!(!done.iter().any(|step| step.contains("storage-8")), "{done:?}");
    assert!(!cluster.kube.recorded.groups.contains_key(&group_id("storage-8")));
}

#[test]
fn an_empty_coordinator_that_lost_its_pod_gets_it_back_for_the_others_need_it() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("log-1".to_owned());
    cluster.desired.automation.timers.recovery_before_undesired_coordinator = SignedDuration::from_hours(10);
    let address = "sample-log-1.sample.default.svc.cluster.local:4501".to_owned();
    assert!(cluster.database.coordinators.contains(&address), "{:?}", cluster.database.coordinators);
    // Somebody else excluded it, and nothing is left on it but its part in the coordination.
    let now = cluster.now;
    cluster.database.exclude(&["locality_instance_id:log-1".to_owned()], now);
    cluster.until(|decision| decision.status.groups[&group_id("log-1")].exclusion.is_some());
    assert!(cluster.database.coordinators.contains(&address));
    cluster.kube.pods.remove("sample-log-1");
    cluster.kube.claims.remove("sample-log-1-data");
    cluster.kill("log-1");
    cluster.pass(20);
    let done = told(&cluster.decided());
    for made in ["create claim sample-log-1-data", "create pod sample-log-1"] {
        assert!(done.contains(&made.to_owned()), "{done:?}");
    }
    assert!(!done.iter().any(|step| step.starts_with("include")), "its place is not free: {done:?}");
}

#[test]
fn a_place_is_not_free_while_the_database_sees_a_process_of_the_group_there() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.spoil(|report| {
        let named = |process: &crate::ProcessReport| process.group == Some(group_id("storage-8"));
        if !report.processes.values().any(named) {
            let like = report.processes.values().next().cloned();
            let stays = like.map(|like| crate::ProcessReport {
                group: Some(group_id("storage-8")),
                excluded: Some(true),
                roles: std::collections::BTreeSet::new(),
                ..like
            });
            report.processes.extend(stays.map(|process| ("10.9.9.9:4501".to_owned(), process)));
        }
    });
    let done = cluster.rounds(60);
    assert!(done.contains(&"delete claim sample-storage-8-data".to_owned()), "{done:?}");
    assert!(!done.iter().any(|step| step.starts_with("include")), "its node is cut off, and it goes on: {done:?}");
    cluster.unspoil();
    assert!(cluster.rounds(3).contains(&"include locality_instance_id:storage-8".to_owned()));
}

#[test]
fn whose_pod_or_volume_was_made_and_not_seen_yet_is_not_gone() {
    for unseen in ["sample-storage-8", "sample-storage-8-data"] {
        let mut cluster = Cluster::usual();
        cluster.desired.remove.insert("storage-8".to_owned());
        cluster.kube.unseen.insert(unseen.to_owned());
        let done = cluster.rounds(60);
        assert!(!done.iter().any(|step| step.starts_with("include")), "{done:?}");
        cluster.kube.unseen.clear();
        assert!(cluster.rounds(3).contains(&"include locality_instance_id:storage-8".to_owned()));
    }
}

#[test]
fn who_never_ran_and_does_in_the_end_is_drained_before_it_goes() {
    let mut cluster = Cluster::usual();
    cluster.desired.automation.exclude_by_locality = false;
    cluster.desired.automation.removal = AtOnce::Nothing;
    cluster.desired.counts.insert(Storage, 5);
    cluster.unplaceable.insert("storage-12".to_owned());
    cluster.rounds(3);
    cluster.desired.remove.insert("storage-12".to_owned());
    cluster.rounds(10);
    assert!(cluster.group("storage-12").exclusion_skipped);
    // A node is there for it after all, and it gets its share of the data.
    cluster.unplaceable.clear();
    cluster.dead.insert("storage-12".to_owned());
    cluster.rounds(2);
    assert!(!cluster.group("storage-12").exclusion_skipped, "its server is on its way");
    cluster.dead.clear();
    cluster.rounds(5);
    assert!(!cluster.group("storage-12").exclusion_skipped);
    cluster.desired.automation.removal = AtOnce::Zone;
    let done = cluster.rounds(60);
    let at = |what: &str| done.iter().position(|step| step.starts_with(what));
    assert!(at("exclude").is_none_or(|excluded| at("delete pod sample-storage-12").is_none_or(|deleted| excluded < deleted)));
    assert!(cluster.database.excluded.is_empty() || at("delete pod sample-storage-12").is_none(), "{done:?}");
}

#[test]
fn who_is_back_at_another_address_and_has_not_opened_its_disk_is_not_empty_unless_it_never_will() {
    let start = || {
        let mut cluster = one_goes();
        cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("exclude")));
        cluster.rounds(1);
        cluster
    };
    let listed_as = |cluster: &mut Cluster, uptime: Option<f64>, still_known_at: Option<&'static str>| {
        cluster.spoil(move |report| {
            let is_it = |(_, process): &(&String, &crate::ProcessReport)| process.group == Some(group_id("storage-8"));
            if let Some(at) = report.processes.iter().find(is_it).map(|(address, _)| address.clone())
                && let Some(mut process) = report.processes.remove(&at)
            {
                (process.roles, process.uptime) = (BTreeSet::new(), uptime);
                report.processes.insert("10.9.9.8:4501".to_owned(), process);
            }
            report.exclusions_in_progress = Some(still_known_at.into_iter().map(str::to_owned).collect());
        });
    };
    let removed = |cluster: &mut Cluster| cluster.rounds(3).iter().any(|step| step.starts_with("delete"));
    // Its data is known by an address that nobody recorded.
    let mut cluster = start();
    listed_as(&mut cluster, Some(600.0), Some("10.9.9.9:4501"));
    assert!(!removed(&mut cluster));
    // It has just started, in a new pod.
    for uptime in [None, Some(10.0)] {
        let mut cluster = start();
        let now = cluster.now;
        cluster.pod("storage-8").created = now;
        listed_as(&mut cluster, uptime, None);
        assert!(!removed(&mut cluster), "{uptime:?}");
    }
    // It starts again and again in an old one.
    let mut cluster = start();
    listed_as(&mut cluster, Some(10.0), None);
    assert!(removed(&mut cluster));
    let mut cluster = start();
    listed_as(&mut cluster, Some(600.0), None);
    assert!(removed(&mut cluster));
}

#[test]
fn a_claim_that_does_not_go_is_told_of() {
    let mut cluster = Cluster::usual();
    let mut claim = cluster.kube.claims["sample-storage-8-data"].clone();
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.until(|decision| told(decision).contains(&"delete claim sample-storage-8-data".to_owned()));
    claim.deleted_since = Some(cluster.now);
    cluster.kube.claims.insert("sample-storage-8-data".to_owned(), claim);
    assert!(codes(&cluster.decided()).contains(&"ClaimTerminating"), "{:#?}", cluster.decided().holds);
}

#[test]
fn an_address_that_is_somebody_elses_by_now_is_not_excluded() {
    let mut cluster = Cluster::usual();
    cluster.desired.automation.exclude_by_locality = false;
    cluster.desired.remove.insert("storage-8".to_owned());
    cluster.rounds(1);
    let others = cluster.pod("storage-9").addresses[0].clone();
    cluster.kube.recorded.groups.get_mut(&group_id("storage-8")).unwrap().addresses.insert(0, others.clone());
    let done = cluster.rounds(5);
    let excluded: Vec<&String> = done.iter().filter(|step| step.starts_with("exclude")).collect();
    assert!(!excluded.is_empty() && excluded.iter().all(|step| !step.contains(&others)), "{done:?}");
}

#[test]
fn who_vanished_from_where_nobody_saw_it_stays_while_data_moves_away_from_there() {
    let mut cluster = Cluster::usual();
    cluster.kill("storage-8");
    cluster.desired.remove.insert("storage-8".to_owned());
    // It was started elsewhere and died again while nobody looked.
    cluster.spoil(|report| {
        report.exclusions_in_progress.get_or_insert_default().insert("10.9.9.9:4501".to_owned());
    });
    let done = cluster.rounds(100);
    assert!(!done.iter().any(|step| step.starts_with("delete")), "{done:?}");
    assert!(codes(&cluster.decided()).contains(&"ExclusionInProgress"));
    cluster.unspoil();
    assert!(cluster.rounds(60).contains(&"delete claim sample-storage-8-data".to_owned()));
}

#[test]
fn one_that_is_to_go_before_it_had_a_pod_is_not_forgotten_in_the_moment_in_which_it_gets_one() {
    let mut cluster = Cluster::usual();
    cluster.desired.automation.exclude_by_locality = false;
    // It was recorded, and then nothing of it could be made.
    cluster.kube.recorded.groups.insert(group_id("storage-12"), crate::ProcessGroup::new(Storage));
    cluster.desired.remove.insert("storage-12".to_owned());
    for _ in 0..100 {
        let decision = cluster.round(5);
        let (pods, groups) = (&cluster.kube.pods, &decision.status.groups);
        assert!(pods.values().all(|pod| groups.contains_key(pod.group.as_ref().unwrap())), "{:?}", told(&decision));
    }
    assert!(!cluster.kube.recorded.groups.contains_key(&group_id("storage-12")));
}

/// Nobody has on record who went before.
fn lose_the_status(cluster: &mut Cluster) {
    cluster.kube.recorded = crate::Recorded::default();
    cluster.journal = quorate_quorum::Journal::default();
}

#[test]
fn after_a_status_was_lost_nobody_who_serves_goes_without_exclusion_before_the_database_knows_who_went_before() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove_without_exclusion.insert("storage-8".to_owned());
    cluster.until(|decision| told(decision).contains(&"delete claim sample-storage-8-data".to_owned()));
    lose_the_status(&mut cluster);
    cluster.desired.remove_without_exclusion.insert("storage-9".to_owned());
    let goes = "delete claim sample-storage-9-data".to_owned();
    assert!(!cluster.rounds(10).contains(&goes), "the copies of both may be the same");
    let held = cluster.decided().holds;
    assert!(held.iter().any(|hold| hold.about == "storage-9" && hold.sentence.contains("the status was lost")), "{held:#?}");
    assert!(cluster.rounds(60).contains(&goes));
}

#[test]
fn nobody_who_serves_goes_without_exclusion_while_other_copies_are_missing() {
    let mut cluster = Cluster::usual();
    cluster.desired.remove_without_exclusion = ["storage-8", "storage-9"].map(str::to_owned).into();
    cluster.spoil(|report| report.data.as_mut().unwrap().min_replicas_remaining = Some(1));
    // One that is dead has nothing that anybody could lose by its going.
    cluster.kill("storage-8");
    let done = cluster.rounds(20);
    assert!(done.contains(&"delete claim sample-storage-8-data".to_owned()), "{done:?}");
    assert!(!done.contains(&"delete claim sample-storage-9-data".to_owned()), "{done:?}");
}

#[test]
fn two_whose_pods_somebody_else_deletes_go_without_exclusion_one_zone_after_the_other() {
    let mut cluster = Cluster::usual();
    let now = cluster.now;
    for id in ["storage-8", "storage-9"] {
        cluster.pod(id).deleted_since = Some(now);
    }
    cluster.rounds(1);
    cluster.desired.remove_without_exclusion = ["storage-8", "storage-9"].map(str::to_owned).into();
    let claims = |done: Vec<String>| done.into_iter().filter(|step| step.starts_with("delete claim")).count();
    assert_eq!(claims(told(&cluster.round(5))), 1);
    assert_eq!(claims(cluster.rounds(3)), 0, "what went with the first is missing");
}

#[test]
fn who_goes_without_exclusion_waits_for_one_whose_pod_somebody_else_has_deleted() {
    let mut cluster = Cluster::usual();
    let now = cluster.now;
    cluster.pod("storage-8").deleted_since = Some(now);
    cluster.rounds(20);
    cluster.desired.remove_without_exclusion = ["storage-8", "storage-9"].map(str::to_owned).into();
    let done = told(&cluster.round(5));
    let claims: Vec<&String> = done.iter().filter(|step| step.starts_with("delete claim")).collect();
    assert_eq!(claims, ["delete claim sample-storage-8-data"], "the copies of both may be the same");
}

#[test]
fn an_address_that_was_given_to_somebody_who_stays_is_one_where_nobody_is_known_to_have_been() {
    let mut cluster = one_goes();
    cluster.database.drains_in = SignedDuration::ZERO;
    cluster.kill("storage-8");
    let theirs = cluster.pod("stateless-5").addresses[0].clone();
    cluster.spoil(move |report| {
        report.exclusions_in_progress.get_or_insert_default().insert(format!("{theirs}:4501"));
    });
    cluster.rounds(100);
    assert!(cluster.group("storage-8").is_in_flight(), "it may be what storage-8 had, before stateless-5 got its address");
    cluster.unspoil();
    let done = cluster.rounds(5);
    assert!(done.contains(&"delete claim sample-storage-8-data".to_owned()), "{done:?}");
}

#[test]
fn how_much_data_is_left_is_said() {
    let mut cluster = one_goes();
    cluster.spoil(|report| {
        let storage = report.processes.values_mut().filter(|process| process.group == Some(group_id("storage-8")));
        storage.for_each(|process| process.stored = 5 << 30);
    });
    cluster.rounds(5);
    let held = cluster.decided().holds;
    let drains = held.iter().find(|hold| hold.reason.0 == "ExclusionInProgress").unwrap();
    assert_eq!((drains.measured.as_str(), drains.threshold.as_str()), ("less than 8 GiB of data left", "0"));
}
