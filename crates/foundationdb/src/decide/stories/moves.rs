//! Process groups are packed into logical fault domains.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::cluster::{Cluster, told};
use crate::ProcessClass::{Log, Stateless, Storage};
use crate::{Distribution, GroupCondition, PodUpdate, ProcessClass};

const LOGS: (ProcessClass, u32) = (Log, 3);

pub(super) fn packed(storage: u32, domains: u32) -> Cluster {
    let mut cluster = Cluster::new(&[(Storage, storage), LOGS, (Stateless, 2)]);
    cluster.nodes = (1..=9).map(|node| format!("node-{node}")).collect();
    cluster.desired.distribution = Some(Distribution { domains, required: false });
    cluster.settled()
}

pub(super) fn into(cluster: &mut Cluster, domains: u32) {
    cluster.desired.generation += 1;
    cluster.desired.distribution = Some(Distribution { domains, required: false });
}

/// How many live process groups each fault domain of a class holds; those in none count under an empty name.
fn held(cluster: &Cluster, class: ProcessClass) -> BTreeMap<String, usize> {
    let mut held = BTreeMap::new();
    for group in cluster.kube.recorded.groups.values().filter(|group| group.class == class && group.removal.is_none()) {
        *held.entry(group.domain_key().unwrap_or_default().to_owned()).or_default() += 1;
    }
    held
}

pub(super) fn storage(cluster: &Cluster) -> Vec<usize> {
    held(cluster, Storage).into_values().collect()
}

/// Goes on until nothing is left to do, and names everybody who went meanwhile.
pub(super) fn moved(cluster: &mut Cluster) -> Vec<String> {
    let before: BTreeSet<String> = ids(cluster);
    let mut seen = before.clone();
    cluster.until(|decision| decision.steps.is_empty() && decision.holds.is_empty() && decision.status.reconciled.is_some());
    for _ in 0..3 {
        cluster.round(5);
    }
    seen.extend(ids(cluster));
    seen.difference(&ids(cluster)).cloned().collect()
}

pub(super) fn ids(cluster: &Cluster) -> BTreeSet<String> {
    cluster.kube.recorded.groups.keys().map(|id| id.0.clone()).collect()
}

#[test]
fn each_new_group_goes_to_the_least_full_domain_and_says_so_everywhere() {
    let cluster = packed(6, 3);
    assert_eq!(
        held(&cluster, Storage),
        [("storage-0", 2), ("storage-1", 2), ("storage-2", 2)].map(|(key, n)| (key.to_owned(), n)).into()
    );
    assert_eq!(held(&cluster, Log).len(), 3);
    // Fewer process groups than domains: as many domains as process groups.
    assert_eq!(held(&cluster, Stateless), [("stateless-0", 1), ("stateless-1", 1)].map(|(key, n)| (key.to_owned(), n)).into());
    for (id, group) in &cluster.kube.recorded.groups {
        let pod = format!("sample-{id}");
        assert_eq!(Some(cluster.kube.pods[&pod].domain.as_deref().unwrap()), group.domain_key());
        assert_eq!(Some(cluster.database.servers[id].zone.as_str()), group.domain_key());
        let line = &cluster.database.servers[id].arguments;
        let host = cluster.kube.pods[&pod].node.as_ref().unwrap();
        assert!(
            line.contains(&format!("--locality_zoneid={} --locality_physical_zone={host}", group.domain_key().unwrap())),
            "{line}"
        );
    }
}

#[test]
fn from_three_to_two_exactly_those_of_the_third_are_replaced() {
    let mut cluster = packed(6, 3);
    let third: Vec<String> = (cluster.kube.recorded.groups.iter())
        .filter(|(_, group)| group.domain_key() == Some("storage-2"))
        .map(|(id, _)| id.0.clone())
        .collect();
    into(&mut cluster, 2);
    let gone = moved(&mut cluster);
    let gone: Vec<String> = gone.into_iter().filter(|id| id.starts_with("storage")).collect();
    assert_eq!(gone, third);
    assert_eq!(storage(&cluster), [3, 3]);
}

