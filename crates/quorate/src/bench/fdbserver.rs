//! Real databases to measure with: each one fdbserver on loopback, in a folder that removes itself.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// Where fdbserver, fdbcli and libfdb_c.so are, if anybody says so.
pub(super) fn programs() -> Option<PathBuf> {
    std::env::var_os("QUORATE_FDB_BIN").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// The version that fdbserver says it has.
pub(super) async fn version(programs: &Path) -> Result<String> {
    let program = programs.join("fdbserver");
    let said =
        Command::new(&program).arg("--version").output().await.with_context(|| format!("running {}", program.display()))?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = text.split("(v").nth(1).and_then(|rest| rest.split(')').next());
    version.map(str::to_owned).with_context(|| format!("{} does not say its version: {text}", program.display()))
}

/// A database of one process; it ends when this is dropped.
pub(super) struct Server {
    /// How to reach it.
    pub(super) connection: String,
    programs: PathBuf,
    folder: TempDir,
    _process: Child,
}

impl Server {
    /// Starts a process. It has no database yet.
    pub(super) fn start(programs: &Path, number: usize) -> Result<Self> {
        let folder = TempDir::with_prefix("quorate-bench-").context("making a folder for a database")?;
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .context("looking for a free port")?
            .port();
        let connection = format!("bench{number}:first@127.0.0.1:{port}");
        std::fs::write(folder.path().join("fdb.cluster"), &connection).context("writing a cluster file")?;
        let mut command = Command::new(programs.join("fdbserver"));
        command.current_dir(folder.path());
        command.args(["--cluster-file", "fdb.cluster", "--public-address", &format!("127.0.0.1:{port}")]);
        command.args(["--datadir", "data", "--logdir", "logs", "--memory", "2GiB", "--cache-memory", "50MiB"]);
        command.args(["--parentpid", &std::process::id().to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let process = command.spawn().context("starting fdbserver")?;
        Ok(Self { connection, programs: programs.to_owned(), folder, _process: process })
    }

    /// Creates its database.
    pub(super) async fn create(&self) -> Result<()> {
        let mut command = Command::new(self.programs.join("fdbcli"));
        command.args(["-C", "fdb.cluster", "--timeout", "60", "--exec", "configure new single memory"]);
        command.current_dir(self.folder.path()).stdin(Stdio::null()).kill_on_drop(true);
        let said = command.output().await.context("running fdbcli")?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        ensure!(text.contains("Database created"), "fdbcli could not create a database: {text}");
        Ok(())
    }
}
