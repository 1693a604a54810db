//! The model and a real server, second by second: what was seen has to happen in the model within a second and a half, and what lasts in the
//! model has to have been seen.

use std::collections::BTreeMap;

use quorate_fdb_client::{Answer, Call, Look, Management, Range};
use regex::Regex;
use serde_json::Value;

use crate::story::{Story, recorded_text, recording};

/// How far the model may be off, in seconds.
const TOLERANCE: f64 = 1.5;
/// How often the model is looked at.
const STEP: f64 = 0.25;
/// What is shorter may have been missed.
const LASTING: f64 = 2.0;

/// A moment: what is known, by the names of the recordings.
type Facts = BTreeMap<&'static str, String>;

/// One recorded line: begin and end of the call, and what it showed.
struct Line {
    from: f64,
    to: f64,
    facts: BTreeMap<String, String>,
}

fn recorded(file: &str) -> Vec<Line> {
    let head = Regex::new(r"^t=([\d.]+) \((\d+) ms\)").unwrap();
    let field = Regex::new(r"(\w+)=((?:\[[^\]]*\]|\{[^}]*\}|\S)+)").unwrap();
    recorded_text(file)
        .lines()
        .map(|line| {
            let numbers = head.captures(line).unwrap();
            let from: f64 = numbers[1].parse().unwrap();
            let to = from + numbers[2].parse::<f64>().unwrap() / 1000.0;
            let facts = field.captures_iter(line).map(|it| (it[1].to_owned(), it[2].to_owned())).collect();
            Line { from, to, facts }
        })
        .collect()
}

/// What the model's status says, in the words of the recordings.
fn facts(status: &Value) -> Facts {
    let truth =
        |value: &Value| value.as_bool().map_or_else(|| "-".to_owned(), |it| if it { "True".into() } else { "False".into() });
    let number = |value: &Value| value.as_i64().map_or_else(|| "-".to_owned(), |it| it.to_string());
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let names = |messages: &Value| {
        let names: Vec<String> =
            messages.as_array().into_iter().flatten().map(|it| format!("'{}'", it["name"].as_str().unwrap())).collect();
        if names.is_empty() { "-".to_owned() } else { format!("[{}]", names.join(", ")) }
    };
    let (client, cluster) = (&status["client"], &status["cluster"]);
    let excluded = cluster["processes"].as_object().into_iter().flatten().filter(|(_, it)| it["excluded"] == true).count();
    [
        ("av", truth(&client["database_status"]["available"])),
        ("hl", truth(&client["database_status"]["healthy"])),
        ("rec", text(&cluster["recovery_state"]["name"])),
        ("np", cluster["processes"].as_object().map_or(0, serde_json::Map::len).to_string()),
        ("ds", text(&cluster["data"]["state"]["name"])),
        ("dh", truth(&cluster["data"]["state"]["healthy"])),
        ("mrr", number(&cluster["data"]["state"]["min_replicas_remaining"])),
        ("hp", number(&cluster["data"]["moving_data"]["highest_priority"])),
        ("fa", number(&cluster["fault_tolerance"]["max_zone_failures_without_losing_availability"])),
        ("fd", number(&cluster["fault_tolerance"]["max_zone_failures_without_losing_data"])),
        ("mz", text(&cluster["maintenance_zone"])),
        ("m", names(&cluster["messages"])),
        ("cm", names(&client["messages"])),
        ("qr", truth(&client["coordinators"]["quorum_reachable"])),
        ("excluded", excluded.to_string()),
    ]
    .into()
}

/// Something that is done at a moment.
type Deed<'a> = (f64, &'a mut dyn FnMut(&mut Story));

/// Plays the script and compares the fields.
fn follow(file: &str, fields: &[&'static str], story: &mut Story, script: &mut [Deed<'_>]) {
    let lines = recorded(file);
    let beginning = story.database.now();
    let end = lines.last().unwrap().from;
    let mut seen: Vec<(f64, Facts)> = Vec::new();
    let mut done = 0;
    for step in 0.. {
        let moment = f64::from(step) * STEP;
        if moment > end {
            break;
        }
        while done < script.len() && script[done].0 <= moment {
            story.pass(script[done].0 - story.since(beginning));
            (script[done].1)(story);
            done += 1;
        }
        story.pass((moment - story.since(beginning)).max(0.0));
        seen.push((moment, facts(&story.status())));
    }
    let mut problems = Vec::new();
    for &field in fields {
        for line in &lines {
            let value = line.facts.get(field).map_or("-", String::as_str);
            let near = |moment: f64| moment >= line.from - TOLERANCE && moment <= line.to + TOLERANCE;
            if !seen.iter().any(|(moment, facts)| near(*moment) && facts[field] == value) {
                let model: Vec<&String> =
                    seen.iter().filter(|(moment, _)| near(*moment)).map(|(_, facts)| &facts[field]).collect();
                problems.push(format!("t={}: recorded {field}={value}, model {model:?}", line.from));
            }
        }
        for run in seen.chunk_by(|one, other| one.1[field] == other.1[field]) {
            let (from, to, value) = (run[0].0, run[run.len() - 1].0, &run[0].1[field]);
            let in_time = |line: &&Line| line.from - TOLERANCE <= to && line.to + TOLERANCE >= from;
            let matches = |line: &Line| line.facts.get(field).map_or("-", String::as_str) == value;
            if to - from >= LASTING && !lines.iter().filter(in_time).any(matches) {
                problems.push(format!("t={from}..{to}: {field}={value} was never seen"));
            }
        }
    }
    assert!(problems.is_empty(), "{file}:\n{}", problems.join("\n"));
}

