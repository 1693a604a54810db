//! Every case of the contract, played from its recording: our expectations of FoundationDB are what a real one did.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use quorate_fdb_client::suite::{CASES, Coverage, Player, Recording, Session};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("recordings")
}

#[test]
fn every_case_holds_on_its_recording() {
    let mut coverage = Coverage::default();
    for case in CASES {
        let file = folder().join(format!("{}.json", case.name));
        let text = std::fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}; record it with QUORATE_UPDATE=1 and QUORATE_FDB_BIN", file.display()));
        let mut player = Player::new(Recording::from_text(&text).unwrap());
        let mut session = Session::new(&mut player);
        futures::executor::block_on((case.run)(&mut session)).unwrap_or_else(|problem| panic!("{}: {problem}", case.name));
        coverage.add(&session.coverage);
        player.finish().unwrap_or_else(|problem| panic!("{}: {problem}", case.name));
    }
    let (calls, failures) = coverage.missing();
    assert_eq!(calls, Vec::<&str>::new(), "every call is in some case");
    // The others can't be had from one healthy server of one version: the tests of the child and its stub have them.
    assert_eq!(failures, ["database", "incompatible", "locked", "no library", "unavailable", "unknown result"]);
}

#[test]
fn no_recording_is_left_of_a_case_that_is_gone() {
    let cases: BTreeSet<String> = CASES.iter().map(|case| format!("{}.json", case.name)).collect();
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(files.filter(|file| !cases.contains(file)).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn a_recording_of_other_calls_is_noticed() {
    for case in CASES {
        let Ok(text) = std::fs::read_to_string(folder().join(format!("{}.json", case.name))) else { continue };
        let mut recording = Recording::from_text(&text).unwrap();
        assert_eq!(Recording::from_text(&recording.to_text().unwrap()).unwrap(), recording);
        recording.events.remove(1);
        let mut player = Player::new(recording);
        let mut session = Session::new(&mut player);
        let problem = futures::executor::block_on((case.run)(&mut session)).unwrap_err();
        assert!(problem.contains("the recording"), "{}: {problem}", case.name);
    }
}
