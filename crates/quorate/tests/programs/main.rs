//! Commands that run until they are told to end.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod playground;
mod run;

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// What is expected happens within this time, or never. Nothing waits that long where all is well.
const PATIENCE: Duration = Duration::from_secs(60);

/// A quorate that runs, and does not outlive its test.
struct Program {
    child: Child,
    lines: mpsc::UnboundedReceiver<String>,
}

impl Program {
    /// Starts it; what it takes for its temporary folder is `folder`.
    fn start(arguments: &[&str], folder: &Path, environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        for name in ["KUBECONFIG", "WATCH_NAMESPACE", "POD_NAMESPACE", "POD_NAME", "RUST_LOG"] {
            command.env_remove(name);
        }
        command.args(arguments).env("TMPDIR", folder).envs(environment.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let (sender, lines) = mpsc::unbounded_channel();
        send_lines(child.stdout.take().unwrap(), sender.clone());
        send_lines(child.stderr.take().unwrap(), sender);
        Self { child, lines }
    }

    /// Reads on until it has printed something that tells what is asked for.
    async fn says<T>(&mut self, what: impl Fn(&str) -> Option<T>) -> T {
        let mut said = String::new();
        while let Ok(Some(line)) = timeout(PATIENCE, self.lines.recv()).await {
            if let Some(found) = what(&line) {
                return found;
            }
            said.push_str(&line);
            said.push('\n');
        }
        panic!("it never said so, but this:\n{said}");
    }

    /// Sends it a signal and waits for its end.
    async fn end(mut self, signal: Signal) -> ExitStatus {
        let pid = Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        timeout(PATIENCE, self.child.wait()).await.expect("it does not end").unwrap()
    }
}

fn send_lines(from: impl AsyncRead + Unpin + Send + 'static, to: mpsc::UnboundedSender<String>) {
    tokio::spawn(async move {
        let mut lines = BufReader::new(from).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            // Nobody listens once the test has seen enough; the program goes on.
            to.send(line).ok();
        }
    });
}

/// Looks again and again until something is there.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("{what} was waited for"))
}
