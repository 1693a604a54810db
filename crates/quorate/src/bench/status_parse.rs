//! How long the database's report takes to read, against reading the same bytes as plain JSON.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use quorate_foundationdb::DatabaseReport;
use serde_json::{Map, Value};

use super::Measured;

const RECORDED: &str = include_str!("../../../world/recordings/fdb-status/triple-12proc-healthy.json");

/// The largest cluster FoundationDB is tested with.
const PROCESSES: usize = 500;
/// Each side is timed so often, in turns; the fastest counts, which is the one that nobody else disturbed.
const TURNS: usize = 20;

pub(super) fn measure() -> Result<Measured> {
    let document = document()?;
    let (mut ours, mut baseline) = (Duration::MAX, Duration::MAX);
    for _ in 0..TURNS {
        ours = ours.min(timed(|| DatabaseReport::parse(&document).is_ok_and(|report| report.processes.len() == PROCESSES))?);
        baseline = baseline.min(timed(|| serde_json::from_slice::<Value>(&document).is_ok())?);
    }
    let milliseconds = |duration: Duration| duration.as_secs_f64() * 1000.0;
    Ok(Measured {
        value: Some(ours.as_secs_f64() / baseline.as_secs_f64()),
        baseline: Some(milliseconds(baseline)),
        note: format!(
            "{:.2} ms for {} KiB of {PROCESSES} processes; as plain JSON {:.2} ms",
            milliseconds(ours),
            document.len() / 1024,
            milliseconds(baseline)
        ),
    })
}

fn timed(work: impl Fn() -> bool) -> Result<Duration> {
    let start = Instant::now();
    let well = black_box(work());
    let took = start.elapsed();
    anyhow::ensure!(well, "the document could not be read");
    Ok(took)
}

/// The recorded document with its processes again and again, each with an address and an id of its own.
fn document() -> Result<Vec<u8>> {
    let mut document: Value = serde_json::from_str(RECORDED).context("reading the recorded status document")?;
    let recorded = document["cluster"]["processes"].as_object().context("the recorded document has no processes")?.clone();
    let processes: Map<String, Value> = recorded.values().cycle().take(PROCESSES).enumerate().map(numbered).collect();
    document["cluster"]["processes"] = Value::Object(processes);
    Ok(serde_json::to_vec_pretty(&document)?)
}

fn numbered((number, process): (usize, &Value)) -> (String, Value) {
    let mut process = process.clone();
    process["address"] = Value::String(format!("198.18.{}.{}:4501", number / 250, 1 + number % 250));
    process["locality"]["instance_id"] = Value::String(format!("storage-{number}"));
    (format!("{number:032x}"), process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_as_many_processes_as_it_says() {
        let report = DatabaseReport::parse(&document().unwrap()).unwrap();
        assert_eq!(report.processes.len(), PROCESSES);
        assert!(report.available);
    }
}
