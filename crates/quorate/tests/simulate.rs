//! `quorate simulate` and `quorate replay`, as somebody uses them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

use quorate_world::simulation::{Recording, Scenario, Script, Violation};
use serde_json::Value;

fn quorate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quorate")).args(arguments).output().unwrap()
}

/// What is printed by a run that ends well.
fn printed(arguments: &[&str]) -> String {
    let output = quorate(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn worlds_are_summed_up_in_words() {
    let text = printed(&["simulate", "--seeds", "1", "--scenario", "api"]);
    assert!(text.starts_with("1 worlds, 0 violations, "), "{text}");
    let (faults, invariants) = text.split_once("invariants checked:\n").unwrap();
    assert!(faults.contains("faults:\n") && faults.contains("  watch lag\n"), "{text}");
    assert!(invariants.contains("  number 19\n"), "{text}");
}

#[test]
fn worlds_are_summed_up_as_json() {
    let summary: Value = serde_json::from_str(&printed(&["simulate", "--seeds", "2", "--scenario", "calm", "--json"])).unwrap();
    let keys: Vec<_> = summary.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["seeds", "violations", "simulatedSeconds", "cpuSeconds", "faults", "invariants", "restedWithinUsual", "longestToRest"]
    );
    assert_eq!((&summary["seeds"], &summary["violations"]), (&2.into(), &0.into()));
    assert!(summary["simulatedSeconds"].as_u64().unwrap() >= 2 * 16 * 60, "{summary}");
    assert!(summary["cpuSeconds"].as_f64().is_some(), "{summary}");
    assert_eq!(summary["faults"], serde_json::json!({}), "nothing goes wrong in calm");
    assert!(summary["invariants"]["28"].as_u64().unwrap() > 0, "{summary}");
}

#[test]
fn a_world_is_told_line_by_line_and_always_alike() {
    let told = || {
        let text = printed(&["simulate", "--seed", "3", "--scenario", "calm", "--trace"]);
        let (story, summary) = text.split_once("1 worlds, 0 violations").unwrap();
        assert!(summary.contains("invariants checked:"), "{summary}");
        story.to_owned()
    };
    let story = told();
    assert!(story.lines().count() > 50, "{story}");
    assert!(story.contains("operator-1 starts") && story.ends_with("at rest\n"), "{story}");
    assert_eq!(story, told());
}

#[test]
fn a_world_that_is_run_twice_counts_once() {
    let text = printed(&["simulate", "--seeds", "1", "--scenario", "calm", "--twice"]);
    assert!(text.starts_with("1 worlds, 0 violations, "), "{text}");
}

/// A file as a failing run leaves it, of a world that breaks nothing any more.
fn mended(folder: &tempfile::TempDir, version: &str) -> String {
    let violation = Violation { invariant: 19, what: "a shard has no copy".to_owned() };
    let script = Script::new(Scenario::named("calm").unwrap(), 0);
    let recording = Recording { quorate: version.to_owned(), build: Some("another".to_owned()), violation, script };
    let file = folder.path().join("quorate-calm-0.json");
    std::fs::write(&file, serde_json::to_string_pretty(&recording).unwrap()).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_run_that_breaks_nothing_any_more_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let text = printed(&["replay", &mended(&folder, env!("CARGO_PKG_VERSION"))]);
    assert!(text.contains("operator-1 starts"), "{text}");
    assert!(text.ends_with("nothing was broken; it used to break invariant 19: a shard has no copy\n"), "{text}");
}

#[test]
fn a_run_of_another_version_is_played_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let output = quorate(&["replay", &mended(&folder, "0.0.1")]);
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("made by version 0.0.1; this is "), "{said}");
}

#[test]
fn a_run_of_another_build_is_played_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let output = quorate(&["replay", &mended(&folder, env!("CARGO_PKG_VERSION"))]);
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("made by another build of version ") && said.contains("(another; this is "), "{said}");
}

#[test]
fn a_file_that_no_run_left_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.json");
    std::fs::write(&file, "{}").unwrap();
    let output = quorate(&["replay", file.to_str().unwrap()]);
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("notes.json is not a file that `quorate simulate` left"), "{said}");
}

#[test]
fn what_mutants_would_leave_unheeded_is_refused() {
    for unheeded in
        [&["--scenario", "api"][..], &["--from", "3"], &["--twice"], &["--trace"], &["--keep", "."], &["--shrink", "0"]]
    {
        let output = quorate(&[&["simulate", "--mutants"], unheeded].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("'--mutants' cannot be used with '{}", unheeded[0])), "{said}");
    }
}

#[test]
fn what_enumerated_crashes_would_leave_unheeded_is_refused() {
    for unheeded in ["--mutants", "--twice", "--trace"] {
        let output = quorate(&["simulate", "--crashes", unheeded]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("'--crashes' cannot be used with '{unheeded}'")), "{said}");
    }
}
