//! Which clusters are to be looked at, and when.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tokio::time::Instant;

use crate::ClusterKey;

/// Marked clusters, timers with the earliest wake of each cluster, and those that are being worked on.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// In the order in which they were marked, so that nobody waits for ever.
    marked: VecDeque<ClusterKey>,
    is_marked: BTreeSet<ClusterKey>,
    wakes: BTreeMap<ClusterKey, Instant>,
    at_work: BTreeSet<ClusterKey>,
}

impl Queue {
    pub(crate) fn mark(&mut self, cluster: ClusterKey) {
        if self.is_marked.insert(cluster.clone()) {
            self.marked.push_back(cluster);
        }
    }

    /// Looks at a cluster again at this time, or earlier.
    pub(crate) fn wake(&mut self, cluster: &ClusterKey, at: Instant) {
        let wake = self.wakes.entry(cluster.clone()).or_insert(at);
        *wake = (*wake).min(at);
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
            self.mark(key);
        }
    }

    /// Takes a marked cluster that nobody works on; one at a time per cluster.
    pub(crate) fn begin(&mut self) -> Option<ClusterKey> {
        let at = self.marked.iter().position(|key| !self.at_work.contains(key))?;
        let key = self.marked.remove(at)?;
        self.is_marked.remove(&key);
        self.wakes.remove(&key);
        self.at_work.insert(key.clone());
        Some(key)
    }

    pub(crate) fn end(&mut self, cluster: &ClusterKey) {
        self.at_work.remove(cluster);
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
    use std::time::Duration;

    fn key(name: &str) -> ClusterKey {
        ClusterKey { namespace: "ns".into(), name: name.into() }
    }

    #[test]
    fn a_cluster_is_worked_on_once_at_a_time_and_again_if_it_was_marked_meanwhile() {
        let mut queue = Queue::default();
        queue.mark(key("a"));
        assert_eq!(queue.begin(), Some(key("a")));
        queue.mark(key("a"));
        assert_eq!(queue.begin(), None);
        queue.end(&key("a"));
        assert_eq!(queue.begin(), Some(key("a")));
    }

    #[test]
    fn whoever_waits_longest_comes_first() {
        let mut queue = Queue::default();
        for name in ["z", "b", "a", "b"] {
            queue.mark(key(name));
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.begin()).collect();
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
        assert_eq!(queue.begin(), Some(key("a")));
        assert_eq!(queue.next_wake(), None);
    }
}
