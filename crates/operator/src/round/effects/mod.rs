//! Steps, carried out one after the other. One that fails does not stop the others: the next round sees what is missing and decides again.

mod database;
mod described;
mod kubernetes;

use std::collections::BTreeSet;
use std::time::Duration;

use quorate_api::foundationdb::FoundationDBCluster;
use quorate_fdb_client::{Target, TlsIdentity};
use quorate_foundationdb::decide::{Adds, ClusterDecision, ClusterSnapshot, ClusterStep, TakesAway, is_too_late};
use quorate_quorum::Effect;
use tokio::time::Instant;
use tracing::{info, warn};

use super::{Ended, Expected, Hands};
use crate::ClusterKey;
use crate::foundationdb::target::target;
use crate::index::Kind;
use described::described;

/// Why an effect did not happen.
pub(super) enum Stopped {
    /// We no longer lead.
    NotLeading,
    /// The object is not as it was when this was decided; look again.
    Changed,
    /// Something of this name is there already.
    Taken,
    /// It was refused.
    Failed(String),
    /// Nobody answered, so nobody needs to be asked again in this round.
    Silent(String),
}

/// Who carries out a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Kubernetes,
    Database,
}

/// What carrying out a decision has led to so far.
pub(super) struct Done {
    /// Which database, or why there is none to speak to.
    target: Result<Target, String>,
    /// Names that were taken in the last round already.
    taken_before: BTreeSet<(Kind, String)>,
    pub(super) expected: Expected,
    pub(super) failures: Vec<String>,
    pub(super) taken: BTreeSet<(Kind, String)>,
    pub(super) database_changed: bool,
    /// When the database said what was decided by.
    pub(super) asked: Option<Instant>,
    /// Since when what costs a recovery was not sent in any round, because its report had become too old.
    pub(super) late_since: Option<Instant>,
    /// Whether something was not sent for that in this round.
    pub(super) is_late: bool,
    /// Something was not as it had been seen.
    changed: bool,
}

impl Done {
    pub(super) fn new(
        key: &ClusterKey,
        object: &FoundationDBCluster,
        identity: Option<&TlsIdentity>,
        decision: &ClusterDecision,
        taken_before: &BTreeSet<(Kind, String)>,
    ) -> Self {
        // What this decision has just recorded is newer than what the object said before.
        let recorded = decision.status.connection.clone();
        let target = match (target(key, object, identity), recorded) {
            (Ok(target), Some(connection)) => Ok(Target { connection, ..target }),
            (target, _) => target,
        };
        Self {
            target,
            taken_before: taken_before.clone(),
            expected: Expected::default(),
            failures: vec![],
            taken: BTreeSet::new(),
            database_changed: false,
            asked: None,
            late_since: None,
            is_late: false,
            changed: false,
        }
    }

    /// How long ago the database said what was decided by, if that is too long for a step.
    fn too_late(&self, seen: &ClusterSnapshot, step: &ClusterStep) -> Option<Duration> {
        let age = self.asked?.elapsed();
        let late_for = self.late_since.map(|since| since.elapsed()).unwrap_or_default();
        is_too_late(seen, step, age, late_for).then_some(age)
    }

    pub(super) fn ended(&self) -> Ended {
        match self.failures.as_slice() {
            [] if self.changed => Ended::Partly("something changed while this was decided".to_owned()),
            [] => Ended::Well,
            failures => Ended::Partly(failures.join("; ")),
        }
    }

    /// A name that is taken may have been given by us a moment ago, with the answer lost: then a watch will show it. If it is taken again
    /// in the next round, it is somebody else's, and nobody would ever hear of it but for this.
    fn is_taken(&mut self, step: &ClusterStep, kind: Kind, name: &str) {
        let key = (kind, name.to_owned());
        if self.taken_before.contains(&key) {
            let why = "something of this name is there already, and it does not belong to this cluster";
            self.failures.push(format!("{}: {why}", described(step)));
        } else {
            self.expected.appears.insert(key.clone());
        }
        self.taken.insert(key);
    }
}