#[test]
fn from_three_to_four_exactly_one_is_replaced() {
    let mut cluster = packed(6, 3);
    into(&mut cluster, 4);
    assert_eq!(moved(&mut cluster).len(), 1);
    assert_eq!(storage(&cluster), [2, 2, 1, 1]);
}

#[test]
fn a_successor_serves_before_its_predecessor_is_excluded() {
    let mut cluster = packed(6, 3);
    into(&mut cluster, 4);
    let excludes = cluster.until(|decision| told(decision).iter().any(|step| step.starts_with("exclude")));
    assert_eq!(cluster.database.servers.keys().filter(|id| id.0.starts_with("storage")).count(), 7);
    assert_eq!(told(&excludes).iter().filter(|step| step.starts_with("exclude")).count(), 1);
}

#[test]
fn growing_shrinking_and_failing_keep_the_band() {
    let mut cluster = packed(10, 4);
    assert_eq!(storage(&cluster), [3, 3, 2, 2]);
    cluster.desired.counts.insert(Storage, 13);
    assert_eq!(moved(&mut cluster), Vec::<String>::new());
    assert_eq!(storage(&cluster), [4, 3, 3, 3]);
    cluster.desired.counts.insert(Storage, 9);
    assert_eq!(moved(&mut cluster).len(), 4);
    assert_eq!(storage(&cluster), [3, 2, 2, 2]);
    let victim =
        cluster.kube.recorded.groups.iter().find(|(_, group)| group.domain_key() == Some("storage-3")).unwrap().0.clone();
    cluster.kill(&victim.0);
    cluster.pass(7300);
    assert_eq!(moved(&mut cluster), [victim.0]);
    assert_eq!(storage(&cluster), [3, 2, 2, 2]);
}

#[test]
fn turning_it_on_moves_everybody_a_domain_at_a_time_and_loses_nobody() {
    let mut cluster = Cluster::new(&[(Storage, 6), LOGS, (Stateless, 2)]).settled();
    cluster.nodes.extend((7..=9).map(|node| format!("node-{node}")));
    into(&mut cluster, 3);
    let mut most = 0;
    for _ in 0..1000 {
        cluster.round(5);
        let in_flight = cluster.kube.recorded.groups.values().filter(|group| group.class == Storage && group.is_in_flight());
        most = most.max(in_flight.count());
        let serving = cluster.database.servers.keys().filter(|id| id.0.starts_with("storage")).count();
        assert!(serving >= 6);
    }
    assert_eq!(most, 2, "a third of them at once");
    assert_eq!(storage(&cluster), [2, 2, 2]);
    assert_eq!(held(&cluster, Log).len(), 3);
    assert!(cluster.decided().holds.is_empty());
    cluster.desired.distribution = None;
    cluster.desired.generation += 1;
    let gone = moved(&mut cluster);
    assert_eq!(gone.len(), 11);
    assert_eq!(held(&cluster, Storage), [(String::new(), 6)].into());
}

#[test]
fn with_one_host_to_spare_turning_it_on_takes_longer_and_still_ends() {
    let mut cluster = Cluster::new(&[(Storage, 6), LOGS, (Stateless, 2)]).settled();
    cluster.nodes.push("node-7".to_owned());
    into(&mut cluster, 3);
    moved(&mut cluster);
    assert_eq!(storage(&cluster), [2, 2, 2]);
}

#[test]
fn who_waits_for_zones_does_not_hold_up_the_moves_that_make_them() {
    let mut cluster = packed(6, 3);
    let nodes = std::mem::replace(&mut cluster.nodes, vec!["node-10".to_owned()]);
    // All logs are replaced outside of fault domains, by some that land on one host: nobody can go.
    cluster.desired.distribution = None;
    cluster.desired.image = "fdb:another".to_owned();
    cluster.desired.automation.pod_update = PodUpdate::ReplaceTransactionSystem;
    cluster.desired.generation += 1;
    cluster.until(|decision| decision.holds.iter().any(|hold| hold.reason == crate::reasons::TOO_FEW_ZONES));
    cluster.nodes = nodes;
    into(&mut cluster, 3);
    moved(&mut cluster);
    assert_eq!(held(&cluster, Log).into_values().collect::<Vec<_>>(), [1, 1, 1]);
}

