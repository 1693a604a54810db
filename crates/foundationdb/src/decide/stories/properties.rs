//! What holds of random small clusters under random damage.

use jiff::SignedDuration;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use quorate_quorum::Effect;

/// The same clusters in every build, so that a change is judged by what it changes.
const SEED: RngSeed = RngSeed::Fixed(7);

use super::cluster::{Cluster, told};
use super::invariants;
use crate::ProcessClass::{Log, Stateless, Storage};
use crate::decide::TakesAway;
use crate::{BucketLimits, PodPhase, PodUpdate, ProcessClass, decide};

/// Something that happens to a cluster.
#[derive(Clone, Debug)]
enum Event {
    Kill(usize),
    Revive,
    DeletePod(usize),
    EndPod(usize),
    Unready(usize),
    Remove(usize),
    Count(ProcessClass, u32),
    NewImage(bool),
    NewKnob,
    Silence(bool),
    Unreadable(bool),
    Recovery,
    Pass(i64),
}

fn event() -> impl Strategy<Value = Event> {
    let class = prop_oneof![Just(Storage), Just(Log), Just(Stateless)];
    prop_oneof![
        (0_usize..12).prop_map(Event::Kill),
        Just(Event::Revive),
        (0_usize..12).prop_map(Event::DeletePod),
        (0_usize..12).prop_map(Event::EndPod),
        (0_usize..12).prop_map(Event::Unready),
        (0_usize..12).prop_map(Event::Remove),
        (class, 1_u32..6).prop_map(|(class, count)| Event::Count(class, count)),
        any::<bool>().prop_map(Event::NewImage),
        Just(Event::NewKnob),
        any::<bool>().prop_map(Event::Silence),
        any::<bool>().prop_map(Event::Unreadable),
        Just(Event::Recovery),
        (0_i64..9000).prop_map(Event::Pass),
    ]
}

fn happens(cluster: &mut Cluster, event: &Event) {
    let nth = |cluster: &Cluster, n: usize| {
        let ids: Vec<String> = cluster.kube.recorded.groups.keys().map(|id| id.0.clone()).collect();
        ids.get(n % ids.len().max(1)).cloned().unwrap_or_default()
    };
    let pod_of = |id: &str| format!("sample-{id}");
    match event {
        Event::Kill(n) => cluster.kill(&nth(cluster, *n)),
        Event::Revive => cluster.dead.clear(),
        Event::DeletePod(n) => {
            let id = nth(cluster, *n);
            cluster.kube.pods.remove(&pod_of(&id));
            cluster.database.stop(&super::cluster::group_id(&id), cluster.now);
        }
        Event::EndPod(n) => {
            let id = nth(cluster, *n);
            cluster.database.stop(&super::cluster::group_id(&id), cluster.now);
            if let Some(pod) = cluster.kube.pods.get_mut(&pod_of(&id)) {
                pod.phase = PodPhase::Failed;
            }
        }
        Event::Unready(n) => {
            let id = nth(cluster, *n);
            if let Some(pod) = cluster.kube.pods.get_mut(&pod_of(&id)) {
                pod.ready = !pod.ready;
            }
        }
        Event::Remove(n) => cluster.desired.remove.extend([nth(cluster, *n)]),
        Event::Count(class, count) => cluster.desired.counts.extend([(*class, *count)]),
        Event::NewImage(delete) => {
            cluster.desired.image.push('x');
            cluster.desired.automation.pod_update = if *delete { PodUpdate::Delete } else { PodUpdate::ReplaceTransactionSystem };
        }
        Event::NewKnob => {
            for class in [Storage, Log, Stateless] {
                cluster.desired.templates.entry(class).or_default().parameters.push(("knob_x".to_owned(), "1".to_owned()));
            }
        }
        Event::Silence(silent) => cluster.silent_since = silent.then_some(cluster.now),
        Event::Unreadable(true) => {
            cluster.complains_of("unreadable_configuration");
        }
        Event::Unreadable(false) => cluster.unspoil(),
        Event::Recovery => cluster.database.recover(cluster.now),
        Event::Pass(seconds) => cluster.pass(*seconds),
    }
}

fn cluster(storage: u32, log: u32, stateless: u32, buckets: bool) -> Cluster {
    let mut cluster = Cluster::new(&[(Storage, storage), (Log, log), (Stateless, stateless)]);
    cluster.desired.automation.replacements.buckets = buckets.then_some(BucketLimits { storage: 1, log: 1, stateless: 1 });
    cluster.database.drains_in = SignedDuration::from_secs(60);
    cluster.settled()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, rng_seed: SEED, ..ProptestConfig::default() })]

    /// `Cluster::round` checks every decision for what must never be; here anything may happen in between.
    #[test]
    fn whatever_happens_nothing_is_taken_away_that_is_needed(
        storage in 2_u32..6, log in 1_u32..6, stateless in 0_u32..4, buckets in any::<bool>(),
        events in proptest::collection::vec((event(), 1_usize..6), 1..12),
    ) {
        let mut cluster = cluster(storage, log, stateless, buckets);
        for (event, rounds) in &events {
            happens(&mut cluster, event);
            cluster.rounds(*rounds);
        }
    }

    #[test]
    fn deciding_again_after_the_status_was_written_marks_nobody_new_and_is_the_same(
        events in proptest::collection::vec((event(), 0_usize..4), 1..8),
    ) {
        let mut cluster = cluster(4, 4, 2, true);
        for (event, rounds) in &events {
            happens(&mut cluster, event);
            cluster.rounds(*rounds);
        }
        let mut seen = cluster.seen();
        let first = decide(&seen);
        prop_assert_eq!(&first, &decide(&seen), "the same snapshot, the same decision");
        seen.kube.recorded.groups.clone_from(&first.status.groups);
        seen.kube.recorded.last_number = first.status.last_number;
        seen.kube.recorded.connection.clone_from(&first.status.connection);
        seen.journal = first.status.journal.clone();
        let second = decide(&seen);
        let marked = |decision: &crate::decide::ClusterDecision| {
            decision.status.groups.iter().filter(|(_, group)| group.removal.is_some()).map(|(id, _)| id.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(marked(&first), marked(&second));
        prop_assert_eq!(invariants::broken(&seen, &second), Vec::<String>::new());
    }

    #[test]
    fn once_it_is_left_in_peace_a_cluster_comes_to_rest_with_one_restart_at_most(
        events in proptest::collection::vec((event(), 1_usize..4), 1..6),
    ) {
        let mut cluster = cluster(4, 4, 2, true);
        for (event, rounds) in &events {
            happens(&mut cluster, event);
            cluster.rounds(*rounds);
        }
        cluster.unspoil();
        cluster.dead.clear();
        cluster.silent_since = None;
        cluster.kube.pods.values_mut().for_each(|pod| pod.ready = true);
        cluster.desired.counts = [(Storage, 4), (Log, 4), (Stateless, 2)].into();
        let mut restarts = 0;
        for _ in 0..250 {
            let decision = cluster.round(30);
            restarts += decision.steps.iter().filter(|step| matches!(step.effect, Effect::TakesAway { action: TakesAway::Kill(_), .. })).count();
        }
        let decision = cluster.decided();
        prop_assert!(restarts <= 1, "{restarts} restarts");
        prop_assert!(decision.steps.is_empty() && decision.holds.is_empty(), "{:?} {:#?}", told(&decision), decision.holds);
    }
}
