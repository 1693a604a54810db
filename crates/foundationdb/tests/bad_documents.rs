//! Status documents that are not what they should be: an error that names the field, never a panic and never a wrong report.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quorate_foundationdb::DatabaseReport;

const HEALTHY: &str = include_str!("../../world/recordings/fdb-status/triple-12proc-healthy.json");

/// The sentence about a document with this one process.
fn refused(process: &str) -> String {
    let document = format!(r#"{{"cluster": {{"processes": {{"p1": {process}}}}}}}"#);
    DatabaseReport::parse(document.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_recorded_document_is_read_whole() {
    let report = DatabaseReport::parse(HEALTHY.as_bytes()).unwrap();
    assert!(report.available && report.healthy);
    assert_eq!(report.processes.len(), 12);
    assert!(report.processes.values().all(|process| process.group.is_some() && process.zone.is_some()));
}

#[test]
fn a_document_that_is_cut_off_is_no_report_wherever_it_is_cut() {
    let cuts: Vec<usize> = (0..HEALTHY.trim_end().len()).step_by(1000).collect();
    assert!(cuts.len() > 50);
    for cut in cuts {
        let error = DatabaseReport::parse(&HEALTHY.as_bytes()[..cut]).unwrap_err().to_string();
        assert!(error.contains("EOF") && error.contains("column"), "cut at {cut}: {error}");
    }
}

#[test]
fn a_document_with_something_behind_it_is_no_report() {
    let error = DatabaseReport::parse(format!("{HEALTHY}{HEALTHY}").as_bytes()).unwrap_err().to_string();
    assert!(error.contains("trailing characters"), "{error}");
}

#[test]
fn fields_that_nobody_knows_are_passed_over_however_deep_they_are() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let document = format!(
        r#"{{"new": {deep}, "cluster": {{"new": {deep}, "processes": {{"p1": {{
            "address": "198.18.0.1:4501", "new": {deep}, "locality": {{"zoneid": "z1", "new": {deep}}}}}}}}}}}"#
    );
    let report = DatabaseReport::parse(document.as_bytes()).unwrap();
    assert_eq!(report.processes["198.18.0.1:4501"].zone.as_deref(), Some("z1"));
}

#[test]
fn a_million_processes_are_refused_after_the_first_fifty_thousand() {
    let process = |number: usize| format!(r#""{number}": {{"address": "198.18.0.1:{}"}}"#, number % 65_536);
    let of = |count: usize| {
        let processes: Vec<String> = (0..count).map(process).collect();
        DatabaseReport::parse(format!(r#"{{"cluster": {{"processes": {{{}}}}}}}"#, processes.join(",")).as_bytes())
    };
    assert_eq!(of(50_000).unwrap().processes.len(), 50_000);
    let error = of(1_000_000).unwrap_err().to_string();
    assert!(error.contains("cluster.processes") && error.contains("more than 50000 processes"), "{error}");
    // It ends where the limit is passed, not at the document's end.
    let column: usize = error.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(column < 3_000_000, "{error}");
}

#[test]
fn an_address_that_is_none_is_named() {
    for address in [
        "",
        "nonsense",
        "198.18.0.1",
        "198.18.0.1:",
        "198.18.0.1:99999",
        "fd00::1:4501",
        "[fd00::1]",
        ":4501",
        "198.18.0.1:4501:ssl",
    ] {
        let error = refused(&format!(r#"{{"address": "{address}"}}"#));
        assert!(error.contains("cluster.processes.p1.address") && error.contains(&format!("`{address}`")), "{error}");
    }
    assert!(refused(r#"{"address": 4501}"#).contains("cluster.processes.p1.address"));
}

#[test]
fn addresses_in_every_form_of_the_database_are_read() {
    for address in
        ["198.18.0.1:4501", "198.18.0.1:4501:tls", "[fd00::1]:4501", "[fd00::1]:4501:tls", "198.18.0.1:4501:tls(fromHostname)"]
    {
        let document = format!(r#"{{"cluster": {{"processes": {{"p1": {{"address": "{address}"}}}}}}}}"#);
        assert!(DatabaseReport::parse(document.as_bytes()).unwrap().processes.contains_key(address));
    }
}

#[test]
fn a_process_without_an_address_is_left_out() {
    let report = DatabaseReport::parse(br#"{"cluster": {"processes": {"p1": {"version": "7.3.69"}, "p2": {"address": null}}}}"#);
    assert!(report.unwrap().processes.is_empty());
}

#[test]
fn a_locality_that_is_none_is_named() {
    for (process, field) in [
        (r#"{"locality": "z1"}"#, "locality"),
        (r#"{"locality": {"zoneid": 1}}"#, "locality.zoneid"),
        (r#"{"locality": {"instance_id": ["storage-1"]}}"#, "locality.instance_id"),
        (r#"{"excluded": "no"}"#, "excluded"),
        (r#"{"version": 7.3}"#, "version"),
        ("[]", "p1"),
    ] {
        let error = refused(process);
        assert!(error.contains(&format!("{field}:")), "{process}: {error}");
    }
}

#[test]
fn what_the_cluster_says_of_itself_is_named_too() {
    for (document, field) in [
        (r#"{"cluster": {"generation": -1}}"#, "cluster.generation"),
        (r#"{"cluster": {"full_replication": "yes"}}"#, "cluster.full_replication"),
        (r#"{"cluster": {"processes": 12}}"#, "cluster.processes"),
        (r#"{"client": {"database_status": {"available": 1}}}"#, "client.database_status.available"),
    ] {
        let error = DatabaseReport::parse(document.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(&format!("{field}:")), "{document}: {error}");
    }
}

#[test]
fn more_data_than_there_can_be_is_as_much_as_can_be_told() {
    let role = format!(r#"{{"role": "storage", "stored_bytes": {}}}"#, u64::MAX);
    let document = format!(
        r#"{{"cluster": {{"processes": {{"p1": {{"address": "198.18.0.1:4501", "roles": [{role}, {role}, {{"role": "storage", "stored_bytes": -1}}]}}}}}}}}"#
    );
    let report = DatabaseReport::parse(document.as_bytes()).unwrap();
    assert_eq!(report.processes["198.18.0.1:4501"].stored, u64::MAX);
}
