//! What to make of a commit whose result is unknown. Pure: attempts and evidence go in, what to do next comes out.
//!
//! A commit that ends in "unknown" has happened or has not. Its effects are read: all there, it happened; none there, it did not, and it
//! is tried again; anything else can't be told apart from somebody else's doing. A second attempt that fails is no answer by itself,
//! because the first may have happened late, and be the very reason of the failure.

use crate::contract::{Answer, Failure};

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Committed.
    Committed,
    /// It may have happened.
    Unknown,
    /// It did not happen, and the database asks to try again.
    Retry,
    /// It did not happen, because it was so already.
    NothingToDo(Failure),
    /// It did not happen, for this reason.
    Failed(Failure),
}

/// What reading showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    Happened,
    DidNotHappen,
    Unclear,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Answer(Result<Answer, Failure>),
    Try,
    Read,
}

/// One commit, from the first attempt to the answer.
#[derive(Debug, Default)]
pub(crate) struct Doubt {
    /// An attempt may have happened.
    doubtful: bool,
    /// How the last attempt failed, if it did; the answer, unless reading shows otherwise.
    failure: Option<Failure>,
}

impl Doubt {
    pub(crate) fn attempted(&mut self, outcome: Outcome) -> Next {
        self.failure = None;
        match outcome {
            Outcome::Committed => Next::Answer(Ok(Answer::Committed)),
            Outcome::Retry => Next::Try,
            Outcome::Unknown => {
                self.doubtful = true;
                Next::Read
            }
            Outcome::NothingToDo(_) if self.doubtful => Next::Answer(Ok(Answer::Committed)),
            Outcome::NothingToDo(failure) | Outcome::Failed(failure) => {
                if !self.doubtful {
                    return Next::Answer(Err(failure));
                }
                self.failure = Some(failure);
                Next::Read
            }
        }
    }

    pub(crate) fn read(&mut self, evidence: Evidence) -> Next {
        match (evidence, self.failure.take()) {
            (Evidence::Happened, _) => Next::Answer(Ok(Answer::Committed)),
            (Evidence::DidNotHappen, None) => Next::Try,
            (Evidence::DidNotHappen, Some(failure)) => Next::Answer(Err(failure)),
            (Evidence::Unclear, _) => Next::Answer(Err(Failure::UnknownResult)),
        }
    }
}

/// What effects say, each as it was before the first attempt (if that is known) and as it is now.
///
/// Only an effect that was not there before tells anything. Where everything was so before, the change is as good as made, if its
/// effects are all that there is to it.
pub(crate) fn judge(before: Option<&[bool]>, now: &[bool], complete: bool) -> Evidence {
    let was = |index: usize| before.and_then(|before| before.get(index)).copied().unwrap_or(false);
    let telling: Vec<bool> = now.iter().enumerate().filter(|(index, _)| !was(*index)).map(|(_, there)| *there).collect();
    let all = now.iter().all(|there| *there);
    match (telling.is_empty(), all) {
        (true, true) if complete && !now.is_empty() => Evidence::Happened,
        (false, true) => Evidence::Happened,
        (false, false) if telling.iter().all(|there| !there) => Evidence::DidNotHappen,
        _ => Evidence::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok() -> Next {
        Next::Answer(Ok(Answer::Committed))
    }

    fn failed(failure: Failure) -> Next {
        Next::Answer(Err(failure))
    }

    #[test]
    fn what_is_certain_is_answered_at_once() {
        assert_eq!(Doubt::default().attempted(Outcome::Committed), ok());
        assert_eq!(Doubt::default().attempted(Outcome::Failed(Failure::Conflict)), failed(Failure::Conflict));
        assert_eq!(Doubt::default().attempted(Outcome::NothingToDo(Failure::Locked)), failed(Failure::Locked));
        assert_eq!(Doubt::default().attempted(Outcome::Retry), Next::Try);
    }

    #[test]
    fn an_unknown_result_is_read_before_anything_else() {
        for (evidence, next) in
            [(Evidence::Happened, ok()), (Evidence::DidNotHappen, Next::Try), (Evidence::Unclear, failed(Failure::UnknownResult))]
        {
            let mut doubt = Doubt::default();
            assert_eq!(doubt.attempted(Outcome::Unknown), Next::Read);
            assert_eq!(doubt.read(evidence), next);
        }
    }

    #[test]
    fn our_own_late_commit_is_not_mistaken_for_somebody_elses() {
        let mut doubt = Doubt::default();
        doubt.attempted(Outcome::Unknown);
        assert_eq!(doubt.read(Evidence::DidNotHappen), Next::Try);
        let changed = Failure::Changed { key: "claim".into() };
        assert_eq!(doubt.attempted(Outcome::Failed(changed.clone())), Next::Read);
        assert_eq!(doubt.read(Evidence::Happened), ok());
        assert_eq!(doubt.attempted(Outcome::Failed(changed.clone())), Next::Read);
        assert_eq!(doubt.read(Evidence::DidNotHappen), failed(changed));
    }

    #[test]
    fn no_change_after_our_own_unknown_result_is_our_success() {
        let refused = Failure::Refused { command: "coordinators".into(), message: "No change".into(), retriable: false };
        let mut doubt = Doubt::default();
        assert_eq!(doubt.attempted(Outcome::NothingToDo(refused.clone())), failed(refused.clone()));
        doubt.attempted(Outcome::Unknown);
        doubt.read(Evidence::DidNotHappen);
        assert_eq!(doubt.attempted(Outcome::NothingToDo(refused)), ok());
    }

    #[test]
    fn only_what_was_not_so_before_tells_anything() {
        let before = [true, false];
        assert_eq!(judge(Some(&before), &[true, true], true), Evidence::Happened);
        assert_eq!(judge(Some(&before), &[true, false], true), Evidence::DidNotHappen);
        assert_eq!(judge(Some(&[false, false]), &[true, false], true), Evidence::Unclear);
        assert_eq!(judge(Some(&[true, true]), &[true, true], true), Evidence::Happened);
        assert_eq!(judge(Some(&[true, true]), &[true, true], false), Evidence::Unclear);
        assert_eq!(judge(Some(&[true, true]), &[true, false], true), Evidence::Unclear);
        assert_eq!(judge(Some(&[]), &[], true), Evidence::Unclear);
        assert_eq!(judge(None, &[true], true), Evidence::Happened);
        assert_eq!(judge(None, &[false], true), Evidence::DidNotHappen);
    }
}
