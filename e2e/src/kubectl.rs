//! The real kubectl, as a user would call it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// kubectl with a kubeconfig and a namespace.
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    namespace: String,
}

/// What a command printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Whether it ended with 0.
    pub ok: bool,
    /// Its output.
    pub out: String,
    /// Its complaints.
    pub err: String,
}

impl Printed {
    /// The output of a command that must succeed.
    pub fn expect_ok(self) -> String {
        assert!(self.ok, "kubectl failed: {}{}", self.out, self.err);
        self.out
    }

    /// The complaint of a command that must fail.
    pub fn expect_refused(self) -> String {
        assert!(!self.ok, "kubectl should have failed, but printed: {}", self.out);
        self.err
    }
}

impl Kubectl {
    pub(crate) fn new(program: PathBuf, kubeconfig: &Path, namespace: &str) -> Self {
        Self { program, kubeconfig: kubeconfig.to_owned(), namespace: namespace.to_owned() }
    }

    /// Runs it with these arguments.
    pub fn run<S: AsRef<str>>(&self, arguments: &[S]) -> Result<Printed> {
        self.run_with_input(arguments, "")
    }

    /// Runs it with these arguments and a text for `-f -`.
    pub fn run_with_input<S: AsRef<str>>(&self, arguments: &[S], input: &str) -> Result<Printed> {
        let mut child = Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--namespace", &self.namespace])
            .args(arguments.iter().map(AsRef::as_ref))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting kubectl")?;
        child.stdin.take().context("kubectl has no input")?.write_all(input.as_bytes()).context("writing to kubectl")?;
        let output = child.wait_with_output().context("waiting for kubectl")?;
        Ok(Printed {
            ok: output.status.success(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// `kubectl apply -f -`.
    pub fn apply(&self, yaml: &str) -> Result<Printed> {
        self.run_with_input(&["apply", "-f", "-"], yaml)
    }
}
