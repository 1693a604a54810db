//! One bridge, and a network namespace per pod: addresses and hosts files of their own, and links that can be cut.
//!
//! The bridge and every pod reach each other, so whoever started the network reaches the pods by their addresses. Pods think that all of
//! 198.18.0.0/15 is on their link; on this machine only the addresses of pods that exist are routed to the bridge, so several networks
//! can be there at once. What is sent to other addresses of that range does not leave the machine.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail, ensure};

use super::janitor::{Janitor, Made};

/// The bridge's own address: outside of the pods' 198.18.0.0/16, within what pods take for their link.
const BRIDGE: Ipv4Addr = Ipv4Addr::new(198, 19, 255, 254);
const PREFIX: u8 = 15;
/// Where `ip netns exec` looks for files to mount over those of /etc.
const NAMESPACE_FILES: &str = "/etc/netns";

/// Where a pod lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// Its network namespace.
    pub namespace: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// This machine's end of its link.
    link: String,
}

/// A network of pods. Everything it made is removed when it is dropped, also after a panic.
#[derive(Debug)]
pub struct Network {
    janitor: Janitor,
    /// Short enough for the names of interfaces, which have 15 letters.
    prefix: String,
    bridge: String,
    made: u32,
    homes: BTreeMap<String, Home>,
    hosts: String,
}

impl Network {
    /// An empty network; or what it takes and is not there.
    pub fn new() -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        ensure!(rustix::process::geteuid().is_root(), "only root can make network namespaces");
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("q{:x}n{number:x}", std::process::id());
        let bridge = format!("{prefix}br");
        let mut janitor = Janitor::new()?;
        janitor.about_to_make(Made::Link(&bridge))?;
        // Each network has a route of its own to nowhere; they differ in their metric.
        let nowhere = format!("unreachable 198.18.0.0/{PREFIX} metric {}", (std::process::id() << 8) + number % 256);
        janitor.about_to_make(Made::Route(&nowhere))?;
        let make = format!(
            "link add {bridge} type bridge stp_state 0 forward_delay 0\naddress add {BRIDGE}/32 dev {bridge}\n\
             link set {bridge} up\nroute add {nowhere}\n"
        );
        ip(&[], &make).context("making a bridge")?;
        let files = Path::new(NAMESPACE_FILES);
        if !files.exists() {
            janitor.about_to_make(Made::SharedFolder(files))?;
            fs::create_dir_all(files).with_context(|| format!("making {NAMESPACE_FILES}"))?;
        }
        Ok(Self { janitor, prefix, bridge, made: 0, homes: BTreeMap::new(), hosts: hosts_file(&BTreeMap::new()) })
    }

    /// Gives a pod a home with this address.
    pub fn join(&mut self, pod: &str, address: Ipv4Addr) -> Result<Home> {
        ensure!(!self.homes.contains_key(pod), "{pod} has a home already");
        let number = self.made;
        self.made += 1;
        let namespace = format!("{}-{number}-{pod}", self.prefix);
        let link = format!("{}v{number:x}", self.prefix);
        let making = || format!("making the network namespace of {pod}");
        let files = namespace_files(&namespace);
        self.janitor.about_to_make(Made::Folder(&files))?;
        fs::create_dir(&files).with_context(making)?;
        fs::write(files.join("hosts"), &self.hosts).with_context(making)?;
        self.janitor.about_to_make(Made::Namespace(&namespace))?;
        ip(&["netns", "add", &namespace], "").with_context(making)?;
        let bridge = &self.bridge;
        ip(
            &[],
            &format!(
                "link add {link} type veth peer name eth0 netns {namespace}\nlink set {link} master {bridge} up\n\
             route add {address}/32 dev {bridge} src {BRIDGE}\n"
            ),
        )
        .with_context(making)?;
        ip(&["-n", &namespace], &format!("link set lo up\naddress add {address}/{PREFIX} dev eth0\nlink set eth0 up\n"))
            .with_context(making)?;
        let home = Home { namespace, address, link };
        self.homes.insert(pod.to_owned(), home.clone());
        Ok(home)
    }

    /// Takes a pod's home away. Its processes have to be gone.
    pub fn leave(&mut self, pod: &str) -> Result<()> {
        let Some(home) = self.homes.remove(pod) else { return Ok(()) };
        let leaving = || format!("removing the network namespace of {pod}");
        ip(&[], &format!("route del {}/32 dev {}\nlink del {}\n", home.address, self.bridge, home.link)).with_context(leaving)?;
        ip(&["netns", "del", &home.namespace], "").with_context(leaving)?;
        fs::remove_dir_all(namespace_files(&home.namespace)).with_context(leaving)
    }

    /// Cuts a pod's link: nobody reaches it, and it reaches nobody.
    pub fn cut(&self, pod: &str) -> Result<()> {
        self.set_link(pod, "down")
    }

    /// Mends a pod's link.
    pub fn mend(&self, pod: &str) -> Result<()> {
        self.set_link(pod, "up")
    }

    fn set_link(&self, pod: &str, state: &str) -> Result<()> {
        let home = self.homes.get(pod).with_context(|| format!("{pod} has no home"))?;
        ip(&["link", "set", &home.link, state], "").with_context(|| format!("setting the link of {pod} {state}"))
    }

    /// Makes these the names that every pod knows. Running processes see them, because the files are written in place.
    pub fn name(&mut self, names: &BTreeMap<String, Ipv4Addr>) -> Result<()> {
        let hosts = hosts_file(names);
        if hosts == self.hosts {
            return Ok(());
        }
        for home in self.homes.values() {
            let file = namespace_files(&home.namespace).join("hosts");
            fs::write(&file, &hosts).with_context(|| format!("writing {}", file.display()))?;
        }
        self.hosts = hosts;
        Ok(())
    }

    /// Where a pod lives.
    pub fn home(&self, pod: &str) -> Option<&Home> {
        self.homes.get(pod)
    }

    /// A folder that is removed with the network; nothing may be in it yet.
    pub(super) fn keep_folder(&mut self, folder: &Path) -> Result<()> {
        self.janitor.about_to_make(Made::Folder(folder))
    }
}

fn namespace_files(namespace: &str) -> PathBuf {
    Path::new(NAMESPACE_FILES).join(namespace)
}

fn hosts_file(names: &BTreeMap<String, Ipv4Addr>) -> String {
    let pods = names.iter().map(|(name, address)| format!("{address} {name}\n"));
    std::iter::once("127.0.0.1 localhost\n".to_owned()).chain(pods).collect()
}

/// Runs `ip` with these arguments; without a command among them, with a batch of commands.
fn ip(arguments: &[&str], batch: &str) -> Result<()> {
    let mut command = Command::new("ip");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    if !batch.is_empty() {
        command.args(["-batch", "-"]);
    }
    let mut child = command.spawn().context("starting ip, which is part of iproute2")?;
    child.stdin.take().context("ip has no input")?.write_all(batch.as_bytes()).context("writing to ip")?;
    let output = child.wait_with_output().context("waiting for ip")?;
    if !output.status.success() {
        bail!("ip said: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
