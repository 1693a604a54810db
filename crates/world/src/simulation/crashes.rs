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
    const ONE_IN: usize = 79;

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
        let script = story();
        let run = play(&script);
        let created = |one: &&Crashed| one.what == "database: configure new";
        let worlds = with_each_crash(&script, &run);
        let created: Vec<&Crashed> = worlds.iter().filter(created).collect();
        assert_eq!(created.len(), 2, "it is created once, and crashes before and after");
        let again = created.iter().map(|crashed| {
            let changes = play(&crashed.script).changes;
            changes.iter().filter(|change| change.what == crashed.what).count()
        });
        // It was sent and not carried out, so it is sent again; it was carried out, so it is not.
        assert_eq!(again.collect::<Vec<_>>(), [2, 1]);
    }
}
