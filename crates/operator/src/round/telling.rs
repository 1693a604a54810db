//! When a status is written. What must be on record before something is done, and what somebody waits for, is written at once. What only
//! tells how things are is written at most every few seconds: a pod that is made again passes through ten states in as many moments, and a
//! status is as large as its cluster.
//!
//! What waits to be told is what the next decision goes by, so that nothing began later than it was seen. It can be lost: whoever comes next
//! looks for itself.

use std::sync::Arc;
use std::time::Duration;

use quorate_api::foundationdb::{FoundationDBCluster, FoundationDBClusterStatus};
use quorate_foundationdb::decide::{ClusterDecision, ClusterSnapshot, ClusterStatus, ClusterStep};
use quorate_foundationdb::{ProcessGroup, Recorded};
use quorate_quorum::Effect;
use tokio::time::Instant;

use super::effects::{Side, side};

/// How long what only tells waits after the last status. A user who looks on does not mind, and a zone that is made again is told of
/// twice: when it goes, and when it is back.
const APART: Duration = Duration::from_secs(10);

/// What was told, and what waits to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Telling {
    written: Option<Instant>,
    waiting: Option<Waiting>,
}

/// A status that is not written yet.
#[derive(Clone, Debug)]
struct Waiting {
    /// The object as it was then: what somebody else wrote since comes first.
    over: Arc<FoundationDBCluster>,
    status: FoundationDBClusterStatus,
}

impl Telling {
    /// The status to go by: what waits to be told, or else what the object says.
    pub(super) fn status<'a>(&'a self, object: &'a Arc<FoundationDBCluster>) -> Option<&'a FoundationDBClusterStatus> {
        let unchanged = |over: &Arc<FoundationDBCluster>| Arc::ptr_eq(over, object) || over.status == object.status;
        match &self.waiting {
            Some(Waiting { over, status }) if unchanged(over) => Some(status),
            _ => object.status.as_ref(),
        }
    }

    /// Whether a status that only tells is to be written now.
    pub(super) fn is_time(&self, now: Instant) -> bool {
        self.written.is_none_or(|written| now >= written + APART)
    }

    /// It was written, or says what is written already.
    pub(super) fn nothing_waits(&mut self) {
        self.waiting = None;
    }

    pub(super) fn was_written(&mut self, now: Instant) {
        self.written = Some(now);
        self.nothing_waits();
    }

    /// It waits for its time.
    pub(super) fn waits(&mut self, over: &Arc<FoundationDBCluster>, status: FoundationDBClusterStatus) {
        self.waiting = Some(Waiting { over: Arc::clone(over), status });
    }

    /// When the cluster is to be looked at again, so that what waits is told.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.waiting.as_ref().and(self.written).map(|written| written + APART)
    }
}

/// Whether a status does more than tell: something in it must be on record before a step is carried out, or somebody waits for it.
pub(super) fn must_be_written(
    before: Option<&FoundationDBClusterStatus>,
    seen: &ClusterSnapshot,
    decision: &ClusterDecision,
) -> bool {
    let begins = |(name, entry)| seen.journal.0.get(name) != Some(entry);
    // By its write a stale leader fails, before it takes something away or touches the database.
    let is_grave = |step: &ClusterStep| matches!(step.effect, Effect::TakesAway { .. }) || side(step) == Side::Database;
    // Of a cluster at rest nothing is left untold.
    let at_rest = decision.steps.is_empty() && decision.holds.is_empty();
    at_rest
        || before.and_then(|status| status.observed_generation) != Some(decision.status.observed_generation)
        || !is_on_record(&decision.status, &seen.kube.recorded)
        || decision.status.journal.0.iter().any(begins)
        || decision.steps.iter().any(is_grave)
}

/// Whether all that later decisions can't find out for themselves was written.
fn is_on_record(decided: &ClusterStatus, recorded: &Recorded) -> bool {
    let Recorded { groups, last_number, epoch, reconciled, connection, configured, running_version, set_aside } = recorded;
    *last_number == decided.last_number
        && *epoch == decided.epoch
        && *reconciled == decided.reconciled
        && *connection == decided.connection
        && *configured == decided.configured
        && *running_version == decided.running_version
        && *set_aside == decided.set_aside
        && groups.len() == decided.groups.len()
        && groups.iter().zip(&decided.groups).all(|((id, was), (same, is))| id == same && is_the_same(was, is))
}