#[test]
fn who_is_being_made_again_does_not_make_its_zone_look_empty() {
    let mut cluster = packed(6, 3);
    // All logs are replaced, their successors serve, and for now the database does not come to rest: nobody is excluded.
    cluster.desired.image = "fdb:another".to_owned();
    cluster.desired.automation.pod_update = PodUpdate::ReplaceTransactionSystem;
    cluster.desired.generation += 1;
    cluster.spoil(|report| report.recovery.as_mut().unwrap().active_generations = Some(100));
    let in_flight = |cluster: &Cluster| {
        let groups = cluster.kube.recorded.groups.iter().filter(|(_, group)| group.class == Log && group.is_in_flight());
        groups.map(|(id, _)| id.0.clone()).collect::<Vec<_>>()
    };
    cluster.rounds(20);
    let before = in_flight(&cluster);
    assert_eq!(before.len(), 3);
    cluster.goes(&before[0]);
    cluster.goes(&before[1]);
    cluster.desired.distribution = None;
    cluster.desired.generation += 1;
    cluster.round(5);
    assert_eq!(in_flight(&cluster), before, "each successor is in a zone of its own, and the moves wait for those in flight");
}

#[test]
fn who_goes_as_it_is_makes_no_domain_larger() {
    let mut cluster = packed(4, 2);
    let goes = cluster.kube.recorded.groups.keys().find(|id| id.0.starts_with("storage")).unwrap().0.clone();
    cluster.desired.remove_without_exclusion.insert(goes);
    cluster.round(1);
    cluster.desired.distribution = None;
    cluster.desired.generation += 1;
    cluster.round(1);
    let storage = cluster.kube.recorded.groups.values().filter(|group| group.class == Storage);
    assert_eq!(storage.filter(|group| group.is_in_flight()).count(), 2, "a domain has two, and one that is gone is in none");
}

#[test]
fn who_changes_its_mind_again_and_again_piles_nothing_up() {
    let mut cluster = packed(6, 3);
    // For now the database does not come to rest, so that nobody is excluded.
    cluster.spoil(|report| report.recovery.as_mut().unwrap().active_generations = Some(100));
    for turn in 0..6 {
        cluster.desired.distribution = (turn % 2 == 1).then_some(Distribution { domains: 3, required: false });
        cluster.desired.generation += 1;
        cluster.rounds(10);
    }
    let stateless = cluster.kube.recorded.groups.values().filter(|group| group.class == Stateless).count();
    assert_eq!(stateless, 4, "two, and for each of them one that is to go");
}

#[test]
fn coordinators_that_wait_for_zones_do_not_hold_up_the_moves_that_make_them() {
    let mut cluster = Cluster::new(&[(Storage, 6), LOGS, (Stateless, 2)]).settled();
    // Everybody new lands on two hosts, and three coordinators need three.
    let nodes = std::mem::replace(&mut cluster.nodes, vec!["node-10".to_owned(), "node-11".to_owned()]);
    into(&mut cluster, 2);
    cluster.until(|decision| decision.holds.iter().any(|hold| hold.reason == crate::reasons::NOT_ENOUGH_COORDINATORS));
    cluster.rounds(100);
    assert!(cluster.decided().steps.is_empty(), "nothing goes on without another host");
    cluster.nodes.extend(nodes);
    cluster.nodes.push("node-12".to_owned());
    into(&mut cluster, 3);
    moved(&mut cluster);
    assert_eq!(storage(&cluster), [2, 2, 2]);
}

#[test]
fn who_is_nowhere_yet_may_be_the_host_that_coordinators_wait_for() {
    let mut cluster = Cluster::new(&[(Storage, 6), LOGS, (Stateless, 2)]).settled();
    let nodes = std::mem::replace(&mut cluster.nodes, vec!["node-10".to_owned(), "node-11".to_owned()]);
    into(&mut cluster, 2);
    cluster.until(|decision| decision.holds.iter().any(|hold| hold.reason == crate::reasons::NOT_ENOUGH_COORDINATORS));
    cluster.rounds(100);
    let in_flight = |cluster: &Cluster| {
        let groups = cluster.kube.recorded.groups.iter().filter(|(_, group)| group.class == Log && group.is_in_flight());
        groups.map(|(id, _)| id.0.clone()).collect::<Vec<_>>()
    };
    let before = in_flight(&cluster);
    cluster.nodes.clear();
    cluster.desired.counts.insert(Storage, 7);
    cluster.desired.generation += 1;
    cluster.round(5);
    into(&mut cluster, 3);
    cluster.round(5);
    assert_eq!(in_flight(&cluster), before, "no more logs go before it is known where the seventh storage is");
    cluster.nodes = nodes;
    moved(&mut cluster);
    assert_eq!(held(&cluster, Log).into_values().collect::<Vec<_>>(), [1, 1, 1]);
}

