//! Programs that end with us.
//!
//! Each runs under a small shell that holds the reading end of a pipe: when we end it, or die in whatever way, the pipe closes, and
//! the shell ends its one child and itself. So exactly what was started is ended, also after `kill -9`, and without `unsafe`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// Starts its arguments, prints the pid, waits for the end of its input, ends what it started, waits for it, and clears up.
const SUPERVISOR: &str = r#"
"$@" </dev/null >>"$LOG" 2>&1 & child=$!
echo $child
read -r _
kill -9 $child 2>/dev/null
wait $child 2>/dev/null
[ -z "$SCRATCH" ] || rm -rf "$SCRATCH"
"#;

/// A running program. It ends when this is dropped.
pub(crate) struct Supervised {
    name: String,
    supervisor: Child,
    pid: u32,
}

impl Supervised {
    /// Starts a program with its output in a log file. `scratch` is a folder that is removed after its end.
    pub(crate) fn start<S: AsRef<OsStr>>(
        program: &Path,
        arguments: impl IntoIterator<Item = S>,
        log: &Path,
        scratch: Option<&Path>,
    ) -> Result<Self> {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        File::create(log).with_context(|| format!("creating the log of {name}"))?;
        let mut supervisor = Command::new("sh")
            .args(["-c", SUPERVISOR, "supervisor"])
            .arg(program)
            .args(arguments)
            .env("LOG", log)
            .env("SCRATCH", scratch.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {name}"))?;
        let mut line = String::new();
        let output = supervisor.stdout.take().context("the supervisor has no output")?;
        BufReader::new(output).read_line(&mut line).with_context(|| format!("reading the pid of {name}"))?;
        let pid = line.trim().parse().with_context(|| format!("{name} did not start"))?;
        Ok(Self { name, supervisor, pid })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it still runs; a program that ended is left as a zombie until its supervisor is told.
    pub(crate) fn is_running(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        matches!(state, Some(state) if state != 'Z' && state != 'X')
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        self.supervisor.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(folder: &Path) -> Supervised {
        Supervised::start(Path::new("sleep"), ["600"], &folder.join("log"), None).unwrap()
    }

    #[test]
    fn a_program_ends_with_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let program = sleeper(folder.path());
        let pid = program.pid();
        assert!(program.is_running());
        drop(program);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn a_program_ends_when_its_owner_panics() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let (send, receive) = std::sync::mpsc::channel();
        let panicked = std::thread::spawn(move || {
            let program = sleeper(&path);
            send.send(program.pid()).unwrap();
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert!(!Path::new(&format!("/proc/{}", receive.recv().unwrap())).exists());
    }

    #[test]
    fn a_program_that_ended_by_itself_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let program = Supervised::start(Path::new("false"), Vec::<&str>::new(), &folder.path().join("log"), None).unwrap();
        let gone = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            !program.is_running()
        });
        assert!(gone);
    }
}
