//! Recordings of a real FoundationDB, whole and as the messages that carry them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use quorate_fdb_client::protocol::{self, FrameError, FromChild, REPLY_LIMIT, REQUEST_LIMIT, Request, ToChild, VERSION};
use quorate_fdb_client::{Answer, Call, Commit, Expectation, Failure, Look, Management, Octets, Range, Seen, Target, Write};
use serde_json::Value;

/// Bytes to begin with.
pub struct Seed {
    /// For which reader.
    pub target: &'static str,
    /// What they are.
    pub name: String,
    /// They themselves.
    pub bytes: Vec<u8>,
}

/// All of them, in the same order everywhere.
pub fn seeds() -> Result<Vec<Seed>, Box<dyn Error>> {
    let mut seeds = Vec::new();
    let mut seed = |target: &'static str, name: String, bytes: Vec<u8>| seeds.push(Seed { target, name, bytes });
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/fdb-status");
    let mut paths = fs::read_dir(recordings)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    for path in paths {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let status = fs::read(&path)?;
        let document: Value = serde_json::from_slice(&status)?;
        let connection = document["cluster"]["connection_string"].as_str().unwrap_or("sample:first@[fd00::1]:4501:tls");
        seed("connection", name.clone(), connection.as_bytes().to_vec());
        seed("frames", format!("{name}-to-child"), to_child(connection)?);
        seed("frames", format!("{name}-from-child"), from_child(&status[..status.len().min(2000)])?);
        seed("status", name, status);
    }
    for (number, key) in
        ["a", "\\\\", "\\xff\\x02/org.foundationdb.kubernetes-operator/", "\\xff\\xff/status/json"].iter().enumerate()
    {
        seed("octets", number.to_string(), key.as_bytes().to_vec());
    }
    Ok(seeds)
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
