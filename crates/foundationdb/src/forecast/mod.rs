//! What will happen: the real decision, made again and again for a cluster that is carried forward in thought.
//!
//! Nothing is asked and nothing is changed. The cluster begins as its status describes it, its pods and servers do what they are told,
//! and time passes until there is nothing left to do. How long data takes to move is assumed, and said to be.

pub(crate) mod cluster;
pub(crate) mod database;
mod seed;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use quorate_quorum::buckets::Shown;
use quorate_quorum::{Effect, Hold};

use crate::decide::{ClusterDecision, TakesAway, moved, room};
use crate::{Desired, ProcessClass, ProcessGroup, ProcessGroupId, Recorded};
use cluster::Cluster;

/// What is assumed where nobody can know.
#[derive(Clone, Debug)]
pub struct Assumed {
    /// When it begins.
    pub now: Timestamp,
    /// How long it takes until everything has moved away from a process.
    pub drain: SignedDuration,
    /// The hosts there are.
    pub hosts: Hosts,
}

/// The hosts there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// As many as are needed.
    Enough,
    /// So many, counting those that are used; as many as are used, if those are more.
    Number(usize),
    /// These take new pods; who is on another stays there.
    Known(BTreeSet<String>),
}

/// Process groups that are to stay, by class and by zone.
pub type Zones = BTreeMap<ProcessClass, BTreeMap<String, Vec<ProcessGroupId>>>;

/// What will happen.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// What happens when, in the operator's own words.
    pub events: Vec<Event>,
    /// Where process groups are at the beginning.
    pub before: Zones,
    /// Where they are in the end.
    pub after: Zones,
    /// What the status says in the end.
    pub recorded: Recorded,
    /// Room for automatic replacements as it is now, per bucket.
    pub buckets: Vec<Shown>,
    /// Each bucket when it is fullest.
    pub fullest: Vec<Shown>,
    /// Who goes.
    pub goes: BTreeSet<ProcessGroupId>,
    /// Who comes.
    pub comes: BTreeSet<ProcessGroupId>,
    /// How many pods are made again at once, time after time.
    pub waves: Vec<usize>,
    /// How many begin to move to other fault domains at once, time after time.
    pub move_waves: Vec<usize>,
    /// How often the database recovers.
    pub recoveries: u64,
    /// How long it takes.
    pub lasts: SignedDuration,
    /// Why it comes to no end, if it doesn't.
    pub held: Vec<Hold>,
    /// How many hosts there are, by what was assumed.
    pub hosts: usize,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// After how long.
    pub after: SignedDuration,
    /// What.
    pub what: String,
}

/// At most so many decisions are looked ahead.
const MOST_ROUNDS: usize = 20_000;
/// Where nothing changes for so long, nothing will.
const PATIENCE: SignedDuration = SignedDuration::from_hours(4);
/// A round comes at least so soon after another while something happens, and at most so late.
const ROUNDS: (i64, i64) = (5, 60);

/// What happens to a cluster that is as `recorded` says, was as `now` asks, and is asked to be as `then` from now on.
pub fn forecast(now: &Desired, recorded: &Recorded, then: &Desired, assumed: &Assumed) -> Forecast {
    let mut cluster = seed::cluster(now, recorded, assumed);
    let begins = (cluster.now, cluster.database.generation, zones(&recorded.groups));
    let mut forecast = Forecast {
        events: Vec::new(),
        before: begins.2,
        after: Zones::new(),
        recorded: Recorded::default(),
        buckets: room(&cluster.seen()),
        fullest: Vec::new(),
        goes: BTreeSet::new(),
        comes: BTreeSet::new(),
        waves: Vec::new(),
        move_waves: Vec::new(),
        recoveries: 0,
        lasts: SignedDuration::ZERO,
        held: Vec::new(),
        hosts: cluster.nodes.len(),
    };
    cluster.desired = then.clone();
    let (mut changed, mut pause) = (cluster.now, ROUNDS.0);
    for _ in 0..MOST_ROUNDS {
        cluster.pass(pause);
        let decision = cluster.decided();
        let news = forecast.take_in(&decision, &cluster, cluster.now.duration_since(begins.0));
        cluster.carry_out(&decision);
        pause = if news { ROUNDS.0 } else { (pause * 2).min(ROUNDS.1) };
        changed = if news { cluster.now } else { changed };
        forecast.held.clone_from(&decision.holds);
        let at_rest = decision.steps.is_empty() && decision.holds.is_empty() && !news;
        if at_rest || cluster.now.duration_since(changed) > PATIENCE {
            break;
        }
    }
    forecast.lasts = changed.duration_since(begins.0);
    forecast.after = zones(&cluster.kube.recorded.groups);
    forecast.recoveries = (cluster.database.generation - begins.1) / 2;
    let groups: BTreeSet<ProcessGroupId> = cluster.kube.recorded.groups.keys().cloned().collect();
    forecast.comes.retain(|id| groups.contains(id));
    forecast.recorded = cluster.kube.recorded;
    forecast
}