impl Hands {
    /// Carries out every step, and stops only when we no longer lead.
    pub(super) async fn perform_all(
        &self,
        seen: &ClusterSnapshot,
        decision: &ClusterDecision,
        done: &mut Done,
    ) -> Result<(), Stopped> {
        let mut silent = BTreeSet::new();
        let mut disruption_failed = false;
        let mut lock_failed = false;
        for step in &decision.steps {
            let side = side(step);
            let disrupts = side == Side::Database && matches!(step.effect, Effect::TakesAway { .. });
            if let Some(age) = done.too_late(seen, step) {
                let why = format!(
                    "not sent, for what the database said is {} s old and it may have recovered since; it is asked again",
                    age.as_secs()
                );
                done.failures.push(format!("{}: {why}", described(step)));
                done.is_late = true;
                disruption_failed |= disrupts;
                continue;
            }
            // What disrupts the database is put in order, coordinators before exclusions: after one that failed, the next would come
            // too early.
            if silent.contains(&side) || (disrupts && disruption_failed) || (lock_failed && step.guard.fence.is_some()) {
                continue;
            }
            // A pod that was brought back before the database was asked is there.
            if made(step).is_some_and(|(kind, name)| done.expected.appears.contains(&(kind, name.to_owned()))) {
                continue;
            }
            self.check_leading(step.guard.epoch)?;
            info!(cluster = seen.desired.name, why = step.why, "{}", described(step));
            let performed = self.perform(&seen.desired, step, done).await;
            lock_failed |= performed.is_err() && matches!(step.effect, Effect::Adds(Adds::Lock { .. }));
            let why = match performed {
                Ok(()) => continue,
                Err(Stopped::NotLeading) => return Err(Stopped::NotLeading),
                Err(Stopped::Changed) => {
                    done.changed = true;
                    disruption_failed |= disrupts;
                    continue;
                }
                Err(Stopped::Taken) => {
                    if let Some((kind, name)) = made(step) {
                        done.is_taken(step, kind, name);
                    }
                    continue;
                }
                Err(Stopped::Silent(why)) => {
                    silent.insert(side);
                    why
                }
                Err(Stopped::Failed(why)) => why,
            };
            disruption_failed |= disrupts;
            let sentence = format!("{}: {why}", described(step));
            warn!(cluster = seen.desired.name, "{sentence}");
            done.failures.push(sentence);
        }
        Ok(())
    }

    async fn perform(&self, desired: &quorate_foundationdb::Desired, step: &ClusterStep, done: &mut Done) -> Result<(), Stopped> {
        match side(step) {
            Side::Kubernetes => self.perform_in_kubernetes(desired, step, &mut done.expected).await,
            Side::Database => {
                // Also what failed may have happened.
                done.database_changed = true;
                self.perform_in_database(&done.target, step).await
            }
        }
    }
}

pub(super) fn side(step: &ClusterStep) -> Side {
    match &step.effect {
        Effect::Adds(
            Adds::Database { .. } | Adds::Configuration(_) | Adds::Include(_) | Adds::Lock { .. } | Adds::DenyList { .. },
        )
        | Effect::TakesAway { action: TakesAway::Exclude(_) | TakesAway::Coordinators(_) | TakesAway::Kill(_), .. } => {
            Side::Database
        }
        Effect::Adds(_) | Effect::TakesAway { .. } => Side::Kubernetes,
    }
}

/// The object that a step makes.
fn made(step: &ClusterStep) -> Option<(Kind, &str)> {
    let Effect::Adds(adds) = &step.effect else { return None };
    let (kind, metadata) = match adds {
        Adds::Pod(object) => (Kind::Pods, &object.metadata),
        Adds::Claim(object) => (Kind::Claims, &object.metadata),
        Adds::Service(object) => (Kind::Services, &object.metadata),
        Adds::ConfigMap(object) => (Kind::ConfigMaps, &object.metadata),
        Adds::DisruptionBudget(object) => (Kind::Budgets, &object.metadata),
        _ => return None,
    };
    Some((kind, metadata.name.as_deref().unwrap_or_default()))
}
