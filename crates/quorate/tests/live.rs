//! `plan` and `what-if` for somebody who has rights in one namespace of a live Kubernetes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

const PACKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/objects/packed.yaml");
const CLUSTERS: &str = "/apis/apps.foundationdb.org/v1beta2/namespaces/default/foundationdbclusters";

/// A Kubernetes that shows one namespace, remembers what it was asked, and forbids everything else.
struct OneNamespace {
    asked: Arc<Mutex<Vec<String>>>,
    folder: tempfile::TempDir,
}

impl OneNamespace {
    fn start() -> Self {
        let list: Value = serde_saphyr::from_str(&std::fs::read_to_string(PACKED).unwrap()).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let remembered = Arc::clone(&asked);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                answer(connection.unwrap(), &list, &remembered);
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "here", "cluster": {"server": server}}], "users": [{"name": "somebody", "user": {}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "somebody"}}],
        });
        std::fs::write(folder.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
        Self { asked, folder }
    }

    /// What is printed, and what was asked for it.
    fn printed(&self, arguments: &[&str]) -> (String, Vec<String>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
        let output = command.args(arguments).env("KUBECONFIG", self.folder.path().join("kubeconfig")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        (String::from_utf8(output.stdout).unwrap(), std::mem::take(&mut *self.asked.lock().unwrap()))
    }
}

fn answer(mut connection: TcpStream, list: &Value, asked: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(connection.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(path) = lines.next().and_then(|request| Some(request.split(' ').nth(1)?.to_owned())) else { return };
    lines.by_ref().find(String::is_empty);
    let path = path.split('?').next().unwrap().to_owned();
    let (code, body) = match path.strip_prefix(CLUSTERS) {
        Some("") => (200, list.clone()),
        Some("/packed") => (200, list["items"][0].clone()),
        Some(_) => (404, status(404, "NotFound")),
        None => (403, status(403, "Forbidden")),
    };
    asked.lock().unwrap().push(path);
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all((head + &body).as_bytes()).unwrap();
}

fn status(code: u16, reason: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason, "message": reason, "code": code})
}

const ASSUMED: &str = "  assumed: enough hosts (nodes may not be listed; --hosts says how many there are), ";

#[test]
fn a_plan_says_that_it_does_not_know_the_nodes() {
    let kubernetes = OneNamespace::start();
    let (text, asked) = kubernetes.printed(&["plan", "-n", "default"]);
    assert!(text.contains(ASSUMED), "{text}");
    assert_eq!(asked, [CLUSTERS, "/api/v1/nodes"]);
    let (text, asked) = kubernetes.printed(&["plan", "-n", "default", "--hosts", "4"]);
    assert!(text.contains("  assumed: 4 hosts, "), "{text}");
    assert_eq!(asked, [CLUSTERS], "who says how many hosts there are need not see nodes");
}

#[test]
fn what_if_asks_for_the_objects_in_its_file_and_no_others() {
    let kubernetes = OneNamespace::start();
    let (text, asked) = kubernetes.printed(&["what-if", "-f", PACKED]);
    assert!(text.contains(ASSUMED) && text.contains("  trying again: storage-3\n"), "{text}");
    assert_eq!(asked, [format!("{CLUSTERS}/packed"), "/api/v1/nodes".to_owned()]);
}