/// Where process groups are that are to stay.
pub fn zones<'a>(groups: impl IntoIterator<Item = (&'a ProcessGroupId, &'a ProcessGroup)>) -> Zones {
    let mut zones = Zones::new();
    for (id, group) in groups.into_iter().filter(|(_, group)| group.removal.is_none()) {
        let zone = group.fault_domain.clone().unwrap_or_else(|| "not known yet".to_owned());
        zones.entry(group.class).or_default().entry(zone).or_default().push(id.clone());
    }
    zones
}

impl Forecast {
    /// Takes in a decision, and says whether anything happens by it.
    fn take_in(&mut self, decision: &ClusterDecision, cluster: &Cluster, after: SignedDuration) -> bool {
        let before = &cluster.kube.recorded.groups;
        let groups = &decision.status.groups;
        let marked = |groups: &BTreeMap<_, ProcessGroup>, id| groups.get(id).is_some_and(|group| group.removal.is_some());
        let newly: BTreeSet<_> = groups.keys().filter(|id| marked(groups, *id) && !marked(before, *id)).cloned().collect();
        let moved = if newly.is_empty() { 0 } else { moved(&cluster.seen(), &newly) };
        self.move_waves.extend((moved > 0).then_some(moved));
        self.goes.extend(newly);
        self.comes.extend(groups.keys().filter(|id| !before.contains_key(*id)).cloned());
        // The last word of all is that of the forecast itself.
        let said = decision.notices.iter().filter(|notice| notice.reason != "ReconciliationComplete");
        self.events.extend(said.map(|notice| Event { after, what: notice.note.clone() }));
        if self.fullest.is_empty() {
            self.fullest.clone_from(&decision.status.buckets);
        }
        for (fullest, shown) in self.fullest.iter_mut().zip(&decision.status.buckets) {
            if shown.used > fullest.used {
                fullest.clone_from(shown);
            }
        }
        let made_again = |action: &TakesAway| {
            let (TakesAway::Pod(name) | TakesAway::PodForAnother { name, .. }) = action else { return false };
            let group = cluster.kube.pods.get(name).and_then(|pod| pod.group.as_ref());
            group.is_some_and(|group| !marked(groups, group))
        };
        let wave = decision
            .steps
            .iter()
            .filter(|step| matches!(&step.effect, Effect::TakesAway { action, .. } if made_again(action)))
            .count();
        self.waves.extend((wave > 0).then_some(wave));
        !decision.steps.is_empty()
            || groups.len() != before.len()
            || decision.notices.iter().any(|notice| !notice.note.is_empty())
    }

    /// How many come into and go from each zone of a class, by zone.
    pub fn moves(&self) -> BTreeMap<String, (usize, usize)> {
        let mut moves: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for (zones, change) in [(&self.after, true), (&self.before, false)] {
            for (zone, ids) in zones.values().flatten() {
                let concerned = ids.iter().filter(|id| if change { self.comes.contains(*id) } else { self.goes.contains(*id) });
                let count = concerned.count();
                if count > 0 {
                    let (comes, goes) = moves.entry(zone.clone()).or_default();
                    *if change { comes } else { goes } += count;
                }
            }
        }
        moves
    }
}

#[cfg(test)]
mod tests;
