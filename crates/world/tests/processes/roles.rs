//! What this program is when a story starts it as another process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, ExitCode, Stdio};

use quorate_world::processes::{Network, Process};

/// Set, this program plays a role.
pub const ROLE: &str = "QUORATE_PROCESSES_ROLE";

/// Plays it.
pub fn play(role: &str) -> ExitCode {
    match role {
        "listener" => listen(),
        "panicking-owner" => own_and_panic(),
        other => panic!("nobody plays {other}"),
    }
}

/// Listens on all addresses until it is ended.
fn listen() -> ExitCode {
    let listener = TcpListener::bind(("0.0.0.0", super::PORT)).unwrap();
    for connection in listener.incoming() {
        drop(connection);
    }
    ExitCode::SUCCESS
}

/// Owns a network with a pod and a process in it, says so, and panics when it is told to go on.
fn own_and_panic() -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut network = Network::new().unwrap();
        let home = network.join("pod", super::ONE).unwrap();
        let _process = Process::start(&super::listener(&home.namespace, folder.path())).unwrap();
        println!("ready");
        std::io::stdin().read_exact(&mut [0]).unwrap();
        panic!("on purpose");
    })
}

/// Another process of this program.
pub struct Actor {
    pub child: Child,
}

/// Starts one.
pub fn start(role: &str) -> Actor {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, role).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    Actor { child: command.spawn().unwrap() }
}

impl Actor {
    /// Waits until it says that it is ready.
    pub fn until_ready(&mut self) {
        let mut line = String::new();
        BufReader::new(self.child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
    }

    /// Lets it go on.
    pub fn go_on(&mut self) {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
    }
}
