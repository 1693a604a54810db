//! A child without FoundationDB. How it starts is in its environment; how it treats a call is in the cluster's name.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use quorate_fdb_client::protocol::{self, FromChild, REPLY_LIMIT, REQUEST_LIMIT, Request, ToChild};
use quorate_fdb_client::{Answer, Call, Octets, Seen};

/// Says how the child starts; set, this program is the child.
pub const VARIABLE: &str = "QUORATE_FAKE_CHILD";

/// A file in which each start leaves a line.
pub const LOG: &str = "QUORATE_FAKE_CHILD_LOG";

fn say(message: &FromChild) {
    // A parent that is gone ends us with the end of our input.
    let _ = protocol::write(&mut io::stdout(), message, REPLY_LIMIT);
}

fn raw(bytes: &[u8]) {
    io::stdout().write_all(bytes).unwrap();
    io::stdout().flush().unwrap();
}

pub fn main(start: &str) -> ExitCode {
    if let Ok(log) = std::env::var(LOG) {
        writeln!(std::fs::File::options().append(true).open(log).unwrap(), "started").unwrap();
    }
    let library = if start == "greet-as-7.1" { "7.1.57".to_owned() } else { claimed_version() };
    match start {
        "unusable" => say(&FromChild::Unusable { reason: "x.so: wrong ELF class".to_owned() }),
        "old-protocol" => say(&FromChild::Hello { protocol: 0, library }),
        "exits" => return ExitCode::from(7),
        "garbage" => raw(b"\0\0\0\x05hello"),
        "silent" => {
            // Until the parent loses patience.
            let _ = io::stdin().read_to_end(&mut Vec::new());
        }
        _ => {
            say(&FromChild::Hello { protocol: protocol::VERSION, library });
            serve();
        }
    }
    ExitCode::SUCCESS
}

fn claimed_version() -> String {
    let arguments = std::env::args().collect::<Vec<_>>().join(" ");
    if arguments.contains("7.1.57") { "7.1.57".to_owned() } else { "7.3.63".to_owned() }
}

fn serve() {
    let mut cancelled = 0;
    let mut closed = String::new();
    let mut network_hangs = false;
    while let Ok(Some(word)) = protocol::read::<ToChild>(&mut io::stdin(), REQUEST_LIMIT) {
        match word {
            ToChild::Ping { id } => {
                say(&FromChild::Pong { id });
                if !network_hangs {
                    say(&FromChild::NetworkPong { id });
                }
            }
            ToChild::Cancel { .. } => cancelled += 1,
            ToChild::Close { cluster } => closed = cluster,
            ToChild::Request(request) => {
                let Request { id, target, call, .. } = *request;
                let behaviour = target.cluster.trim_start_matches("ns/").to_owned();
                let arguments = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
                let status =
                    format!("{} {} {arguments} closed {closed} cancelled {cancelled}", target.cluster, target.connection);
                network_hangs |= behaviour == "network-hangs";
                treat(&behaviour, id, &call, &status);
            }
        }
    }
}

fn treat(behaviour: &str, id: u64, call: &Call, status: &str) {
    let reply = |status: Octets| {
        let answer = match call {
            Call::Look(_) => Answer::Seen(Seen { status, in_progress: None, connection: None, ranges: None }),
            Call::Commit(_) => Answer::Committed,
            Call::Kill(_) => Answer::Killed(true),
        };
        say(&FromChild::Reply { id, result: Ok(answer) });
    };
    match behaviour {
        "dies" => std::process::exit(3),
        "garbage" => raw(b"\0\0\0\x07no word"),
        "cut" => {
            raw(b"\0\0\x10\0half of it");
            std::process::exit(0);
        }
        "oversized" => raw(b"\xff\xff\xff\xffendless"),
        "greets-again" => say(&FromChild::Hello { protocol: protocol::VERSION, library: String::new() }),
        "large" => reply(Octets(vec![b'x'; 50 << 20])),
        "late" => {
            std::thread::sleep(Duration::from_millis(200));
            reply(status.into());
        }
        "slow" => {
            std::thread::sleep(Duration::from_millis(1));
            reply(status.into());
        }
        "floods" => {
            for _ in 0..100_000 {
                eprintln!("something is wrong, and it is said again and again and again");
            }
            eprint!("{}", "and without end ".repeat(100_000));
            reply(status.into());
        }
        "deaf" => loop {
            std::thread::park();
        },
        waits if waits.starts_with("waits") || waits == "network-hangs" => {}
        _ => reply(status.into()),
    }
}