fn twelve() -> Story {
    let mut cluster = recording("triple-12proc-healthy");
    cluster["cluster"]["connection_string"] = recording("after-exclusion-done")["cluster"]["connection_string"].clone();
    let mut story = Story::created(&cluster);
    story.database.hold(60_000_000);
    story
}

const EVERYTHING: [&str; 9] = ["av", "rec", "ds", "dh", "mrr", "fa", "fd", "np", "qr"];

#[test]
fn all_processes_bounce_at_once() {
    let mut story = twelve();
    let all = story.ports();
    follow(
        "bounce-all-at-once-sequence.txt",
        &["av", "hl", "ds", "dh", "mrr"],
        &mut story,
        &mut [(1.0, &mut |story: &mut Story| story.stop(&all)), (1.4, &mut |story: &mut Story| story.start(&all))],
    );
}

#[test]
fn all_processes_bounce_and_stay_away_for_eight_seconds() {
    let mut story = twelve();
    let all = story.ports();
    follow(
        "bounce-8s-restart-sequence.txt",
        &["av", "rec", "ds", "dh", "mrr", "cm", "qr", "np"],
        &mut story,
        &mut [(1.2, &mut |story: &mut Story| story.stop(&all)), (9.2, &mut |story: &mut Story| story.start(&all))],
    );
}

#[test]
fn a_storage_process_dies() {
    let mut story = twelve();
    follow(
        "storage-dead-sequence.txt",
        &[&EVERYTHING[..], &["hl", "hp", "m"]].concat(),
        &mut story,
        &mut [(3.8, &mut |story: &mut Story| story.stop(&[4704]))],
    );
}

#[test]
fn a_storage_process_dies_under_maintenance() {
    let mut story = twelve();
    follow(
        "maintenance-sequence.txt",
        &[&EVERYTHING[..], &["hp", "mz"]].concat(),
        &mut story,
        &mut [
            (1.9, &mut |story: &mut Story| {
                story.commit(Management::Maintain { zone: "z-storage-1".into(), seconds: 92 }).unwrap();
            }),
            (3.9, &mut |story: &mut Story| story.stop(&[4700])),
        ],
    );
}

#[test]
fn several_processes_are_excluded() {
    let mut story = twelve();
    let log = format!("log-{}", story.with_role("log")[1] - 4704);
    let master = format!("stateless-{}", story.with_role("master")[0] - 4708);
    follow(
        "excluding-several-sequence.txt",
        &[&EVERYTHING[..], &["hl", "hp", "m"]].concat(),
        &mut story,
        &mut [(1.9, &mut |story: &mut Story| {
            story.exclude(&["storage-1", "storage-2", &log, &master]).unwrap();
        })],
    );
}

#[test]
fn a_datacenter_with_the_leader_is_lost() {
    let mut story = Story::created(&recording("three_datacenter-healthy"));
    assert!([4740, 4741, 4742].contains(&story.with_role("cluster_controller")[0]), "the leader's datacenter was lost");
    follow(
        "three_datacenter-one-dc-lost-sequence.txt",
        &["av", "rec", "ds", "dh", "mrr", "fa", "fd", "np", "qr", "cm"],
        &mut story,
        &mut [(1.9, &mut |story: &mut Story| story.stop(&[4740, 4741, 4742]))],
    );
}

/// What there is to say of a list of moments and read versions: how fast they grow without the jump, the jump, and how long they stand still.
fn pace(samples: &[(f64, i64)]) -> (f64, i64, f64) {
    let jump = samples.windows(2).map(|pair| pair[1].1 - pair[0].1).max().unwrap();
    let (first, last) = (samples[0], samples[samples.len() - 1]);
    #[expect(clippy::cast_precision_loss, reason = "versions of a minute")]
    let rate = (last.1 - first.1 - jump) as f64 / (last.0 - first.0);
    let still = samples.chunk_by(|one, other| one.1 == other.1).map(|run| run[run.len() - 1].0 - run[0].0);
    (rate, jump, still.fold(0.0, f64::max))
}

#[test]
fn read_versions_move_in_steps_and_jump_at_a_recovery() {
    let text = recorded_text("read-version-samples.txt");
    let recorded: Vec<(f64, i64)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(moment, version)| (moment.parse().unwrap(), version.parse().unwrap()))
        .collect();
    let mut story = twelve();
    let (beginning, mut model, mut recovered) = (story.database.now(), Vec::new(), false);
    for (moment, _) in &recorded {
        if *moment > 30.3 && !recovered {
            recovered = true;
            story.exclude(&["log-1", "log-2"]).unwrap();
        }
        story.pass((moment - story.since(beginning)).max(0.0));
        let ranges = vec![Range { begin: "a".into(), end: "b".into() }];
        let Ok(Answer::Seen(seen)) = story.call(Call::Look(Look { exclusions: false, ranges })) else { panic!("nothing seen") };
        model.push((*moment, seen.ranges.unwrap().unwrap().version));
    }
    assert!(model.windows(2).all(|pair| pair[0].1 <= pair[1].1), "versions never go back");
    let ((rate, jump, still), (real_rate, real_jump, real_still)) = (pace(&model), pace(&recorded));
    assert!((rate / real_rate - 1.0).abs() < 0.1, "{rate} versions a second instead of {real_rate}");
    assert!((jump - real_jump).abs() < 3_000_000, "a jump of {jump} instead of {real_jump}");
    assert!((still - real_still).abs() <= 1.0, "they stand still for {still} s instead of {real_still}");
}
