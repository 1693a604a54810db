//! The model and a real server, in the same situations: the same fields, and the same values where the situation determines them.
//!
//! Each test builds the recorded cluster, brings it into the recorded state, and compares. What is excepted is named with its reason.

use serde_json::Value;

use crate::comparison::differences;
use crate::story::{Story, recording};

/// Which equal process draws which stateless role is chance, and so is whether a second log lands on it.
fn assert_alike(name: &str, model: &Value, except: &[&str]) {
    let found = differences(&recording(name), model, except);
    assert!(found.is_empty(), "{name}:\n{}", found.join("\n"));
}

#[test]
fn a_healthy_triple_cluster() {
    let recorded = recording("triple-12proc-healthy");
    let mut story = Story::of(&recorded);
    story.pass(2.0);
    story.create("triple").unwrap();
    story.pass(47.0);
    assert_alike("triple-12proc-healthy", &story.status(), &[]);
}
