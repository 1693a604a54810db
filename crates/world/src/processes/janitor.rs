//! What was made on the machine is removed again, by a small shell of its own.
//!
//! It reads what was made from a pipe, and when the pipe closes (its owner dropped it, panicked or was killed) it removes exactly that,
//! the newest first. So nothing is left behind even after `kill -9`, and nothing is touched that was not made here.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Lines are `<kind> <name>`. Processes in a namespace end with it, and are waited for, because they may still write.
const SCRIPT: &str = r#"
made=
while read -r line; do made="$line
$made"; done
printf %s "$made" | while read -r kind name; do
    case $kind in
    namespace)
        tries=0
        while pids=$(ip netns pids "$name") && [ -n "$pids" ] && [ $tries -lt 100 ]; do
            kill -9 $pids
            sleep 0.05
            tries=$((tries + 1))
        done
        ip netns del "$name" ;;
    link) ip link del "$name" ;;
    route) ip route del $name ;;
    folder) rm -rf "$name" ;;
    shared-folder) rmdir "$name" ;;
    esac
done 2>/dev/null
"#;

/// Something made on the machine.
#[derive(Clone, Copy, Debug)]
pub(super) enum Made<'a> {
    /// A network namespace, with every process in it.
    Namespace(&'a str),
    /// A network interface.
    Link(&'a str),
    /// A route, as it is given to `ip route`.
    Route(&'a str),
    /// A folder, with everything in it.
    Folder(&'a Path),
    /// A folder that others may use as well: it goes when it is empty.
    SharedFolder(&'a Path),
}

/// Removes what it was told of when it is dropped.
#[derive(Debug)]
pub(super) struct Janitor {
    shell: Child,
    told: Option<ChildStdin>,
}

impl Janitor {
    pub(super) fn new() -> Result<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "quorate-janitor"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // An interrupt from the keyboard goes to the whole group of its owner; this one has work to do then.
            .process_group(0)
            .spawn()
            .context("starting the shell that cleans up")?;
        let told = shell.stdin.take();
        Ok(Self { shell, told })
    }

    /// To be called before something is made, so that it is removed even if its owner dies while making it.
    pub(super) fn about_to_make(&mut self, made: Made<'_>) -> Result<()> {
        let line = match made {
            Made::Namespace(name) => format!("namespace {name}\n"),
            Made::Link(name) => format!("link {name}\n"),
            Made::Route(route) => format!("route {route}\n"),
            Made::Folder(path) => format!("folder {}\n", path.display()),
            Made::SharedFolder(path) => format!("shared-folder {}\n", path.display()),
        };
        ensure!(line.matches('\n').count() == 1, "the name of what is made has a line break in it: {made:?}");
        let told = self.told.as_mut().context("the shell that cleans up has no input")?;
        told.write_all(line.as_bytes()).context("telling the shell that cleans up")
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.told.take());
        self.shell.wait().ok();
    }
}
