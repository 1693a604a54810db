//! What the commands do when they are used in ways nobody planned.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read;
use std::process::{Command, Stdio};

fn quorate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let mut child = quorate(&["crds"]).spawn().unwrap();
    let mut first = [0; 16];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_kubeconfig_that_is_not_there_is_named_once() {
    let output = quorate(&["status"]).env("KUBECONFIG", "/nowhere/kubeconfig").output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("KUBECONFIG=/nowhere/kubeconfig").count(), 1, "{said}");
    assert_eq!(said.matches("No such file").count(), 1, "{said}");
}
