//! The tour, as somebody takes it who has just downloaded the program.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

fn tour(chapter: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_quorate")).args(["playground", "--tour"]).args(chapter).output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
}

#[test]
fn everything_on_the_tour_is_as_expected() {
    let (well, told) = tour(&[]);
    assert!(well && !told.contains('✗'), "{told}");
    assert!(told.contains("The tour is over"), "{told}");
}

#[test]
fn a_chapter_that_is_not_there_is_named_with_those_that_are() {
    let (well, told) = tour(&["nonsense"]);
    assert!(!well);
    assert!(told.contains("there is no chapter `nonsense`") && told.contains("birth, buckets"), "{told}");
}
