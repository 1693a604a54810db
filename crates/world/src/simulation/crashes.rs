//! Crashes, each of them and not only those that chance draws: an operator dies right before and right after everything it changes.

use super::run::Report;
use super::script::{CallFault, Disturbance, Script};

/// A call by which an operator changed something: an object of the API (but for leases and events), or a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The number of the call.
    pub call: u64,
    /// What it changed.
    pub what: String,
}

/// A world with one crash.
#[derive(Clone, Debug)]
pub struct Crashed {
    /// Which change it crashes at, counted from 1.
    pub number: usize,
    /// Before it is carried out, or after.
    pub before: bool,
    /// What was being changed.
    pub what: String,
    /// The script of the world, with the crash.
    pub script: Script,
}

/// The worlds in which the operator crashes once: before and after each of the changes that it makes in a run of this script. Until then
/// they are the same, for a run follows from its script alone.
pub fn with_each_crash(script: &Script, run: &Report) -> Vec<Crashed> {
    let crashed = |(number, change, fault): (usize, &Change, CallFault)| {
        let mut script = script.clone();
        script.disturbances.push(Disturbance::Call(change.call, fault));
        let before = fault == CallFault::CrashBefore;
        Crashed { number, before, what: change.what.clone(), script }
    };
    let faults = [CallFault::CrashBefore, CallFault::CrashAfter];
    let changes = run.changes.iter().enumerate();
    changes.flat_map(|(at, change)| faults.map(|fault| (at + 1, change, fault))).map(crashed).collect()
}

#[cfg(test)]
mod tests {
    use super::super::run::play;
    use super::super::scenario::Scenario;
    use super::*;

    /// All of them are tried by `quorate simulate --crashes`, which has the time.
    const ONE_IN: usize = 127;

    fn story() -> Script {
        Script::new(Scenario::named("changes").unwrap_or(&Scenario::ALL[0]), 0)
    }

    #[test]
    fn a_crash_before_or_after_a_change_changes_nothing_in_the_end() {
        let script = story();
        let run = play(&script);
        assert_eq!(run.violation, None);
        assert!(run.as_asked, "without a crash it comes to rest as asked");
        for crashed in with_each_crash(&script, &run).iter().step_by(ONE_IN) {
            let report = play(&crashed.script);
            let crashes = report.faults.iter().filter(|(fault, _)| fault.starts_with("crash")).map(|(_, count)| *count);
            assert_eq!(crashes.sum::<u64>(), 1, "{} {}", crashed.number, crashed.what);
            assert_eq!(report.violation, None, "{} {} before: {}", crashed.number, crashed.what, crashed.before);
            assert!(report.as_asked, "{} {} before: {}", crashed.number, crashed.what, crashed.before);
        }
    }

    #[test]
    fn what_is_sent_to_a_database_is_carried_out_though_its_sender_is_gone() {
        let birth = Script { disturbances: Vec::new(), ..story() };
        let worlds = with_each_crash(&birth, &play(&birth));
        let creations: Vec<&Crashed> = worlds.iter().filter(|one| one.what == "database: configure new").collect();
        let done_by_the_first = |crashed: &&Crashed| {
            let done = format!("operator-1: {} -> Committed", crashed.what);
            play(&crashed.script).story.iter().any(|line| line.ends_with(&done))
        };
        assert_eq!(creations.iter().map(|one| one.before).collect::<Vec<_>>(), [true, false]);
        assert_eq!(creations.iter().map(done_by_the_first).collect::<Vec<_>>(), [false, true]);
    }
}
