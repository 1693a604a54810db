use std::collections::BTreeMap;

use super::*;
use crate::contract::Row;

fn target() -> Target {
    Target { cluster: "ns/sample".into(), connection: "a:b@10.0.0.1:4501".into(), version: "7.3.63".into(), tls: None }
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

fn manage(change: Management) -> Call {
    Call::Commit(Commit { manage: Some(change), ..Commit::default() })
}

fn field(call: &Call) -> Option<String> {
    match validate(&target(), call) {
        Ok(()) => None,
        Err(Failure::Invalid { field, .. }) => Some(field),
        Err(other) => panic!("{other}"),
    }
}

fn new_database(id: &str, without: &str) -> Call {
    let keys: BTreeMap<_, _> =
        MANDATORY.iter().filter(|key| **key != without).map(|key| ((*key).to_owned(), "1".into())).collect();
    manage(Management::Configure(Change { new: Some(id.to_owned()), keys }))
}

#[test]
fn what_people_exclude_is_taken() {
    for good in ["10.0.0.1", "10.0.0.1:4501", "locality_instance_id:storage-1", "2001:db8::1", "[2001:db8::1]:4501"] {
        assert_eq!(field(&manage(Management::Exclude(words(&[good])))), None, "{good}");
    }
}

#[test]
fn what_nobody_can_be_is_not_sent() {
    for bad in [
        "",
        "10.0.0.1:4501:tls",
        "10.0.0.300",
        "storage-1",
        "locality_zone",
        "locality_:x",
        "locality_a:b c",
        "a,b",
        "10.0.0.1:0",
    ] {
        assert_eq!(field(&manage(Management::Exclude(words(&[bad])))).as_deref(), Some("exclude"), "{bad}");
        assert_eq!(field(&manage(Management::Include(words(&[bad])))).as_deref(), Some("include"), "{bad}");
    }
    assert!(field(&manage(Management::Exclude(vec![]))).is_some());
    assert!(field(&manage(Management::Exclude(words(&["10.0.0.1", "10.0.0.1"])))).is_some());
}

#[test]
fn coordinators_are_odd_and_differ() {
    let good = words(&["10.0.0.1:1", "10.0.0.2:1:tls", "name.example:1"]);
    assert_eq!(field(&manage(Management::Coordinators(good))), None);
    for bad in [
        words(&[]),
        words(&["10.0.0.1:1", "10.0.0.2:1"]),
        words(&["10.0.0.1:1", "10.0.0.2:1", "10.0.0.2:1"]),
        words(&["10.0.0.1:1", "10.0.0.2:1", "10.0.0.2:1:tls"]),
        words(&["foo"]),
        words(&["10.0.0.1:1 "]),
    ] {
        assert_eq!(field(&manage(Management::Coordinators(bad.clone()))).as_deref(), Some("coordinators"), "{bad:?}");
    }
}

#[test]
fn a_change_of_coordinators_comes_without_writes_because_they_would_be_lost() {
    let mut claim = OWN_KEYS.to_vec();
    claim.extend(b"claim");
    let call = Call::Commit(Commit {
        manage: Some(Management::Coordinators(words(&["10.0.0.1:1"]))),
        writes: vec![Write::Set(claim.as_slice().into(), "x".into())],
        ..Commit::default()
    });
    assert_eq!(field(&call).as_deref(), Some("writes"));
}

#[test]
fn only_our_own_keys_are_written() {
    let set = |key: &[u8]| Call::Commit(Commit { writes: vec![Write::Set(key.into(), "x".into())], ..Commit::default() });
    let own = |tail: &str| [OWN_KEYS, tail.as_bytes()].concat();
    assert_eq!(field(&set(&own("global"))), None);
    for bad in [own(""), b"a".to_vec(), b"\xff/conf/excluded/1".to_vec(), b"\xff\xff/management/excluded/1".to_vec()] {
        assert_eq!(field(&set(&bad)).as_deref(), Some("writes"), "{bad:?}");
    }
    let clear = |begin: &[u8], end: &[u8]| {
        let range = Range { begin: begin.into(), end: end.into() };
        Call::Commit(Commit { writes: vec![Write::ClearRange(range)], ..Commit::default() })
    };
    let after = b"\xff\x02/org.foundationdb.kubernetes-operator0";
    assert_eq!(field(&clear(OWN_KEYS, after)), None);
    assert_eq!(field(&clear(&own("a"), &own("b"))), None);
    assert!(field(&clear(&own("b"), &own("a"))).is_some());
    assert!(field(&clear(OWN_KEYS, b"\xff\x03")).is_some());
    assert!(field(&clear(b"", after)).is_some());
}

#[test]
fn a_new_database_is_told_everything_it_must_know() {
    let id = "0123456789abcdef0123456789abcdef";
    assert_eq!(field(&new_database(id, "")), None);
    assert_eq!(field(&new_database("0123", "")).as_deref(), Some("new"));
    for missing in MANDATORY {
        assert_eq!(field(&new_database(id, missing)).as_deref(), Some("configure"), "{missing}");
    }
}

#[test]
fn configuration_keys_are_words() {
    for bad in ["", "excluded/10.0.0.1", "Logs", "initialized", "a b"] {
        let keys = BTreeMap::from([(bad.to_owned(), "1".into())]);
        assert!(field(&manage(Management::Configure(Change { new: None, keys }))).is_some(), "{bad}");
    }
    assert!(field(&manage(Management::Configure(Change { new: None, keys: BTreeMap::new() }))).is_some());
}

#[test]
fn maintenance_needs_a_zone_and_some_time() {
    let maintain = |zone: &str, seconds| manage(Management::Maintain { zone: zone.to_owned(), seconds });
    assert_eq!(field(&maintain("rack-1", 60)), None);
    assert_eq!(field(&maintain("", 60)).as_deref(), Some("zone"));
    assert_eq!(field(&maintain("IgnoreSSFailures", 60)).as_deref(), Some("zone"));
    assert_eq!(field(&maintain("rack-1", 0)).as_deref(), Some("seconds"));
}

#[test]
fn classes_and_addresses_of_processes() {
    let class =
        |address: &str, class: &str| manage(Management::ProcessClass { address: address.to_owned(), class: class.to_owned() });
    assert_eq!(field(&class("10.0.0.1:4501", "stateless")), None);
    assert_eq!(field(&class("10.0.0.1:4501", "default")), None);
    assert_eq!(field(&class("10.0.0.1:4501", "statless")).as_deref(), Some("class"));
    assert_eq!(field(&class("10.0.0.1", "stateless")).as_deref(), Some("address"));
    assert_eq!(field(&Call::Kill(words(&["10.0.0.1:4501"]))), None);
    assert!(field(&Call::Kill(vec![])).is_some());
    assert!(field(&Call::Kill(words(&["10.0.0.1:4501:tls"]))).is_some());
}

#[test]
fn what_is_expected_can_be_read() {
    let expect = |expectation| Call::Commit(Commit { expect: vec![expectation], ..Commit::default() });
    let range = Range { begin: "a".into(), end: "c".into() };
    let row = |key: &str| Row { key: key.into(), value: "".into() };
    assert_eq!(field(&expect(Expectation::Range(range.clone(), vec![row("a"), row("b")]))), None);
    assert!(field(&expect(Expectation::Range(range.clone(), vec![row("b"), row("a")]))).is_some());
    assert!(field(&expect(Expectation::Range(range, vec![row("d")]))).is_some());
    assert!(field(&expect(Expectation::Key(b"\xff\xff/status/json".as_slice().into(), None))).is_some());
    let look = |begin: &str, end: &str| {
        Call::Look(Look { ranges: vec![Range { begin: begin.into(), end: end.into() }], ..Look::default() })
    };
    assert_eq!(field(&look("a", "b")), None);
    assert!(field(&look("b", "a")).is_some());
}

#[test]
fn a_connection_string_that_is_none_is_not_opened() {
    let target = Target { connection: "nonsense".into(), ..target() };
    assert!(matches!(validate(&target, &Call::Look(Look::default())), Err(Failure::Invalid { .. })));
}
