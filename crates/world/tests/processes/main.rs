//! Namespaces, links, names, folders and processes of pods, and that nothing of it is left. Where namespaces can't be made, every story
//! says that it was not run.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod roles;
#[path = "../../../fdb-client/tests/stories/mod.rs"]
mod stories;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use quorate_world::processes::{Bind, Network, Process, Program, Signal, missing};
use stories::Story;

const STORIES: &[Story] = stories![
    a_pod_is_reached_by_its_address_until_its_link_is_cut,
    a_program_sees_the_folders_and_names_of_its_pod,
    a_process_that_is_killed_leaves_no_zombie,
    two_networks_are_there_at_once,
    nothing_is_left_of_a_network_whose_owner_panics,
    nothing_is_left_of_a_network_whose_owner_is_killed,
];

fn main() -> ExitCode {
    if let Some(role) = std::env::var_os(roles::ROLE) {
        return roles::play(&role.to_string_lossy());
    }
    let Some(reason) = missing() else { return stories::tell(STORIES) };
    for (name, _) in STORIES {
        println!("test {name} ... not run: {reason}");
    }
    println!("0 passed, 0 failed, {} not run", STORIES.len());
    ExitCode::SUCCESS
}

const PORT: u16 = 4500;
const ONE: Ipv4Addr = Ipv4Addr::new(198, 18, 7, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(198, 18, 7, 2);

fn reached(address: Ipv4Addr) -> bool {
    TcpStream::connect_timeout(&SocketAddr::from((address, PORT)), Duration::from_secs(1)).is_ok()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A program that listens on all addresses of its namespace.
fn listener(namespace: &str, folder: &Path) -> Program {
    Program {
        executable: std::env::current_exe().unwrap(),
        arguments: Vec::new(),
        environment: BTreeMap::from([(roles::ROLE.to_owned(), "listener".to_owned())]),
        namespace: namespace.to_owned(),
        binds: Vec::new(),
        output: folder.join("output"),
    }
}

fn script(text: &str, namespace: &str, folder: &Path) -> Program {
    let arguments = vec!["-c".to_owned(), text.to_owned()];
    Program { executable: PathBuf::from("sh"), arguments, environment: BTreeMap::new(), ..listener(namespace, folder) }
}

async fn a_pod_is_reached_by_its_address_until_its_link_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let mut network = Network::new().unwrap();
    let one = network.join("one", ONE).unwrap();
    let other = network.join("other", OTHER).unwrap();
    let _one = Process::start(&listener(&one.namespace, folder.path())).unwrap();
    let _other = Process::start(&listener(&other.namespace, folder.path())).unwrap();
    until("both to listen on the same port", || reached(ONE) && reached(OTHER));
    network.cut("one").unwrap();
    assert!(!reached(ONE));
    assert!(reached(OTHER));
    network.mend("one").unwrap();
    until("the link to be mended", || reached(ONE));
}

async fn a_program_sees_the_folders_and_names_of_its_pod() {
    let folder = tempfile::tempdir().unwrap();
    let mut network = Network::new().unwrap();
    let home = network.join("one", ONE).unwrap();
    let below = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(below("root/var/fdb/data")).unwrap();
    std::fs::create_dir_all(below("volume")).unwrap();
    let wait_for_a_name = "until grep sample-log-1 /etc/hosts; do sleep 0.05; done; echo kept > /var/fdb/data/file; ls /var";
    let mut program = script(wait_for_a_name, &home.namespace, folder.path());
    program.binds = vec![
        Bind { source: below("volume"), target: below("root/var/fdb/data") },
        Bind { source: below("root/var"), target: PathBuf::from("/var") },
    ];
    let mut process = Process::start(&program).unwrap();
    // A name that comes after the program has started is seen all the same.
    network.name(&BTreeMap::from([("sample-log-1.sample.tests.svc".to_owned(), OTHER)])).unwrap();
    assert!(process.wait().await.unwrap().success());
    assert_eq!(std::fs::read_to_string(below("output")).unwrap(), "198.18.7.2 sample-log-1.sample.tests.svc\nfdb\n");
    assert_eq!(std::fs::read_to_string(below("volume/file")).unwrap(), "kept\n");
    assert!(!Path::new("/var/fdb/data/file").exists(), "nobody else sees it");
}

async fn a_process_that_is_killed_leaves_no_zombie() {
    let folder = tempfile::tempdir().unwrap();
    let mut network = Network::new().unwrap();
    let home = network.join("one", ONE).unwrap();
    let mut process = Process::start(&listener(&home.namespace, folder.path())).unwrap();
    let id = process.id().unwrap();
    until("it to listen", || reached(ONE));
    process.signal(Signal::KILL).unwrap();
    assert!(!process.wait().await.unwrap().success());
    assert!(!Path::new(&format!("/proc/{id}")).exists());
    process.signal(Signal::KILL).unwrap();
    network.leave("one").unwrap();
    assert_eq!(network.home("one"), None);
    assert!(!reached(ONE));
    network.join("one", ONE).unwrap();
}

async fn two_networks_are_there_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut one, mut other) = (Network::new().unwrap(), Network::new().unwrap());
    let home = one.join("pod", ONE).unwrap();
    let _one = Process::start(&listener(&home.namespace, folder.path())).unwrap();
    let home = other.join("pod", OTHER).unwrap();
    let _other = Process::start(&listener(&home.namespace, folder.path())).unwrap();
    until("both to be reached", || reached(ONE) && reached(OTHER));
    drop(one);
    assert!(!reached(ONE));
    assert!(reached(OTHER));
}

/// What is on this machine that has a name of a process's networks.
fn traces(owner: u32) -> Vec<String> {
    let prefix = format!("q{owner:x}n");
    let entries = ["/run/netns", "/etc/netns", "/sys/class/net"].into_iter().flat_map(std::fs::read_dir);
    let names = entries.flatten().flatten().map(|entry| entry.path().display().to_string());
    names.filter(|name| name.contains(&format!("/{prefix}"))).collect()
}

async fn nothing_is_left_of_a_network_whose_owner_panics() {
    let mut owner = roles::start("panicking-owner");
    owner.until_ready();
    assert_eq!(traces(owner.child.id()).len(), 4, "{:?}", traces(owner.child.id()));
    owner.go_on();
    assert!(!owner.child.wait().unwrap().success());
    // The kernel takes a link down with its namespace in its own time.
    until("nothing to be left", || traces(owner.child.id()).is_empty());
}

async fn nothing_is_left_of_a_network_whose_owner_is_killed() {
    // What is sent to pods that are gone stays on this machine as long as there is a network.
    let _ours = Network::new().unwrap();
    let mut owner = roles::start("panicking-owner");
    owner.until_ready();
    until("its pod to listen", || reached(ONE));
    owner.child.kill().unwrap();
    owner.child.wait().unwrap();
    until("everything to be gone", || traces(owner.child.id()).is_empty());
    assert!(!reached(ONE));
}