#[test]
fn a_whole_domain_is_made_again_at_once() {
    let mut cluster = packed(9, 3);
    cluster.desired.image = "fdb:another".to_owned();
    cluster.desired.automation.pod_update = PodUpdate::Delete;
    let mut waves = Vec::new();
    for _ in 0..300 {
        let done = told(&cluster.round(5));
        let deleted = done.iter().filter(|step| step.starts_with("delete pod sample-storage")).count();
        waves.extend((deleted > 0).then_some(deleted));
    }
    assert_eq!(waves, [3, 3, 3]);
}

#[test]
fn of_several_coordinators_in_one_domain_as_many_go_at_once_as_can_be_missing() {
    let mut cluster = several_coordinators_in_a_domain();
    let domain = cluster.database.servers[&super::cluster::group_id("storage-6")].zone.clone();
    let coordinators = |cluster: &Cluster| -> BTreeSet<String> {
        let is = |server: &crate::forecast::database::Server| {
            cluster.database.coordinators.iter().any(|one| one.starts_with(&server.dns_name))
        };
        let servers = cluster.database.servers.iter().filter(|(_, server)| server.zone == domain && is(server));
        servers.map(|(id, _)| format!("delete pod sample-{id}")).collect()
    };
    let both = coordinators(&cluster);
    assert_eq!(both.len(), 2);
    // The second does not follow by what was reported before the first one went.
    let before = cluster.database.report(cluster.now);
    cluster.spoil(move |report| report.clone_from(&before));
    let mut done = BTreeSet::new();
    for _ in 0..4 {
        done.extend(told(&cluster.round(1)));
    }
    assert!(done.iter().any(|step| step.starts_with("delete pod")), "{done:?}");
    assert_eq!(done.intersection(&both).count(), 1, "{done:?}");
    cluster.unspoil();
    done.extend(cluster.rounds(100));
    assert_eq!(done.intersection(&both).count(), 2, "then it does: {done:?}");
}

/// Two of three coordinators are in one logical fault domain, on two hosts, and all pods are to be made again.
pub(super) fn several_coordinators_in_a_domain() -> Cluster {
    let mut cluster = Cluster::new(&[(Storage, 6), LOGS, (Stateless, 2)]);
    cluster.nodes = (1..=9).map(|node| format!("node-{node}")).collect();
    cluster.room = 1;
    cluster.desired.distribution = Some(Distribution { domains: 2, required: false });
    let mut cluster = cluster.settled();
    let in_first: Vec<String> = cluster
        .database
        .servers
        .iter()
        .filter(|(id, server)| id.0.starts_with("storage") && server.zone == "storage-0")
        .map(|(_, server)| format!("{}:4501", server.dns_name))
        .collect();
    let log = cluster.database.servers.values().find(|server| server.class == Log).map(|server| server.dns_name.clone()).unwrap();
    let coordinators = [in_first[0].clone(), in_first[1].clone(), format!("{log}:4501")];
    cluster.database.change_coordinators(&coordinators, cluster.now);
    // They stay as they are, for their spacing is long.
    cluster.desired.automation.timers.recovery_before_undesired_coordinator = jiff::SignedDuration::from_hours(1000);
    cluster.pass(600);
    cluster.desired.image = "fdb:another".to_owned();
    cluster.desired.automation.pod_update = PodUpdate::Delete;
    cluster
}

