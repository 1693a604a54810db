//! `docs/scenarios.md` and the stories here belong together.

use std::collections::BTreeSet;
use std::path::Path;

/// The names of all stories in this folder, by their source text.
fn stories() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut stories = BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("#[tokio::test")) {
            let name = lines[at..].iter().find_map(|line| line.strip_prefix("async fn ")).unwrap();
            stories.insert(name.split('(').next().unwrap().to_owned());
        }
    }
    stories
}

#[test]
fn every_story_is_in_the_table_and_every_test_of_the_table_exists() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let text = std::fs::read_to_string(table).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let named: BTreeSet<String> =
        rows.flat_map(|row| row.split('`').skip(1).step_by(2)).filter(|word| word.contains('_')).map(str::to_owned).collect();
    let stories = stories();
    let missing: Vec<&String> = named.difference(&stories).collect();
    let unlisted: Vec<&String> = stories.difference(&named).collect();
    assert!(missing.is_empty() && unlisted.is_empty(), "no such test: {missing:?}; not in the table: {unlisted:?}");
}

#[test]
fn every_number_has_its_row() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let text = std::fs::read_to_string(table).unwrap();
    let numbers: BTreeSet<u32> =
        text.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok()).collect();
    assert_eq!(numbers, (1..=132).collect());
}
