//! What `status`, `explain`, `plan`, `what-if` and `map` say of a cluster in a file, as somebody uses them.
//!
//! `objects/packed.yaml` is what `kubectl get fdb -o yaml` printed: six nodes, three of them cordoned, and a fourth fault domain was asked
//! for. It found no host and was set aside; the process group that was made for it is on its way out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

const PACKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/objects/packed.yaml");

/// What is printed by a run that ends with this code.
fn printed(code: i32, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_quorate")).args(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(code), ""), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The same as JSON, of the one cluster there is.
fn of_packed(code: i32, arguments: &[&str]) -> Value {
    let all: Value = serde_json::from_str(&printed(code, &[arguments, &["--json"]].concat())).unwrap();
    assert_eq!(keys(&all), ["default/packed"]);
    all["default/packed"].clone()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn has_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|found| found.trim() == *line), "{line:?} is missing in\n{text}");
    }
}

/// The same cluster, asked for something else.
fn changed(folder: &Path, from: &str, to: &str) -> PathBuf {
    let text = std::fs::read_to_string(PACKED).unwrap();
    assert_eq!(text.matches(from).count(), 1);
    let file = folder.join("changed.yaml");
    std::fs::write(&file, text.replace(from, to)).unwrap();
    file
}

#[test]
fn status_is_one_line_with_what_is_held_and_set_aside() {
    assert_eq!(
        printed(1, &["status", "-f", PACKED]),
        "CLUSTER         AVAILABLE  PROCESS GROUPS  GENERATION  HELD FOR\n\
         default/packed  yes        8/8             1/2         ExclusionInProgress, PodPending; set aside: storage-3\n"
    );
    let lines: Value = serde_json::from_str(&printed(1, &["status", "-f", PACKED, "--json"])).unwrap();
    assert_eq!(
        lines,
        json!([{
            "cluster": "default/packed", "available": true, "processGroups": "8/8", "carriedOut": "1/2",
            "held": ["ExclusionInProgress", "PodPending"], "setAside": ["storage-3"],
        }])
    );
}

#[test]
fn explain_tells_each_hold_and_what_would_bring_a_domain_back() {
    has_lines(
        &printed(1, &["explain", "packed", "-f", PACKED]),
        &[
            "ExclusionInProgress (storage-9)",
            "measured: less than 90 s, needed: 90 s without recovery",
            "since: 2026-11-17T19:36:50Z",
            "released by: a node that fits the pod",
            "fault domain storage-3 is set aside since 2026-11-17T19:36:50Z: no host was found for it",
            "brought back by: a new node or more than 3 that are ready, or spec.distribution.required: true",
        ],
    );
    let explained = of_packed(1, &["explain", "-f", PACKED]);
    assert_eq!(keys(&explained), ["holds", "setAside"]);
    let hold = ["reason", "about", "sentence", "measured", "threshold", "since", "releasedBy"];
    assert_eq!(keys(&explained["holds"][0]), hold);
    assert_eq!(keys(&explained["setAside"][0]), ["faultDomain", "since", "broughtBackBy"]);
}

#[test]
fn a_plan_tries_what_is_set_aside_again_only_where_there_are_hosts() {
    let text = printed(0, &["plan", "-f", PACKED]);
    let assumed = |hosts| format!("assumed: {hosts}, 10 min until a process is empty, the database as the object's status says");
    has_lines(&text, &["storage-3    0 -> 1    0 go, 1 come", "moves: 1 in 1 wave (1)", &assumed("enough hosts")]);
    assert!(text.contains("  trying again: storage-3\n"), "{text}");
    let text = printed(0, &["plan", "-f", PACKED, "--hosts", "3"]);
    has_lines(&text, &["process groups: 0 go, 0 come", "recoveries: 0", &assumed("3 hosts")]);
    assert!(text.contains("  removing storage-9\n") && !text.contains("trying again"), "{text}");
    let plan = of_packed(0, &["plan", "-f", PACKED, "--hosts", "4", "--drain", "90s"]);
    assert_eq!(
        keys(&plan),
        [
            "events",
            "goes",
            "comes",
            "moves",
            "buckets",
            "fullestBuckets",
            "waves",
            "moveWaves",
            "recoveries",
            "seconds",
            "assumed",
            "held"
        ]
    );
    assert_eq!((&plan["goes"], &plan["moveWaves"], &plan["held"]), (&json!(["storage-10"]), &json!([1]), &json!([])));
    assert_eq!((&plan["assumed"]["hosts"], &plan["assumed"]["drainSeconds"]), (&json!(4), &json!(90)));
    assert_eq!(plan["buckets"], json!([{"bucket": "all", "used": 1, "limit": 1, "heldBy": ["storage-9"]}]));
}