#[test]
fn where_it_is_off_nobody_is_packed() {
    let mut cluster = Cluster::usual();
    cluster.nodes = (0..6).map(|node| format!("storage-{node}")).collect();
    cluster.kill("storage-8");
    cluster.rounds(3);
    cluster.pass(7300);
    assert_eq!(moved(&mut cluster), ["storage-8"]);
    assert!(cluster.kube.recorded.groups.values().all(|group| !group.packed && group.domain().is_none()));
    assert_eq!(moved(&mut cluster), Vec::<String>::new(), "a node may be named like a domain");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn every_change_ends_in_the_band_with_the_fewest_moves(
        begins in 3_u32..9, first in 2_u32..5, steps in proptest::collection::vec((2_u32..6, 3_u32..10, any::<bool>()), 1..4)
    ) {
        let mut cluster = packed(begins, first);
        cluster.nodes.extend((10..=16).map(|node| format!("node-{node}")));
        for (domains, count, fails) in steps {
            if fails {
                let victim = cluster.kube.recorded.groups.keys().rfind(|id| id.0.starts_with("storage")).unwrap().0.clone();
                cluster.kill(&victim);
                cluster.pass(7300);
                moved(&mut cluster);
            }
            let before = held(&cluster, Storage);
            let live: usize = before.values().sum();
            into(&mut cluster, domains);
            cluster.desired.counts.insert(Storage, count);
            let gone = moved(&mut cluster).into_iter().filter(|id| id.starts_with("storage")).count();
            let counts: Vec<usize> = (0..domains).map(|domain| before.get(&format!("storage-{domain}")).copied().unwrap_or(0)).collect();
            let retired = live - counts.iter().sum::<usize>();
            let (n, k) = (count as usize, domains as usize);
            let after: Vec<usize> = (0..domains).map(|domain| held(&cluster, Storage).get(&format!("storage-{domain}")).copied().unwrap_or(0)).collect();
            prop_assert!(after.iter().all(|held| (n / k..=n.div_ceil(k)).contains(held)), "{after:?}");
            prop_assert_eq!(gone, leaving(&counts, retired, n), "{:?} -> {:?}", before, after);
            prop_assert!(cluster.kube.recorded.groups.values().all(|group| !group.conditions.contains_key(&GroupCondition::MissingProcesses)));
        }
    }

    #[test]
    fn a_class_is_packed_whatever_is_asked_of_others(logs in 3_u32..7, stateless in 1_u32..5, domains in 2_u32..5) {
        let placed = |counts: &[(ProcessClass, u32)]| {
            let mut cluster = packed(6, 3);
            cluster.nodes.extend((10..=16).map(|node| format!("node-{node}")));
            into(&mut cluster, domains);
            cluster.desired.counts.extend(counts.iter().copied());
            let gone: Vec<String> = moved(&mut cluster).into_iter().filter(|id| id.starts_with("storage")).collect();
            (gone, held(&cluster, Storage))
        };
        prop_assert_eq!(placed(&[]), placed(&[(Log, logs), (Stateless, stateless)]));
    }

    #[test]
    fn off_is_off_whatever_was_asked_for_before(storage in 3_u32..7, domains in 2_u32..5) {
        let mut cluster = packed(storage, domains);
        cluster.nodes.extend((10..=16).map(|node| format!("node-{node}")));
        cluster.desired.generation += 1;
        cluster.desired.distribution = None;
        moved(&mut cluster);
        let unpacked = cluster.kube.recorded.groups.values().all(|group| !group.packed && group.domain().is_none());
        prop_assert!(unpacked, "{:?}", cluster.kube.recorded.groups);
        prop_assert_eq!(moved(&mut cluster), Vec::<String>::new());
        prop_assert!(cluster.kube.pods.values().all(|pod| pod.domain.is_none()));
    }
}

/// How many have to go at least: those in retired domains and above the band, or as many as must come elsewhere beyond those that are
/// missing anyway.
fn leaving(counts: &[usize], retired: usize, wanted: usize) -> usize {
    let (lo, hi) = (wanted / counts.len(), wanted.div_ceil(counts.len()));
    let above: usize = counts.iter().map(|count| count.saturating_sub(hi)).sum();
    let below: usize = counts.iter().map(|count| lo.saturating_sub(*count)).sum();
    let live = counts.iter().sum::<usize>() + retired;
    (above + retired).max((below + live).saturating_sub(wanted))
}
