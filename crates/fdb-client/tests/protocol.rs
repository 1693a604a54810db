//! Whatever arrives on a pipe, its reader stays whole.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use quorate_fdb_client::protocol::{self, FrameError, FromChild, REPLY_LIMIT, REQUEST_LIMIT, Request, ToChild};
use quorate_fdb_client::{
    Answer, Call, Change, Commit, Expectation, Failure, Look, Management, Octets, Range, Row, Rows, Seen, Target, TlsIdentity,
    Write,
};

fn octets() -> impl Strategy<Value = Octets> {
    prop::collection::vec(any::<u8>(), 0..20).prop_map(Octets)
}

fn words() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-z0-9.:]{0,12}", 0..4)
}

fn range() -> impl Strategy<Value = Range> {
    (octets(), octets()).prop_map(|(begin, end)| Range { begin, end })
}

fn row() -> impl Strategy<Value = Row> {
    (octets(), octets()).prop_map(|(key, value)| Row { key, value })
}

fn management() -> impl Strategy<Value = Management> {
    prop_oneof![
        words().prop_map(Management::Exclude),
        words().prop_map(Management::Include),
        words().prop_map(Management::IncludeBlindly),
        words().prop_map(Management::Coordinators),
        (prop::option::of("[0-9a-f]{32}"), prop::collection::btree_map("[a-z_]{1,9}", octets(), 0..4))
            .prop_map(|(new, keys)| Management::Configure(Change { new, keys })),
        ("[a-z]{0,5}", any::<u32>()).prop_map(|(zone, seconds)| Management::Maintain { zone, seconds }),
        Just(Management::EndMaintenance),
        ("[a-z]{0,5}", "[a-z]{0,5}").prop_map(|(address, class)| Management::ProcessClass { address, class }),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let expectation = prop_oneof![
        (octets(), prop::option::of(octets())).prop_map(|(key, value)| Expectation::Key(key, value)),
        (range(), prop::collection::vec(row(), 0..3)).prop_map(|(range, rows)| Expectation::Range(range, rows)),
    ];
    let write = prop_oneof![
        (octets(), octets()).prop_map(|(key, value)| Write::Set(key, value)),
        octets().prop_map(Write::Clear),
        range().prop_map(Write::ClearRange),
    ];
    prop_oneof![
        (any::<bool>(), prop::collection::vec(range(), 0..3))
            .prop_map(|(exclusions, ranges)| Call::Look(Look { exclusions, ranges })),
        (prop::collection::vec(expectation, 0..3), prop::option::of(management()), prop::collection::vec(write, 0..3))
            .prop_map(|(expect, manage, writes)| Call::Commit(Commit { expect, manage, writes })),
        words().prop_map(Call::Kill),
    ]
}

fn to_child() -> impl Strategy<Value = ToChild> {
    let tls = ("[a-z/]{0,9}", "[a-z/]{0,9}", "[a-z/]{0,9}", "[a-z/]{0,9}")
        .prop_map(|(certificate, key, ca, verify_peers)| TlsIdentity { certificate, key, ca, verify_peers });
    let target = ("[a-z/]{0,9}", "[a-z:@]{0,9}", "[0-9.]{0,6}", prop::option::of(tls))
        .prop_map(|(cluster, connection, version, tls)| Target { cluster, connection, version, tls });
    prop_oneof![
        (any::<u64>(), target, call(), any::<u64>())
            .prop_map(|(id, target, call, deadline_ms)| ToChild::Request(Box::new(Request { id, target, call, deadline_ms }))),
        any::<u64>().prop_map(|id| ToChild::Cancel { id }),
        "[a-z/]{0,9}".prop_map(|cluster| ToChild::Close { cluster }),
        any::<u64>().prop_map(|id| ToChild::Ping { id }),
    ]
}

fn failure() -> impl Strategy<Value = Failure> {
    prop_oneof![
        any::<u64>().prop_map(|milliseconds| Failure::Timeout { milliseconds }),
        octets().prop_map(|key| Failure::Changed { key }),
        Just(Failure::Conflict),
        Just(Failure::UnknownResult),
        Just(Failure::AlreadyCreated),
        ".{0,9}".prop_map(|library| Failure::Incompatible { library }),
        (".{0,9}", ".{0,9}", any::<bool>()).prop_map(|(command, message, retriable)| Failure::Refused {
            command,
            message,
            retriable
        }),
        Just(Failure::Locked),
        (".{0,9}", ".{0,9}").prop_map(|(field, problem)| Failure::Invalid { field, problem }),
        (".{0,9}", ".{0,9}").prop_map(|(version, looked_for)| Failure::NoLibrary { version, looked_for }),
        ".{0,9}".prop_map(Failure::Unavailable),
        (any::<i32>(), ".{0,9}").prop_map(|(code, message)| Failure::Database { code, message }),
    ]
}

fn from_child() -> impl Strategy<Value = FromChild> {
    let rows = (any::<i64>(), prop::collection::vec(prop::collection::vec(row(), 0..3), 0..3))
        .prop_map(|(version, ranges)| Rows { version, ranges });
    let seen = (
        octets(),
        prop::option::of(prop::result::maybe_ok(words(), failure())),
        prop::option::of(prop::result::maybe_ok(".{0,9}", failure())),
        prop::option::of(prop::result::maybe_ok(rows, failure())),
    )
        .prop_map(|(status, in_progress, connection, ranges)| Seen { status, in_progress, connection, ranges });
    let answer = prop_oneof![seen.prop_map(Answer::Seen), Just(Answer::Committed), any::<bool>().prop_map(Answer::Killed)];
    prop_oneof![
        (any::<u32>(), ".{0,9}").prop_map(|(protocol, library)| FromChild::Hello { protocol, library }),
        ".{0,9}".prop_map(|reason| FromChild::Unusable { reason }),
        (any::<u64>(), prop::result::maybe_ok(answer, failure())).prop_map(|(id, result)| FromChild::Reply { id, result }),
        any::<u64>().prop_map(|id| FromChild::Pong { id }),
        any::<u64>().prop_map(|id| FromChild::NetworkPong { id }),
    ]
}

proptest! {
    #[test]
    fn what_is_said_is_what_is_heard(words in prop::collection::vec(to_child(), 0..4), answers in prop::collection::vec(from_child(), 0..4)) {
        let mut pipe = Vec::new();
        for word in &words {
            protocol::write(&mut pipe, word, REQUEST_LIMIT).unwrap();
        }
        let mut rest = pipe.as_slice();
        for word in words {
            prop_assert_eq!(protocol::read(&mut rest, REQUEST_LIMIT).unwrap(), Some(word));
        }
        prop_assert!(protocol::read::<ToChild>(&mut rest, REQUEST_LIMIT).unwrap().is_none());
        for answer in answers {
            let frame = protocol::encode(&answer, REPLY_LIMIT).unwrap();
            prop_assert_eq!(protocol::decode::<FromChild>(&frame[4..]).unwrap(), answer);
        }
    }

    #[test]
    fn a_frame_that_is_cut_off_is_no_message(word in to_child(), cut in any::<prop::sample::Index>()) {
        let frame = protocol::encode(&word, REQUEST_LIMIT).unwrap();
        let length = 1 + cut.index(frame.len() - 1);
        prop_assert!(matches!(protocol::read::<ToChild>(&mut &frame[..length], REQUEST_LIMIT), Err(FrameError::Truncated)));
    }

    #[test]
    fn anything_at_all_is_an_error_or_a_message(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = protocol::decode::<ToChild>(&bytes);
        let _ = protocol::decode::<FromChild>(&bytes);
        let _ = protocol::read::<ToChild>(&mut bytes.as_slice(), REQUEST_LIMIT);
        let _ = quorate_fdb_client::ConnectionString::from_bytes(&bytes);
    }

    #[test]
    fn a_message_with_a_byte_changed_is_an_error_or_a_message(answer in from_child(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut frame = protocol::encode(&answer, REPLY_LIMIT).unwrap();
        let body = &mut frame[4..];
        let place = place.index(body.len());
        body[place] = byte;
        let _ = protocol::decode::<FromChild>(body);
    }
}

#[test]
fn a_length_beyond_the_limit_is_refused_before_anything_is_read() {
    let mut endless = std::io::Read::chain([0xff_u8; 4].as_slice(), std::io::repeat(0));
    assert!(matches!(protocol::read::<ToChild>(&mut endless, REQUEST_LIMIT), Err(FrameError::TooLong { .. })));
    assert!(matches!(
        protocol::encode(&FromChild::Unusable { reason: "x".repeat(100) }, 10),
        Err(FrameError::TooLong { length: 103.., limit: 10 } | FrameError::TooLong { .. })
    ));
}

#[test]
fn a_list_that_claims_to_be_endless_costs_nothing() {
    // A kill whose list claims 2^63 addresses.
    let word = ToChild::Request(Box::new(Request {
        id: 1,
        target: Target { cluster: String::new(), connection: String::new(), version: String::new(), tls: None },
        call: Call::Kill(vec![]),
        deadline_ms: 1,
    }));
    let frame = protocol::encode(&word, REQUEST_LIMIT).unwrap();
    let body = &frame[4..frame.len() - 2];
    let endless = [body, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1]].concat();
    assert!(protocol::decode::<ToChild>(&endless).is_err());
}

#[test]
fn words_after_a_message_are_an_error() {
    let mut body = protocol::encode(&ToChild::Ping { id: 1 }, REQUEST_LIMIT).unwrap()[4..].to_vec();
    body.push(0);
    assert!(protocol::decode::<ToChild>(&body).is_err());
}
