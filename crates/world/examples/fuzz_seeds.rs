//! Fills `fuzz/corpus/` with what the fuzzer begins with: recordings of a real FoundationDB, whole and as the messages that carry them.

use std::error::Error;
use std::fs;
use std::path::Path;

use quorate_fdb_client::protocol::{self, FrameError, FromChild, REPLY_LIMIT, REQUEST_LIMIT, Request, ToChild, VERSION};
use quorate_fdb_client::{Answer, Call, Commit, Expectation, Failure, Look, Management, Octets, Range, Seen, Target, Write};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let world = Path::new(env!("CARGO_MANIFEST_DIR"));
    let seed = |target: &str, name: &str, bytes: &[u8]| {
        let folder = world.join("../../fuzz/corpus").join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), bytes)
    };
    for entry in fs::read_dir(world.join("recordings/fdb-status"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let status = fs::read(&path)?;
        seed("status", &name, &status)?;
        let document: Value = serde_json::from_slice(&status)?;
        let connection = document["cluster"]["connection_string"].as_str().unwrap_or("sample:first@[fd00::1]:4501:tls");
        seed("connection", &name, connection.as_bytes())?;
        seed("frames", &format!("{name}-to-child"), &to_child(connection)?)?;
        seed("frames", &format!("{name}-from-child"), &from_child(&status[..status.len().min(2000)])?)?;
    }
    for (number, key) in
        ["a", "\\\\", "\\xff\\x02/org.foundationdb.kubernetes-operator/", "\\xff\\xff/status/json"].iter().enumerate()
    {
        seed("octets", &number.to_string(), key.as_bytes())?;
    }
    Ok(())
}

/// What a parent asks.
fn to_child(connection: &str) -> Result<Vec<u8>, FrameError> {
    let target = Target { cluster: "default/sample".into(), connection: connection.into(), version: "7.3.80".into(), tls: None };
    let range = Range { begin: "a".into(), end: "b".into() };
    let look = Call::Look(Look { exclusions: true, ranges: vec![range.clone()] });
    let commit = Call::Commit(Commit {
        expect: vec![Expectation::Key("a".into(), None), Expectation::Range(range.clone(), vec![])],
        manage: Some(Management::Exclude(vec!["127.0.0.1:4500".into()])),
        writes: vec![Write::Set("a".into(), "b".into()), Write::ClearRange(range)],
    });
    let mut bytes = protocol::encode(&ToChild::Ping { id: 1 }, REQUEST_LIMIT)?;
    for (id, call) in [(1, look), (2, commit)] {
        let request = Request { id, target: target.clone(), call, deadline_ms: 20_000 };
        bytes.extend(protocol::encode(&ToChild::Request(Box::new(request)), REQUEST_LIMIT)?);
    }
    Ok(bytes)
}

/// What a child answers.
fn from_child(status: &[u8]) -> Result<Vec<u8>, FrameError> {
    let seen = Seen { status: Octets::from(status), in_progress: Some(Ok(vec![])), connection: None, ranges: None };
    let said = [
        FromChild::Hello { protocol: VERSION, library: "7.3.80".into() },
        FromChild::Reply { id: 1, result: Ok(Answer::Seen(seen)) },
        FromChild::Reply { id: 2, result: Err(Failure::Changed { key: "a".into() }) },
    ];
    let mut bytes = Vec::new();
    for message in &said {
        bytes.extend(protocol::encode(message, REPLY_LIMIT)?);
    }
    Ok(bytes)
}
