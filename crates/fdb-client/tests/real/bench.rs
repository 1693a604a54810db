//! Real fdbserver processes on loopback, in folders that remove themselves.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use quorate_fdb_client::suite::{Bench, Process, poll_until};
use quorate_fdb_client::{Children, FoundationDb, Look, Seen, Settings, Target, TlsIdentity};
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Set, this program is the child of a supervisor.
pub const CHILD: &str = "QUORATE_REAL_CHILD";

/// Where fdbserver, fdbcli and libfdb_c.so are.
pub fn programs() -> Option<PathBuf> {
    std::env::var_os("QUORATE_FDB_BIN").map(PathBuf::from)
}

/// A supervisor that starts this program as its child.
pub fn children(libraries: &Path) -> Children {
    children_with(libraries, None)
}

/// The same; the child may have a hosts file of its own.
fn children_with(libraries: &Path, hosts: Option<&Path>) -> Children {
    let mut settings = Settings::new(std::env::current_exe().unwrap(), libraries.to_owned());
    settings.arguments.clear();
    if let Some(hosts) = hosts {
        let program = std::mem::replace(&mut settings.program, "unshare".into());
        settings.arguments = with_hosts(hosts, &program);
    }
    settings.environment.insert(CHILD.to_owned(), "1".to_owned());
    Children::new(settings)
}

/// Arguments of `unshare` that run a program with another hosts file; it takes its place and so has its process id.
fn with_hosts(hosts: &Path, program: &Path) -> Vec<String> {
    const SCRIPT: &str = r#"mount --bind "$0" /etc/hosts && exec "$@""#;
    let [hosts, program] = [hosts, program].map(|path| path.display().to_string());
    ["--mount", "sh", "-c", SCRIPT, &hosts, &program].map(str::to_owned).to_vec()
}

/// How the servers of a bench are spoken to.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// By TLS, with this identity for all.
    pub tls: Option<TlsIdentity>,
    /// The coordinator has this name, which stands in this hosts file or does not.
    pub name: Option<(String, PathBuf)>,
}

/// The version of fdbserver.
pub fn version(programs: &Path) -> String {
    let output = std::process::Command::new(programs.join("fdbserver")).arg("--version").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split("(v").nth(1).and_then(|rest| rest.split(')').next());
    version.unwrap_or_else(|| panic!("no version in {text}")).to_owned()
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

struct Server {
    stop: oneshot::Sender<()>,
    keeper: JoinHandle<()>,
}

pub struct Real {
    programs: PathBuf,
    folder: tempfile::TempDir,
    ways: Ways,
    version: String,
    clients: [Arc<Children>; 2],
    ports: BTreeMap<String, u16>,
    servers: BTreeMap<String, Server>,
    connection: String,
}

impl Real {
    pub fn new(programs: &Path) -> Self {
        Self::with(programs, Ways::default())
    }

    pub fn with(programs: &Path, ways: Ways) -> Self {
        let hosts = ways.name.as_ref().map(|(_, hosts)| hosts.as_path());
        Self {
            programs: programs.to_owned(),
            folder: tempfile::tempdir().unwrap(),
            version: version(programs),
            clients: [0, 1].map(|_| Arc::new(children_with(programs, hosts))),
            ways,
            ports: BTreeMap::new(),
            servers: BTreeMap::new(),
            connection: String::new(),
        }
    }

    pub fn children(&self) -> &Children {
        &self.clients[0]
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends everything that was started, by its own handle, and waits for it.
    pub async fn end(mut self) {
        for client in &self.clients {
            client.close().await;
        }
        for (_, server) in std::mem::take(&mut self.servers) {
            let _ = server.stop.send(());
            server.keeper.await.unwrap();
        }
    }

    fn address(&self, port: u16) -> String {
        self.at("127.0.0.1", port)
    }

    fn at(&self, host: &str, port: u16) -> String {
        format!("{host}:{port}{}", if self.ways.tls.is_some() { ":tls" } else { "" })
    }

    fn command(&self, process: &Process, port: u16) -> Command {
        let Process { name, class, zone } = process;
        let program = self.programs.join("fdbserver");
        let mut command = Command::new(&program);
        if let Some((_, hosts)) = &self.ways.name {
            command = Command::new("unshare");
            command.args(with_hosts(hosts, &program));
        } else {
            command.arg0("fdbserver");
        }
        command.current_dir(self.folder.path());
        command.args(["--cluster-file", "fdb.cluster", "--public-address", &self.address(port)]);
        if let Some(TlsIdentity { certificate, key, ca, verify_peers: _ }) = &self.ways.tls {
            command.args(["--tls-certificate-file", certificate, "--tls-key-file", key, "--tls-ca-file", ca]);
        }
        command.args(["--datadir", &format!("data-{name}"), "--logdir", &format!("logs-{name}"), "--class", class]);
        command.args([format!("--locality_zoneid={zone}"), format!("--locality_instance_id={name}")]);
        command.args(["--memory", "2GiB", "--cache-memory", "200MiB", "--parentpid", &std::process::id().to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        command
    }
}

/// Keeps a server running until it is told to stop.
async fn keep(mut command: Command, mut stop: oneshot::Receiver<()>) {
    loop {
        let mut server = command.spawn().unwrap();
        tokio::select! {
            _ = server.wait() => {}
            _ = &mut stop => {
                server.kill().await.unwrap();
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

impl Bench for Real {
    fn client(&self) -> Arc<dyn FoundationDb> {
        Arc::clone(&self.clients[0]) as Arc<dyn FoundationDb>
    }

    fn second_client(&self) -> Arc<dyn FoundationDb> {
        Arc::clone(&self.clients[1]) as Arc<dyn FoundationDb>
    }

    fn target(&self) -> Target {
        Target {
            cluster: "tests/real".to_owned(),
            connection: self.connection.clone(),
            version: self.version.clone(),
            tls: self.ways.tls.clone(),
        }
    }

    fn start<'a>(&'a mut self, process: &'a Process) -> BoxFuture<'a, Result<String, String>> {
        let port = *self.ports.entry(process.name.clone()).or_insert_with(free_port);
        if self.connection.is_empty() {
            let host = self.ways.name.as_ref().map_or("127.0.0.1", |(name, _)| name);
            self.connection = format!("sample:first@{}", self.at(host, port));
            std::fs::write(self.folder.path().join("fdb.cluster"), &self.connection).unwrap();
        }
        std::fs::create_dir_all(self.folder.path().join(format!("logs-{}", process.name))).unwrap();
        let (stop, stopped) = oneshot::channel();
        let keeper = tokio::spawn(keep(self.command(process, port), stopped));
        self.servers.insert(process.name.clone(), Server { stop, keeper });
        futures::future::ready(Ok(self.address(port))).boxed()
    }

    fn stop<'a>(&'a mut self, name: &'a str) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let server = self.servers.remove(name).ok_or("no such process")?;
            let _ = server.stop.send(());
            server.keeper.await.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn wait(&mut self, duration: Duration) -> BoxFuture<'_, ()> {
        tokio::time::sleep(duration).boxed()
    }

    fn until<'a>(
        &'a mut self,
        look: Look,
        what: &'a str,
        holds: &'a (dyn Fn(&Seen) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<Seen, String>> {
        poll_until(self, look, what, holds)
    }
}
