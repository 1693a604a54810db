//! What is done to the database, each in one transaction. Restarts are the exception, which FoundationDB offers outside of them only.

use std::time::Duration;

use quorate_fdb_client::{Answer, Call, Change, Commit, Expectation, Failure, Management, Octets, Target, Write};
use quorate_foundationdb::configuration::ConfigurationKeys;
use quorate_foundationdb::decide::{Adds, ClusterStep, TakesAway};
use quorate_quorum::{Effect, Fence};

use super::{Hands, Stopped};

/// How long a change may take.
const CHANGE_DEADLINE: Duration = Duration::from_secs(20);
/// How long creating a database may take: it answers only once it has recruited everybody.
const CREATION_DEADLINE: Duration = Duration::from_secs(60);

impl Hands {
    pub(super) async fn perform_in_database(&self, target: &Result<Target, String>, step: &ClusterStep) -> Result<(), Stopped> {
        let Some((effect, call)) = asked(&step.effect) else { return Ok(()) };
        let judged = match target {
            Ok(target) => {
                let creates = effect == CREATION;
                let deadline = if creates { CREATION_DEADLINE } else { CHANGE_DEADLINE };
                let mut answer = Ok(Answer::Committed);
                for call in fenced(call, step.guard.fence.as_ref()) {
                    answer = self.database.call(target, call, deadline).await;
                    if answer.is_err() {
                        break;
                    }
                }
                judge(answer, creates)
            }
            Err(why) => Err(Stopped::Silent(why.clone())),
        };
        self.metrics.effect(effect, judged.is_ok());
        judged
    }
}

const CREATION: &str = "database";

/// The name of an effect on the database, and what is asked for it.
fn asked(effect: &Effect<Adds, TakesAway>) -> Option<(&'static str, Call)> {
    let manage = |change| Call::Commit(Commit { manage: Some(change), ..Commit::default() });
    let configure = |new, keys| manage(Management::Configure(Change { new, keys: octets(keys) }));
    Some(match effect {
        Effect::Adds(Adds::Database { id, keys }) => (CREATION, configure(Some(id.clone()), keys)),
        Effect::Adds(Adds::Configuration(keys)) => ("configuration", configure(None, keys)),
        Effect::Adds(Adds::Include(places)) => ("include", manage(Management::Include(places.clone()))),
        Effect::Adds(Adds::Lock { key, from, to }) => {
            let key = Octets(key.clone());
            let expect = vec![Expectation::Key(key.clone(), from.clone().map(Octets))];
            let write = to.clone().map_or_else(|| Write::Clear(key.clone()), |value| Write::Set(key.clone(), Octets(value)));
            ("lock", Call::Commit(Commit { expect, manage: None, writes: vec![write] }))
        }
        Effect::Adds(Adds::DenyList { deny, allow }) => {
            let denied = deny.iter().map(|(key, name)| Write::Set(Octets(key.clone()), Octets(name.clone().into_bytes())));
            let writes = denied.chain(allow.iter().map(|key| Write::Clear(Octets(key.clone())))).collect();
            ("deny-list", Call::Commit(Commit { expect: vec![], manage: None, writes }))
        }
        Effect::TakesAway { action: TakesAway::Exclude(places), .. } => ("exclude", manage(Management::Exclude(places.clone()))),
        Effect::TakesAway { action: TakesAway::Coordinators(addresses), .. } => {
            ("coordinators", manage(Management::Coordinators(addresses.clone())))
        }
        Effect::TakesAway { action: TakesAway::Kill(addresses), .. } => ("kill", Call::Kill(addresses.clone())),
        Effect::Adds(_) | Effect::TakesAway { .. } => return None,
    })
}

/// The same under a lock: what must still be so is read in the transaction, and written again, for a transaction that writes nothing is
/// not checked for conflicts. What can't be in a transaction comes right after one.
fn fenced(call: Call, fence: Option<&Fence>) -> Vec<Call> {
    let Some(Fence { key, value }) = fence else { return vec![call] };
    let (key, value) = (Octets(key.clone()), Octets(value.clone()));
    let expect = vec![Expectation::Key(key.clone(), Some(value.clone()))];
    let writes = vec![Write::Set(key, value)];
    match call {
        // A change of coordinators loses every other write of its transaction.
        Call::Commit(Commit { manage: Some(manage @ Management::Coordinators(_)), .. }) => {
            vec![Call::Commit(Commit { expect, manage: Some(manage), writes: vec![] })]
        }
        Call::Commit(Commit { manage: Some(manage), .. }) => vec![Call::Commit(Commit { expect, manage: Some(manage), writes })],
        other => vec![Call::Commit(Commit { expect, manage: None, writes }), other],
    }
}

fn octets(keys: &ConfigurationKeys) -> std::collections::BTreeMap<String, Octets> {
    keys.iter().map(|(name, value)| (name.clone(), Octets(value.clone()))).collect()
}

fn judge(answer: Result<Answer, Failure>, creates: bool) -> Result<(), Stopped> {
    match answer {
        Ok(Answer::Committed | Answer::Killed(true)) => Ok(()),
        // Somebody was first, or our own answer was lost: there is a database, which is what was asked for.
        Err(Failure::AlreadyCreated) if creates => Ok(()),
        Ok(Answer::Killed(false)) => Err(Stopped::Failed("it was not sent, so nothing was restarted".to_owned())),
        Ok(Answer::Seen(_)) => Err(Stopped::Failed("it answered with a report".to_owned())),
        Err(Failure::Changed { .. } | Failure::Conflict) => Err(Stopped::Changed),
        Err(failure @ (Failure::Timeout { .. } | Failure::UnknownResult)) => {
            Err(Stopped::Silent(format!("{failure}; it may have happened all the same, so the database is asked first")))
        }
        Err(failure @ (Failure::Unavailable(_) | Failure::NoLibrary { .. } | Failure::Incompatible { .. })) => {
            Err(Stopped::Silent(failure.to_string()))
        }
        Err(failure) => Err(Stopped::Failed(failure.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creating_carries_the_id_and_every_key() {
        let keys = ConfigurationKeys::from([("logs".to_owned(), b"3".to_vec())]);
        let (name, call) = asked(&Effect::Adds(Adds::Database { id: "ab".repeat(16), keys })).unwrap();
        let Call::Commit(Commit { manage: Some(Management::Configure(change)), expect, writes }) = call else {
            panic!("{call:?}")
        };
        assert_eq!((name, change.new, change.keys["logs"].0.as_slice()), (CREATION, Some("ab".repeat(16)), b"3".as_slice()));
        assert!(expect.is_empty() && writes.is_empty());
    }

    #[test]
    fn a_database_that_is_there_was_created() {
        assert!(judge(Err(Failure::AlreadyCreated), true).is_ok());
        assert!(matches!(judge(Err(Failure::AlreadyCreated), false), Err(Stopped::Failed(_))));
    }

    #[test]
    fn nobody_is_told_that_nothing_happened_when_nobody_knows() {
        let Err(Stopped::Silent(why)) = judge(Err(Failure::Timeout { milliseconds: 20_000 }), false) else {
            panic!("it was heard")
        };
        assert!(why.contains("may have happened"), "{why}");
        assert!(matches!(judge(Ok(Answer::Killed(false)), false), Err(Stopped::Failed(_))));
        assert!(matches!(judge(Err(Failure::Conflict), false), Err(Stopped::Changed)));
    }
}
