//! A program in a pod's namespace.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

/// `ip netns exec` gives every program a mount namespace of its own, so these mounts are seen by nobody else. The program takes the
/// shell's place, and with it its process id.
const SCRIPT: &str = r#"
set -e
while [ "$1" != -- ]; do
    mount --rbind "$1" "$2"
    shift 2
done
shift
exec "$@"
"#;

/// A folder of this machine that a program sees somewhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// Where it is.
    pub source: PathBuf,
    /// Where it is seen.
    pub target: PathBuf,
}

/// What to start.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program.
    pub executable: PathBuf,
    /// Its arguments, as they are.
    pub arguments: Vec<String>,
    /// Its environment, all of it.
    pub environment: BTreeMap<String, String>,
    /// The network namespace.
    pub namespace: String,
    /// What it sees where, mounted in this order.
    pub binds: Vec<Bind>,
    /// Where what it says is written, after what is there already.
    pub output: PathBuf,
}

/// A running program. It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a program.
    pub fn start(program: &Program) -> Result<Self> {
        let name = program.executable.display();
        let opened = OpenOptions::new().create(true).append(true).open(&program.output);
        let output = opened.with_context(|| format!("opening {} for what {name} says", program.output.display()))?;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &program.namespace, "sh", "-c", SCRIPT, "pod"]);
        for Bind { source, target } in &program.binds {
            command.arg(source).arg(target);
        }
        command.arg("--").arg(&program.executable).args(&program.arguments);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).envs(&program.environment);
        command.stdin(Stdio::null()).stdout(output.try_clone().context("sharing the output")?).stderr(output).kill_on_drop(true);
        let child = command.spawn().with_context(|| format!("starting {name} in {}", program.namespace))?;
        Ok(Self { child })
    }

    /// Its process id, until its end was seen.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits for its end.
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        self.child.wait().await.context("waiting for a process")
    }

    /// Sends it a signal; one that has ended is left alone.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let Some(pid) = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) else { return Ok(()) };
        kill_process(pid, signal).with_context(|| format!("sending {signal:?} to process {pid:?}"))
    }
}
