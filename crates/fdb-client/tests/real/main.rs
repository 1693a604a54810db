//! Against a real FoundationDB, where `QUORATE_FDB_BIN` names the folder with fdbserver, fdbcli and libfdb_c.so. Without it every test
//! says that it was not run.
//!
//! With `QUORATE_UPDATE=1` the cases of the contract are recorded into `recordings/`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bench;
mod comparisons;
#[path = "../stories/real_child.rs"]
mod real_child;
#[path = "../stories/mod.rs"]
mod stories;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use futures::{StreamExt, stream};
use quorate_fdb_client::suite::{CASES, Case, Coverage, Recorder, Session};

fn main() -> ExitCode {
    if std::env::var_os(bench::CHILD).is_some() {
        return quorate_fdb_client::child_main(&real_child::Child::parse().arguments);
    }
    let others = comparisons::STORIES;
    let Some(programs) = bench::programs() else {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).chain(others.iter().map(|(name, _)| *name)).collect();
        for name in &names {
            println!("test {name} ... not run: QUORATE_FDB_BIN is not set");
        }
        println!("0 passed, 0 failed, {} not run", names.len());
        return ExitCode::SUCCESS;
    };
    let cases = play(&programs);
    let stories = stories::tell(others);
    if cases && stories == ExitCode::SUCCESS { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// So many clusters run at once; most of a case is waiting for a database.
const AT_ONCE: usize = 4;

/// Plays every case that was asked for, records it if that was asked for, and says what they covered.
fn play(programs: &Path) -> bool {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let asked = |case: &&Case| wanted.is_empty() || wanted.iter().any(|part| case.name.contains(part.as_str()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let results = runtime.block_on(
        stream::iter(CASES.iter().filter(asked)).map(|case| told(programs, case)).buffer_unordered(AT_ONCE).collect::<Vec<_>>(),
    );
    let mut coverage = Coverage::default();
    for (_, covered) in &results {
        coverage.add(covered);
    }
    let failed: Vec<&str> = results.iter().filter_map(|(failed, _)| *failed).collect();
    println!("the contract: {} passed, {} failed: {failed:?}", results.len() - failed.len(), failed.len());
    println!("covered: {} calls, {} failures {:?}", coverage.calls.len(), coverage.failures.len(), coverage.failures);
    let (calls, failures) = coverage.missing();
    println!("not covered: calls {calls:?}, failures {failures:?}");
    failed.is_empty()
}

/// Plays a case and says how it went: its name if it failed, and what it covered.
async fn told(programs: &Path, case: &Case) -> (Option<&'static str>, Coverage) {
    let start = Instant::now();
    let mut coverage = Coverage::default();
    let result = one(programs, case, &mut coverage).await;
    let seconds = start.elapsed().as_secs_f32();
    match result {
        Ok(()) => {
            println!("test {} ... ok ({seconds:.1} s)", case.name);
            (None, coverage)
        }
        Err(problem) => {
            println!("test {} ... FAILED ({seconds:.1} s)\n  {problem}", case.name);
            (Some(case.name), coverage)
        }
    }
}

async fn one(programs: &Path, case: &Case, coverage: &mut Coverage) -> Result<(), String> {
    let mut bench = bench::Real::new(programs);
    let mut recorder = Recorder::new(&mut bench);
    let mut session = Session::new(&mut recorder);
    let result = (case.run)(&mut session).await;
    coverage.add(&session.coverage);
    let recording = recorder.finish();
    bench.end().await;
    result?;
    if std::env::var_os("QUORATE_UPDATE").is_some() {
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("recordings").join(format!("{}.json", case.name));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, recording.to_text()?).map_err(|error| error.to_string())?;
    }
    Ok(())
}
