//! `quorate run`, on an embedded Kubernetes on a loopback port.

use quorate_operator::{Clock, SystemClock};
use quorate_world::kubernetes::{Kubernetes, serve};
use quorate_world::scenery;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Program, until};

/// The code and the body of an answer.
async fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn kubeconfig(server: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": format!("http://{server}")}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "namespace": "default"}}],
    })
    .to_string()
}

fn holder(kubernetes: &Kubernetes) -> Option<String> {
    let lease = kubernetes.get_value("coordination.k8s.io/v1", "Lease", "default", "quorate").ok()?;
    lease["spec"]["holderIdentity"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn it_works_on_clusters_until_it_is_told_to_end_and_gives_the_lease_back() {
    let kubernetes = Kubernetes::new(|| SystemClock.now());
    scenery::build(&kubernetes).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    std::fs::write(&file, kubeconfig(&listener.local_addr().unwrap().to_string())).unwrap();
    tokio::spawn(serve(listener, kubernetes.clone()));
    let arguments = ["run", "--json-log", "--listen", "127.0.0.1:0", "--identity", "tester", "--fdb-library-dir"];
    let arguments = [&arguments[..], &[folder.path().to_str().unwrap()]].concat();
    let mut program = Program::start(&arguments, folder.path(), &[("KUBECONFIG", file.to_str().unwrap())]);
    let address = |line: &str| {
        let line: Value = serde_json::from_str(line).ok()?;
        line["fields"]["address"].as_str().map(str::to_owned)
    };
    let address = program.says(address).await;

    assert_eq!(get(&address, "/livez").await, (200, "ok".to_owned()));
    until("readiness", async || (get(&address, "/readyz").await.0 == 200).then_some(())).await;
    let status = async || {
        let cluster = kubernetes.get_value("apps.foundationdb.org/v1beta2", "FoundationDBCluster", "default", "sample").ok()?;
        cluster.get("status").cloned()
    };
    let status = until("a status", status).await;
    assert_eq!(status["processGroups"].as_array().unwrap().len(), 11, "{status:#}");
    let decided = async || get(&address, "/decisions").await.1.contains("default/sample").then_some(());
    until("a decision over HTTP", decided).await;
    assert!(holder(&kubernetes).unwrap().starts_with("tester_"));

    let ended = program.end(Signal::TERM).await;
    assert_eq!(ended.code(), Some(0));
    assert_eq!(holder(&kubernetes).as_deref(), Some(""));
}