/// Its conditions, and the zone of one that is not packed, can be seen again, and so can the address it has. One that it had for some
/// seconds, and that was lost with the operator, is as one of a time when nobody looked: data that moves away from nowhere is waited for.
fn is_the_same(was: &ProcessGroup, is: &ProcessGroup) -> bool {
    let ProcessGroup { class, addresses: _, fault_domain, packed, removal, exclusion, exclusion_skipped, conditions: _ } = was;
    *class == is.class
        && *packed == is.packed
        && (!packed || *fault_domain == is.fault_domain)
        && *removal == is.removal
        && *exclusion == is.exclusion
        && *exclusion_skipped == is.exclusion_skipped
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use quorate_foundationdb::decide::{Adds, TakesAway};
    use quorate_foundationdb::{GroupCondition, decide};
    use quorate_quorum::budget::Budget;
    use quorate_quorum::{Guard, JournalEntry, Sighting, Step};
    use serde_json::json;

    use super::*;
    use crate::ClusterKey;
    use crate::bystander::{Bystander, Watched};
    use crate::foundationdb::shown_status;

    fn object() -> FoundationDBCluster {
        serde_json::from_value(json!({
            "apiVersion": "apps.foundationdb.org/v1beta2", "kind": "FoundationDBCluster",
            "metadata": {"name": "sample", "namespace": "default", "generation": 1},
            "spec": {"version": "7.3.63", "processCounts": {"storage": 3, "log": 3, "stateless": 2}},
        }))
        .unwrap()
    }

    fn seen(object: &FoundationDBCluster) -> ClusterSnapshot {
        let mut operator = Bystander::default();
        operator.see(Watched::Cluster(Box::new(object.clone())));
        let key = ClusterKey { namespace: "default".to_owned(), name: "sample".to_owned() };
        operator.snapshot(&key, Timestamp::UNIX_EPOCH, Sighting::NotAsked).unwrap()
    }

    /// A cluster whose process groups are on record, what is seen of it, and what is decided: to make their pods.
    fn recorded() -> (FoundationDBCluster, ClusterSnapshot, ClusterDecision) {
        let mut object = object();
        let first = seen(&object);
        let decision = decide(&first);
        assert!(must_be_written(None, &first, &decision), "nothing is made that is not on record");
        object.status = Some(shown_status(None, &decision, &first.desired, first.now));
        let then = seen(&object);
        let decision = decide(&then);
        assert!(!decision.steps.is_empty());
        (object, then, decision)
    }

    /// Whether it must be written that something is different.
    fn must_be_written_after(change: impl FnOnce(&mut ClusterDecision)) -> bool {
        let (object, seen, mut decision) = recorded();
        change(&mut decision);
        must_be_written(object.status.as_ref(), &seen, &decision)
    }

    fn some_group(decision: &mut ClusterDecision) -> &mut ProcessGroup {
        decision.status.groups.values_mut().next().unwrap()
    }

    #[test]
    fn what_can_be_seen_again_only_tells() {
        assert!(!must_be_written_after(|_| ()), "pods are made of process groups that are on record");
        assert!(!must_be_written_after(|decision| some_group(decision).addresses.push("198.18.0.1".to_owned())));
        assert!(!must_be_written_after(|decision| some_group(decision).fault_domain = Some("node-1".to_owned())));
        assert!(!must_be_written_after(|decision| {
            some_group(decision).conditions.insert(GroupCondition::PodFailing, Timestamp::UNIX_EPOCH);
        }));
        assert!(!must_be_written_after(|decision| decision.status.available = Some(false)));
        assert!(!must_be_written_after(|decision| decision.holds.clear()));
    }

    #[test]
    fn what_nobody_could_find_out_again_must_be_written() {
        assert!(must_be_written_after(|decision| some_group(decision).removal = Some(Timestamp::UNIX_EPOCH)));
        assert!(must_be_written_after(|decision| some_group(decision).exclusion = Some(Timestamp::UNIX_EPOCH)));
        assert!(must_be_written_after(|decision| some_group(decision).exclusion_skipped = true));
        assert!(must_be_written_after(|decision| some_group(decision).packed = true));
        assert!(must_be_written_after(|decision| drop(decision.status.groups.pop_last())));
        assert!(must_be_written_after(|decision| decision.status.last_number += 1));
        assert!(must_be_written_after(|decision| decision.status.epoch.0 += 1));
        assert!(must_be_written_after(|decision| decision.status.connection = Some("a:b@198.18.0.1:4501".to_owned())));
        assert!(must_be_written_after(|decision| decision.status.configured = true));
        let entry = JournalEntry {
            what: "made again".to_owned(),
            uid: "1".to_owned(),
            zone: "node-1".to_owned(),
            since: Timestamp::UNIX_EPOCH,
        };
        assert!(must_be_written_after(|decision| decision.status.journal.begin("sample-log-1", entry)));
    }

    #[test]
    fn what_somebody_waits_for_must_be_written() {
        assert!(must_be_written_after(|decision| decision.status.observed_generation = 2));
        assert!(must_be_written_after(|decision| decision.status.reconciled = Some(1)));
        assert!(must_be_written_after(|decision| (decision.steps, decision.holds) = (vec![], vec![])), "it came to rest");
    }

    #[test]
    fn nobody_takes_away_or_touches_the_database_by_an_old_status() {
        let permit = Budget::of_zones(1, []).clear_away("sample-log-1");
        let pod = Step::takes_away(TakesAway::Pod("sample-log-1".to_owned()), permit, Guard::default(), "its node is gone");
        assert!(must_be_written_after(|decision| decision.steps.push(pod)));
        let include = Adds::Include(vec![]);
        assert!(must_be_written_after(|decision| decision.steps.push(Step::adds(include, Guard::default(), "it is empty"))));
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_is_gone_by_unless_somebody_else_wrote() {
        let (object, ..) = recorded();
        let object = Arc::new(object);
        let waits = FoundationDBClusterStatus { has_incorrect_config_map: Some(true), ..object.status.clone().unwrap() };
        let mut telling = Telling::default();
        assert!(telling.is_time(Instant::now()), "the first one is told at once");
        telling.was_written(Instant::now());
        assert!(!telling.is_time(Instant::now()));
        telling.waits(&object, waits.clone());
        assert_eq!(telling.due(), Some(Instant::now() + APART));
        assert_eq!(telling.status(&object), Some(&waits));

        let mut edited = FoundationDBCluster::clone(&object);
        edited.metadata.generation = Some(2);
        assert_eq!(telling.status(&Arc::new(edited)), Some(&waits), "an edit is no status");
        let mut written = FoundationDBCluster::clone(&object);
        written.status = Some(FoundationDBClusterStatus::default());
        let written = Arc::new(written);
        assert_eq!(telling.status(&written), written.status.as_ref());

        tokio::time::advance(APART).await;
        assert!(telling.is_time(Instant::now()));
        telling.was_written(Instant::now());
        assert_eq!((telling.due(), telling.status(&object)), (None, object.status.as_ref()));
    }
}