#[test]
fn what_if_says_what_a_change_costs_and_where_it_would_wait() {
    let folder = tempfile::tempdir().unwrap();
    let two = changed(folder.path(), "desiredFaultDomains: 4", "desiredFaultDomains: 2");
    let two = ["what-if", "-f", two.to_str().unwrap(), "--from", PACKED];
    has_lines(&printed(0, &two), &["moves: 2 in 1 wave (2)", "storage-2    1 -> 0    1 go, 0 come", "recoveries: 2"]);
    assert_eq!(of_packed(0, &two)["moveWaves"], json!([2]));
    let required = changed(folder.path(), "desiredFaultDomains: 4", "desiredFaultDomains: 4\n      required: true");
    let required = ["what-if", "-f", required.to_str().unwrap(), "--from", PACKED, "--hosts", "3"];
    has_lines(
        &printed(1, &required),
        &["it comes to no end by itself:", "measured: 1 hosts too few, needed: one for each of 4 domains"],
    );
    let held = of_packed(1, &required)["held"].clone();
    assert_eq!(keys(&held[0]), ["reason", "about", "sentence", "measured", "threshold", "releasedBy"]);
    assert!(held.as_array().unwrap().iter().any(|hold| hold["reason"] == "TooFewHosts"), "{held}");
}

#[test]
fn a_map_shows_who_stays_who_leaves_and_what_is_set_aside() {
    let text = printed(0, &["map", "-f", PACKED]);
    has_lines(
        &text,
        &[
            "storage: 4 process groups in 3 zones, 1 to 2 in each",
            "storage-0  ■■ 5 10",
            "on their way out: storage-9 in storage-3",
            "fault domain storage-3 is set aside since 2026-11-17T19:36:50Z: no host was found for it",
        ],
    );
    let map = of_packed(0, &["map", "-f", PACKED]);
    assert_eq!((keys(&map), keys(&map["zones"])), (vec!["zones", "leaving", "setAside"], vec!["log", "stateless", "storage"]));
    assert_eq!(map["zones"]["storage"]["storage-0"], json!(["storage-5", "storage-10"]));
    assert_eq!(map["leaving"], json!([{"processGroup": "storage-9", "zone": "storage-3"}]));
    assert_eq!(map["setAside"][0]["faultDomain"], "storage-3");
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("map.svg");
    let said = printed(0, &["map", "-f", PACKED, "--svg", picture.to_str().unwrap()]);
    assert_eq!(said, format!("default/packed is drawn in {}\n", picture.display()));
    let drawn = std::fs::read_to_string(picture).unwrap();
    assert!(drawn.starts_with("<svg ") && drawn.contains(">storage-10</text>"), "{drawn}");
}

#[test]
fn a_cluster_that_is_not_there_is_an_error() {
    for command in ["status", "explain", "plan", "map"] {
        let output = Command::new(env!("CARGO_BIN_EXE_quorate")).args([command, "other", "-f", PACKED]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), said),
            (Some(1), format!("quorate: there is no FoundationDBCluster called other in {PACKED}\n"))
        );
    }
}
