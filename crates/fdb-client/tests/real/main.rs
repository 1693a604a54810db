//! Against a real FoundationDB, where `QUORATE_FDB_BIN` names the folder with fdbserver, fdbcli and libfdb_c.so. Without it every test
//! says that it was not run.
//!
//! With `QUORATE_UPDATE=1` the cases of the contract are recorded into `recordings/`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bench;
mod certificates;
mod comparisons;
mod names;
#[path = "../stories/real_child.rs"]
mod real_child;
#[path = "../stories/mod.rs"]
mod stories;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use futures::{StreamExt, stream};
use quorate_fdb_client::suite::{CASES, Case, Coverage, Recorder, Session};

/// Cases that are played over TLS as well: one for each way in which addresses are written.
const OVER_TLS: [&str; 6] = [
    "a_database_is_created_once_and_by_whom_is_known",
    "a_configuration_is_changed_together_with_a_claim",
    "an_excluded_process_is_drained_and_included_again",
    "a_process_gets_another_class_and_its_own_back",
    "coordinators_are_changed_and_a_second_time_is_no_change",
    "known_processes_are_restarted_and_with_one_unknown_none",
];

/// A case, and whether it is played over TLS.
struct Played {
    case: &'static Case,
    tls: bool,
}

impl Played {
    fn all() -> impl Iterator<Item = Self> {
        let secret = CASES.iter().filter(|case| OVER_TLS.contains(&case.name));
        CASES.iter().map(|case| Self { case, tls: false }).chain(secret.map(|case| Self { case, tls: true }))
    }

    fn name(&self) -> String {
        format!("{}{}", if self.tls { "over_tls::" } else { "" }, self.case.name)
    }
}

fn main() -> ExitCode {
    if std::env::var_os(bench::CHILD).is_some() {
        return quorate_fdb_client::child_main(&real_child::Child::parse().arguments);
    }
    let mut others = [comparisons::STORIES, names::IDENTITIES].concat();
    match names::missing().filter(|_| bench::programs().is_some()) {
        None => others.extend(names::STORIES),
        Some(reason) => names::STORIES.iter().for_each(|(name, _)| println!("test {name} ... not run: {reason}")),
    }
    if bench::programs().is_none() {
        let names: Vec<String> =
            Played::all().map(|case| case.name()).chain(others.iter().map(|(name, _)| (*name).to_owned())).collect();
        for name in &names {
            println!("test {name} ... not run: QUORATE_FDB_BIN is not set");
        }
        println!("0 passed, 0 failed, {} not run", names.len());
        return ExitCode::SUCCESS;
    }
    let cases = play();
    let stories = stories::tell(&others);
    if cases && stories == ExitCode::SUCCESS { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// So many clusters run at once; most of a case is waiting for a database.
const AT_ONCE: usize = 4;

/// Plays every case that was asked for, records it if that was asked for, and says what they covered.
fn play() -> bool {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let asked = |case: &Played| wanted.is_empty() || wanted.iter().any(|part| case.name().contains(part.as_str()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let results =
        runtime.block_on(stream::iter(Played::all().filter(asked)).map(told).buffer_unordered(AT_ONCE).collect::<Vec<_>>());
    let mut coverage = Coverage::default();
    for (_, covered) in &results {
        coverage.add(covered);
    }
    let failed: Vec<&str> = results.iter().filter_map(|(failed, _)| failed.as_deref()).collect();
    println!("the contract: {} passed, {} failed: {failed:?}", results.len() - failed.len(), failed.len());
    println!("covered: {} calls, {} failures {:?}", coverage.calls.len(), coverage.failures.len(), coverage.failures);
    let (calls, failures) = coverage.missing();
    println!("not covered: calls {calls:?}, failures {failures:?}");
    failed.is_empty()
}

/// Plays a case and says how it went: its name if it failed, and what it covered.
async fn told(played: Played) -> (Option<String>, Coverage) {
    let start = Instant::now();
    let mut coverage = Coverage::default();
    let result = one(&played, &mut coverage).await;
    let (name, seconds) = (played.name(), start.elapsed().as_secs_f32());
    match result {
        Ok(()) => {
            println!("test {name} ... ok ({seconds:.1} s)");
            (None, coverage)
        }
        Err(problem) => {
            println!("test {name} ... FAILED ({seconds:.1} s)\n  {problem}");
            (Some(name), coverage)
        }
    }
}

async fn one(played: &Played, coverage: &mut Coverage) -> Result<(), String> {
    let files = tempfile::tempdir().unwrap();
    let ways = bench::Ways { tls: played.tls.then(|| certificates::identity(files.path())), name: None };
    let mut bench = bench::Real::with(&bench::programs().unwrap(), ways);
    let mut recorder = Recorder::new(&mut bench);
    let mut session = Session::new(&mut recorder);
    let result = (played.case.run)(&mut session).await;
    coverage.add(&session.coverage);
    let recording = recorder.finish();
    bench.end().await;
    result?;
    if std::env::var_os("QUORATE_UPDATE").is_some() && !played.tls {
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("recordings").join(format!("{}.json", played.case.name));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, recording.to_text()?).map_err(|error| error.to_string())?;
    }
    Ok(())
}
