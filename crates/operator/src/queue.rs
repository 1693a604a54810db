//! Which clusters are to be looked at, and when.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use jiff::SignedDuration;
use tokio::time::Instant;

use crate::ClusterKey;

/// Rounds of a cluster to which nothing happens are no closer than this, whatever was decided.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(1);

/// Marked clusters, timers with the earliest wake of each cluster, and those that are being worked on.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// In the order in which they were marked, so that nobody waits for ever.
    marked: VecDeque<ClusterKey>,
    marked_since: BTreeMap<ClusterKey, Instant>,
    wakes: BTreeMap<ClusterKey, Instant>,
    at_work: BTreeSet<ClusterKey>,
}

impl Queue {
    /// Looks at a cluster as soon as may be. Whoever is marked again waits since it was marked first.
    pub(crate) fn mark(&mut self, cluster: ClusterKey, now: Instant) {
        if let Entry::Vacant(unmarked) = self.marked_since.entry(cluster.clone()) {
            unmarked.insert(now);
            self.marked.push_back(cluster);
        }
    }

    /// Looks at a cluster again at this time, or earlier.
    pub(crate) fn wake(&mut self, cluster: &ClusterKey, at: Instant) {
        let wake = self.wakes.entry(cluster.clone()).or_insert(at);
        *wake = (*wake).min(at);
    }

    /// Looks at a cluster again after a while. A decision may name a moment that has passed, for instance because the clock was put
    /// forward; that is no reason to decide again at once, and again, without end.
    pub(crate) fn wake_in(&mut self, cluster: &ClusterKey, wait: SignedDuration, now: Instant) {
        self.wake(cluster, now + Duration::try_from(wait).unwrap_or_default().max(BETWEEN_ROUNDS));
    }

    /// When the next timer is due.
    pub(crate) fn next_wake(&self) -> Option<Instant> {
        self.wakes.values().min().copied()
    }

    /// Marks clusters whose time has come.
    pub(crate) fn mark_due(&mut self, now: Instant) {
        let due: Vec<_> = self.wakes.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        for key in due {
            self.wakes.remove(&key);
            self.mark(key, now);
        }
    }

    /// Takes a marked cluster that nobody works on, and says how long it has waited; one at a time per cluster.
    pub(crate) fn begin(&mut self, now: Instant) -> Option<(ClusterKey, Duration)> {
        let at = self.marked.iter().position(|key| !self.at_work.contains(key))?;
        let key = self.marked.remove(at)?;
        let waited = self.marked_since.remove(&key).map_or(Duration::ZERO, |since| now - since);
        self.wakes.remove(&key);
        self.at_work.insert(key.clone());
        Some((key, waited))
    }

    pub(crate) fn end(&mut self, cluster: &ClusterKey) {
        self.at_work.remove(cluster);
    }

    pub(crate) fn is_at_work(&self, cluster: &ClusterKey) -> bool {
        self.at_work.contains(cluster)
    }

    pub(crate) fn depth(&self) -> usize {
        self.marked.len()
    }

    pub(crate) fn at_work(&self) -> usize {
        self.at_work.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ClusterKey {
        ClusterKey { namespace: "ns".into(), name: name.into() }
    }

    fn next(queue: &mut Queue, now: Instant) -> Option<ClusterKey> {
        queue.begin(now).map(|(key, _)| key)
    }

    #[test]
    fn a_cluster_is_worked_on_once_at_a_time_and_again_if_it_was_marked_meanwhile() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.mark(key("a"), now);
        assert_eq!(next(&mut queue, now), Some(key("a")));
        queue.mark(key("a"), now);
        assert_eq!(next(&mut queue, now), None);
        queue.end(&key("a"));
        assert_eq!(next(&mut queue, now), Some(key("a")));
    }

    #[test]
    fn whoever_waits_longest_comes_first() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        for name in ["z", "b", "a", "b"] {
            queue.mark(key(name), now);
        }
        let order: Vec<_> = std::iter::from_fn(|| next(&mut queue, now)).collect();
        assert_eq!(order, [key("z"), key("b"), key("a")]);
    }

    #[test]
    fn the_earliest_wake_wins_and_beginning_forgets_it() {
        let mut queue = Queue::default();
        let now = Instant::now();
        queue.wake(&key("a"), now + Duration::from_secs(300));
        queue.wake(&key("a"), now + Duration::from_secs(10));
        queue.wake(&key("a"), now + Duration::from_secs(60));
        assert_eq!(queue.next_wake(), Some(now + Duration::from_secs(10)));
        queue.mark_due(now + Duration::from_secs(9));
        assert_eq!(queue.depth(), 0);
        queue.mark_due(now + Duration::from_secs(10));
        assert_eq!(next(&mut queue, now), Some(key("a")));
        assert_eq!(queue.next_wake(), None);
    }

    #[test]
    fn a_moment_that_has_passed_wakes_nobody_at_once() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        for (wait, woken) in [(-30, 1), (0, 1), (30, 30)] {
            queue.wake_in(&key("a"), SignedDuration::from_secs(wait), now);
            assert_eq!(queue.next_wake(), Some(now + Duration::from_secs(woken)));
            queue.mark_due(now + Duration::from_secs(60));
        }
    }

    #[test]
    fn who_is_marked_again_waits_since_it_was_marked_first() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.mark(key("a"), now);
        queue.mark(key("a"), now + Duration::from_secs(2));
        assert_eq!(queue.begin(now + Duration::from_secs(3)), Some((key("a"), Duration::from_secs(3))));
        queue.mark(key("a"), now + Duration::from_secs(4));
        queue.end(&key("a"));
        assert_eq!(queue.begin(now + Duration::from_secs(9)), Some((key("a"), Duration::from_secs(5))));
    }
}
